"""Where the real data for tests is, or a skip with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_data(relative: str) -> Path:
    """The path of a real data file under $AMR_TEST_DATA (default: ../shared/data beside the checkout)."""
    path = Path(os.environ.get("AMR_TEST_DATA", ROOT.parent / "shared" / "data")) / relative
    if not path.exists():
        pytest.skip(f"real data is not here: {relative} (set AMR_TEST_DATA)")
    return path


test_data.__test__ = False  # type: ignore[attr-defined]
