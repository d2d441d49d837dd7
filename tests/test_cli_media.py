"""Odd and broken media through the command line: what can be read is kept, the rest is told in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import amr, assert_one_sentence, ran, root
from tests.support.videos import SILENCE, cut_off, ffmpeg, make_video, remake

SMALL = "64x48"


def small(path: Path, seconds: float = 3, **options: object) -> Path:
    return make_video(path, seconds, size=SMALL, rate=5, **options)  # type: ignore[arg-type]


def missing(folder: Path) -> Path:
    return folder / "missing.mp4"


def empty(folder: Path) -> Path:
    (folder / "empty.mp4").touch()
    return folder / "empty.mp4"


def text(folder: Path) -> Path:
    (folder / "text.mp4").write_text("This is no film.\n" * 100)
    return folder / "text.mp4"


def folder_without_video(folder: Path) -> Path:
    (folder / "holiday").mkdir()
    (folder / "holiday" / "notes.txt").write_text("nothing to see")
    return folder / "holiday"


def without_length(folder: Path) -> Path:
    ffmpeg("-f", "lavfi", "-i", f"testsrc2=size={SMALL}:rate=5", "-t", 0, folder / "nothing.mkv")
    return folder / "nothing.mkv"


def without_index(folder: Path) -> Path:
    whole = small(folder / "whole.mp4", sound=None)
    data = whole.read_bytes()
    (folder / "cut.mp4").write_bytes(data[: len(data) // 2])
    return folder / "cut.mp4"


@pytest.mark.parametrize("make", [missing, empty, text, folder_without_video, without_length, without_index])
def test_what_cannot_be_read_is_a_sentence_and_exit_3_and_leaves_the_memory_as_it_was(
    make: Callable[[Path], Path], memory: Path, tmp_path: Path
) -> None:
    before, path = root(memory), make(tmp_path)
    done = amr("ingest", path, "--json", "--memory", memory)
    assert done.code == 3
    assert done.out == ""
    assert_one_sentence(done.err, str(path))
    assert root(memory) == before


def test_what_cannot_be_read_makes_no_memory(tmp_path: Path) -> None:
    assert amr("ingest", text(tmp_path), "--memory", tmp_path / "memory").code == 3
    assert not (tmp_path / "memory").exists()


def test_of_a_truncated_file_the_good_clips_are_kept_and_the_rest_is_told(tmp_path: Path) -> None:
    cut = cut_off(small(tmp_path / "whole.mp4", 10, key_every=5), tmp_path / "cut.mp4", 0.6)
    command = ("ingest", cut, "--clip-seconds", 2, "--json", "--quiet", "--memory", tmp_path / "memory")
    done = amr(*command)
    assert done.code == 3
    assert done.json["clips"] >= 2
    assert done.json["clips_failed"] >= 1
    assert done.json["clips"] + done.json["clips_failed"] == 5
    for line in done.err.splitlines(keepends=True):
        assert_one_sentence(line)
    assert "cut.mp4" in done.err
    before = root(tmp_path / "memory")
    again = amr(*command)
    assert (again.code, again.json["clips"]) == (3, 0)
    assert again.json["clips_failed"] == done.json["clips_failed"]
    assert root(tmp_path / "memory") == before
    source = ran("status", "--json", "--memory", tmp_path / "memory").json["sources"][0]
    assert (source["complete"], source["clips_failed"]) == (False, done.json["clips_failed"])


def test_a_broken_clip_of_a_folder_is_told_and_read_again_once_it_is_whole(tmp_path: Path) -> None:
    day = tmp_path / "day"
    day.mkdir()
    for name in ("clip1.mp4", "clip3.mp4"):
        small(day / name, 1, sound=None)
    (day / "clip2.mp4").write_bytes(b"not yet copied")
    command = ("ingest", day, "--json", "--quiet", "--memory", tmp_path / "memory")
    done = amr(*command)
    assert (done.code, done.json["clips"], done.json["clips_failed"]) == (3, 2, 1)
    assert_one_sentence(done.err, "clip2.mp4")
    small(day / "clip2.mp4", 1, sound=None)
    assert (ran(*command).json["clips"], ran(*command).json["clips_skipped"]) == (1, 3)


def audio_only(folder: Path) -> Path:
    return small(folder / "a.m4a", picture=False)


def video_without_sound(folder: Path) -> Path:
    return small(folder / "a.mp4", sound=None)


def digital_silence(folder: Path) -> Path:
    return small(folder / "a.mp4", sound=SILENCE)


def several_tracks(folder: Path) -> Path:
    one, two = small(folder / "one.mp4"), small(folder / "two.mp4", sound="sine=frequency=880:sample_rate=44100")
    ffmpeg("-i", one, "-i", two, "-map", 0, "-map", 1, "-c", "copy", folder / "a.mkv")
    return folder / "a.mkv"


def container_longer_than_its_streams(folder: Path) -> Path:
    short, long = small(folder / "short.mp4", sound=None), small(folder / "long.m4a", 5, picture=False)
    ffmpeg("-i", short, "-i", long, "-map", 0, "-map", 1, "-c", "copy", folder / "a.mp4")
    return folder / "a.mp4"


def variable_frame_rate(folder: Path) -> Path:
    keep = "select='not(mod(n\\,3))+gt(n\\,8)'"
    ffmpeg(
        *("-f", "lavfi", "-i", f"testsrc2=size={SMALL}:rate=5:duration=3", "-vf", keep, "-fps_mode", "vfr"),
        *("-c:v", "libx264", folder / "a.mp4"),
    )
    return folder / "a.mp4"


def rotated(folder: Path) -> Path:
    return remake(small(folder / "flat.mp4"), folder / "a.mp4", before=("-display_rotation", 90))


def odd_sizes(folder: Path) -> Path:
    ffmpeg(
        *("-f", "lavfi", "-i", "testsrc2=size=63x47:rate=5:duration=3"),
        *("-c:v", "libx264", "-pix_fmt", "yuv444p", folder / "a.mp4"),
    )
    return folder / "a.mp4"


@pytest.mark.parametrize(
    ("make", "seconds"),
    [
        (audio_only, 3.0),
        (video_without_sound, 3.0),
        (digital_silence, 3.0),
        (several_tracks, 3.0),
        (container_longer_than_its_streams, 5.0),
        (variable_frame_rate, 3.0),
        (rotated, 3.0),
        (odd_sizes, 3.0),
    ],
)
def test_odd_but_whole_media_are_ingested_from_end_to_end(
    make: Callable[[Path], Path], seconds: float, tmp_path: Path
) -> None:
    done = amr("ingest", make(tmp_path), "--clip-seconds", 2, "--json", "--memory", tmp_path / "memory")
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert (done.json["clips_failed"], done.json["warnings"]) == (0, [])
    assert done.json["video_seconds"] == pytest.approx(seconds, abs=0.25)
    assert done.json["clips"] == -(-seconds // 2)


def test_the_frame_of_a_rotated_film_is_upright(tmp_path: Path) -> None:
    from PIL import Image

    path = rotated(tmp_path)
    path.with_suffix(".srt").write_text("1\n00:00:00,100 --> 00:00:01,000\nI put my phone on the table.\n")
    ran("ingest", path, "--memory", tmp_path / "memory")
    answer = ran("ask", "where is my phone?", "--json", "--memory", tmp_path / "memory").json
    with Image.open(answer["evidence"][0]["frame"]) as frame:
        assert frame.size == (48, 64)
