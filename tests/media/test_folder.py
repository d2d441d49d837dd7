"""A folder of clip files is one source."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from amr.config import Settings
from amr.errors import BadInput
from amr.media.source import Source, open_sources
from amr.records import Clip
from tests.support.videos import make_video, srt, with_texts

DAY_MS = 24 * 3600 * 1000
NEW_YEAR_2000_MS = 946_684_800_000


@pytest.fixture(scope="module")
def two_seconds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("short") / "two.mp4", 2)


@pytest.fixture(scope="module")
def three_seconds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("short") / "three.mp4", 3, sound=None)


def _fill(folder: Path, clip: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        shutil.copy(clip, folder / name)
    return folder


def _open(folder: Path, settings: Settings) -> Source:
    [source] = open_sources(folder, settings)
    return source


def _spans(clips: list[Clip]) -> list[tuple[str, int, int, int]]:
    return [(Path(clip.uri).name, clip.index, clip.start_ms, clip.end_ms) for clip in clips]


def test_clips_follow_each_other_in_the_order_of_their_numbers(
    tmp_path: Path, two_seconds: Path, three_seconds: Path, settings: Settings
) -> None:
    folder = _fill(tmp_path / "walk", two_seconds, "clip10.mp4", "clip2.mp4")
    _fill(folder, three_seconds, "clip1.MP4")
    (folder / "notes.txt").write_text("not a clip")
    source = _open(folder, settings)
    clips = list(source.clips(set()))
    assert _spans(clips) == [
        ("clip1.MP4", 0, 0, 3000), ("clip2.mp4", 1, 3000, 5000), ("clip10.mp4", 2, 5000, 7000)
    ]  # fmt: skip
    assert clips[1].frames[0].time_ms == 3200
    assert clips[0].audio is None and clips[1].audio is not None and len(clips[1].audio) == 32_000
    assert (source.kind, source.name, source.origin_wall_ms) == ("folder", "walk", None)
    assert _spans(list(source.clips({0, 1}))) == _spans(clips)[2:]


def test_a_folder_is_known_by_its_name(tmp_path: Path, two_seconds: Path, settings: Settings) -> None:
    one = _fill(tmp_path / "a", two_seconds, "1.mp4")
    [named] = open_sources(_fill(tmp_path / "b", two_seconds, "1.mp4", "2.mp4"), settings, name="a")
    assert named.key == _open(one, settings).key and named.name == "a"


def test_a_broken_file_is_a_clip_with_an_error(tmp_path: Path, two_seconds: Path, settings: Settings) -> None:
    folder = _fill(tmp_path / "walk", two_seconds, "1.mp4", "3.mp4")
    (folder / "2.mp4").write_text("no film")
    clips = list(_open(folder, settings).clips(set()))
    assert [clip.error is None for clip in clips] == [True, False, True]
    assert "2.mp4 is not a video" in str(clips[1].error)
    assert clips[2].start_ms == 2000


def test_known_files_keep_their_index_when_others_sort_before_them(
    tmp_path: Path, two_seconds: Path, settings: Settings
) -> None:
    source = _open(_fill(tmp_path / "walk", two_seconds, "1.mp4", "2.mp4", "3.mp4"), settings)
    source.known = {"2.mp4": 0, "3.mp4": 1}
    assert _spans(list(source.clips({0, 1}))) == [("1.mp4", 2, 4000, 6000)]
    assert "1.mp4 came after" in source.warnings[0]


def test_a_list_gives_order_and_boundaries(tmp_path: Path, two_seconds: Path, settings: Settings) -> None:
    folder = _fill(tmp_path / "walk", two_seconds, "a.mp4", "b.mp4", "ignored.mp4")
    (folder / "clips.csv").write_text(
        "file,t_start,t_end,time\nb.mp4,5,6.5,2024-05-01T09:30:05Z\n\na.mp4,10,12,\n", encoding="utf-8-sig"
    )
    source = _open(folder, settings)
    clips = list(source.clips(set()))
    assert _spans(clips) == [("b.mp4", 0, 5000, 6500), ("a.mp4", 1, 10_000, 12_000)]
    assert source.origin_wall_ms == 1_714_555_800_000
    assert clips[0].audio is not None and len(clips[0].audio) == 24_000
    assert all(5000 <= frame.time_ms < 6500 for frame in clips[0].frames)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("file,t_start,t_end,mood\n", "line 1: unknown column 'mood'"),
        ("file,t_start\n", "line 1: no column 't_end'"),
        ("", "line 1: no column 'file'"),
        ("file,t_start,t_end\na.mp4,0,2\ngone.mp4,2,4\n", "line 3: the file 'gone.mp4'"),
        ("file,t_start,t_end\na.mp4,zero,2\n", "line 2: t_start 'zero'"),
        ("file,t_start,t_end\na.mp4,nan,2\n", "line 2: t_start 'nan'"),
        ("file,t_start,t_end\na.mp4,3,2\n", "line 2: t_end is before"),
        ("file,t_start,t_end\na.mp4,3\n", "line 2: 2 values"),
        ("file,t_start,t_end\na.mp4,0,2\na.mp4,2,4\n", "line 3: the file 'a.mp4' is given twice"),
        ("file,t_start,t_end\na.mp4,3,4\nb.mp4,0,2\n", "line 3: t_start is before"),
        ("file,t_start,t_end,time\na.mp4,3,4,noon\n", "line 2: time 'noon'"),
    ],
)
def test_a_bad_list_names_the_line(
    tmp_path: Path, two_seconds: Path, settings: Settings, text: str, words: str
) -> None:
    folder = _fill(tmp_path / "walk", two_seconds, "a.mp4", "b.mp4")
    (folder / "clips.csv").write_text(text)
    with pytest.raises(BadInput) as caught:
        _open(folder, settings)
    assert words in str(caught.value)


def test_a_folder_without_video_is_refused(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(BadInput, match="holds no video"):
        _open(tmp_path, settings)


def test_egolife_names_tell_the_clock(tmp_path: Path, two_seconds: Path, settings: Settings) -> None:
    names = ("DAY2_A1_JAKE_00000000.mp4", "DAY1_A1_JAKE_11094208.mp4", "DAY1_A1_JAKE_11100000.mp4")
    source = _open(_fill(tmp_path / "jake", two_seconds, *names), settings)
    assert source.origin_wall_ms == NEW_YEAR_2000_MS
    first = (11 * 3600 + 9 * 60 + 42) * 1000 + 400
    assert _spans(list(source.clips(set()))) == [
        (names[1], 0, first, first + 2000),
        (names[2], 1, first + 17_600, first + 19_600),
        (names[0], 2, DAY_MS, DAY_MS + 2000),
    ]


def test_an_earlier_day_that_comes_later_has_negative_times(
    tmp_path: Path, two_seconds: Path, settings: Settings
) -> None:
    late, early = "DAY2_A1_JAKE_00001000.mp4", "DAY1_A1_JAKE_23595000.mp4"
    folder = _fill(tmp_path / "jake", two_seconds, late)
    origin = _open(folder, settings).origin_wall_ms
    source = _open(_fill(folder, two_seconds, early), settings)
    source.origin_wall_ms, source.known = origin, {late: 0}
    [clip] = source.clips({0})
    assert (clip.index, clip.start_ms, clip.end_ms) == (1, -10_000, -8000)
    assert clip.frames[0].time_ms == -9800


def test_captions_of_a_folder(tmp_path: Path, two_seconds: Path, settings: Settings) -> None:
    folder = _fill(tmp_path / "walk", two_seconds, "1.mp4", "2.mp4")
    (folder / "2.srt").write_text(srt((0.5, 1, "beside"), (9, 10, "beyond")))
    with_texts(two_seconds, folder / "3.mp4", [("eng", srt((1, 1.5, "inside")))])
    source = _open(folder, settings)
    clips = list(source.clips(set()))
    assert [[(cue.start_ms, cue.text) for cue in clip.cues] for clip in clips] == [
        [], [(2500, "beside")], [(5000, "inside")]
    ]  # fmt: skip
    assert all(clip.captioned for clip in clips)
    given = tmp_path / "all.srt"
    given.write_text(srt((3, 4, "given")))
    [told] = open_sources(folder, settings, captions=given)
    assert [[cue.text for cue in clip.cues] for clip in told.clips(set())] == [[], ["given"], []]


@pytest.fixture
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amr.media.folder._POLL_S", 0.2)


@pytest.mark.usefixtures("quick_polls")
def test_following_a_folder_that_grows(tmp_path: Path, two_seconds: Path, settings: Settings) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    data = two_seconds.read_bytes()

    def record() -> None:
        for name in ("1.mp4", "2.mp4"):
            with (folder / name).open("wb") as file:
                for part in range(4):
                    file.write(data[len(data) * part // 4 : len(data) * (part + 1) // 4])
                    file.flush()
                    time.sleep(0.1)

    recorder = threading.Thread(target=record)
    [source] = open_sources(folder, settings, follow=True, idle_seconds=1.5)
    recorder.start()
    clips = list(source.clips(set()))
    recorder.join()
    assert _spans(clips) == [("1.mp4", 0, 0, 2000), ("2.mp4", 1, 2000, 4000)]
    assert all(clip.error is None and clip.audio is not None and len(clip.audio) == 32_000 for clip in clips)
    _fill(folder, two_seconds, "3.mp4")
    one_go = list(_open(folder, settings).clips(set()))
    for followed, read in zip(clips, one_go, strict=False):
        assert all(np.array_equal(a.image, b.image) for a, b in zip(followed.frames, read.frames, strict=True))


@pytest.mark.usefixtures("quick_polls")
def test_a_followed_file_that_never_opens_is_a_clip_with_an_error(
    tmp_path: Path, two_seconds: Path, settings: Settings
) -> None:
    folder = _fill(tmp_path / "live", two_seconds, "2.mp4")
    (folder / "1.mp4").write_text("no film")
    [source] = open_sources(folder, settings, follow=True, idle_seconds=1)
    assert [(clip.index, clip.error is None) for clip in source.clips(set())] == [(0, False), (1, True)]


@pytest.mark.usefixtures("quick_polls")
def test_the_first_file_sets_the_zero_of_a_followed_folder(
    tmp_path: Path, two_seconds: Path, settings: Settings
) -> None:
    folder = tmp_path / "jake"
    folder.mkdir()
    [source] = open_sources(folder, settings, follow=True, idle_seconds=1)
    _fill(folder, two_seconds, "DAY2_A1_JAKE_11000000.mp4", "DAY3_A1_JAKE_11000000.mp4")
    assert [clip.start_ms for clip in source.clips(set())] == [11 * 3_600_000, DAY_MS + 11 * 3_600_000]
    assert source.origin_wall_ms == NEW_YEAR_2000_MS + DAY_MS


@pytest.mark.usefixtures("quick_polls")
def test_following_ends_when_told(tmp_path: Path, two_seconds: Path, settings: Settings) -> None:
    folder = _fill(tmp_path / "live", two_seconds, "1.mp4")
    stop = threading.Event()
    [source] = open_sources(folder, settings, follow=True, stop=stop.is_set)
    clips = source.clips(set())
    assert next(clips).index == 0
    stop.set()
    assert list(clips) == []


def test_only_a_folder_can_be_followed(two_seconds: Path, settings: Settings) -> None:
    with pytest.raises(BadInput, match="not a folder"):
        open_sources(two_seconds, settings, follow=True)
