"""Models that run in this process through transformers: `hf:ID_OR_FOLDER`, from the hub's cache or a folder.

Nothing is downloaded. On a CUDA card weights are bfloat16, so that a model of 7 billion parameters fits into 24 GB;
without one they are float32. Replies are greedy, so the same request has the same reply.
"""

from __future__ import annotations

import importlib
import io
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from amr.errors import ProviderError
from amr.models.capabilities import Capabilities
from amr.models.chat import CallFailed, ChatReply, ChatRequest, RequestTooLarge, Usage
from amr.models.names import ModelName
from amr.models.remote import Answer, Segment

_T = TypeVar("_T")

_RATE = 16_000
_TEXTS_AT_ONCE = 32
_WEIGHTS = (".safetensors", ".bin")
_LONGEST_TEXT = 200

_loading = threading.Lock()


@dataclass(frozen=True)
class _Loaded:
    """A model in memory with what turns requests into its input; one request at a time under `lock`."""

    model: Any
    processor: Any
    sees: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class LocalChat:
    """A chat model in this process: one that sees, or one for text only. Weights are loaded by the first request.

    Raises ProviderError when the extra `local` is not installed, or when the weights are not on this machine.
    """

    def __init__(self, name: ModelName, capabilities: Capabilities) -> None:
        self.name = str(name)
        self.capabilities = capabilities
        self._folder = _folder_of(name)

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply to a request; requests from many threads wait for one another.

        Raises RequestTooLarge when it does not fit, CallFailed when the model fails on it, and ProviderError when
        the model cannot be loaded or does not take what it is sent.
        """
        loaded = _shared(_chat_model, self.name, self._folder)
        images = self._images(request, loaded.sees)
        with loaded.lock:
            began = time.monotonic()
            text, finish, usage = _guarded(self.name, lambda: self._generate(loaded, request, images))
            return ChatReply(text, usage, finish, (time.monotonic() - began) * 1000)

    def _images(self, request: ChatRequest, sees: bool) -> list[Any]:
        from PIL import Image

        kinds = {item.kind for item in request.media}
        if kinds and not (sees and self.capabilities.images):
            raise ProviderError(f"The model {self.name} has no vision; choose one that takes images and text.")
        if kinds - {"image"}:
            raise ProviderError(
                f"The model {self.name} takes images and text, not {' or '.join(sorted(kinds - {'image'}))}; "
                f'leave video and audio off under [models."{self.name}"] in the config.'
            )
        if len(request.media) > self.capabilities.max_images:
            raise RequestTooLarge(
                f"The clip has more images than the {self.capabilities.max_images} that {self.name} takes."
            )
        return [Image.open(io.BytesIO(item.data)).convert("RGB") for item in request.media]

    def _generate(self, loaded: _Loaded, request: ChatRequest, images: list[Any]) -> tuple[str, str, Usage]:
        """The reply's text, why it ended and its tokens."""
        torch = importlib.import_module("torch")
        model = loaded.model
        inputs = _moved(_chat_input(loaded, request, images, self.name), model)
        prompt_tokens = int(inputs["input_ids"].shape[1])
        room = _context(model) - prompt_tokens
        if room < 1:
            raise RequestTooLarge(
                f"The request is {prompt_tokens} tokens long, over the {_context(model)} that {self.name} takes."
            )
        longest = min(request.max_tokens, room)
        with torch.inference_mode():
            output = model.generate(**inputs, max_new_tokens=longest, **_GREEDY)
        new = output[0, prompt_tokens:].tolist()
        ends = model.generation_config.eos_token_id
        ended = len(new) < longest or new[-1] in (ends if isinstance(ends, list) else [ends])
        text = getattr(loaded.processor, "tokenizer", loaded.processor).decode(new, skip_special_tokens=True)
        return text, "stop" if ended else "length", Usage(prompt_tokens, len(new), 0.0)


_GREEDY: dict[str, Any] = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}


class LocalSpeech:
    """A Whisper model in this process. Raises as LocalChat does."""

    def __init__(self, name: ModelName) -> None:
        self.name = str(name)
        self._folder = _folder_of(name)

    def transcribe(self, wav: bytes, seconds: float, language: str = "") -> Answer[list[Segment]]:
        """The words in a sound file of that many seconds, with their times. `language` is a code such as `en`."""
        loaded = _shared(_speech_model, self.name, self._folder)
        sound = _samples(wav)
        many = getattr(loaded.model.model.generation_config, "is_multilingual", False)
        told = {"language": language, "task": "transcribe"} if language and many else {}
        options = {"do_sample": False, "num_beams": 1} | told
        with loaded.lock:
            began = time.monotonic()
            heard = _guarded(
                self.name,
                lambda: loaded.model(
                    {"raw": sound, "sampling_rate": _RATE}, return_timestamps=True, generate_kwargs=options
                ),
            )
            latency_ms = (time.monotonic() - began) * 1000
        return Answer(_segments(heard.get("chunks") or [], seconds), Usage(), latency_ms)


