"""The events JSONL brings clips with their analyses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amr.config import Settings
from amr.errors import BadInput
from amr.media.source import open_sources
from tests.support.videos import srt


def _row(clip: int, start: float, end: float, source: str = "kitchen", **more: Any) -> dict[str, Any]:
    return {
        "source": source,
        "clip": clip,
        "t_start": start,
        "t_end": end,
        "analysis": {"clip_summary": f"{source} {clip}"},
        **more,
    }


def _write(path: Path, *rows: dict[str, Any] | str) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_given_boundaries_are_respected_and_clips_come_in_order(tmp_path: Path, settings: Settings) -> None:
    path = _write(tmp_path / "e.jsonl", _row(3, 30.5, 42.25), _row(0, -1, 10), "", _row(1, 10, 20))
    [source] = open_sources(path, settings)
    clips = list(source.clips({1}))
    assert [(clip.index, clip.start_ms, clip.end_ms) for clip in clips] == [(0, -1000, 10_000), (3, 30_500, 42_250)]
    assert [clip.analysis.clip_summary for clip in clips if clip.analysis] == ["kitchen 0", "kitchen 3"]
    assert (source.kind, source.name, source.duration_ms) == ("events", "kitchen", 42_250)
    assert all(clip.frames == [] and clip.audio is None for clip in clips)


def test_each_source_of_a_file_is_a_source_known_by_its_name(tmp_path: Path, settings: Settings) -> None:
    rows = [_row(0, 0, 1, "b"), _row(0, 0, 1, "a"), _row(1, 1, 2, "b")]
    sources = open_sources(_write(tmp_path / "e.jsonl", *rows), settings)
    assert [source.name for source in sources] == ["b", "a"]
    [one] = open_sources(_write(tmp_path / "f.jsonl", _row(5, 5, 6, "a")), settings)
    assert one.key == sources[1].key != sources[0].key
    [chosen] = open_sources(tmp_path / "e.jsonl", settings, name="a")
    assert [clip.index for clip in chosen.clips(set())] == [0]


def test_wall_clock(tmp_path: Path, settings: Settings) -> None:
    rows = [_row(0, 10, 20, time="2024-05-01T09:30:10Z"), _row(1, 20, 30, time="2024-05-01T11:30:20.500+02:00")]
    [source] = open_sources(_write(tmp_path / "e.jsonl", *rows), settings)
    assert source.origin_wall_ms == 1_714_555_800_000
    [naive] = open_sources(_write(tmp_path / "f.jsonl", _row(0, 0, 1, time="2024-05-01T09:30:00")), settings)
    assert naive.origin_wall_ms == source.origin_wall_ms


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({**_row(1, 1, 2), "colour": "red"}, "unknown key 'colour'"),
        ({**_row(1, 1, 2), "analysis": {"clip_summary": "", "mood": 1}}, "unknown key 'analysis.mood'"),
        ({"source": "kitchen", "clip": 1, "t_start": 1, "t_end": 2}, "the key 'analysis' is missing"),
        (_row(1, 2, 1), "t_end is before t_start"),
        (_row(1, float("nan"), 1), "line 2"),
        ({**_row(1, 1, 2), "clip": "1"}, "clip: "),
        (_row(-1, 1, 2), "clip: "),
        ("{not json", "JSON"),
        (_row(0, 1, 2), "given twice"),
        (_row(1, -5, 2), "starts before clip 0"),
        (_row(1, 1, 2, time="yesterday"), "ISO 8601"),
        (_row(1, 1, 2, time="2024-05-01T09:31:00Z"), "disagree"),
    ],
)
def test_bad_rows_name_the_line(tmp_path: Path, settings: Settings, row: dict[str, Any] | str, words: str) -> None:
    path = _write(tmp_path / "e.jsonl", _row(0, 0, 1, time="2024-05-01T09:30:00Z"), row)
    with pytest.raises(BadInput, match="line 2") as caught:
        open_sources(path, settings)
    assert words in str(caught.value)


def test_an_empty_file_is_refused(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(BadInput, match="no row"):
        open_sources(_write(tmp_path / "e.jsonl"), settings)


def test_the_analyses_of_a_video(film: Path, tmp_path: Path, settings: Settings) -> None:
    rows = [_row(0, 0, 4), _row(1, 3, 9), _row(2, 20, 24), _row(3, 24, 40)]
    [source] = open_sources(film, settings, captions=_write(tmp_path / "e.jsonl", *rows))
    clips = list(source.clips(set()))
    assert [(clip.start_ms, clip.end_ms) for clip in clips] == [
        (0, 4000),
        (3000, 9000),
        (20_000, 24_000),
        (24_000, 40_000),
    ]
    assert [clip.analysis.clip_summary for clip in clips if clip.analysis][3] == "kitchen 3"
    assert all(len(clip.frames) == 8 for clip in clips[:3])
    assert clips[3].frames[-1].time_ms == 24_900 and all(clip.error is None for clip in clips)
    assert [len(clip.audio) for clip in clips if clip.audio is not None] == [64_000, 96_000, 64_000, 16_000]
    [plain] = open_sources(film, settings)
    assert source.key == plain.key and source.captions_key != plain.captions_key


def test_captions_alone_are_a_source(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "diary.srt"
    path.write_text(srt((3, 4, "a"), (9.999, 12, "b"), (10, 11, "c"), (65, 66, "d")))
    [source] = open_sources(path, settings)
    clips = list(source.clips(set()))
    assert [(clip.index, clip.start_ms, clip.end_ms) for clip in clips] == [
        (0, 0, 10_000), (1, 10_000, 20_000), (6, 60_000, 70_000)
    ]  # fmt: skip
    assert [[cue.text for cue in clip.cues] for clip in clips] == [["a", "b"], ["c"], ["d"]]
    assert all(clip.captioned and clip.audio is None and clip.frames == [] for clip in clips)
    assert source.kind == "captions" and source.has_captions
    assert [clip.index for clip in source.clips({0, 6})] == [1]
