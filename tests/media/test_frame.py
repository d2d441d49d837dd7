"""Frames to JPEG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from amr.media.frame import save_frame
from amr.records import Frame


def test_a_saved_frame_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    image = np.random.default_rng(3).integers(0, 255, (60, 80, 3), np.uint8)
    one, other = tmp_path / "frames" / "s" / "0_500.jpg", tmp_path / "b.jpg"
    save_frame(Frame(500, image), one)
    save_frame(Frame(500, image), other)
    assert one.read_bytes() == other.read_bytes()
    with Image.open(one) as picture:
        assert (picture.format, picture.size) == ("JPEG", (80, 60))
    assert [path.name for path in one.parent.iterdir()] == ["0_500.jpg"]
