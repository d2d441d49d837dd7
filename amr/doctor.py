"""Checks what this installation can do, and says in a line each how to get what is missing."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amr.errors import AmrError, UsageError

if TYPE_CHECKING:
    from amr.config import Settings


@dataclass
class Finding:
    """One check: `ok` is false when a part that is needed is missing; `found` says what there is."""

    check: str
    ok: bool
    found: str


def diagnose(settings: Settings, memory: Path) -> list[Finding]:
    """Every check, in reading order."""
    return [_ffmpeg(), _faiss(), _embedder(), _text_in_view(), _speech(settings), _memory(memory)]


def fetch_weights(what: str, settings: Settings) -> str:
    """Fetches weights on purpose; returns a sentence. Raises ProviderError when the hub cannot be reached."""
    from amr.perceive.speech import fetch_speech

    if what != "speech":
        raise UsageError(f"There is nothing called {what} to fetch; try --fetch speech.")
    return f"The speech model is in {fetch_speech(settings.speech.model)}."


def _ffmpeg() -> Finding:
    import imageio_ffmpeg

    binary = shutil.which("ffmpeg") or imageio_ffmpeg.get_ffmpeg_exe()
    return Finding("ffmpeg", bool(binary), binary or "none; reinstall imageio-ffmpeg")


def _faiss() -> Finding:
    if importlib.util.find_spec("faiss") is None:
        return Finding("faiss", False, "not installed; run pip install 'amr-memory[cpu]', or [gpu] with CUDA")
    import faiss

    gpus = faiss.get_num_gpus() if hasattr(faiss, "get_num_gpus") else 0
    return Finding("faiss", True, f"{faiss.__version__}, {gpus} GPUs")


def _embedder() -> Finding:
    from amr.models.embedding import DIMENSIONS, EMBEDDER_NAME, embed

    return Finding("embedder", bool(embed(["a phone on a table"]).any()), f"{EMBEDDER_NAME}, {DIMENSIONS} dimensions")


def _text_in_view() -> Finding:
    found = importlib.util.find_spec("rapidocr") is not None
    return Finding("text in view", found, "RapidOCR" if found else "not installed; reinstall amr-memory")


def _speech(settings: Settings) -> Finding:
    from amr.perceive.speech import speech_status

    status = speech_status(settings.speech)
    if status["weights"]:
        return Finding("speech", True, f"whisper {status['model']} in {status['weights']}")
    less = "pocketsphinx (rough)" if status["pocketsphinx"] else "heard, but not turned into words"
    return Finding("speech", True, f"{less}; better: amr doctor --fetch speech")


def _memory(directory: Path) -> Finding:
    from amr.store import database

    if not database.database_file(directory).exists():
        return Finding("memory", True, f"none yet in {directory}; amr ingest makes it")
    try:
        with database.reading(directory) as snapshot:
            return Finding("memory", True, f"{directory}, {snapshot.commits()} commits")
    except AmrError as error:
        return Finding("memory", False, str(error))
