"""Names, handles and lemmas: what look-ups are made of."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amr.language.lemmas import content_lemmas, lemma, table, verb_forms
from amr.language.names import handle, normalise_object, owner, split_speaker


@pytest.mark.parametrize(
    ("cue", "expected"),
    [
        ("Jake: Okay, then we need a stopwatch.", ("Jake", "Okay, then we need a stopwatch.")),
        ("Liu Ting: Actually", ("Liu Ting", "Actually")),
        ("Dr. Smith: yes", ("Dr. Smith", "yes")),
        ("Shure： hi", ("Shure", "hi")),
        ("林霜：你好", ("林霜", "你好")),
        ("Others: Still: come over", ("Others", "Still: come over")),
        ("10:30: we left", (None, "10:30: we left")),
        ("It is 10:30", (None, "It is 10:30")),
        ("Note: http://a.b", (None, "Note: http://a.b")),
        ("http://a.b", (None, "http://a.b")),
        ("My plan: go home", (None, "My plan: go home")),
        ("I took three things: a pen, a cup and a bag", (None, "I took three things: a pen, a cup and a bag")),
        ("no colon", (None, "no colon")),
        ("", (None, "")),
    ],
)
def test_a_cue_names_its_speaker_before_a_colon(cue: str, expected: tuple[str | None, str]) -> None:
    assert split_speaker(cue) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("my phones", "phone"),
        ("the glasses", "glasses"),
        ("a pair of scissors", "scissors"),
        ("two pieces of bread", "bread"),
        ("Lucia's phone", "phone"),
        ("the lid of the box", "lid"),
        ("the other power cord", "power cord"),
        ("kitchen knives", "kitchen knife"),
        ("me", "wearer"),
        ("it", "it"),
        ("手机", "手机"),
    ],
)
def test_objects_are_looked_up_by_their_bare_singular_name(name: str, expected: str) -> None:
    assert normalise_object(name) == expected
    assert normalise_object(expected) == expected


def test_the_owner_of_a_thing_is_told_by_its_name() -> None:
    assert [owner(name) for name in ("phone", "my phone", "her phone", "Lucia's phone")] == ["", "", "her", "Lucia"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("girl in black hoodie", "girl_black_hoodie"),
        ("power bank", "power_bank"),
        ("Lucia", "lucia"),
        ("the USB-C cable", "usb_c_cable"),
        ("林霜", "林霜"),
    ],
)
def test_handles_are_short_and_stable(name: str, expected: str) -> None:
    assert handle(name) == expected
    assert handle(expected.replace("_", " ")) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("placing", "place"),
        ("Placed", "place"),
        ("put", "put"),
        ("left", "leave"),
        ("unplugged", "unplug"),
        ("carries", "carry"),
        ("tying", "tie"),
        ("phone's", "phone"),
        ("knives", "knife"),
        ("boxes", "box"),
        ("glasses", "glasses"),
        ("was", "be"),
        ("taken", "take"),
    ],
)
def test_words_are_reduced_to_their_dictionary_form(word: str, expected: str) -> None:
    assert lemma(word) == expected


def test_a_question_and_its_evidence_share_their_content_words() -> None:
    question = content_lemmas("Where did I leave my phones?")
    assert question == ["leave", "phone"]
    assert set(question) <= set(content_lemmas("I left my phone on the table."))


def test_left_as_a_side_is_not_the_past_of_leave() -> None:
    assert content_lemmas("my left hand") == ["left", "hand"]


def test_lemmas_agree_with_a_dictionary_on_regular_words() -> None:
    simplemma = pytest.importorskip("simplemma")
    forms = "placing holding carried stopped boxes batteries watches opened wiping sliced chairs drinking"
    assert [lemma(word) for word in forms.split()] == [simplemma.lemmatize(word, lang="en") for word in forms.split()]


def test_every_verb_that_changes_a_state_is_a_verb_the_reader_knows() -> None:
    named = [verb for entry in table("verbs")["state"].values() for verb in entry["verbs"]]
    assert [verb for verb in named if not verb_forms(verb.split()[0])] == []


def test_a_query_is_reduced_quickly() -> None:
    content_lemmas("warm up")
    start = time.perf_counter()
    for _ in range(1000):
        content_lemmas("Where did I leave the blue mug yesterday evening?")
    assert time.perf_counter() - start < 1.0


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_names_of_any_text_are_settled(text: str) -> None:
    assert normalise_object(text) == normalise_object(normalise_object(text))
    assert handle(text) == handle(text)
    speaker, rest = split_speaker(text)
    assert rest in text
    assert speaker is None or speaker in text
