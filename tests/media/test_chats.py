"""Chats as files: the package's own lines and the files of the benchmarks, told by content."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from amr.errors import BadInput
from amr.media import beam, locomo, longmemeval
from amr.media.chats import Haystack, Session, Turn, chosen_chats, is_chats, read_chats
from amr.media.events import wall_ms
from tests.support import chats
from tests.support.chats import chat_jsonl, line
from tests.support.data import test_data
from tests.support.memories import events_jsonl, said


def of_lines(path: Path, *lines: dict[str, Any]) -> list[Haystack]:
    return list(read_chats(chat_jsonl(path / "talk.jsonl", lines)))


def test_lines_make_sessions_of_haystacks_in_order_of_first_appearance(tmp_path: Path) -> None:
    found = of_lines(
        tmp_path,
        line("s1", "Ann", "Hello", scope="one", turn_id="t1"),
        line("s1", "Bob", "A picture", scope="two", image_caption="a red kite"),
        line("s1", "Bob", "Hello Ann", scope="one"),
        line("s0", "user", "Hi", None, role="user"),
    )
    nine = wall_ms("2024-05-01T09:30:00Z")
    assert found == [
        Haystack("one", (Session("s1", nine, (Turn("Ann", "Hello", "t1"), Turn("Bob", "Hello Ann", "s1:2"))),)),
        Haystack("two", (Session("s1", nine, (Turn("Bob", "A picture", "s1:1", None, "a red kite"),)),)),
        Haystack("talk", (Session("s0", None, (Turn("user", "Hi", "s0:1", "user"),)),)),
    ]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"text": "Hi", "session": "s", "date": None}, "the key 'speaker' is missing"),
        (line("s", "Ann", "Hi", mood="merry"), "unknown key 'mood'"),
        (line("s", "Ann", "Hi", "May 1st"), "date 'May 1st' is not ISO 8601"),
        (line("s", "Ann", "  "), "text is empty"),
        (line(" ", "Ann", "Hi"), "session is empty"),
        (line("s", "Ann", "Hi", turn_id="s:1"), "the turn 's:1' is there already (line 1)"),
        ({**line("s", "Ann", "Hi"), "session": 3}, "session: Input should be a valid string"),
    ],
)
def test_a_wrong_line_refuses_the_file_with_its_number(tmp_path: Path, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput) as error:
        of_lines(tmp_path, line("s", "Ann", "Hello"), wrong)
    assert "line 2" in str(error.value) and told in str(error.value)


def test_a_line_that_is_no_json_is_told_with_its_number(tmp_path: Path) -> None:
    path = chat_jsonl(tmp_path / "talk.jsonl", [line("s", "Ann", "Hello")])
    path.write_text(path.read_text() + '{"session": "s", \n')
    with pytest.raises(BadInput, match="line 2"):
        list(read_chats(path))


def test_formats_are_told_by_content_packed_or_not(tmp_path: Path) -> None:
    record = chats.longmemeval("q1", 2)
    for name, text in (
        ("array.json", json.dumps([record, chats.longmemeval("q2", 1)])),
        ("lines.jsonl", json.dumps(record) + "\n" + json.dumps(chats.longmemeval("q2", 1)) + "\n"),
    ):
        for path, data in ((tmp_path / name, text.encode()), (tmp_path / f"{name}.gz", gzip.compress(text.encode()))):
            path.write_bytes(data)
            assert is_chats(path)
            assert [(one.name, len(one.sessions)) for one in read_chats(path)] == [("q1", 2), ("q2", 1)]


def test_other_files_are_no_chats(tmp_path: Path) -> None:
    events = events_jsonl(tmp_path / "day.jsonl", [(0, said("I sit."))])
    (tmp_path / "list.json").write_text('[{"name": "nothing of it"}]')
    (tmp_path / "empty.json").write_text("")
    assert not any(is_chats(path) for path in (events, tmp_path / "list.json", tmp_path / "empty.json", tmp_path))
    with pytest.raises(BadInput, match="amr schema chat"):
        list(read_chats(tmp_path / "list.json"))


def test_an_array_that_is_cut_short_is_told_with_the_item(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(json.dumps([chats.longmemeval("q1", 1), chats.longmemeval("q2", 1)])[:-40])
    found = read_chats(path)
    assert next(found).name == "q1"
    with pytest.raises(BadInput, match="item 2"):
        next(found)


def test_of_several_haystacks_a_name_chooses_one(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([chats.longmemeval("q1", 1), chats.longmemeval("q2", 1)]))
    assert [one.name for one in chosen_chats(path, "q2", lambda name: None)] == ["q2"]
    with pytest.raises(BadInput, match="q1, q2"):
        chosen_chats(path, "q3", lambda name: None)


def test_turns_of_longmemeval_are_numbered_as_its_own_code_does() -> None:
    record = chats.longmemeval("q1", 1, turns=3)
    record["haystack_sessions"][0][1]["content"] = ""
    found = longmemeval.haystack(record)
    assert [turn.ref for turn in found.sessions[0].turns] == ["q1-0_1", "q1-0_3"]
    assert found.problems == ("q1, turn q1-0_2: there is no text.",)
    assert found.sessions[0].time_ms == wall_ms("2023-05-01T00:15:00Z")


def test_what_is_wrong_in_a_record_is_told_and_the_rest_kept() -> None:
    record = chats.longmemeval("q1", 4)
    record["haystack_dates"] = ["2023/05/01 (Mon) 10:00", "some day", "2023/05/03"]
    record["haystack_sessions"][3] = "nothing"
    record["extra"] = {"of": "no matter"}
    found = longmemeval.haystack(record)
    assert [session.time_ms for session in found.sessions] == [
        wall_ms("2023-05-01T10:00:00Z"),
        None,
        wall_ms("2023-05-03T00:00:00Z"),
    ]
    assert len(found.problems) == 3
    assert "3 dates for 4 sessions" in found.problems[0]
    del record["haystack_sessions"]
    assert longmemeval.haystack(record).problems == ("q1: 'haystack_sessions' is missing.",)


def test_a_conversation_of_locomo_is_in_the_order_of_its_sessions() -> None:
    record = chats.locomo(
        "conv-1",
        {
            10: ("9:05 am on 2 June, 2023", [("Melanie", "Hi")]),
            2: ("1:56 pm on 8 May, 2023", [("Caroline", "Hey Mel"), ("Melanie", "")]),
            3: (None, [("Caroline", "Hm")]),
        },
    )
    record["conversation"]["session_2"][0]["blip_caption"] = "a dog"
    found = locomo.haystack(record)
    assert [(one.ref, one.time_ms) for one in found.sessions] == [
        ("D2", wall_ms("2023-05-08T13:56:00Z")),
        ("D3", None),
        ("D10", wall_ms("2023-06-02T09:05:00Z")),
    ]
    assert found.sessions[0].turns == (Turn("Caroline", "Hey Mel", "D2:1", None, "a dog"),)
    assert found.problems == (
        "conv-1, turn D2:2: there is no text.",
        "conv-1, session D3: 'session_3_date_time' is missing.",
    )


def test_a_chat_of_beam_loses_its_makers_marks_and_dates_hold_until_the_next() -> None:
    turns = [
        [{"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Plan it. ->-> 1,1"}],
        [{"role": "user", "id": 2, "content": "a -> b ->-> c"}, {"role": "assistant", "id": 3, "content": "Yes."}],
    ]
    found = beam.haystack({"id": "100K/2", "chat": [{"batch_number": 1, "time_anchor": None, "turns": turns}]})
    day = wall_ms("2024-03-15T00:00:00Z")
    assert [(one.ref, one.time_ms) for one in found.sessions] == [("1-1", day), ("1-2", day)]
    assert [(t.ref, t.text) for one in found.sessions for t in one.turns] == [
        ("0", "Plan it."),
        ("2", "a -> b ->-> c"),
        ("3", "Yes."),
    ]
    assert not found.problems


@pytest.mark.parametrize(
    ("file", "haystacks", "sessions", "turns"),
    [
        ("locomo/locomo8_dev.json.gz", 8, 215, 4527),
        ("longmemeval/longmemeval_s_full_dev.jsonl.gz", 4, 153, 1585),
        ("beam100k/conv_02.json.gz", 1, 78, 200),
    ],
)
def test_the_real_files_are_read_whole(file: str, haystacks: int, sessions: int, turns: int) -> None:
    found = list(read_chats(test_data(file)))
    read = [session for one in found for session in one.sessions]
    assert not any(one.problems for one in found)
    assert (len(found), len(read), sum(len(one.turns) for one in read)) == (haystacks, sessions, turns)
    assert all(session.time_ms is not None for session in read)
