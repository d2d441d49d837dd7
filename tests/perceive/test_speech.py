from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from amr.config import SpeechSettings
from amr.errors import BadInput, ProviderError
from amr.perceive.speech import (
    NO_RECOGNISER,
    POCKETSPHINX,
    choose_recogniser,
    fetch_speech,
    find_speech,
    hub_answers,
    recognise,
    speech_status,
    whisper_path,
)
from tests.perceive.clips import sound
from tests.support.data import test_data


def settings(recogniser: str = "auto", model: str = "tiny", download: str = "never") -> SpeechSettings:
    return SpeechSettings.model_validate({"recogniser": recogniser, "model": model, "download": download})


@pytest.fixture
def silent_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A hub that accepts calls and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listener.getsockname()[1]}")
        yield


@pytest.fixture
def absent_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")


@pytest.fixture
def no_weights() -> None:
    if whisper_path("tiny") is not None:
        pytest.skip("the weights of the speech model tiny are on this machine")


def test_two_people_on_the_phone_are_heard_when_they_speak() -> None:
    audio = sound(test_data("audio/pyannote_sample.flac"))
    [(start, end)] = find_speech(audio)
    assert start / 16_000 == pytest.approx(6.7, abs=1.0)
    assert end / 16_000 == pytest.approx(30.0, abs=0.2)


def test_the_sentences_of_a_speech_are_apart() -> None:
    parts = find_speech(sound(test_data("audio/jfk.flac")))
    assert len(parts) == 4
    assert all(before[1] <= after[0] for before, after in pairwise(parts))


def test_silence_noise_and_a_hum_are_no_speech() -> None:
    specks = np.random.default_rng(0).standard_normal(160_000).astype(np.float32)
    hum = np.sin(np.arange(160_000) * 2 * np.pi * 440 / 16_000).astype(np.float32)
    for audio in (np.zeros(160_000, np.float32), np.zeros(0, np.float32), specks * 0.1, hum * 0.5):
        assert find_speech(audio) == []
        assert recognise(audio, NO_RECOGNISER) == []


def test_digital_silence_of_a_real_video_is_no_speech() -> None:
    assert find_speech(sound(test_data("videos/sam2_coffee.mp4"))) == []


def test_without_a_recogniser_speech_is_still_heard() -> None:
    heard = recognise(sound(test_data("audio/jfk.flac")), NO_RECOGNISER)
    assert [utterance.text for utterance in heard] == [""] * 4
    assert not any(utterance.rough for utterance in heard)


def test_pocketsphinx_understands_a_narrator_roughly() -> None:
    pytest.importorskip("pocketsphinx", reason="pocketsphinx is not installed")
    heard = recognise(sound(test_data("videos/nasa_narration_2tracks.mp4"))[:160_000], POCKETSPHINX)
    said = set(re.findall(r"[a-z']+", " ".join(utterance.text for utterance in heard)))
    assert {"telescope", "segment", "goddard", "clean", "rooms"} <= said
    assert all(utterance.rough for utterance in heard if utterance.text)


def test_what_was_heard_before_does_not_change_what_is_heard() -> None:
    pytest.importorskip("pocketsphinx", reason="pocketsphinx is not installed")
    audio = sound(test_data("audio/jfk.flac"))
    one, other = audio[: 3 * 16_000], audio[5 * 16_000 : 8 * 16_000]
    alone = [recognise(one, POCKETSPHINX), recognise(other, POCKETSPHINX)]
    assert [recognise(other, POCKETSPHINX), recognise(one, POCKETSPHINX)] == alone[::-1]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda part: recognise(part, POCKETSPHINX), [one, other])) == alone


@pytest.mark.usefixtures("silent_hub")
def test_a_hub_that_never_answers_is_given_up_after_three_seconds() -> None:
    began = time.monotonic()
    assert hub_answers("tiny") is False
    assert 2.5 < time.monotonic() - began < 4.0


@pytest.mark.usefixtures("absent_hub", "no_weights")
def test_without_a_hub_the_next_best_recogniser_is_taken_at_once_and_quietly(
    capfd: pytest.CaptureFixture[str],
) -> None:
    began = time.monotonic()
    assert choose_recogniser(settings(download="auto")) in (POCKETSPHINX, NO_RECOGNISER)
    assert time.monotonic() - began < 3.0
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("absent_hub", "no_weights")
def test_fetching_without_a_hub_says_so_in_one_sentence() -> None:
    with pytest.raises(ProviderError, match=r"^The hub http://127.0.0.1:1 did not answer .* run the command again\.$"):
        fetch_speech("tiny")


@pytest.mark.usefixtures("no_weights")
def test_whisper_asked_for_by_name_must_be_there() -> None:
    with pytest.raises(ProviderError, match=r"amr doctor --fetch speech"):
        choose_recogniser(settings("whisper"))


def test_a_model_that_does_not_exist_is_bad_input() -> None:
    with pytest.raises(BadInput, match=r"There is no speech model gigantic; set speech.model to one of .*tiny"):
        choose_recogniser(settings(model="gigantic"))


def test_a_folder_without_all_weights_is_no_model(tmp_path: object) -> None:
    assert whisper_path(str(tmp_path)) is None


def test_the_recogniser_none_is_taken_at_its_word() -> None:
    assert choose_recogniser(settings("none")) == NO_RECOGNISER
    assert speech_status(settings("none"))["recogniser"] == "none"
