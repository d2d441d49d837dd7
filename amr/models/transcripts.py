"""Speech to words by a model, behind the call cache."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any, Protocol

from blake3 import blake3

from amr.models.calls import Calls, Purpose, Recorded, call_key
from amr.models.chat import Usage
from amr.models.remote import Answer, Segment


class SpeechRecognizer(Protocol):
    """A model that turns sound into words, over the wire or in this process."""

    @property
    def name(self) -> str:
        """Its one-string name."""

    def transcribe(self, wav: bytes, seconds: float, language: str = "") -> Answer[list[Segment]]:
        """The words in a WAV file of that many seconds, with their times."""


class RecordedSpeech:
    """A transcription model whose transcripts are kept on disk."""

    def __init__(self, model: SpeechRecognizer, calls: Calls) -> None:
        self.name = model.name
        self._model = model
        self._calls = calls

    def transcribe(self, wav: bytes, seconds: float, language: str = "") -> list[Segment]:
        """The words in a WAV file of that many seconds, with their times. Raises as a chat call does."""

        def call() -> tuple[dict[str, Any], Usage, float]:
            answer = self._model.transcribe(wav, seconds, language)
            return {"segments": [list(astuple(part)) for part in answer.value]}, answer.usage, answer.latency_ms

        key = speech_key(self.name, wav, language)
        return segments_from(self._calls.once(key, Purpose("transcribe", "", "", self.name), call))


def speech_key(model: str, wav: bytes, language: str) -> str:
    """The key of a transcription: all that may change it."""
    return call_key(["transcribe", model, blake3(wav).hexdigest(), language])


def segments_from(recorded: Recorded) -> list[Segment]:
    """A transcript from what is kept."""
    return [Segment(*part) for part in recorded.content["segments"]]
