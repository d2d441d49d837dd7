"""EgoLife's folders: days in folders, hours of transcripts and captions in it or beside it, one wall clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from amr.config import Settings
from amr.errors import BadInput
from amr.media.egolife import clock_ms, read_clip_name
from amr.media.source import Source, open_sources
from amr.records import Cue
from tests.support.data import test_data
from tests.support.videos import make_video, srt

DAY_1 = 946_684_800_000
HOUR = 3_600_000


def opened(path: Path, settings: Settings, name: str | None = None) -> Source:
    [source] = open_sources(path, settings, name=name)
    return source


def hour(folder: Path, name: str, *cues: tuple[float, float, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.srt").write_text(srt(*cues), encoding="utf-8")
    return folder


def cues_of(source: Source) -> list[Cue]:
    return [cue for clip in source.clips(set()) for cue in clip.cues]


@pytest.mark.parametrize("stem", ["DAY2_A1_JAKE_11094208", "A1_JAKE_DAY2_11094208"])
def test_a_name_tells_camera_wearer_and_clock(stem: str) -> None:
    name = read_clip_name(stem)
    assert name is not None
    assert (name.camera, name.wearer) == ("A1_JAKE", "Jake")
    assert (name.day_wall_ms - DAY_1, name.clock_ms) == (24 * HOUR, 40_182_400)


@pytest.mark.parametrize("stem", ["film", "DAY1_A1_JAKE", "DAY1_A1_JAKE_25000000", "DAY0_A1_JAKE_01000000"])
def test_other_names_tell_nothing(stem: str) -> None:
    assert read_clip_name(stem) is None


def test_a_camera_on_the_wall_has_no_wearer() -> None:
    fixed = read_clip_name("DAY1_exo9_11223000")
    assert fixed is not None
    assert fixed.wearer == ""


@pytest.mark.parametrize(("number", "time"), [(3, 3000), (110_943, 40_183_000), (117_500, None), (-1, None)])
def test_a_number_as_a_time_of_day(number: int, time: int | None) -> None:
    assert clock_ms(number) == time


@pytest.fixture
def jake(tmp_path: Path) -> Path:
    """A folder of one camera with a clip on each of two days."""
    folder = tmp_path / "A1_JAKE"
    for day, time in ((1, "11094208"), (2, "09000000")):
        (folder / f"DAY{day}").mkdir(parents=True)
        make_video(folder / f"DAY{day}" / f"DAY{day}_A1_JAKE_{time}.mp4", 2, size="64x48", rate=5, sound=None)
    return folder


def test_the_days_of_a_camera_are_one_source(jake: Path, settings: Settings) -> None:
    source = opened(jake, settings)
    assert (source.kind, source.name, source.wearer) == ("folder", "A1_JAKE", ("Jake",))
    assert source.origin_wall_ms == DAY_1
    assert [clip.start_ms for clip in source.clips(set())] == [40_182_400, 33 * HOUR]
    assert not source.has_captions


@pytest.mark.parametrize(
    "where", ["A1_JAKE/DAY1", "A1_JAKE", "Transcript/A1_JAKE/DAY1", "EgoLifeCap/Transcript/A1_JAKE/DAY1"]
)
def test_the_transcript_of_an_hour_is_found_in_the_folder_and_beside_it(
    where: str, jake: Path, settings: Settings
) -> None:  # fmt: skip
    hour(
        jake.parent / where,
        "A1_JAKE_DAY1_11000000",
        (582.5, 583.5, "Jake: Mark it."),
        (590, 591, "Alice: Too late for this clip."),
    )
    hour(jake.parent / where, "A2_ALICE_DAY1_11000000", (582.5, 583.5, "Alice: Another camera."))
    source = opened(jake, settings)
    kind = "speech" if "Transcript" in where else None
    assert cues_of(source) == [Cue(40_182_500, 40_183_500, "Jake: Mark it.", kind)]
    assert source.has_captions


def test_captions_of_an_hour_are_told_by_the_wearer(jake: Path, settings: Settings) -> None:
    hour(jake.parent / "EgoLifeCap/DenseCaption/A1_JAKE/DAY2", "A1_JAKE_DAY2_09000000", (1, 2, "Coffee: I pour it."))
    [cue] = cues_of(opened(jake, settings))
    assert cue == Cue(33 * HOUR + 1000, 33 * HOUR + 2000, "Coffee: I pour it.", "narration")


def test_captions_named_after_a_video_go_before_those_of_its_hour(jake: Path, settings: Settings) -> None:
    hour(jake / "DAY1", "A1_JAKE_DAY1_11000000", (582.5, 583.5, "Jake: Mark it."))
    hour(jake / "DAY1", "DAY1_A1_JAKE_11094208", (0.5, 1, "Jake: My own."))
    assert [cue.text for cue in cues_of(opened(jake, settings))] == ["Jake: My own."]


def test_a_folder_of_transcripts_alone_is_text_on_the_wall_clock(tmp_path: Path, settings: Settings) -> None:
    hour(tmp_path / "A1_JAKE/DAY2", "A1_JAKE_DAY2_09000000", (1, 2, "Alice: Good morning."))
    before = opened(tmp_path / "A1_JAKE", settings)
    hour(tmp_path / "A1_JAKE/DAY1", "A1_JAKE_DAY1_23000000", (3599, 3601, "Jake: Good night."))
    source = opened(tmp_path / "A1_JAKE", settings)
    assert (source.kind, source.name, source.wearer, source.origin_wall_ms) == ("captions", "A1_JAKE", ("Jake",), DAY_1)
    assert [cue.text for cue in cues_of(source)] == ["Jake: Good night.", "Alice: Good morning."]
    assert [cue.start_ms for cue in cues_of(source)] == [24 * HOUR - 1000, 33 * HOUR + 1000]
    # The clips that were there keep their numbers when a day comes before them.
    known = {clip.index for clip in before.clips(set())}
    assert [cue.text for clip in source.clips(known) for cue in clip.cues] == ["Jake: Good night."]


def test_each_camera_of_such_a_folder_is_a_source(tmp_path: Path, settings: Settings) -> None:
    for camera in ("A1_JAKE", "A2_ALICE"):
        hour(tmp_path / "Transcript" / camera / "DAY1", f"{camera}_DAY1_09000000", (1, 2, "Jake: Hello."))
    folder = tmp_path / "Transcript"
    assert [source.name for source in open_sources(folder, settings)] == ["A1_JAKE", "A2_ALICE"]
    assert opened(folder, settings, name="A2_ALICE").wearer == ("Alice",)
    with pytest.raises(BadInput, match="A1_JAKE, A2_ALICE"):
        open_sources(folder, settings, name="A3_TASHA")


def test_one_hour_alone_has_its_clock(tmp_path: Path, settings: Settings) -> None:
    folder = hour(tmp_path, "A1_JAKE_DAY1_11000000", (1, 2, "Jake: Hello."))
    source = opened(folder / "A1_JAKE_DAY1_11000000.srt", settings)
    assert (source.origin_wall_ms, source.wearer) == (DAY_1 + 11 * HOUR, ("Jake",))


def test_a_broken_hour_refuses_the_folder(jake: Path, settings: Settings) -> None:
    (jake / "DAY1" / "A1_JAKE_DAY1_11000000.srt").write_text("1\nnow --> then\nJake: Hello.\n")
    with pytest.raises(BadInput, match=r"A1_JAKE_DAY1_11000000\.srt, line 2"):
        open_sources(jake, settings)


def test_real_transcripts_of_a_camera(tmp_path: Path, settings: Settings) -> None:
    import subprocess

    archive = test_data("egolife/Transcript_all_six.tar.zst")
    try:
        subprocess.run(["tar", "--zstd", "-xf", archive, "-C", tmp_path, "Transcript/A1_JAKE"], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("tar cannot unpack zstd here")
    cues = cues_of(opened(tmp_path / "Transcript" / "A1_JAKE", settings))
    assert len(cues) > 50_000
    [first] = [cue for cue in cues if cue.start_ms == 11 * HOUR + 587_100]
    assert first.text.endswith("Jake: Okay, then we need a stopwatch.")
