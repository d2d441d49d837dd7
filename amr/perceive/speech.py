"""Speech: where somebody speaks (Silero), and what is said if a recogniser is at hand.

Recognisers, best first: a model that is asked for by name; faster-whisper, whose weights are fetched once;
pocketsphinx, which is installed with its own model, knows English only and is often wrong; none, which still hears
that somebody speaks.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from amr.errors import BadInput, ProviderError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from amr.config import SpeechSettings
    from amr.models.open import Models
    from amr.models.transcripts import RecordedSpeech

SAMPLE_RATE = 16_000
VOICE_ACTIVITY = "silero-vad v6"
HUB_PATIENCE_SECONDS = 3.0

SPEECH_OPTIONS = {"min_silence_duration_ms": 500, "min_speech_duration_ms": 250, "speech_pad_ms": 200}
"""Half a second of silence ends an utterance; what is shorter than a quarter is a click."""

MOST_HYPOTHESES = 5000
"""Word models pocketsphinx follows at once; its own 30000 takes twice the time and hears no better."""

LEAST_BELIEF = 0.15
"""Mean posterior of its words below which what pocketsphinx heard is not even a rough hint."""

WHISPER_FILES = ("config.json", "model.bin", "tokenizer.json")

_local = threading.local()
_lock = threading.Lock()


@dataclass(frozen=True)
class Utterance:
    """Somebody speaks from `start` to `end`, seconds from the clip's start; `text` is empty if not understood."""

    start: float
    end: float
    text: str = ""
    rough: bool = False


@dataclass(frozen=True)
class Recogniser:
    """What turns speech into words; `path` is where its weights are, `name` what a person calls it.

    `asked` is the model of the kind `model`.
    """

    kind: Literal["whisper", "pocketsphinx", "model", "none"]
    name: str
    path: str = ""
    asked: RecordedSpeech | None = None


NO_RECOGNISER = Recogniser("none", "none")
POCKETSPHINX = Recogniser("pocketsphinx", "pocketsphinx en-us")


def choose_recogniser(settings: SpeechSettings, models: Models | None = None) -> Recogniser:
    """The recogniser these settings lead to on this machine; may ask the hub for weights, once, for 3 s.

    `models` are those of the command, for one that is a model. Raises ProviderError when whisper is asked for and
    its weights cannot be had or a model has no key, UsageError when pocketsphinx is asked for and not installed,
    BadInput when the model has no such name.
    """
    if settings.recogniser == "none":
        return NO_RECOGNISER
    if settings.asks_model:
        assert models is not None, "a recogniser that is a model calls the models of the command"
        asked = models.speech(settings.recogniser, settings.api_key)
        return Recogniser("model", asked.name, asked=asked)
    if settings.recogniser == "pocketsphinx":
        if not _has_pocketsphinx():
            raise UsageError(
                "pocketsphinx is not installed; run `pip install 'amr-memory[speech-offline]'` "
                "or choose another speech.recogniser."
            )
        return POCKETSPHINX
    path = whisper_path(settings.model)
    if path is None and settings.download == "auto":
        path = _try_hub(settings.model)
    if path is not None:
        return Recogniser("whisper", f"faster-whisper {settings.model}", path)
    if settings.recogniser == "whisper":
        raise ProviderError(
            f"The weights of the speech model {settings.model} are not on this machine; run "
            "`amr doctor --fetch speech` with a network, or set speech.recogniser to auto."
        )
    return POCKETSPHINX if _has_pocketsphinx() else NO_RECOGNISER


def speech_status(settings: SpeechSettings) -> dict[str, Any]:
    """What there is for speech on this machine, without asking the network."""
    return {
        "recogniser": settings.recogniser,
        "model": settings.model,
        "weights": whisper_path(settings.model),
        "pocketsphinx": _has_pocketsphinx(),
    }


def fetch_speech(model: str) -> str:
    """Download the weights of a faster-whisper model if they are not here; the folder they are in.

    Raises ProviderError when the hub cannot be reached or breaks off.
    """
    here = whisper_path(model)
    if here is not None:
        return here
    if not hub_answers(model):
        raise ProviderError(
            f"The hub {_hub()} did not answer within {HUB_PATIENCE_SECONDS:g} s, so the speech model {model} "
            "could not be fetched; connect to a network (or set HF_ENDPOINT) and run the command again."
        )
    return _download(model)


def whisper_path(model: str) -> str | None:
    """The folder with the complete weights of a model: a path itself, or in the hub's cache; else None."""
    if Path(model).is_dir():
        return str(Path(model).resolve()) if _is_complete(Path(model)) else None
    if "/" not in model:
        _check_name(model)
    try:
        found = Path(_hub_download(model, local_files_only=True))
    except Exception:  # the hub's client has an error of its own for each way of not having a file
        return None
    return str(found) if _is_complete(found) else None


def hub_answers(model: str) -> bool:
    """Whether the hub answers for this model within 3 s, looking up its name included."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "TRUE", "YES", "ON"}:
        return False
    answered: list[bool] = []
    asking = threading.Thread(target=lambda: answered.append(_ask_hub(model)), daemon=True)
    asking.start()
    asking.join(HUB_PATIENCE_SECONDS)  # looking up a name obeys no timeout of its own
    return bool(answered and answered[0])


def find_speech(audio: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Where somebody speaks in 16 kHz mono audio, as (first sample, sample after the last)."""
    if not audio.size or not np.any(audio):
        return []
    _prepare_hub()
    from faster_whisper.vad import get_speech_timestamps

    found = get_speech_timestamps(audio, **SPEECH_OPTIONS)
    return [(int(part["start"]), int(part["end"])) for part in found]


