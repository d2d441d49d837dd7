"""Questions on narrations, with gold worked out by hand from a small file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amr.errors import BadInput
from amr.evals.asking import Asked
from amr.evals.epic import judge, lookup, number_in
from amr.evals.epic_gold import Question, make_questions, read_narrations
from tests.evals.kitchen import write_kitchen


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    return write_kitchen(tmp_path)


@pytest.fixture
def questions(kitchen: Path) -> dict[str, Question]:
    return {one.text: one for one in make_questions(read_narrations(kitchen))}


def gold(question: Question) -> list[str]:
    return [one.id for one in question.gold]


def test_right_after_is_what_starts_next_after_the_last_putting(questions: dict[str, Question]) -> None:
    assert gold(questions["What did I do right after putting down the plate?"]) == ["V_8"]


def test_what_starts_next_or_when_the_putting_ended_is_right_and_ties_are_too(questions: dict[str, Question]) -> None:
    assert gold(questions["What did I do right after putting down the knife?"]) == ["V_5", "V_6", "V_7"]


def test_openings_are_counted_where_one_name_is_used(questions: dict[str, Question]) -> None:
    assert questions["How many times did I open the fridge?"].count == 2
    assert not [text for text in questions if "open the cupboard" in text or "open the cabinet" in text]


def test_a_place_is_asked_for_where_the_last_putting_names_one(questions: dict[str, Question]) -> None:
    asked = questions["Where did I last put the plate?"]
    assert [noun.key for one in asked.gold for noun in one.places] == ["rack:drying"]
    assert "Where did I last put the knife?" not in questions


def test_first_and_last_go_by_time(questions: dict[str, Question]) -> None:
    assert gold(questions["When did I first take the plate?"]) == ["V_0"]
    assert gold(questions["When did I last put the plate?"]) == ["V_4"]


def test_of_two_things_taken_together_both_were_taken(questions: dict[str, Question]) -> None:
    assert gold(questions["When did I first take the fork?"]) == gold(questions["When did I first take the knife?"])


def test_nothing_is_asked_that_hangs_on_a_doubtful_line(questions: dict[str, Question]) -> None:
    put, opened = ("lid", "pan", "salt"), ("bottle", "pot", "drawer")
    assert not [text for text in questions if "put" in text and text.split()[-1].rstrip("?") in put]
    assert not [text for text in questions if "open" in text and text.split()[-1].rstrip("?") in opened]
    assert {"How many times did I open the lid?", "How many times did I open the tap?"} <= set(questions)


def test_a_paraphrase_is_a_name_that_the_video_does_not_use(questions: dict[str, Question]) -> None:
    asked = {text: one for text, one in questions.items() if one.paraphrased}
    assert asked["How many times did I open the refrigerator?"].count == 2
    assert gold(asked["When did I first take the dish?"]) == ["V_0"]


# --- judging ------------------------------------------------------------------------------------------------


def cites(answer: str, *pieces: tuple[float, str], found: bool = True) -> dict[str, Any]:
    """A reply whose first claim cites the first of the pieces."""
    evidence = [{"node_id": i, "source": "V", "t_start": at, "text": text} for i, (at, text) in enumerate(pieces)]
    claims = [{"text": answer, "evidence": [0], "supported": True}] if pieces else []
    return {"answer": answer, "found": found, "evidence": evidence, "claims": claims}


def test_the_answer_must_rest_on_the_gold_and_say_it(questions: dict[str, Question]) -> None:
    question = questions["What did I do right after putting down the plate?"]
    assert judge(question, cites('"wash hands" (00:00:16)', (16.0, "wash hands")))
    assert not judge(question, cites('"put plate on drying rack"', (14.0, "put plate"), (16.0, "wash hands")))
    assert not judge(question, cites("You did something.", (16.0, "wash hands")))
    assert not judge(question, cites('"wash hands"', (16.0, "wash hands"), found=False))


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("2 times: 00:00:05, 00:00:09", 2),
        ("Twice.", 2),
        ("At 00:03:05 and 00:07:00, so three times", 3),
        ("You never did.", 0),
        ('"open fridge" (00:00:05)', None),
    ],
)
def test_the_first_number_counts_and_clock_times_do_not(answer: str, number: int | None) -> None:
    assert number_in(answer) == number


def test_a_number_is_right_or_wrong(questions: dict[str, Question]) -> None:
    question = questions["How many times did I open the fridge?"]
    assert judge(question, cites("2 times", (5.0, "open fridge")))
    assert not judge(question, cites("3 times, not 2", (5.0, "open fridge")))


def test_a_place_must_be_named(questions: dict[str, Question]) -> None:
    question = questions["Where did I last put the plate?"]
    assert judge(question, cites("On the drying racks"))
    assert not judge(question, cites("On the counter"))


def test_the_first_clock_time_may_be_two_seconds_off(questions: dict[str, Question]) -> None:
    question = questions["When did I last put the plate?"]
    assert judge(question, cites("00:00:16: put plate"))
    assert not judge(question, cites("00:00:17: put plate"))
    assert not judge(question, cites("00:00:01: put plate; 00:00:14: put plate"))


def test_the_lookup_answers_with_the_last_line_of_the_right_words(
    kitchen: Path, questions: dict[str, Question]
) -> None:
    answer = lookup(read_narrations(kitchen), list(questions.values()), kitchen)
    asked = questions["When did I last put the plate?"]
    assert judge(asked, answer(Asked(asked.text, source="V")))


# --- bad files ----------------------------------------------------------------------------------------------


def test_a_missing_column_is_named(kitchen: Path) -> None:
    kitchen.write_text(kitchen.read_text().replace("verb_class", "verb_number"))
    with pytest.raises(BadInput, match="has no column verb_class"):
        read_narrations(kitchen)


@pytest.mark.parametrize(("old", "new"), [("00:00:02.00", "two"), ("['plate']", "plate"), ("[2]", "['x']")])
def test_a_row_that_cannot_be_read_is_named(kitchen: Path, old: str, new: str) -> None:
    kitchen.write_text(kitchen.read_text().replace(old, new, 1))
    with pytest.raises(BadInput, match=r"row 2: it cannot be read"):
        read_narrations(kitchen)
