"""Speech to words by a model over the wire, behind the call cache."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from blake3 import blake3

from amr.models.calls import Calls, Purpose, call_key
from amr.models.chat import Usage
from amr.models.remote import Remote, Segment


class RecordedSpeech:
    """A transcription model whose transcripts are kept on disk."""

    def __init__(self, remote: Remote, calls: Calls) -> None:
        self.name = remote.name
        self._remote = remote
        self._calls = calls

    def transcribe(self, wav: bytes, seconds: float, language: str = "") -> list[Segment]:
        """The words in a WAV file of that many seconds, with their times. Raises as a chat call does."""

        def call() -> tuple[dict[str, Any], Usage, float]:
            answer = self._remote.transcribe(wav, seconds, language)
            return {"segments": [list(astuple(part)) for part in answer.value]}, answer.usage, answer.latency_ms

        key = call_key(["transcribe", self.name, blake3(wav).hexdigest(), language])
        content = self._calls.once(key, Purpose("transcribe", "", "", self.name), call).content
        return [Segment(*part) for part in content["segments"]]
