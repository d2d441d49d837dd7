"""Memories that several tests ask; nothing writes to them."""

from __future__ import annotations

import pytest

from amr.memory import Memory
from tests.retrieve.lives import MORNING, QUIET, live


@pytest.fixture(scope="session")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return live(tmp_path_factory.mktemp("morning"), MORNING)


@pytest.fixture(scope="session")
def whole_day(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return live(tmp_path_factory.mktemp("day"), MORNING + QUIET)