def recognise(audio: NDArray[np.float32], recogniser: Recogniser) -> list[Utterance]:
    """The utterances in 16 kHz mono audio, in order of time, with words as far as the recogniser has any.

    Raises CallFailed when a model that is asked cannot transcribe them.
    """
    parts = find_speech(audio)
    if not parts:
        return []
    if recogniser.asked is not None:
        return _transcribed(audio, recogniser.asked)
    if recogniser.kind == "whisper":
        return _whisper(audio, recogniser.path)
    words = _pocketsphinx if recogniser.kind == "pocketsphinx" else _no_words
    return [_utterance(audio[start:end], start, words) for start, end in parts]


def _utterance(part: NDArray[np.float32], start: int, words: Callable[[NDArray[np.float32]], str]) -> Utterance:
    text = words(part)
    times = [round(sample / SAMPLE_RATE, 3) for sample in (start, start + part.size)]
    return Utterance(times[0], times[1], text, rough=bool(text))


def _no_words(part: NDArray[np.float32]) -> str:
    return ""


def _pocketsphinx(part: NDArray[np.float32]) -> str:
    """English words for one utterance, or nothing if the decoder itself hardly believes them."""
    if not hasattr(_local, "decoder"):
        from pocketsphinx import Decoder

        _local.decoder = Decoder(samprate=SAMPLE_RATE, loglevel="FATAL", maxhmmpf=MOST_HYPOTHESES)
    decoder = _local.decoder
    decoder.reinit_feat()  # else the levels of what was heard before would colour this utterance
    decoder.start_utt()
    decoder.process_raw((np.clip(part, -1, 1) * 32767).astype("<i2").tobytes(), False, True)
    decoder.end_utt()
    if decoder.hyp() is None:
        return ""
    beliefs = [float(word.prob) for word in decoder.seg() if word.word[0] not in "<["]
    believed = bool(beliefs) and sum(beliefs) / len(beliefs) >= LEAST_BELIEF
    return str(decoder.hyp().hypstr).strip() if believed else ""


def _transcribed(audio: NDArray[np.float32], model: RecordedSpeech) -> list[Utterance]:
    from amr.perceive.clip_media import wav_bytes

    heard = model.transcribe(wav_bytes(audio), audio.size / SAMPLE_RATE)
    words = [(part.start, part.end, " ".join(part.text.split())) for part in heard]
    return [Utterance(round(start, 3), round(end, 3), text) for start, end, text in words if text]


def _whisper(audio: NDArray[np.float32], path: str) -> list[Utterance]:
    with _lock:
        model = _whisper_model(path)
    segments, _ = model.transcribe(
        audio,
        beam_size=5,
        temperature=0.0,
        condition_on_previous_text=False,
        vad_filter=True,
        vad_parameters=SPEECH_OPTIONS,
    )
    heard = [(segment.start, segment.end, " ".join(segment.text.split())) for segment in segments]
    return [Utterance(round(start, 3), round(end, 3), text) for start, end, text in heard if text]


@lru_cache(maxsize=1)
def _whisper_model(path: str) -> Any:
    from faster_whisper import WhisperModel

    return WhisperModel(path, device="auto", compute_type="int8", local_files_only=True)


def _has_pocketsphinx() -> bool:
    return find_spec("pocketsphinx") is not None


def _is_complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in WHISPER_FILES)


def _check_name(model: str) -> None:
    _prepare_hub()
    from faster_whisper import available_models

    if model not in available_models():
        known = ", ".join(name for name in available_models() if "." not in name and "-" not in name)
        raise BadInput(f"There is no speech model {model}; set speech.model to one of {known}, or to a folder.")


def _repository(model: str) -> str:
    from faster_whisper.utils import _MODELS

    return model if "/" in model else str(_MODELS[model])


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _ask_hub(model: str) -> bool:
    """Whether the first byte of the weights comes: they lie on another host than the hub's front."""
    from http.client import HTTPException
    from urllib.request import urlopen

    url = f"{_hub()}/{_repository(model)}/resolve/main/model.bin"
    try:
        with urlopen(url, timeout=HUB_PATIENCE_SECONDS) as reply:
            return len(reply.read(1)) == 1
    except (OSError, ValueError, HTTPException):
        return False


def _try_hub(model: str) -> str | None:
    try:
        return _download(model) if hub_answers(model) else None
    except ProviderError:
        return None


def _download(model: str) -> str:
    try:
        found = Path(_hub_download(model, local_files_only=False))
    except Exception as error:  # the hub's client has many errors of its own
        raise ProviderError(
            f"Fetching the speech model {model} from {_hub()} broke off ({type(error).__name__}); "
            "run `amr doctor --fetch speech` again."
        ) from error
    if not _is_complete(found):
        raise ProviderError(f"The speech model {model} at {_hub()} lacks one of {', '.join(WHISPER_FILES)}.")
    return str(found)


def _hub_download(model: str, *, local_files_only: bool) -> str:
    _prepare_hub()
    from faster_whisper import download_model

    return str(download_model(model, local_files_only=local_files_only))


def _prepare_hub() -> None:
    """Short patience and no output for the hub's client; it reads these when it is first imported."""
    os.environ.setdefault("HF_HUB_ETAG_TIMEOUT", f"{HUB_PATIENCE_SECONDS:g}")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