class LocalEmbedder:
    """A sentence-transformers model in this process: an Embedder. Its weights are loaded at once.

    `dimensions` cuts longer rows, which suits models trained for it. Raises as LocalChat does.
    """

    def __init__(self, name: ModelName, dimensions: int | None = None) -> None:
        self._loaded = _shared(_embedding_model, str(name), _folder_of(name))
        given = len(_guarded(str(name), lambda: self._rows(["text"]))[0])
        if dimensions is not None and dimensions > given:
            raise ProviderError(
                f"The model {name} gives {given} dimensions, not {dimensions}; "
                f"set embedding_dimensions to {given} or less in the config."
            )
        self.dimensions = dimensions or given
        self.name = f"{name}@{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Rows [n, dimensions] of unit length; a row of zeros for a blank text."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        places = [place for place, text in enumerate(texts) if text.strip()]
        if places:
            with self._loaded.lock:
                given = _guarded(self.name, lambda: self._rows([texts[place] for place in places]))
            cut = given[:, : self.dimensions].astype(np.float64)
            rows[places] = cut / np.maximum(np.linalg.norm(cut, axis=1, keepdims=True), 1e-12)
        return rows

    def _rows(self, texts: list[str]) -> NDArray[np.float32]:
        rows = self._loaded.model.encode(
            texts, batch_size=_TEXTS_AT_ONCE, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(rows, np.float32)


# What is asked


def _chat_input(loaded: _Loaded, request: ChatRequest, images: list[Any], name: str) -> Any:
    """The request as the model's own chat template writes it, in tokens; images come after the text."""
    jinja2 = importlib.import_module("jinja2")
    if not getattr(loaded.processor, "chat_template", None):
        raise ProviderError(f"The model {name} is no chat model (it has no chat template); choose one tuned for chat.")
    try:
        return _templated(loaded, request.system, request.text, images)
    except jinja2.TemplateError:
        if not request.system:
            raise
        # Some templates know no system message.
        return _templated(loaded, "", f"{request.system}\n\n{request.text}", images)


def _templated(loaded: _Loaded, system: str, text: str, images: list[Any]) -> Any:
    def content(text: str, images: list[Any]) -> Any:
        parts = [{"type": "text", "text": text}, *({"type": "image", "image": image} for image in images)]
        return parts if loaded.sees else text

    messages = [{"role": "system", "content": content(system, [])}] if system else []
    messages.append({"role": "user", "content": content(text, images)})
    return loaded.processor.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )


def _moved(inputs: Any, model: Any) -> dict[str, Any]:
    """The input on the model's device; pictures in its kind of number too."""
    torch = importlib.import_module("torch")
    moved: dict[str, Any] = {}
    for key, value in inputs.items():
        if torch.is_tensor(value):
            value = value.to(model.device, dtype=model.dtype if value.is_floating_point() else value.dtype)
        moved[key] = value
    return moved


def _context(model: Any) -> int:
    """How many tokens the model takes, its reply included."""
    return int(getattr(model.config.get_text_config(), "max_position_embeddings", None) or 1 << 30)


def _samples(wav: bytes) -> NDArray[np.float32]:
    """The sound of a file as the recogniser takes it: one channel, 16 kHz."""
    import av

    with av.open(io.BytesIO(wav)) as container:
        resampler = av.AudioResampler(format="flt", layout="mono", rate=_RATE)
        pieces = [piece for frame in container.decode(audio=0) for piece in resampler.resample(frame)]
        pieces += resampler.resample(None)
    return np.concatenate([np.zeros(0, np.float32), *(piece.to_ndarray().reshape(-1) for piece in pieces)])


def _segments(chunks: list[dict[str, Any]], seconds: float) -> list[Segment]:
    """Timed words; where the model left the end open, they last until the sound ends.

    Those that begin after it were heard in the silence that fills the model's window of 30 s up.
    """
    segments = []
    for chunk in chunks:
        start, end = (None if time_s is None else float(time_s) for time_s in chunk["timestamp"])
        begin, text = start or 0.0, str(chunk["text"]).strip()
        if text and begin < seconds:
            segments.append(Segment(begin, max(begin, seconds if end is None else min(end, seconds)), text))
    return segments


