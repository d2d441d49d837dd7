"""What the test server's models say: a pure function of what they were sent."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.coded_video import report
from tests.support.model_server_answers import answer_from, share
from tests.support.model_server_evals import grade, judge, read_and_answer
from tests.support.model_server_reading import clip_length, fields, json_objects, listed
from tests.support.model_server_schema import fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tests.support.model_server_eyes import Seen
    from tests.support.model_server_rules import Chat

_SMALL_TEXT = """
    a an the in on of with and or to from at by is are was were be been it its this that these those his her their he
    she they who what where when which did does do for as into wearing has have had
"""
_SMALL = frozenset(_SMALL_TEXT.split())
_NAMED = re.compile(r"(?:,\s*)?(?:named|called)\s+([A-Z]\w+)")
_PERCEIVED = {
    "characters": ("local_character_id", "role", "name_or_description"),
    "speaker_turns": ("speaker_id", "utterance", "time_start", "time_end"),
}


def reply_text(chat: Chat, task: str, seen: Seen) -> str:
    """The text of a chat reply."""
    plain = {"eval_answer": read_and_answer, "judge": judge, "judge_rubric": grade}
    if task in plain:
        return plain[task]("\n".join(chat.user_texts))
    replies = {
        "perception": lambda: perception(chat, seen),
        "handles": lambda: _handles(chat),
        "summaries": lambda: _summaries(chat),
        "merged_summary": lambda: _merged(chat),
        "actions": lambda: _actions(chat),
        "question_type": lambda: _question_type(chat),
        "verification": lambda: _verification(chat),
        "answer": lambda: _answer(chat),
        "facts": lambda: _facts(chat),
    }
    if task not in replies:
        return "This is a reply of the test server."
    value = replies[task]()
    wants_json = "response_format" in chat.body or any("json" in text.lower() for text in chat.texts)
    if task in ("answer", "merged_summary") and not wants_json:
        return str(value[task.partition("_")[0]])
    return json.dumps(fitted(value, chat.schema), ensure_ascii=False)


def perception(chat: Chat, seen: Seen) -> dict[str, Any]:
    """The analysis that follows from the codes; its times are relative to the clip's start."""
    length = clip_length(chat) or seen.video_seconds or None
    lines = seen.lines or _lines_in_text(chat, seen)
    scene = seen.film.scene_at(seen.begin) if seen.film and seen.begin is not None else "unknown"
    analysis = report(seen.happenings, lines, scene, length).model_dump()
    if chat.schema is None:
        for name in ("text_in_view", "scene_cuts", "still"):
            analysis.pop(name)
        for name, keys in _PERCEIVED.items():
            analysis[name] = [{key: item[key] for key in keys} for item in analysis[name]]
        for event in analysis["events"]:
            del event["modality"], event["certain"]
    return analysis


def _lines_in_text(chat: Chat, seen: Seen) -> list[Any]:
    """Lines of the film that stand in a transcript in the text, spoken in the part of the film that was shown."""
    if seen.film is None or seen.begin is None:
        return []
    text = "\n".join(chat.user_texts)
    clocks = [look.marks.frame / seen.film.rate for look in seen.looks if look.marks]
    last = max(clocks, default=seen.begin) + 2
    inside = [line for line in seen.film.lines if seen.begin <= line.start < last]
    return [(line, seen.begin) for line in inside if line.utterance in text]


def handle(descriptor: str) -> str:
    """`girl in black hoodie` → `girl_black_hoodie`."""
    words = re.findall(r"\w+", descriptor.lower())
    return "_".join([word for word in words if word not in _SMALL] or words) or "person"


_TOLD = re.compile(r"\b(?:I|we) (bought|went to|have|plan to \w+) ([^.,!?]+)")


def _facts(chat: Chat) -> dict[str, Any]:
    """What the turns of a session say in the first person."""
    found = [(turn, told) for turn in listed(fields(chat, "facts"), "facts") for told in _TOLD.finditer(turn["text"])]
    return {
        "facts": [
            {"subject": turn["speaker"], "predicate": told[1], "object": told[2].strip(), "turns": [turn["id"]]}
            for turn, told in found
        ]
    }


