"""Speech turned into words by a model over the wire: `speech.recogniser` names it."""

from __future__ import annotations

import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.perceive.clips import sound
from tests.support import coded_sound
from tests.support.coded_video import Film, Line
from tests.support.command import amr, assert_one_sentence, ran
from tests.support.model_server import ModelServer
from tests.support.models import KEY

SAMPLE = Path(__file__).parents[1] / "data" / "sample.mp4"
LINES = (
    Line(1.0, 3.0, "voice", "Where is my mug?"),
    Line(6.0, 8.0, "voice", "It is on the table."),
    Line(12.0, 14.0, "voice", "Thank you."),
)
FILM = Film(5, 20.0, (), LINES)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty seconds in which somebody speaks, with codes that tell the server which lines are spoken when."""
    codes = coded_sound.sound(FILM.number, [(n, line.start) for n, line in enumerate(FILM.lines)], FILM.seconds)
    speech = (sound(SAMPLE)[: len(codes)] * 16_000).astype(np.int16)
    file = tmp_path_factory.mktemp("sound") / "talk.wav"
    with wave.open(str(file), "wb") as stream:
        stream.setnchannels(1)
        stream.setsampwidth(2)
        stream.setframerate(coded_sound.RATE)
        stream.writeframes((speech + codes).tobytes())
    return file


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([FILM], mode="local", key=KEY) as server:
        yield server


def env(server: ModelServer) -> dict[str, str]:
    return {"AMR_API_KEY": KEY, "AMR_SPEECH__RECOGNISER": f"{server.base_url}#openai/whisper-1"}


def test_what_a_model_heard_is_remembered_with_its_times(server: ModelServer, recording: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    done = ran("ingest", recording, "--memory", memory, "--json", env=env(server))
    assert done.json["models"]["speech"] == env(server)["AMR_SPEECH__RECOGNISER"]
    said = ran("timeline", "--memory", memory, "--json").json["events"]
    assert [event["text"] for event in said] == [f'Someone says: "{line.utterance}"' for line in LINES]
    assert [event["t_start"] for event in said] == pytest.approx([line.start for line in LINES], abs=0.1)
    answer = ran("ask", "what did they say about the table?", "--memory", memory).out
    assert "It is on the table." in answer


def test_sound_is_paid_for_once_and_counted_before(server: ModelServer, recording: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    before = ran("ingest", recording, "--memory", memory, "--dry-run", "--json", env=env(server)).json
    assert before["calls"] == 2
    assert not server.log.model_calls()
    for seconds in ("10", "5", "10"):  # a clip is a call; another length is another pass
        ran("ingest", recording, "--memory", memory, "--clip-seconds", seconds, env=env(server))
    assert len(server.log.model_calls()) == 2 + 4
    (row,) = ran("status", "--memory", memory, "--json").json["costs"]
    assert (row["role"], row["calls"]) == ("transcribe", 6)


def test_a_model_that_does_not_exist_is_named(server: ModelServer, recording: Path, tmp_path: Path) -> None:
    wrong = {**env(server), "AMR_SPEECH__RECOGNISER": f"{server.base_url}#no-such-model"}
    failed = amr("ingest", recording, "--memory", tmp_path / "memory", env=wrong)
    assert failed.code == 4
    assert_one_sentence(failed.err.splitlines(keepends=True)[-1], "no-such-model")


def test_no_recogniser_has_such_a_name(recording: Path, tmp_path: Path) -> None:
    failed = amr("ingest", recording, "--memory", tmp_path, env={"AMR_SPEECH__RECOGNISER": "parrot"})
    assert failed.code == 3
    assert_one_sentence(failed.err, "speech.recogniser")
