from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.retrieve.question import read_question


@pytest.mark.parametrize(
    ("text", "form", "question_type"),
    [
        ("Where is my phone?", "where", "Object_Tracking"),
        ("Have you seen my keys?", "where", "Object_Tracking"),
        ("What happened to the plate, where did I leave it?", "where", "Object_Tracking"),
        ("When did I open the fridge?", "when", "Temporal_Multihop"),
        ("At what time did Alice leave?", "when", "Temporal_Multihop"),
        ("Who asked where we put the coffee?", "who", "Person_Understanding"),
        ("What did Katrina say about the parcel?", "said", "Cross_Modal"),
        ("What does the sign on the door say?", "read", "Cross_Modal"),
        ("How many cups did I wash?", "count", "Temporal_Multihop"),
        ("What did I buy?", "what", "General"),
        ("我把手机放在哪里了?", "where", "Object_Tracking"),
        ("谁说了图书馆?", "who", "Person_Understanding"),
    ],
)
def test_the_form_decides_what_is_answered(text: str, form: str, question_type: str) -> None:
    question = read_question(text)
    assert (question.form, question.question_type) == (form, question_type)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("Where did I put my phone?", "phone"),
        ("where's the blue helmet", "blue helmet"),
        ("Where did I last put the calibration board?", "calibration board"),
        ("Where did I leave the trash bag I carried downstairs?", "trash bag"),
        ("Where did Alice put Lucia's glasses?", "glasses"),
        ("Where is the power bank now?", "power bank"),
        ("What happened to the dirty plate I wiped off, where did I leave it?", "dirty plate"),
    ],
)
def test_the_thing_looked_for_is_found_in_look_up_form(text: str, target: str) -> None:
    assert read_question(text).target == target


def test_every_word_with_a_meaning_is_to_be_accounted_for() -> None:
    question = read_question("When did I feed the green parrot?")
    assert [(term.word, term.kind) for term in question.terms] == [
        ("feed", "verb"),
        ("green", "attribute"),
        ("parrot", "noun"),
    ]


def test_what_somebody_plans_or_wants_to_do_is_asked_about() -> None:
    question = read_question("Who plans to grow flowers?")
    assert {term.word: term.asked for term in question.terms} == {"plans": True, "grow": True, "flowers": True}
    question = read_question("What did I take to clean the windows?")
    assert {term.word: term.asked for term in question.terms} == {"take": True, "clean": False, "windows": False}


def test_who_acts_is_told_from_who_is_asked_about() -> None:
    assert read_question("What did I do with the box?").subject == "wearer"
    assert read_question("What did Priya say about the invoice?").subject == "priya"


def test_a_clause_that_only_says_which_one_binds_less() -> None:
    question = read_question("Where did I put the box after I washed the windows?")
    assert {term.word: term.asked for term in question.terms} == {"box": True, "washed": False, "windows": False}


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    question = read_question(text)
    assert question.question_type
    assert read_question(text) == question
