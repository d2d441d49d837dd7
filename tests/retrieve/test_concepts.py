"""The words that a question is about, with the stems of their other forms and of words like them."""

from __future__ import annotations

from amr.retrieve.concepts import concepts


def test_small_words_and_the_names_of_speakers_are_left_out() -> None:
    assert [one.word for one in concepts("What did Caroline's sister buy in Rome?", ["caroline"])] == [
        "sister",
        "buy",
        "rome",
    ]


def test_other_forms_of_a_verb_are_the_word_itself() -> None:
    (buy,) = concepts("Where did she buy it?", [])
    assert {"buy", "bought"} <= buy.own


def test_words_like_it_count_for_less() -> None:
    (kids,) = concepts("kids", [])
    assert kids.like["kid"] == 1
    assert 0.42 <= kids.like["children"] < 1


def test_names_numbers_and_quotations_are_told_apart() -> None:
    named = {one.word: one.named for one in concepts('Did Ann read "charlotte web" in Rome at 7?', ["ann"])}
    assert named == {"read": False, "charlotte": True, "web": True, "rome": True, "7": True}


def test_a_rare_word_says_more_than_a_common_one() -> None:
    common, rare = concepts("like archaeology", [])
    assert common.importance < rare.importance


def test_characters_of_languages_without_spaces_are_looked_up_in_pairs() -> None:
    assert [one.word for one in concepts("护照在哪里", [])] == ["护照", "照在", "在哪", "哪里"]


def test_what_no_dictionary_knows_stands_for_itself() -> None:
    (one,) = concepts("xyzzyplugh?", [])
    assert one.like == {"xyzzyplugh": 1.0}
    assert concepts("?!", []) == []