def _handles(chat: Chat) -> dict[str, Any]:
    items = []
    for number, item in enumerate(listed(fields(chat, "handles"), "handles")):
        text = item if isinstance(item, str) else _text_of(item)
        name = _NAMED.search(text)
        identity = item if isinstance(item, str) else _id_of(item, number)
        items.append(
            {
                "id": identity,
                "index": number,
                "descriptor": text,
                "description": text,
                "name": name[1] if name else "",
                "aliases": [name[1]] if name else [],
                "handle": handle(_NAMED.sub("", text)),
            }
        )
    return {"handles": items}


def _summaries(chat: Chat) -> dict[str, Any]:
    data = fields(chat, "summaries")
    items = []
    for number, event in enumerate(listed(data, "summaries")):
        scene = event.get("scene_type") or data.get("scene_type", "")
        text = sentence(event, scene)
        identity = _id_of(event, number)
        items.append(
            {
                "id": identity,
                "index": number,
                "event": identity,
                "event_id": identity,
                "local_event_id": identity,
                "text": text,
                "summary": text,
            }
        )
    return {"summaries": items}


def sentence(event: dict[str, Any], scene: str = "") -> str:
    """One sentence for an event, from its structured fields."""
    deeds = [deed for deed in event.get("actions", []) if isinstance(deed, dict)][:2]
    parts = []
    for deed in deeds:
        words = (deed.get("actor"), deed.get("verb"), deed.get("object"), deed.get("spatial_relation"))
        parts.append(" ".join(str(word).strip() for word in words if word))
    text = ", then ".join(parts) or str(event.get("summary") or "something happens").rstrip(".")
    if scene:
        text += f", in the {scene}"
    dialogue = [line if isinstance(line, str) else _text_of(line) for line in event.get("dialogue", [])]
    if dialogue:
        text += f", saying “{' '.join(dialogue[0].split()[:12])}”"
    return f"{text[:1].upper()}{text[1:]}."


def _merged(chat: Chat) -> dict[str, Any]:
    data = fields(chat, "merged_summary")
    items = listed(data, "merged_summary")
    texts = [item if isinstance(item, str) else _text_of(item) for item in items]
    texts = list(dict.fromkeys(" ".join(text.rstrip(".").split()[:30]) for text in texts if text))
    ends = [f"{text[:1].lower()}{text[1:]}" for text in texts[1:][-1:]]
    text = f"{', and then '.join([*texts[:1], *ends])}."
    return {"merged": text, "summary": text, "text": text, "merged_summary": text}


def _actions(chat: Chat) -> dict[str, Any]:
    items = []
    for number, event in enumerate(listed(fields(chat, "actions"), "actions")):
        places = {_text_of(thing, "name"): thing.get("spatial_description", "") for thing in event.get("objects", [])}
        actions = [
            {**deed, "spatial_relation": deed.get("spatial_relation") or places.get(deed.get("object"), "")}
            for deed in event.get("actions", [])
        ]
        identity = _id_of(event, number)
        items.append(
            {"id": identity, "index": number, "event_id": identity, "local_event_id": identity, "actions": actions}
        )
    return {"events": items}


_TYPES = (
    ("Object_Tracking", r"\bwhere\b|\bput\b|\bplaced?\b|\bmoved?\b|\blocation\b"),
    ("Temporal_Multihop", r"\bafter\b|\bbefore\b|\bthen\b|\bfirst\b|\blast\b|\bwhen\b"),
    ("Cross_Modal", r"\bsaid?\b|\bsays\b|\bspeak|\bvoice\b|\bheard\b|\btold\b"),
    ("Person_Understanding", r"\bwho\b|\bperson\b|\bwhose\b"),
)


def _question_type(chat: Chat) -> dict[str, Any]:
    question = _question(chat, "question_type").lower()
    label = next((name for name, pattern in _TYPES if re.search(pattern, question)), "General")
    return {"question_type": label, "type": label, "reason": f"The words of the question speak for {label}."}


