"""What of a clip is sent: equal bytes for equal clips, the right moments, no more than the model takes."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from amr.models.capabilities import Capabilities, capabilities_of
from amr.models.chat import CallFailed
from amr.models.names import parse_model_name
from amr.perceive.clip_media import SMALLER, clip_media, spread
from amr.records import Clip, Frame
from tests.perceive.clips import video_clips
from tests.support.videos import ffmpeg, make_video


def model(**takes: Any) -> Capabilities:
    base = capabilities_of(parse_model_name("http://localhost/v1#any"))
    return base.model_copy(update={"images": True, "video": False, "audio": False, **takes})


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("clips") / "card.mp4", 25.0, size="320x240")


@pytest.fixture(scope="module")
def clips(video: Path) -> list[Clip]:
    return video_clips(video)


def opened(data: bytes) -> tuple[list[float], list[Any], float]:
    """Times and pictures of a video, and the length of its sound."""
    with av.open(io.BytesIO(data)) as container:
        frames = list(container.decode(video=0))
        times = [float(frame.pts * frame.time_base) for frame in frames if frame.pts is not None and frame.time_base]
    with av.open(io.BytesIO(data)) as container:
        sounds = list(container.decode(audio=0)) if container.streams.audio else []
    return times, [frame.to_ndarray(format="rgb24") for frame in frames], sum(s.samples / s.sample_rate for s in sounds)


def shows(clip: Clip, times: list[float], pictures: list[Any]) -> bool:
    """Whether the video shows each frame of the clip at the frame's time."""
    for frame in clip.frames:
        shown = pictures[np.argmin([abs(time - (frame.time_ms - clip.start_ms) / 1000) for time in times])]
        if np.abs(shown.astype(int) - frame.image.astype(int)).mean() > 6:
            return False
    return len(clip.frames) > 0


def test_a_model_that_takes_video_gets_the_clip_alone_from_zero(clips: list[Clip]) -> None:
    for clip in clips:
        sent = clip_media(clip, model(video=True, audio=True), 768)
        (item,) = sent.media
        assert (item.kind, item.media_type, sent.frame_times, sent.hears) == ("video", "video/mp4", (), True)
        times, pictures, sound = opened(item.data)
        length = (clip.end_ms - clip.start_ms) / 1000
        assert item.seconds == length
        assert times[0] == 0.0
        assert times[-1] == pytest.approx(length - 0.1, abs=0.02)
        assert sound == pytest.approx(length, abs=0.15)
        assert shows(clip, times, pictures)
        assert not shows(clip, [time + 1 for time in times], pictures)


def test_equal_clips_give_equal_bytes(video: Path, clips: list[Clip], tmp_path: Path) -> None:
    for takes in (model(video=True, audio=True), model(audio=True)):
        first = clip_media(clips[1], takes, 768)
        assert clip_media(video_clips(video)[1], takes, 768) == first
    copy = tmp_path / "elsewhere and renamed.mp4"
    copy.write_bytes(video.read_bytes())
    assert clip_media(video_clips(copy)[1], model(video=True), 768) == clip_media(clips[1], model(video=True), 768)


def test_a_file_that_is_a_clip_of_a_folder_is_sent_whole(video: Path, tmp_path: Path) -> None:
    for number in range(2):
        make_video(tmp_path / f"part{number}.mp4", 4.0 + number, sound=None)
    second = video_clips(tmp_path)[1]
    assert (second.start_ms, second.end_ms) == (4000, 9000)
    times, pictures, sound = opened(clip_media(second, model(video=True, audio=True), 768).media[0].data)
    assert (times[0], len(times), sound) == (0.0, 50, 0)
    assert shows(second, times, pictures)


def test_time_stamps_that_do_not_begin_at_zero_are_no_shift(video: Path, tmp_path: Path) -> None:
    shifted = tmp_path / "shifted.mkv"
    ffmpeg("-i", video, "-c", "copy", "-output_ts_offset", 7.3, shifted)
    clip = video_clips(shifted)[1]
    times, pictures, _ = opened(clip_media(clip, model(video=True), 768).media[0].data)
    assert times[0] == 0.0
    assert shows(clip, times, pictures)


def test_sound_is_left_out_for_a_model_that_does_not_hear(clips: list[Clip]) -> None:
    sent = clip_media(clips[0], model(video=True), 768)
    assert opened(sent.media[0].data)[2] == 0
    assert not sent.hears


def test_long_sides_are_at_most_the_frame_size_and_nothing_is_enlarged(clips: list[Clip]) -> None:
    for size, wanted in ((160, (120, 160, 3)), (1000, (240, 320, 3))):
        assert opened(clip_media(clips[0], model(video=True), size).media[0].data)[1][0].shape == wanted
        image = Image.open(io.BytesIO(clip_media(clips[0], model(), size).media[0].data))
        assert image.size == wanted[1::-1]


def test_other_models_get_frames_with_their_times_and_the_sound(clips: list[Clip]) -> None:
    sent = clip_media(clips[1], model(audio=True), 768)
    assert [item.kind for item in sent.media] == ["image"] * 8 + ["audio"]
    assert {item.media_type for item in sent.media[:8]} == {"image/jpeg"}
    assert sent.frame_times == tuple((frame.time_ms - 10_000) / 1000 for frame in clips[1].frames)
    assert (sent.frame_times[0], sent.frame_times[-1]) == (1.2, 9.9)
    with wave.open(io.BytesIO(sent.media[-1].data)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (16_000, 1, 160_000)
    assert sent.media[-1].seconds == 10.0


def test_no_more_pictures_than_the_model_takes(clips: list[Clip]) -> None:
    sent = clip_media(clips[0], model(max_images=3), 768)
    assert len(sent.media) == len(sent.frame_times) == 3
    assert (sent.frame_times[0], sent.frame_times[-1]) == (1.2, 9.9)


@pytest.mark.parametrize("count", range(1, 12))
@pytest.mark.parametrize("most", [1, 2, 5, 20])
def test_frames_are_spread_evenly(count: int, most: int) -> None:
    frames = [Frame(number, np.zeros((2, 2, 3), np.uint8)) for number in range(count)]
    times = [frame.time_ms for frame in spread(frames, most)]
    assert len(times) == len(set(times)) == min(count, most)
    assert times == sorted(times)
    if most > 1:
        assert (times[0], times[-1]) == (0, count - 1)


def test_the_smaller_form_is_a_fraction_of_the_bytes(video: Path, tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.mp4"
    ffmpeg("-i", video, "-t", 6, "-vf", "scale=640:480,noise=alls=40:allf=t", "-crf", 18, noisy)
    clip = video_clips(noisy)[0]
    for takes in (model(video=True, audio=True), model()):
        full, small = (
            sum(len(item.data) for item in clip_media(clip, takes, 640, *quality).media) for quality in ((), (SMALLER,))
        )
        assert small < full / 4


def test_a_clip_that_cannot_be_cut_out_fails_by_itself(clips: list[Clip], tmp_path: Path) -> None:
    broken = tmp_path / "gone.mp4"
    clip = Clip(0, 0, 10_000, frames=clips[0].frames, path=broken, file_start_ms=0)
    with pytest.raises(CallFailed, match="does not exist"):
        clip_media(clip, model(video=True), 768)


def test_captions_alone_are_no_media() -> None:
    clip = Clip(0, 0, 10_000, captioned=True)
    assert clip_media(clip, model(video=True, audio=True), 768).media == ()
