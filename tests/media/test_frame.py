"""Frames to JPEG, and the frame of any moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from amr.config import Settings
from amr.errors import BadInput
from amr.media.frame import grab_frame, save_frame
from amr.media.source import open_sources
from amr.records import Frame
from tests.support.data import test_data
from tests.support.videos import make_video


def test_a_saved_frame_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    image = np.random.default_rng(3).integers(0, 255, (60, 80, 3), np.uint8)
    one, other = tmp_path / "frames" / "s" / "0_500.jpg", tmp_path / "b.jpg"
    save_frame(Frame(500, image), one)
    save_frame(Frame(500, image), other)
    assert one.read_bytes() == other.read_bytes()
    with Image.open(one) as picture:
        assert (picture.format, picture.size) == ("JPEG", (80, 60))
    assert [path.name for path in one.parent.iterdir()] == ["0_500.jpg"]


def test_a_grabbed_frame_is_the_clip_s_frame(film: Path, settings: Settings) -> None:
    [source] = open_sources(film, settings)
    for clip in source.clips({0}):
        for frame in clip.frames[::3]:
            grabbed = grab_frame(film, frame.time_ms, settings.frame_size)
            assert grabbed.time_ms == frame.time_ms
            assert np.array_equal(grabbed.image, frame.image)


def test_between_two_pictures_the_earlier_is_on_display(film: Path) -> None:
    assert np.array_equal(grab_frame(film, 12_340, 768).image, grab_frame(film, 12_300, 768).image)


def test_grabbed_frames_of_a_real_video(settings: Settings) -> None:
    video = test_data("videos/sam2_coffee.mp4")
    [source] = open_sources(video, settings)
    [clip] = source.clips(set())
    frame = clip.frames[5]
    assert np.array_equal(grab_frame(video, frame.time_ms, settings.frame_size).image, frame.image)


def test_there_is_no_frame_after_the_end_or_without_a_picture(film: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no picture at 30\.0 s"):
        grab_frame(film, 30_000, 768)
    with pytest.raises(BadInput, match="no picture"):
        grab_frame(make_video(tmp_path / "sound.m4a", 2, picture=False), 500, 768)