def _verification(chat: Chat) -> dict[str, Any]:
    data = fields(chat, "verification")
    question = _question(chat, "verification")
    groups = [
        {
            "id": _id_of(group, number),
            "group": _id_of(group, number),
            "index": number,
            "score": score,
            "relevance": score,
        }
        for number, group in enumerate(listed(data, "verification"))
        for score in [share(question, json.dumps(group, ensure_ascii=False))]
    ]
    best = max((group["score"] for group in groups), default=overlap(question, json.dumps(data)))
    return {"scores": groups, "score": best, "relevance": best, "reason": "Words shared with the question."}


def _answer(chat: Chat) -> dict[str, Any]:
    question = _question(chat, "answer")
    events = context_of(chat)
    if events:
        return answer_from(question, events)
    items = listed(fields(chat, "answer"), "answer")
    texts = [item if isinstance(item, str) else _text_of(item) for item in items]
    best = max(range(len(items)), key=lambda n: (overlap(question, texts[n]), -n), default=None)
    if best is None or not overlap(question, texts[best]):
        return answer_from(question, [])
    return answer_from(question, [{"id": best, "text": texts[best]}])


def context_of(chat: Chat) -> list[dict[str, Any]]:
    """The events with ids that a request shows to answer from."""
    events = []
    for number, item in enumerate(listed(fields(chat, "answer"), "answer")):
        if isinstance(item, dict):
            events.append({**item, "id": _id_of(item, number), "text": _text_of(item)})
    return events


def _question(chat: Chat, task: str) -> str:
    data = fields(chat, task)
    for item in [data, *json_objects(chat.user_texts)]:
        for key in ("question", "query"):
            if isinstance(item.get(key), str):
                return str(item[key])
    return chat.user_texts[-1] if chat.user_texts else ""


def overlap(question: str, text: str) -> float:
    """The share of the question's telling words that stand in the text, 0 to 1."""
    asked = set(_words(question)) - _SMALL
    return round(len(asked & set(_words(text))) / len(asked), 4) if asked else 0.0


def _id_of(item: Any, number: int) -> Any:
    keys = ("id", "local_event_id", "event_id", "node_id", "local_character_id", "index", "n", "group")
    return next((item[key] for key in keys if key in item), number) if isinstance(item, dict) else number


def _text_of(item: Any, *first: str) -> str:
    keys = (*first, "descriptor", "description", "name_or_description", "summary", "summary_text", "text", "utterance")
    if not isinstance(item, dict):
        return str(item)
    found = next((item[key] for key in keys if isinstance(item.get(key), str)), None)
    return json.dumps(item, ensure_ascii=False) if found is None else str(found)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def embedding(text: str, dimensions: int, native: int) -> NDArray[np.float32]:
    """A unit vector from the words of a text; texts that share words are near each other.

    Fewer dimensions than the model's are the first ones, at unit length.
    """
    total = np.zeros(native, np.float32)
    for word in _words(text) or [text]:
        total += _word_vector(word, native) * (0.2 if word in _SMALL else 1.0)
    part = total[:dimensions]
    return (part / (np.linalg.norm(part) or 1.0)).astype(np.float32)


@lru_cache(maxsize=4096)
def _word_vector(word: str, dimensions: int) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)


def transcription(seen: Seen, seconds: float) -> dict[str, Any]:
    """A transcript of the lines heard, in the form `verbose_json`."""
    lines = [(line, round(line.start - begin, 2), round(line.end - begin, 2)) for line, begin in seen.lines]
    return {
        "task": "transcribe",
        "language": "english",
        "duration": round(seconds, 3),
        "text": " ".join(line.utterance for line, _, _ in lines),
        "segments": [
            {
                "id": number,
                "seek": 0,
                "start": start,
                "end": min(end, round(seconds, 2)),
                "text": f" {line.utterance}",
                "tokens": [],
                "temperature": 0.0,
                "avg_logprob": -0.1,
                "compression_ratio": 1.0,
                "no_speech_prob": 0.01,
            }
            for number, (line, start, end) in enumerate(lines)
        ],
        "words": _timed_words(lines),
    }


def _timed_words(lines: Sequence[Any]) -> list[dict[str, Any]]:
    words = []
    for line, start, end in lines:
        parts = line.utterance.split()
        step = (end - start) / len(parts)
        words += [
            {"word": word, "start": round(start + n * step, 2), "end": round(start + (n + 1) * step, 2)}
            for n, word in enumerate(parts)
        ]
    return words
