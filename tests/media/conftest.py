"""Videos that several tests share, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from amr.config import Settings, load_settings
from tests.support.videos import make_video


@pytest.fixture(scope="session")
def settings() -> Settings:
    """The defaults."""
    return load_settings()


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """25 s of picture (160 × 120, 10 per second, B-frames, a key frame every 2 s) and sound."""
    return make_video(tmp_path_factory.mktemp("film") / "film.mp4")
