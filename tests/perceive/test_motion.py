from __future__ import annotations

import numpy as np
import pytest

from amr.perceive.motion import frames_to_read, is_blank, is_still, scene_cuts, thumbnail
from amr.records import Clip
from tests.perceive.clips import drawn_clip, noise_picture, picture, video_clips
from tests.support.data import test_data


def cuts(clip: Clip) -> list[int]:
    return scene_cuts(clip.frames, [thumbnail(frame) for frame in clip.frames])


def still(clip: Clip) -> bool | None:
    return is_still([thumbnail(frame) for frame in clip.frames])


def read_at(clip: Clip) -> list[int]:
    return [frame.time_ms for frame in frames_to_read(clip.frames, [thumbnail(frame) for frame in clip.frames])]


BLACK = np.zeros((432, 768, 3), dtype=np.uint8)


def test_a_cut_is_where_one_picture_gives_way_to_another() -> None:
    clip = drawn_clip([BLACK, BLACK, picture(("EXIT", 80, 80)), picture(("EXIT", 80, 80))])
    assert cuts(clip) == [5000]


def test_the_two_cuts_of_a_real_film_are_found() -> None:
    clips = video_clips(test_data("videos/nasa_narration_2tracks.mp4"))
    found = [time / 1000 for clip in clips for time in cuts(clip)]
    assert len(found) == 2
    assert found[0] == pytest.approx(6.0, abs=1.3)


@pytest.mark.parametrize("name", ["egolife_jake_day1_132039", "sam2_blocks", "sam2_coffee", "pe_phone_train"])
def test_a_turning_head_or_a_moving_hand_is_no_cut(name: str) -> None:
    assert not [time for clip in video_clips(test_data(f"videos/{name}.mp4")) for time in cuts(clip)]


def test_a_fixed_camera_is_still_and_a_worn_one_is_not() -> None:
    assert still(video_clips(test_data("videos/egolife_exo9_day1_112230_audio.mp4"))[0]) is True
    assert still(video_clips(test_data("videos/egolife_jake_day1_132039.mp4"))[1]) is False


def test_one_frame_cannot_tell_stillness() -> None:
    assert still(drawn_clip([BLACK])) is None
    assert still(Clip(0, 0, 10_000)) is None


def test_an_unchanged_picture_is_read_once_at_its_end() -> None:
    sheet = picture(("DENTIST", 80, 80))
    assert read_at(drawn_clip([sheet, sheet, sheet, sheet])) == [7500]


def test_a_changed_picture_is_read_at_its_end_and_at_its_sharpest_before() -> None:
    blurred = picture(("DENTIST", 80, 80)) // 2 + 90
    clip = drawn_clip([blurred, picture(("DENTIST", 80, 80)), blurred, noise_picture(1)])
    assert read_at(clip) == [2500, 7500]


def test_blank_frames_are_never_read() -> None:
    clip = drawn_clip([picture(("DENTIST", 80, 80)), BLACK, BLACK])
    assert is_blank(clip.frames[1])
    assert not is_blank(clip.frames[0])
    assert read_at(clip) == [0]
    assert read_at(drawn_clip([BLACK, BLACK])) == []
