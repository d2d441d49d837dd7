"""Generated questions: what is said to be absent is absent, what is said to come later comes later."""

from __future__ import annotations

import re

from amr.evals.baselines import Unit
from amr.evals.unmentioned import answerable, unanswerable

HOUR = 3_600_000
LINES = [
    (0, "I put the cup on the table."),
    (1, "I picked up the blue box."),
    (2, "I took a look at the umbrella."),
    (30, "Alice brings two trombones."),
    (31, "I put the kettle down."),
    (32, "I dreamt of a lighthouse."),
]
UNITS = [Unit(text, hour * HOUR, hour * HOUR + 2000, dated=True) for hour, text in LINES]


def test_the_words_of_never_questions_are_in_no_line() -> None:
    made = [one for one in unanswerable(UNITS, 100, 40) if one.kind == "never"]
    assert len(made) == 100
    acts = re.compile(r"When did I (?!last|talk)\w+ the ")
    about = [one.question for one in made if not acts.match(one.question)]
    assert not [question for question in about if re.search(r"trombone|lighthouse|umbrella", question)]


def test_later_questions_are_asked_an_hour_before_the_first_mention() -> None:
    made = [one for one in unanswerable(UNITS, 100, 40) if one.kind == "later"]
    assert made
    for one in made:
        hour = {"trombone": 29, "lighthouse": 31}[next(w for w in ("trombone", "lighthouse") if w in one.question)]
        assert one.as_of_ms == hour * HOUR


def test_answerable_questions_are_asked_two_minutes_after_their_line() -> None:
    asked = {one.question: one.as_of_ms for one in answerable(UNITS, 10)}
    assert set(asked) <= {"When did I put the cup?", "Where did I put the cup?", "When did I pick up the blue box?"}
    assert len(asked) == 2
    assert asked["When did I pick up the blue box?"] == HOUR + 2000 + 120_000


def test_the_same_lines_give_the_same_questions() -> None:
    assert unanswerable(UNITS, 50, 10) == unanswerable(UNITS, 50, 10)
    assert answerable(UNITS, 10) == answerable(UNITS, 10)
