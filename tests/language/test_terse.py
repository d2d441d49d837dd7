from __future__ import annotations

import pytest

from amr.language.reading import read_sentence
from amr.language.terse import told_in_full
from amr.language.tokens import tokenise


def deeds(text: str) -> list[tuple[str, str, str]]:
    return [(deed.verb, deed.object, deed.spatial_relation) for deed in read_sentence(text).actions]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("open drawer", [("open", "drawer", "")]),
        ("close tap", [("close", "tap", "")]),
        ("turn on tap", [("turn on", "tap", "")]),
        ("turn tap off", [("turn off", "tap", "")]),
        ("wash hands", [("wash", "hands", "")]),
        ("dry hands with towel", [("dry", "hands", "")]),
        ("place bowl in sink", [("place", "bowl", "in sink")]),
        ("put can into bin", [("put", "can", "into bin")]),
        ("empty mug into sink", [("empty", "mug", "into sink")]),
        ("move potatoes to the pan", [("move", "potatoes", "to the pan")]),
        ("put down washing up liquid", [("put down", "washing up liquid", "")]),
        ("opening fridge", [("open", "fridge", "")]),
        ("continue wiping sink", [("wipe", "sink", "")]),
        ("throw packaging", [("throw", "packaging", "")]),
        ("pour water and cut onion", [("pour", "water", ""), ("cut", "onion", "")]),
        ("put fork and spoon in rack", [("put", "fork", "in rack"), ("put", "spoon", "in rack")]),
        ("wash plate and turn off tap", [("wash", "plate", ""), ("turn off", "tap", "")]),
        ("take salt and pepper", [("take", "salt", ""), ("take", "pepper", "")]),
    ],
)
def test_telegraph_style_is_read_as_if_the_articles_were_there(text: str, told: list[tuple[str, str, str]]) -> None:
    assert deeds(text) == told


@pytest.mark.parametrize(
    "text", ["Water flows.", "I open the drawer.", "Light music.", "a phone on the table", "phone fell", "open", ""]
)
def test_what_is_told_in_full_or_names_something_stays_as_it_is(text: str) -> None:
    sentence = tokenise(text)
    assert told_in_full(sentence) is sentence


def test_an_added_article_is_never_quoted() -> None:
    full = told_in_full(tokenise("put knife in drawer"))
    assert full.low == ["put", "the", "knife", "in", "the", "drawer"]
    assert full.slice(1, 3) == "knife"
    assert full.slice(3, 6) == "in drawer"