def _guarded(name: str, work: Callable[[], _T]) -> _T:
    """What `work` gives; what goes wrong in it concerns this request alone."""
    torch = importlib.import_module("torch")
    try:
        return work()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        raise RequestTooLarge(f"The request does not fit into the card's memory beside {name}.") from None
    except (ValueError, RuntimeError, IndexError, TypeError) as error:
        raise CallFailed(f"{name} failed on this request ({_first_sentence(error)}).") from error


# Where models come from


def _folder_of(name: ModelName) -> Path:
    """The folder of a model's files: one that was named, or the hub's cache. Nothing is downloaded."""
    hub = _needed(name, "huggingface_hub")
    for module in ("torch", "transformers"):
        _needed(name, module)
    folder = Path(name.model).expanduser()
    if not folder.is_dir():
        try:
            folder = Path(hub.snapshot_download(name.model, local_files_only=True))
        except (OSError, ValueError):
            raise ProviderError(
                f"The weights of {name} are not on this machine; download them into the cache of huggingface_hub "
                "first, or write hf:FOLDER with the folder they are in."
            ) from None
    if not any(file.suffix in _WEIGHTS and file.is_file() for file in folder.rglob("*")):
        raise ProviderError(f"The folder {folder} of {name} holds no weights (*.safetensors); download them first.")
    return folder


def _needed(name: ModelName, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ProviderError(
            f"The model {name} runs through {module}, which is not installed; "
            'install it with pip install "amr-memory[local]".'
        ) from None


def _shared(load: Callable[[str], _Loaded], name: str, folder: Path) -> _Loaded:
    """A model that is loaded once, however many roles and threads use it."""
    with _loading:
        try:
            return load(str(folder))
        except ImportError as error:
            raise ProviderError(
                f"The model {name} needs more than is installed ({_first_sentence(error)}); "
                'install it with pip install "amr-memory[local]".'
            ) from error
        except Exception as error:  # what the libraries raise for a folder that holds something else is anything
            raise ProviderError(
                f"The model {name} cannot be loaded from {folder} ({_first_sentence(error)})."
            ) from error


def _first_sentence(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    sentence = lines[0].split(". ")[0].rstrip(".") if lines else type(error).__name__
    return sentence if len(sentence) <= _LONGEST_TEXT else sentence[:_LONGEST_TEXT] + "…"


def _place() -> tuple[str, Any]:
    """The device that models run on, and the kind of number that their weights are."""
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return "cpu", torch.float32
    return "cuda", torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def _quiet() -> Any:
    """transformers, told not to write on the terminal."""
    transformers = importlib.import_module("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


@cache
def _chat_model(folder: str) -> _Loaded:
    transformers = _quiet()
    here = {"local_files_only": True}
    config = transformers.AutoConfig.from_pretrained(folder, **here)
    mapping = importlib.import_module("transformers.models.auto.modeling_auto").MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    sees = type(config) in mapping
    device, dtype = _place()
    kind = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
    processor = (transformers.AutoProcessor if sees else transformers.AutoTokenizer).from_pretrained(folder, **here)
    return _Loaded(_whole(kind, folder, dtype).to(device).eval(), processor, sees)


def _whole(kind: Any, folder: str, dtype: Any) -> Any:
    """A model with all its weights; transformers would make missing ones up."""
    model, info = kind.from_pretrained(folder, torch_dtype=dtype, local_files_only=True, output_loading_info=True)
    missing = sorted(info["missing_keys"])
    if missing:
        raise ValueError(f"{len(missing)} of its weights are missing, such as {missing[0]}")
    return model


@cache
def _speech_model(folder: str) -> _Loaded:
    transformers = _quiet()
    device, dtype = _place()
    processor = transformers.WhisperProcessor.from_pretrained(folder, local_files_only=True)
    model = _whole(transformers.WhisperForConditionalGeneration, folder, dtype)
    recogniser = transformers.pipeline(
        "automatic-speech-recognition",
        model=model.to(device).eval(),
        tokenizer=processor.tokenizer,
        feature_extractor=processor.feature_extractor,
        device=device,
    )
    return _Loaded(recogniser, processor)


@cache
def _embedding_model(folder: str) -> _Loaded:
    _quiet()
    sentence_transformers = importlib.import_module("sentence_transformers")
    device, dtype = _place()
    model = sentence_transformers.SentenceTransformer(
        folder, device=device, local_files_only=True, model_kwargs={"torch_dtype": dtype}
    )
    return _Loaded(model, None)
