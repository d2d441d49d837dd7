"""Clip-by-clip captions are one source per camera, on the wall clock, one cue per line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from amr.config import Settings
from amr.errors import BadInput
from amr.media.source import Source, open_sources
from amr.records import Clip, Cue
from tests.support.clip_captions import caption, transcript, write_clips
from tests.support.data import test_data

MORNING = "DAY1_A1_JAKE_11094208.mp4"
NEXT = "DAY1_A1_JAKE_11100000.mp4"
HOUR = 3_600_000


def opened(path: Path, settings: Settings, name: str | None = None) -> Source:
    [source] = open_sources(path, settings, name=name)
    return source


def clock(cue: Cue) -> tuple[str, str]:
    return _clock(cue.start_ms), _clock(cue.end_ms)


def _clock(time_ms: int) -> str:
    seconds = time_ms // 1000
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def only(path: Path, settings: Settings) -> Clip:
    [clip] = opened(path, settings).clips(set())
    return clip


def test_a_line_is_a_cue_of_its_own_kind_and_time(tmp_path: Path, settings: Settings) -> None:
    lines = [caption(110943, 110944, " I hold my phone. "), transcript(110956, 110956, "Jake: Yes, mark it.")]
    clips = [(MORNING, lines), (NEXT, [caption(111003, 111005, "Place the phone on the table.")])]
    source = opened(write_clips(tmp_path / "week.jsonl", clips), settings)
    first, second = source.clips(set())
    assert (source.kind, source.name, source.wearer) == ("clip_captions", "A1_JAKE", ("Jake",))
    assert source.origin_wall_ms == 946_684_800_000  # 2000-01-01, 00:00
    # The first clip's name tells frame 8 of 20; it ends where the next begins.
    assert (first.start_ms, first.end_ms, first.uri) == (40_182_400, 40_200_000, MORNING)
    assert (second.start_ms, second.end_ms, second.index) == (40_200_000, 40_230_000, 1)
    assert first.cues == [
        Cue(40_183_000, 40_184_000, "I hold my phone.", "narration"),
        Cue(40_196_000, 40_196_000, "Jake: Yes, mark it.", "speech"),
    ]
    assert (source.duration_ms, source.warnings, source.has_captions) == (40_230_000, [], True)


def test_packed_and_plain_files_tell_the_same(tmp_path: Path, settings: Settings) -> None:
    clips = [(NEXT, [caption(111003, 111005, "I stand.")]), (MORNING, [caption(110943, 110944, "I sit.")])]
    plain = opened(write_clips(tmp_path / "a.jsonl", clips), settings)
    packed = opened(write_clips(tmp_path / "a.jsonl.gz", clips), settings)
    told = [[(c.index, c.start_ms, c.cues) for c in source.clips(set())] for source in (plain, packed)]
    assert told[0] == told[1]
    assert [cues[0].text for _, _, cues in told[0]] == ["I sit.", "I stand."], "clips come in order of time"
    assert plain.key == packed.key, "a source is known by its name"


def test_cameras_of_one_file_are_sources_and_the_zero_is_the_first_day(tmp_path: Path, settings: Settings) -> None:
    clips = [("DAY3_A3_TASHA_09000000.mp4", [caption(90001, 90002, "I wake.")]), (MORNING, [])]
    path = write_clips(tmp_path / "two.jsonl", clips)
    assert [source.name for source in open_sources(path, settings)] == ["A3_TASHA", "A1_JAKE"]
    tasha = opened(path, settings, name="A3_TASHA")
    assert tasha.origin_wall_ms == 946_684_800_000 + 48 * HOUR
    assert [clip.start_ms for clip in tasha.clips(set())] == [9 * HOUR]


def test_lines_may_cross_an_hour_and_midnight(tmp_path: Path, settings: Settings) -> None:
    lines = [caption(105958, 110003, "I walk."), caption(110001, 110002, "I run.")]
    hour = write_clips(tmp_path / "h.jsonl", [("DAY1_A1_JAKE_10594500.mp4", lines)])
    assert [clock(cue) for cue in only(hour, settings).cues] == [("10:59:58", "11:00:03"), ("11:00:01", "11:00:02")]
    night = write_clips(
        tmp_path / "n.jsonl", [("DAY1_A1_JAKE_23594500.mp4", [caption(235958, 3, "I walk."), caption(1, 2, "I run.")])]
    )
    assert [clock(cue) for cue in only(night, settings).cues] == [("23:59:58", "24:00:03"), ("24:00:01", "24:00:02")]


def test_odd_lines_are_mended_by_rule_and_counted(tmp_path: Path, settings: Settings) -> None:
    lines = [
        caption(111010, 111009, "It ends before it starts."),
        caption(120000, 120001, "It is an hour late."),
        caption(110800, 110801, "It is too early."),
        caption(111020, 111200, "It does not end."),
        caption(111011, 111012, "  "),
        transcript(111012, 111013, "Jake: Yes."),
        transcript(111012, 111013, "Jake: Yes."),
        transcript(111012, 111013, "Alice: Yes."),
    ]
    source = opened(write_clips(tmp_path / "odd.jsonl", [(NEXT, lines)]), settings)
    [clip] = source.clips(set())
    assert {cue.text: clock(cue) for cue in clip.cues} == {
        "It ends before it starts.": ("11:10:10", "11:10:10"),
        "It is an hour late.": ("11:10:30", "11:10:30"),
        "It is too early.": ("11:10:00", "11:10:00"),
        "It does not end.": ("11:10:20", "11:10:30"),
        "Jake: Yes.": ("11:10:12", "11:10:13"),
        "Alice: Yes.": ("11:10:12", "11:10:13"),
    }
    assert len(clip.cues) == 6
    [warning] = source.warnings
    for part in ("1 line without text", "1 line given twice", "1 line ended before", "3 lines outside"):
        assert part in warning


def test_a_line_at_a_clips_end_that_the_next_repeats_is_told_once(tmp_path: Path, settings: Settings) -> None:
    at_the_end = caption(111030, 111030, "I crouch down.")
    later = "DAY1_A1_JAKE_11103000.mp4"
    both = [(NEXT, [at_the_end]), (later, [at_the_end, caption(111031, 111032, "I stand up.")])]
    path = write_clips(tmp_path / "a.jsonl", both[:1])
    before = [cue.text for clip in opened(path, settings).clips(set()) for cue in clip.cues]
    write_clips(path, both)
    # So it does not matter whether the file had grown between two readings.
    after = [cue.text for clip in opened(path, settings).clips({0}) for cue in clip.cues]
    assert (before, after) == (["I crouch down."], ["I stand up."])


def test_clips_that_come_later_are_numbered_after_those_known(tmp_path: Path, settings: Settings) -> None:
    clips = [("DAY1_A1_JAKE_09000000.mp4", [caption(90001, 90002, "I wake.")]), (NEXT, [])]
    source = opened(write_clips(tmp_path / "a.jsonl", clips), settings)
    source.known = {NEXT: 0}
    assert [(clip.index, clip.uri) for clip in source.clips({0})] == [(1, "DAY1_A1_JAKE_09000000.mp4")]


ONE = '{"video_file": "DAY1_A1_JAKE_11100000.mp4", "data": [%s]}'

BROKEN = {
    '{"video_file": "DAY1_A1_JAKE_11100000.mp4"}': "the key 'data' is missing",
    ONE % '{"start": 1}': "data.0.end",
    ONE % '{"start": "x", "end": 1, "text": "", "type": "caption"}': "data.0.start",
    ONE % '{"start": 1, "end": 1, "text": "", "type": "song"}': "data.0.type",
    ONE % '{"start": 1, "end": 117500, "text": "", "type": "caption"}': "data.0.end 117500",
    '{"video_file": "kitchen.mp4", "data": []}': "'kitchen.mp4'",
    '{"video_file": "DAY1_A1_JAKE_99100000.mp4", "data": []}': "DAY1_A1_JAKE_99100000.mp4",
    '{"video_file": ': "line 2",
    '{"video_file": "DAY1_A1_JAKE_11094208.mp4", "data": []}': "given twice (also on line 1)",
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_line_refuses_the_file_by_line_and_key(line: str, tmp_path: Path, settings: Settings) -> None:
    path = write_clips(tmp_path / "a.jsonl", [(MORNING, [])])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(BadInput) as error:
        open_sources(path, settings)
    assert f"{path}, line 2" in str(error.value)
    assert BROKEN[line] in str(error.value)


def test_half_a_packed_file_is_refused(tmp_path: Path, settings: Settings) -> None:
    path = write_clips(tmp_path / "a.jsonl.gz", [(MORNING, [caption(110943, 110944, "I hold my phone.")])])
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(BadInput, match="not a whole gzip file"):
        open_sources(path, settings)
    (tmp_path / "b.jsonl.gz").write_bytes(b"no gzip at all")
    with pytest.raises(BadInput, match="not a whole gzip file"):
        open_sources(tmp_path / "b.jsonl.gz", settings)


def test_an_events_file_may_be_packed_too(tmp_path: Path, settings: Settings) -> None:
    row = '{"source": "film", "clip": 0, "t_start": 0, "t_end": 1, "analysis": {"clip_summary": "A dog."}}\n'
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(row.encode()))
    source = opened(tmp_path / "e.jsonl.gz", settings)
    assert (source.kind, [clip.index for clip in source.clips(set())]) == ("events", [0])


def test_a_real_week_is_read_whole(settings: Settings) -> None:
    source = opened(test_data("egolife/A1_JAKE_sync_clips.jsonl.gz"), settings)
    clips = list(source.clips(set()))
    assert (source.name, source.wearer, len(clips)) == ("A1_JAKE", ("Jake",), 6223)
    # 72 lines are there twice in their clip, and 171 at a clip's end again in the next one.
    assert sum(len(clip.cues) for clip in clips) == 124_856 - 72 - 171
    assert source.warnings == ["A1_JAKE_sync_clips.jsonl.gz, A1_JAKE: 243 lines given twice, kept once."]
    starts = [clip.start_ms for clip in clips]
    assert starts == sorted(starts)
    assert all(clip.start_ms - 1000 < cue.start_ms <= clip.end_ms for clip in clips for cue in clip.cues)
