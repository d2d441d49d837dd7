"""Films that several tests ingest; each is made once per test process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.coded_video import Film, make_coded_video
from tests.support.command import ran
from tests.support.model_server import ModelServer
from tests.support.models import KEY
from tests.support.videos import make_video, srt

PLACES = ("kitchen table", "shelf", "sofa", "desk", "windowsill", "bed", "bench", "stove", "piano", "stairs")


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film of 20 s with sound; every 2 s its captions say that the phone is put on another of PLACES."""
    folder = tmp_path_factory.mktemp("film")
    path = make_video(folder / "walk.mp4", 20, size="64x48", rate=5, key_every=5)
    cues = [(2 * i + 0.2, 2 * i + 1.4, f"I put my phone on the {place}.") for i, place in enumerate(PLACES)]
    path.with_suffix(".srt").write_text(srt(*cues))
    return path


@pytest.fixture(scope="session")
def film_memory(film: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The memory of a run left alone over the film in clips of 2 s; to be read only."""
    memory = tmp_path_factory.mktemp("remembered") / "memory"
    ran("ingest", film, "--clip-seconds", 2, "--memory", memory)
    return memory


@pytest.fixture
def memory(film_memory: Path, tmp_path: Path) -> Path:
    """A memory of its own for the test, which holds the film in clips of 2 s."""
    return Path(shutil.copytree(film_memory, tmp_path / "memory"))


@pytest.fixture(scope="module")
def video(script: Film, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The coded film of the module's own `script`."""
    return make_coded_video(script, tmp_path_factory.mktemp("coded") / "film.mp4")


@pytest.fixture(scope="module")
def listening(script: Film) -> Iterator[ModelServer]:
    """A model server that knows the module's own `script`."""
    with ModelServer([script], mode="local", key=KEY) as server:
        yield server


@pytest.fixture
def server(listening: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """The module's server without faults, delays or a past; its key is in the environment."""
    monkeypatch.setenv("AMR_API_KEY", KEY)
    listening.faults.clear()
    listening.log.clear()
    listening.latency = 0.0
    return listening
