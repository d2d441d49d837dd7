"""Chats on the command line: what is printed, what a mistake is answered with, and what can be asked afterwards."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support import chats
from tests.support.chats import chat_jsonl, line
from tests.support.command import amr, assert_one_sentence, ran
from tests.support.data import test_data

TALK = (
    line("s1", "Caroline", "I went to a pottery class yesterday.", "2023-05-08T13:56:00Z", turn_id="D1:1"),
    line("s1", "Melanie", "How was the class?", turn_id="D1:2"),
    line("s2", "Caroline", "My cactus bloomed.", "2023-06-01T08:00:00Z", turn_id="D2:1"),
)


def test_a_chat_is_written_and_asked(tmp_path: Path) -> None:
    file, memory = chat_jsonl(tmp_path / "friends.jsonl", TALK), tmp_path / "memory"
    done = ran("ingest", file, "--memory", memory, "--json").json
    assert (done["source"], done["clips"], done["turns"], done["clips_skipped"]) == ("friends", 2, 3, 0)
    assert (done["nodes"], done["warnings"]) == (3 + 2 + 2, [])
    assert done["models"] == {"embedder": "embedded:minilm-static-256-v1"}
    found = ran("query", "whose cactus bloomed", "--scope", "friends", "--memory", memory, "--json").json
    best = found["evidence"][0]
    assert (best["kind"], best["ref"], best["time"]) == ("turn", "D2:1", "2023-06-01T08:00:00")
    assert "cactus" in ran("ask", "What bloomed?", "--scope", "friends", "--memory", memory).out
    assert len(ran("timeline", "--scope", "friends", "--memory", memory).out.splitlines()) == 3
    people = ran("people", "--scope", "friends", "--memory", memory).out
    assert people.splitlines()[0].startswith("caroline")
    again = ran("ingest", file, "--memory", memory, "--json").json
    assert (again["clips"], again["clips_skipped"], again["nodes"]) == (0, 2, 0)


def test_evidence_is_a_line_each_however_long_a_turn_is(tmp_path: Path) -> None:
    code = "My cactus script:\n" + "\n".join(f"water(pot={number})" for number in range(200))
    file = chat_jsonl(tmp_path / "friends.jsonl", [*TALK, line("s3", "Caroline", code, "2023-07-01T08:00:00Z")])
    ran("ingest", file, "--memory", tmp_path / "memory")
    where = ("--scope", "friends", "--memory", tmp_path / "memory")
    told = amr("query", "water pot script", *where).out.splitlines()
    assert len(told) in (4, 5)
    (long,) = (one for one in told if "My cactus script: water(pot=0)" in one)
    assert len(long) < 600
    assert "session s3: Caroline" in amr("query", "water pot script", "--kind", "session", *where).out


def test_only_what_was_said_by_then_is_seen(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    ran("ingest", chat_jsonl(tmp_path / "friends.jsonl", TALK), "--memory", memory)
    told = ran("timeline", "--scope", "friends", "--as-of", "2023-05-20", "--memory", memory, "--json").json
    assert [event["ref"] for event in told["events"]] == ["D1:1", "D1:2"]


def test_a_wrong_line_is_one_sentence_and_leaves_no_memory(tmp_path: Path) -> None:
    file = chat_jsonl(tmp_path / "friends.jsonl", [*TALK, {**TALK[0], "when": "now", "turn_id": "D9"}])
    done = amr("ingest", file, "--memory", tmp_path / "memory")
    assert done.code == 3
    assert_one_sentence(done.err, "line 4", "unknown key 'when'", "amr schema chat")
    assert not (tmp_path / "memory").exists()


def test_a_record_with_faults_is_kept_as_far_as_it_goes(tmp_path: Path) -> None:
    whole, broken, empty = (chats.longmemeval(name, 3) for name in ("whole", "broken", "empty"))
    broken["haystack_dates"][1] = "soon"
    del empty["haystack_sessions"]
    file = tmp_path / "records.json"
    file.write_text(json.dumps([whole, broken, empty]))
    done = ran("ingest", file, "--memory", tmp_path / "memory", "--json")
    assert [(one["source"], one["clips"]) for one in done.json["sources"]] == [("whole", 3), ("broken", 3)]
    assert done.json["warnings"] == [
        "broken, session broken-1: the date 'soon' is no date.",
        "empty: 'haystack_sessions' is missing.",
        "broken: 1 session(s) without a date have the time of the one before.",
    ]
    assert done.err.splitlines() == done.json["warnings"]
    file.write_text(json.dumps([empty]))
    refused = amr("ingest", file, "--memory", tmp_path / "memory")
    assert refused.code == 3
    assert_one_sentence(refused.err, "holds no session", "'haystack_sessions' is missing")


def test_options_that_mean_nothing_for_a_chat_are_refused(tmp_path: Path) -> None:
    file = chat_jsonl(tmp_path / "friends.jsonl", TALK)
    captions = tmp_path / "a.srt"
    captions.write_text("1\n00:00:01,000 --> 00:00:02,000\nHi\n")
    for options in (("--captions", captions), ("--follow",)):
        done = amr("ingest", file, *options, "--memory", tmp_path / "memory")
        assert done.code == 3
        assert_one_sentence(done.err, "friends.jsonl")


def test_the_schema_of_a_line_is_printed() -> None:
    told = ran("schema", "chat").json
    assert set(told["required"]) == {"session", "date", "speaker", "text"}
    assert told["additionalProperties"] is False


def test_a_real_conversation_is_written_and_rebuilding_leaves_it_as_it_is(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    done = ran("ingest", test_data("beam100k/conv_02.json.gz"), "--memory", memory, "--json").json
    assert (done["source"], done["clips"], done["turns"]) == ("100K/2", 78, 200)
    assert "as before" in ran("rebuild", "--scope", "100K/2", "--memory", memory).out
    shown = ran("show", 3, "--memory", memory, "--json").json
    assert (shown["kind"], shown["ref"]) == ("window", "1-1")
