"""Models in this process, with tiny ones of random weights that are saved here and loaded as real ones are."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import wave
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from amr.errors import ProviderError
from amr.models.calls import Calls, RecordedChat
from amr.models.capabilities import Capabilities, capabilities_of
from amr.models.chat import ChatRequest, Media, RequestTooLarge
from amr.models.hf import LocalChat, LocalEmbedder, LocalSpeech
from amr.models.names import ModelName, parse_model_name
from tests.support import tiny_models

ASK = ChatRequest("chat", "chat", "hash", "What is on the table?", system="Be brief.", max_tokens=12)
MISSING = "hf:nobody/has-this-model"


@pytest.fixture(scope="session")
def local() -> None:
    for module in ("torch", "transformers", "sentence_transformers"):
        pytest.importorskip(module, reason=f"{module} is not installed (it comes with the extra `local`)")


@pytest.fixture(scope="session")
def seeing(local: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_seeing_chat(tmp_path_factory.mktemp("seeing"))


@pytest.fixture(scope="session")
def reading(local: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_text_chat(tmp_path_factory.mktemp("reading"))


@pytest.fixture(scope="session")
def hearing(local: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_whisper(tmp_path_factory.mktemp("hearing"))


@pytest.fixture(scope="session")
def embedding(local: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_embedder(tmp_path_factory.mktemp("embedding"))


def name_of(folder: Path) -> ModelName:
    return parse_model_name(f"hf:{folder}")


def chat(folder: Path, **changed: Any) -> LocalChat:
    name = name_of(folder)
    return LocalChat(name, capabilities_of(name).model_copy(update=changed))


def copy_of(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to))


def picture(seed: int) -> Media:
    from PIL import Image

    pixels = np.random.default_rng(seed).integers(0, 255, (40, 60, 3), dtype=np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "JPEG")
    return Media("image", data.getvalue(), "image/jpeg")


def sound(seconds: float, rate: int = 8000) -> bytes:
    noise: NDArray[np.float64] = np.random.default_rng(0).normal(0, 3000, round(seconds * rate))
    data = io.BytesIO()
    with wave.open(data, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(noise.astype("<i2").tobytes())
    return data.getvalue()


# Chat


def test_a_model_answers_with_its_tokens_counted_and_nothing_to_pay(seeing: Path) -> None:
    reply = chat(seeing).complete(ASK)
    assert reply.text and reply.usage.completion_tokens == 12 and reply.usage.cost_usd == 0.0
    assert reply.usage.prompt_tokens > len(ASK.text) and reply.latency_ms > 0
    assert reply.finish_reason == "length" and not reply.cached


def test_the_same_request_has_the_same_reply(seeing: Path, tmp_path: Path) -> None:
    request = replace(ASK, media=(picture(1),))
    again = chat(copy_of(seeing, tmp_path / "loaded anew"))
    assert chat(seeing).complete(request).text == again.complete(request).text == again.complete(request).text


def test_what_it_is_shown_changes_the_reply(seeing: Path) -> None:
    shown = [(), (picture(1),), (picture(2),), (picture(1), picture(2)), (picture(2), picture(1))]
    replies = [chat(seeing).complete(replace(ASK, media=media)) for media in shown]
    assert len({reply.text for reply in replies}) == 5
    tokens = [reply.usage.prompt_tokens for reply in replies]
    assert tokens[1] == tokens[2] and tokens[3] - tokens[1] == tokens[1] - tokens[0] == 4


def test_a_reply_that_came_to_its_end_says_so(seeing: Path, tmp_path: Path) -> None:
    folder = copy_of(seeing, tmp_path / "model")
    settings = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps(settings | {"eos_token_id": list(range(261))}))
    reply = chat(folder).complete(ASK)
    assert (reply.finish_reason, reply.usage.completion_tokens) == ("stop", 1)


def test_sampling_that_the_model_comes_with_is_left_off(seeing: Path, tmp_path: Path) -> None:
    folder = copy_of(seeing, tmp_path / "model")
    settings = json.loads((folder / "generation_config.json").read_text())
    sampling = {"do_sample": True, "temperature": 1.7, "top_p": 0.9, "top_k": 50}
    (folder / "generation_config.json").write_text(json.dumps(settings | sampling))
    assert chat(folder).complete(ASK).text == chat(seeing).complete(ASK).text


def test_threads_wait_for_one_another(seeing: Path) -> None:
    requests = [replace(ASK, text=f"What is on table {number % 2}?") for number in range(6)]
    alone = [chat(seeing).complete(request).text for request in requests]
    with ThreadPoolExecutor(3) as pool:
        assert [reply.text for reply in pool.map(chat(seeing).complete, requests)] == alone


def test_replies_are_kept_like_any_other(seeing: Path, tmp_path: Path) -> None:
    recorded = RecordedChat(chat(seeing), Calls(tmp_path, "ingest"))
    first, second = recorded.complete(ASK), recorded.complete(ASK)
    assert first.text == second.text and (first.cached, second.cached) == (False, True)


def test_a_template_without_system_messages_gets_one_text(local: None, tmp_path: Path) -> None:
    folder = tiny_models.save_seeing_chat(tmp_path / "model", tiny_models.NO_SYSTEM)
    joined = replace(ASK, system="", text=f"{ASK.system}\n\n{ASK.text}")
    assert chat(folder).complete(ASK).text == chat(folder).complete(joined).text


def test_a_model_for_text_serves_for_text(reading: Path) -> None:
    assert chat(reading).complete(ASK).text


# Chat that cannot be


@pytest.mark.parametrize("kind", ["image", "video"])
def test_a_model_without_vision_is_an_error_that_says_so(reading: Path, kind: Any) -> None:
    with pytest.raises(ProviderError, match="has no vision; choose one that takes images"):
        chat(reading).complete(replace(ASK, media=(replace(picture(1), kind=kind),)))


def test_video_and_sound_are_not_taken(seeing: Path) -> None:
    video = Media("video", b"clip", "video/mp4", 10.0)
    with pytest.raises(ProviderError, match="takes images and text, not video"):
        chat(seeing, video=True).complete(replace(ASK, media=(video,)))


def test_what_does_not_fit_is_too_large(seeing: Path) -> None:
    with pytest.raises(RequestTooLarge, match="over the 512 that"):
        chat(seeing).complete(replace(ASK, text="word " * 200))
    with pytest.raises(RequestTooLarge, match="more images than the 1"):
        chat(seeing, max_images=1).complete(replace(ASK, media=(picture(1), picture(2))))
    nearly = chat(seeing).complete(replace(ASK, text="w" * 470, system="", max_tokens=1000))
    assert nearly.usage.prompt_tokens + nearly.usage.completion_tokens == 512


def test_a_model_that_is_not_tuned_for_chat_is_an_error(local: None, tmp_path: Path) -> None:
    folder = tiny_models.save_text_chat(tmp_path / "model", template=None)
    with pytest.raises(ProviderError, match="no chat model"):
        chat(folder).complete(ASK)


# Speech


def test_speech_has_words_with_times_within_the_sound(hearing: Path) -> None:
    answer = LocalSpeech(name_of(hearing)).transcribe(sound(28), 28.0)
    assert answer.value and answer.usage.cost_usd == 0.0
    assert all(0 <= part.start <= part.end <= 28.0 and part.text for part in answer.value)
    assert LocalSpeech(name_of(hearing)).transcribe(sound(28), 28.0).value == answer.value


def test_the_language_is_heeded_and_sound_may_be_long_or_none(hearing: Path) -> None:
    speech = LocalSpeech(name_of(hearing))
    heard = [speech.transcribe(sound(28), 28.0, language).value for language in ("", "en", "de")]
    assert heard[0] != heard[1] != heard[2]
    assert all(part.end <= 40.0 for part in speech.transcribe(sound(40), 40.0, "en").value)
    assert speech.transcribe(sound(0), 0.0).value == []


# Embeddings


def test_rows_are_of_unit_length_in_order_and_zero_for_blank_texts(embedding: Path) -> None:
    embedder = LocalEmbedder(name_of(embedding))
    rows = embedder.embed(["a girl", "", "a car drives by", " "])
    assert (rows.shape, rows.dtype, embedder.dimensions) == ((4, 32), np.float32, 32)
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0], atol=1e-6)
    assert np.allclose(embedder.embed(["a car drives by"])[0], rows[2], atol=1e-5)
    assert embedder.embed([]).shape == (0, 32)
    assert embedder.embed(["a girl", "", "a car drives by", " "]).tobytes() == rows.tobytes()


def test_fewer_dimensions_are_a_setting_and_part_of_the_name(embedding: Path) -> None:
    whole, cut = LocalEmbedder(name_of(embedding)), LocalEmbedder(name_of(embedding), 8)
    assert cut.name == f"hf:{embedding}@8" and cut.dimensions == 8
    rows = cut.embed(["a girl"])
    assert np.linalg.norm(rows[0]) == pytest.approx(1)
    assert np.allclose(rows[0] * np.linalg.norm(whole.embed(["a girl"])[0][:8]), whole.embed(["a girl"])[0][:8])
    with pytest.raises(ProviderError, match="gives 32 dimensions, not 64; set embedding_dimensions to 32"):
        LocalEmbedder(name_of(embedding), 64)


# Where models come from


def test_a_model_in_the_hubs_cache_is_found_there_without_a_network(reading: Path, tmp_path: Path) -> None:
    kept = tmp_path / "models--someone--tiny"
    copy_of(reading, kept / "snapshots" / "0123456789abcdef")
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("0123456789abcdef")
    code = """if True:
        from tests.models.test_hf import ASK
        from amr.models.capabilities import capabilities_of
        from amr.models.hf import LocalChat
        from amr.models.names import parse_model_name
        name = parse_model_name("hf:someone/tiny")
        print(ascii(LocalChat(name, capabilities_of(name)).complete(ASK).text))
    """
    given = os.environ | {"HF_HUB_CACHE": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, env=given, capture_output=True, text=True)
    assert ran.stdout.strip() == ascii(chat(reading).complete(ASK).text), ran.stderr


def makers(name: ModelName) -> list[Any]:
    capabilities: Capabilities = capabilities_of(name)
    return [lambda: LocalChat(name, capabilities), lambda: LocalSpeech(name), lambda: LocalEmbedder(name)]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_weights_that_are_not_here_are_an_error_that_says_what_to_do(local: None, which: int, tmp_path: Path) -> None:
    for text in (MISSING, f"hf:{tmp_path / 'no such folder'}"):
        with pytest.raises(ProviderError, match=r"are not on this machine; download them"):
            makers(parse_model_name(text))[which]()
    with pytest.raises(ProviderError, match="holds no weights"):
        makers(name_of(tmp_path))[which]()


def test_a_folder_of_something_else_is_an_error(local: None, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ProviderError, match="cannot be loaded from"):
        chat(tmp_path).complete(ASK)
    with pytest.raises(ProviderError, match="cannot be loaded from"):
        LocalSpeech(name_of(tmp_path)).transcribe(sound(1), 1.0)


def test_damaged_weights_are_an_error(reading: Path, tmp_path: Path) -> None:
    folder = copy_of(reading, tmp_path / "model")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ProviderError, match="cannot be loaded from"):
        chat(folder).complete(ASK)


def test_weights_that_are_missing_are_not_made_up(reading: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = copy_of(reading, tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ProviderError, match=r"1 of its weights are missing, such as model\.layers\.1"):
        chat(folder).complete(ASK)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_without_the_extra_the_error_says_what_to_install(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as though it were not installed
    with pytest.raises(ProviderError, match=r'not installed; install it with pip install "amr-memory\[local\]"'):
        makers(parse_model_name(MISSING))[which]()


def test_weights_are_of_the_kind_that_the_device_suits(reading: Path) -> None:
    import torch

    from amr.models.hf import _place

    assert _place() == (("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32))
    assert chat(reading).complete(ASK).text
