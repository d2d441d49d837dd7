from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.retrieve.clauses import Act, read_clauses


@pytest.mark.parametrize(
    ("text", "order", "close", "deeds"),
    [
        ("What did I do right after putting down the ladle?", "after", True, [("put down", "ladle")]),
        ("What did I do right after I put the ladle down?", "after", True, [("put down", "ladle")]),
        ("What did I do after I had put down the ladle?", "after", False, [("put down", "ladle")]),
        ("Just before I locked the gate, what did I pick up?", "before", True, [("lock", "gate")]),
        ("What did I do after washing the jar and drying it?", "after", False, [("wash", "jar"), ("dry", "it")]),
        ("What was I doing while Mara peeled the carrots?", "during", False, [("peel", "carrots")]),
        ("Where did I go when the bell rang?", "during", False, [("ring", "bell")]),
    ],
)
def test_the_clause_says_how_it_stands_in_time_and_what_is_done_in_it(
    text: str, order: str, close: bool, deeds: list[tuple[str, str]]
) -> None:
    asked = read_clauses(text)
    assert (asked.order, asked.close) == (order, close)
    assert [(act.verb, act.object) for act in asked.clause_acts] == deeds


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("When did I open the shed?", Act("wearer", "open", "shed", "")),
        ("What did I leave on the bench before I went in?", Act("wearer", "leave", "", "on the bench")),
        ("Where did Mara hide the keys?", Act("mara", "hide", "keys", "")),
        ("Who handed me the rope?", Act("", "hand", "rope", "to me")),
        ("How many times did we paint the fence?", Act("wearer", "paint", "fence", "")),
        ("When was the shed opened?", Act("", "open", "shed", "")),
        ("How many people came to the barn?", Act("", "come", "", "to the barn")),
        ("What time did I water the ferns?", Act("wearer", "water", "ferns", "")),
    ],
)
def test_a_question_is_read_as_the_statement_it_asks_about(text: str, act: Act) -> None:
    assert read_clauses(text).acts[:1] == (act,)


@pytest.mark.parametrize(
    ("text", "ordinal"),
    [
        ("When did I first take the rake?", 1),
        ("When did I take the rake for the first time?", 1),
        ("When did I crack my first egg?", 1),
        ("When did I last take the rake?", -1),
        ("When did I most recently take the rake?", -1),
        ("When did I take the rake the second time?", 2),
        ("When did I take the rake?", 0),
        ("What did I do last night?", 0),
        ("Where is the first aid box?", 0),
    ],
)
def test_first_and_last_say_which_one(text: str, ordinal: int) -> None:
    assert read_clauses(text).ordinal == ordinal


@pytest.mark.parametrize(
    ("text", "count", "wanted"),
    [
        ("How many times did I open the shed?", "times", ""),
        ("How many people did I give a flyer to?", "people", ""),
        ("How many nails did I hammer in?", "things", "nails"),
        ("How often do I water the ferns?", "rate", ""),
        ("When did I open the shed?", "", ""),
    ],
)
def test_what_is_to_be_counted(text: str, count: str, wanted: str) -> None:
    asked = read_clauses(text)
    assert (asked.count, asked.wanted) == (count, wanted)


def test_what_is_usual_is_told_from_what_was_done_once() -> None:
    assert read_clauses("What do I usually check when I take the drill?").usual
    assert not read_clauses("What did I check when I took the drill?").usual


@pytest.mark.parametrize(
    ("text", "actor"),
    [
        ("What did Mara do before leaving the barn?", "mara"),
        ("What did Mara do after she left the barn?", "mara"),
        ("What did Mara do when Otis left the barn?", "otis"),
        ("What did I do before leaving the barn?", "wearer"),
    ],
)
def test_a_clause_without_a_name_is_about_the_one_asked_about(text: str, actor: str) -> None:
    assert [act.actor for act in read_clauses(text).clause_acts] == [actor]


def test_a_question_without_a_clause_has_no_order() -> None:
    assert read_clauses("What did I do before?").clause == ""
    assert read_clauses("Where is my drill?").order == ""


@pytest.mark.parametrize(
    "text", ["", "?", "前 after 后 before", '"after" AND (before OR *)', "when " * 2500, "after, before"]
)
def test_what_is_no_question_is_read_all_the_same(text: str) -> None:
    assert read_clauses(text) == read_clauses(text)


@given(st.text(max_size=60))
def test_any_text_after_a_joint_can_be_read(text: str) -> None:
    read_clauses(f"What did I do right after {text}")


@pytest.mark.parametrize(
    ("question", "main"),
    [
        ("Who was steering the boat?", "someone was steering the boat"),
        ("Who did I hand the rope to that was on the deck?", "I handed the rope to"),
        ("Who gave me that very long rope?", "someone gave me the long rope"),
        ("Who finally gave me the rope I was looking for?", "someone gave me the rope"),
    ],
)
def test_the_deed_is_read_without_what_only_describes(question: str, main: str) -> None:
    assert read_clauses(question).main == main


def test_to_get_home_is_to_go_there() -> None:
    assert read_clauses("When did we get home?").acts[0].verb == "go"
