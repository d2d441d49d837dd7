"""A CSV of narrations is one source per video, one cue per row, and never the gold beside it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from amr.config import Settings
from amr.errors import BadInput
from amr.media.source import open_sources
from amr.records import Cue
from tests.support.data import test_data

HEADER = "narration_id,participant_id,video_id,start_timestamp,stop_timestamp,narration,verb,noun"


def written(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_rows_are_cues_of_their_video_in_time_order(tmp_path: Path, settings: Settings) -> None:
    path = written(
        tmp_path / "n.csv",
        "P01_1_1,P01,P01_1,00:00:31.5,00:00:33.00,put down plate,GOLD,GOLD",
        "P02_1_0,P02,P02_1,0,1.25,open cupboard,GOLD,GOLD",
        "P01_1_0,P01,P01_1,00:00:00.56,01:00:00.00,take plate,GOLD,GOLD",
    )
    first, second = open_sources(path, settings)
    assert [(s.kind, s.name, s.duration_ms) for s in (first, second)] == [
        ("captions", "P01_1", 3_600_000),
        ("captions", "P02_1", 1250),
    ]
    assert [(clip.index, clip.start_ms, clip.end_ms, clip.cues) for clip in first.clips(set())] == [
        (0, 0, 10_000, [Cue(560, 3_600_000, "take plate", "narration", "P01_1_0")]),
        (3, 30_000, 40_000, [Cue(31_500, 33_000, "put down plate", "narration", "P01_1_1")]),
    ]
    assert "GOLD" not in repr([clip for source in (first, second) for clip in source.clips(set())])


def test_packed_files_and_files_without_ids(tmp_path: Path, settings: Settings) -> None:
    header = "video_id,start_timestamp,stop_timestamp,narration"
    plain = written(tmp_path / "n.csv", 'P01_1,1,2,"take plate, slowly"', "P01_1,1,2,take cup", header=header)
    (tmp_path / "n.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    [one], [packed] = open_sources(plain, settings), open_sources(tmp_path / "n.csv.gz", settings)
    told = [[cue.text for clip in source.clips(set()) for cue in clip.cues] for source in (one, packed)]
    assert told == [["take plate, slowly", "take cup"]] * 2
    assert (one.key, one.captions_key) == (packed.key, packed.captions_key)


def test_one_video_can_be_chosen(tmp_path: Path, settings: Settings) -> None:
    path = written(tmp_path / "n.csv", "a,P,V1,1,2,take cup,,", "b,P,V2,1,2,take plate,,")
    assert [source.name for source in open_sources(path, settings, name="V2")] == ["V2"]
    with pytest.raises(BadInput, match="V1, V2"):
        open_sources(path, settings, name="V3")


def test_what_is_there_twice_or_empty_is_left_out_and_counted(tmp_path: Path, settings: Settings) -> None:
    row = "a,P,V1,1,2,take cup,,"
    path = written(tmp_path / "n.csv", row, row, "b,P,V1,1.5,2,take spoon,,", "c,P,V1,3,4,,,", "")
    [source] = open_sources(path, settings)
    assert [cue.text for clip in source.clips(set()) for cue in clip.cues] == ["take cup", "take spoon"]
    assert source.warnings == ["n.csv, V1: 1 given twice left out; 1 without a narration left out."]


def test_other_rows_of_a_video_have_another_content_key(tmp_path: Path, settings: Settings) -> None:
    [before] = open_sources(written(tmp_path / "n.csv", "a,P,V1,1,2,take cup,,"), settings)
    [after] = open_sources(written(tmp_path / "n.csv", "a,P,V1,1,2,take cup,,", "b,P,V1,3,4,wash cup,,"), settings)
    assert before.key == after.key
    assert before.captions_key != after.captions_key


BROKEN = {
    "a,P,V1,2,1,take cup,,": "line 2: stop_timestamp",
    "a,P,V1,soon,1,take cup,,": "line 2: start_timestamp 'soon'",
    "a,P,V1,00:61:00,1,take cup,,": "line 2: start_timestamp '00:61:00'",
    "a,P,V1,1,,take cup,,": "line 2: stop_timestamp ''",
    "a,P,V1,-1,1,take cup,,": "line 2: start_timestamp '-1'",
    "a,P,V1,nan,1,take cup,,": "line 2: start_timestamp 'nan'",
    "a,P,,1,2,take cup,,": "line 2: video_id",
    "a,P,V1,1,2,take cup": "line 2: 6 values for 8 columns",
    "a,P,V1,1,2,take cup,,\na,P,V1,3,4,wash cup,,": "line 3: narration_id 'a'",
    'a,P,V1,1,2,"take cup,,': "not a readable CSV",
}


@pytest.mark.parametrize("rows", BROKEN)
def test_a_broken_row_refuses_the_file_by_row_and_column(rows: str, tmp_path: Path, settings: Settings) -> None:
    path = written(tmp_path / "n.csv", rows)
    with pytest.raises(BadInput) as error:
        open_sources(path, settings)
    assert str(path) in str(error.value)
    assert BROKEN[rows] in str(error.value)


@pytest.mark.parametrize("column", ["video_id", "start_timestamp", "stop_timestamp", "narration"])
def test_a_missing_column_is_named(column: str, tmp_path: Path, settings: Settings) -> None:
    names = ["narration_id", "video_id", "start_timestamp", "stop_timestamp", "narration"]
    path = written(tmp_path / "n.csv", "a,b,c,d", header=",".join(name for name in names if name != column))
    with pytest.raises(BadInput, match=f"line 1: no column '{column}'"):
        open_sources(path, settings)


def test_a_file_without_rows_or_of_bytes_is_refused(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(BadInput, match="no narration"):
        open_sources(written(tmp_path / "n.csv"), settings)
    (tmp_path / "b.csv").write_bytes(b"video_id,start_timestamp,stop_timestamp,narration\nV,1,2,\xff\xfe\n")
    with pytest.raises(BadInput, match="not a readable CSV"):
        open_sources(tmp_path / "b.csv", settings)


def test_the_real_narrations_are_read_whole(settings: Settings) -> None:
    sources = open_sources(test_data("epic100/EPIC_100_validation_dev.csv.gz"), settings)
    cues = [cue for source in sources for clip in source.clips(set()) for cue in clip.cues]
    assert (len(sources), len(cues), len({cue.ref for cue in cues})) == (110, 7577, 7577)
    assert not any(source.warnings for source in sources)
