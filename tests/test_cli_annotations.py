"""Given annotations through the command line: they go in whole, once, on one clock; faults are a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clip_captions import caption, transcript, write_clips
from tests.support.command import amr, assert_one_sentence, ran

CLIP = "DAY1_A1_JAKE_11100000.mp4"
LATER = "DAY2_A1_JAKE_16020000.mp4"
NARRATIONS = "narration_id,video_id,start_timestamp,stop_timestamp,narration\n"


def week(folder: Path, *clips: str) -> Path:
    lines = {
        CLIP: [
            caption(111003, 111005, "I put my phone on the windowsill."),
            transcript(111004, 111006, "Jake: The kettle is boiling."),
            transcript(111010, 111011, "Alice: Thanks."),
        ],
        LATER: [caption(160201, 160202, "I sit down.")],
    }
    return write_clips(folder / "week.jsonl.gz", [(name, lines[name]) for name in clips])


def events(memory: Path, *filters: object) -> list[dict[str, object]]:
    found = amr("timeline", *filters, "--json", "--memory", memory).json
    return [item for item in found["events"] if isinstance(item, dict)]


def test_clip_captions_are_evidence_with_the_clock_and_the_clip_file(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    report = ran("ingest", week(tmp_path, CLIP), "--json", "--memory", memory).json
    assert (report["source"], report["clips"], report["video_seconds"]) == ("A1_JAKE", 1, 0.0)
    [put, said, _] = events(memory)
    assert (put["time"], put["ref"], put["source"]) == ("2000-01-01T11:10:03", CLIP, "A1_JAKE")
    assert (put["t_start"], put["t_end"]) == (40_203.0, 40_205.0)
    assert said["text"] == 'Jake says: "The kettle is boiling."'


def test_the_wearers_own_name_is_the_wearer(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    ran("ingest", week(tmp_path, CLIP), "--memory", memory)
    mine = [event["text"] for event in events(memory, "--person", "me")]
    assert mine == ["I put my phone on the windowsill.", 'Jake says: "The kettle is boiling."']
    assert [event["text"] for event in events(memory, "--person", "Jake")] == mine
    for question in ("What did I say about the kettle?", "What did Jake say about the kettle?"):
        assert "boiling" in ran("ask", question, "--memory", memory).out
    other = write_clips(tmp_path / "o.jsonl", [("DAY1_A3_TASHA_09000000.mp4", [caption(90001, 90002, "I wake up.")])])
    told = ran("ingest", other, "--memory", memory)
    assert "Tasha" in told.err
    assert "--scope" in told.err


def test_a_wearer_can_be_named_and_is_remembered(tmp_path: Path) -> None:
    memory, first, second = tmp_path / "memory", tmp_path / "a.srt", tmp_path / "b.srt"
    first.write_text("1\n00:00:01,000 --> 00:00:02,000\nSam: I am here.\n")
    second.write_text("1\n00:00:01,000 --> 00:00:02,000\nSam: I am gone.\n")
    ran("ingest", first, "--wearer", "Sam", "--memory", memory)
    ran("ingest", second, "--memory", memory)
    assert len(events(memory, "--person", "me")) == 2


def test_a_file_that_grew_continues_and_twice_is_once(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    ran("ingest", week(tmp_path, LATER), "--memory", memory)
    grown = week(tmp_path, CLIP, LATER)
    report = ran("ingest", grown, "--json", "--memory", memory).json
    assert (report["clips"], report["clips_skipped"]) == (1, 1)
    assert [event["time"] for event in events(memory)][-1] == "2000-01-02T16:02:01"
    assert len(events(memory)) == 4
    again = ran("ingest", grown, "--json", "--memory", memory).json
    assert (again["clips"], again["clips_skipped"], again["nodes"]) == (0, 2, 0)


def test_narrations_are_sources_with_their_ids_and_may_be_corrected(tmp_path: Path) -> None:
    memory, path = tmp_path / "memory", tmp_path / "n.csv"
    path.write_text(NARRATIONS + "a_0,a,0,1,take plate\na_1,a,2,3,put down plate\n")
    ran("ingest", path, "--memory", memory)
    path.write_text(NARRATIONS + "b_0,b,0,1,open fridge\na_0,a,0,1,take plate\na_1,a,2,3,put plate on table\n")
    report = ran("ingest", path, "--json", "--memory", memory).json
    assert {one["source"]: one["clips"] for one in report["sources"]} == {"a": 1, "b": 1}
    told = sorted((str(event["ref"]), str(event["text"])) for event in events(memory))
    assert told == [("a_0", "take plate"), ("a_1", "put plate on table"), ("b_0", "open fridge")]
    again = ran("ingest", path, "--json", "--memory", memory).json
    assert [one["clips"] for one in again["sources"]] == [0, 0]


BROKEN = {
    "n.csv": (NARRATIONS + "a_0,a,0,1,take plate\na_1,a,5,3,put down plate\n", "line 3: stop_timestamp"),
    "m.csv": ("video_id,narration\na,take plate\n", "'start_timestamp'"),
    "c.jsonl": ('{"video_file": "DAY1_A1_JAKE_11100000.mp4", "data": [{"start": 5}]}\n', "line 1: "),
    "d.jsonl.gz": ("this is no gzip", "gzip"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_a_sentence_and_leaves_no_half_source(name: str, tmp_path: Path) -> None:
    text, fault = BROKEN[name]
    (tmp_path / name).write_text(text)
    done = amr("ingest", tmp_path / name, "--json", "--memory", tmp_path / "memory")
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, name, fault)
    assert not (tmp_path / "memory" / "memory.duckdb").exists()
