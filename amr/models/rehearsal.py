"""What a command would send, without sending it: stand-ins that count the requests put to them.

A request is the very one that would be sent. Only what follows from a reply is guessed: a stand-in describes one
person and two events of every clip.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amr.models.calls import Calls, chat_key, reply_from
from amr.models.capabilities import Capabilities, highest_cost, input_tokens, text_tokens, token_cost
from amr.models.chat import ChatReply, ChatRequest, Usage
from amr.models.embedders import EmbeddedEmbedder, Embedder
from amr.models.names import ModelName, parse_model_name
from amr.models.remote import Answer, Segment
from amr.models.transcripts import segments_from, speech_key

EVENTS_PER_CLIP = 2
_WORD = "word "
_WORDS_PER_SECOND = 3  # fast talk
_EVENTS = '{\n "events"'


@dataclass
class Counted:
    """The calls of one role to one model: how many, their input tokens, and the most they can cost in dollars.

    `most_usd` is None where a price is not known.
    """

    role: str
    model: str
    calls: int = 0
    input_tokens: int = 0
    most_usd: float | None = 0.0


@dataclass
class Tally:
    """Counts calls by role and model; safe to use from many threads. Replies that `kept` holds are not counted."""

    kept: Calls
    counts: dict[tuple[str, str], Counted] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, role: str, model: str, tokens: int, most_usd: float | None) -> None:
        """Counts one call."""
        with self._lock:
            row = self.counts.setdefault((role, model), Counted(role, model))
            row.calls += 1
            row.input_tokens += tokens
            row.most_usd = None if most_usd is None or row.most_usd is None else row.most_usd + most_usd


class StandIn:
    """A ChatModel that counts what it is asked and replies in the form asked for."""

    def __init__(self, name: ModelName, capabilities: Capabilities, tally: Tally) -> None:
        self.name = str(name)
        self.capabilities = capabilities
        self._tally = tally

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply on disk if there is one, else a stand-in that was counted."""
        key = chat_key(self.name, request)
        kept = self._tally.kept.read(key)
        if kept is not None:
            return reply_from(kept)
        tokens = input_tokens(request, self.capabilities)
        self._tally.add(request.role, self.name, tokens, highest_cost(request, self.capabilities))
        return ChatReply(json.dumps(_replies(key, request.text)[request.role]), Usage())


def _replies(key: str, asked: str) -> dict[str, Any]:
    """By role a reply of about the usual length; `key` makes each clip's person another one."""
    events = [
        {
            "local_event_id": f"E{number}",
            "time_start": 0.0,
            "time_end": 0.1,
            "summary": f"The person picks up the thing number {number} and puts it on the table.",
            "actors": ["C1"],
            "objects": [{"name": "thing", "spatial_description": "on the table, to the left of the plate"}],
            "dialogue": ["Where did you put it?"] if number == 1 else [],
            "actions": [{"actor": "C1", "verb": "put", "object": "thing", "spatial_relation": ""}],
        }
        for number in range(1, EVENTS_PER_CLIP + 1)
    ]
    sentence = "The person picks up the thing and puts it on the table to the left of the plate."
    return {
        "perceive": {
            "clip_summary": f"In the kitchen: {sentence}",
            "scene_type": "kitchen",
            "characters": [{"local_character_id": "C1", "role": "other", "name_or_description": f"person {key[:12]}"}],
            "speaker_turns": [],
            "events": events,
        },
        "handles": {"handles": [{"id": 1, "handle": "person_dark_coat", "name": ""}]},
        "summaries": {"summaries": [{"id": event["local_event_id"], "summary": sentence} for event in events]},
        "merge": {"summary": sentence},
        "refine": _given_events(asked),
        "facts": {"facts": [{"subject": "Caroline", "predicate": "plays", "object": "the oboe", "turns": [1]}]},
    }


def _given_events(asked: str) -> dict[str, Any]:
    """The events that a prompt holds as JSON, with their actions alone; nothing where it holds none."""
    start = asked.rfind(_EVENTS)
    given = json.JSONDecoder().raw_decode(asked[start:])[0]["events"] if start >= 0 else []
    return {"events": [{"id": event["id"], "actions": event["actions"]} for event in given]}


class StandInEmbedder:
    """An embedder that counts what it is given; its rows are zeros."""

    dimensions = 1

    def __init__(self, name: ModelName, capabilities: Capabilities, tally: Tally) -> None:
        self.name = str(name)
        self._capabilities = capabilities
        self._tally = tally

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Rows [n, 1]."""
        most = self._capabilities.max_texts
        for first in range(0, len(texts), most):
            sent = texts[first : first + most]
            cost = token_cost(self._capabilities, sum(len(text.encode()) for text in sent), 0)
            self._tally.add("embed", self.name, sum(map(text_tokens, sent)), cost)
        return np.zeros((len(texts), 1), np.float32)


class StandInSpeech:
    """A SpeechRecognizer that counts the sound it is given, and hears somebody speak without a pause."""

    def __init__(self, name: ModelName, capabilities: Capabilities, tally: Tally) -> None:
        self.name = str(name)
        self._minute_usd = capabilities.usd_per_audio_minute
        self._tally = tally

    def transcribe(self, wav: bytes, seconds: float, language: str = "") -> Answer[list[Segment]]:
        """The transcript on disk if there is one, else a stand-in that was counted."""
        kept = self._tally.kept.read(speech_key(self.name, wav, language))
        if kept is not None:
            return Answer(segments_from(kept), Usage(), 0.0)
        cost = None if self._minute_usd is None else self._minute_usd * seconds / 60
        self._tally.add("transcribe", self.name, 0, cost)
        return Answer([Segment(0.0, seconds, _WORD * round(seconds * _WORDS_PER_SECOND))], Usage(), 0.0)


def stand_in_embedder(name: str, capabilities: Capabilities, tally: Tally) -> Embedder:
    """A stand-in for an embedder over the wire; one in this process costs nothing and is not counted."""
    model = parse_model_name(name)
    return StandInEmbedder(model, capabilities, tally) if model.remote else EmbeddedEmbedder()
