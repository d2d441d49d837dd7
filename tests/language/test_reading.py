"""What the rule-based reader says of sentences: actions, objects, persons, mood."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amr.language.reading import Reading, is_narration, read_sentence


def actions(text: str, speaker: str | None = None) -> list[tuple[str, str, str, str]]:
    found = read_sentence(text, speaker).actions
    return [(action.actor, action.verb, action.object, action.spatial_relation) for action in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "I left my phone on the kitchen table next to the mug",
            [("wearer", "leave", "phone", "on the kitchen table next to the mug")],
        ),
        ("Put the phone in my pocket", [("wearer", "put", "phone", "in my pocket")]),
        ("I'm holding my phone.", [("wearer", "hold", "phone", "")]),
        ("Holding a phone with both hands", [("wearer", "hold", "phone", "")]),
        ("Place the phone in front of each person.", [("wearer", "place", "phone", "in front of each person")]),
        ("Hand the phone to Katrina.", [("wearer", "hand", "phone", "to Katrina")]),
        ("They handed the phone to me again.", [("they", "hand", "phone", "to me")]),
        ("I picked the power bank up again", [("wearer", "pick up", "power bank", "")]),
        ("Then I put the lid on the vinegar", [("wearer", "put", "lid", "on the vinegar")]),
        ("Lucia is scraping the cream", [("Lucia", "scrape", "cream", "")]),
        (
            "I walked into Lucia's room, looked up, and turned right",
            [
                ("wearer", "walk", "", "into Lucia's room"),
                ("wearer", "look up", "", ""),
                ("wearer", "turn", "", "right"),
            ],
        ),
        (
            "Katrina handed it to Alice, who then passed it to Tasha.",
            [("Katrina", "hand", "it", "to Alice"), ("Alice", "pass", "it", "to Tasha")],
        ),
    ],
)
def test_a_narration_gives_who_did_what_to_what_and_where(text: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert actions(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The phone is on the windowsill", [("", "be", "phone", "on the windowsill")]),
        ("There's a cup on the shelf.", [("", "be", "cup", "on the shelf")]),
        ("The door is open.", [("", "be open", "door", "")]),
        ("I'm in the living room.", [("wearer", "be", "", "in the living room")]),
        ("the box was placed in the corner", [("", "place", "box", "in the corner")]),
        ("The light was turned off by Lucia.", [("Lucia", "turn off", "light", "")]),
        ("The water is boiling.", [("", "boil", "water", "")]),
        ("My right hand is holding the cup.", [("wearer", "hold", "cup", "")]),
        (
            "I put the jug and water on the step.",
            [("wearer", "put", "jug", "on the step"), ("wearer", "put", "water", "on the step")],
        ),
        ("I threw down the rag.", [("wearer", "throw down", "rag", "")]),
    ],
)
def test_states_and_passives_name_the_thing(text: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert actions(text) == expected


@pytest.mark.parametrize(
    ("text", "verb", "name", "place"),
    [
        ("Turn off the oven", "turn off", "oven", ""),
        ("Put on the slippers.", "put on", "slippers", ""),
        ("Put on the table.", "put", "", "on the table"),
        ("I took the box out again.", "take out", "box", ""),
        ("I put the lid back on the pot.", "put", "lid", "back on the pot"),
        ("I threw away the bag.", "throw away", "bag", ""),
        ("I took a look at the glasses.", "look at", "glasses", ""),
        ("I took a sip of tea.", "sip", "tea", ""),
        ("I started to fold the towel.", "fold", "towel", ""),
        ("I'm still trying to get this out.", "get out", "this", ""),
        ("Everyone gave me the keys.", "give", "keys", "to me"),
    ],
)
def test_particles_and_light_verbs_make_one_verb(text: str, verb: str, name: str, place: str) -> None:
    assert [found[1:] for found in actions(text)] == [(verb, name, place)]


def test_objects_joined_by_and_give_one_action_each() -> None:
    assert [found[2] for found in actions("I washed the cups, the plates and the bowl.")] == [
        "cups",
        "plates",
        "bowl",
    ]


def test_what_is_watched_acts_itself() -> None:
    assert actions("I watched Lucia put the bag into the car.") == [
        ("wearer", "watch", "Lucia", ""),
        ("Lucia", "put", "bag", "into the car"),
    ]


def test_the_place_behind_a_relative_clause_belongs_to_the_main_verb() -> None:
    assert actions("I put the food I was holding on the ground.") == [
        ("wearer", "put", "food", "on the ground"),
        ("wearer", "hold", "food", ""),
    ]


@pytest.mark.parametrize(
    ("text", "mood"),
    [
        ("where's the pen?", "question"),
        ("Where's the pen", "question"),
        ("could you put it on the table", "question"),
        ("I want to put it there", "wish"),
        ("I need to find my keys.", "wish"),
        ("I should put it there", "wish"),
        ("I didn't take it", "negation"),
        ("I never left the phone there", "negation"),
        ("if I leave the phone, it rings", "other"),
        ("None of them took the phone.", "other"),
        ("Lucia, open it.", "command"),
        ("at this moment", "other"),
        ("我把手机放在桌子上。", "other"),
        ("Ich habe das Telefon auf den Tisch gelegt", "other"),
        ("", "other"),
        ("?!…", "question"),
    ],
)
def test_what_is_not_said_to_be_done_gives_no_action(text: str, mood: str) -> None:
    reading = read_sentence(text)
    assert (reading.actions, reading.mood) == ([], mood)


@pytest.mark.parametrize(
    "text",
    [
        "I'll put the cup back.",
        "let me put the cup here",
        "I was about to open the window.",
        "I tried to open the jar.",
        "I put it on the table.",
        "Maybe I left the phone on the sofa.",
        "I lift the phone to scan the room.",
    ],
)
def test_what_is_meant_or_unresolved_is_reported_as_uncertain(text: str) -> None:
    reading = read_sentence(text)
    assert reading.actions
    assert not reading.certain


def test_what_is_plainly_said_is_certain() -> None:
    assert read_sentence("I left my phone on the table.").certain


def test_i_in_speech_is_the_speaker() -> None:
    assert actions("I put the scissors in the drawer", "Shure") == [("Shure", "put", "scissors", "in the drawer")]
    assert actions("The scissors are here.", "Shure") == [("", "be", "scissors", "here")]
    assert actions("Tasha gave me the phone.", "Shure") == [("Tasha", "give", "phone", "to me")]


@pytest.mark.parametrize("text", ["Put it on the table.", "Please open the door.", "You put it in the box."])
def test_orders_in_speech_are_commands(text: str) -> None:
    reading = read_sentence(text, "Shure")
    assert (reading.actions, reading.mood) == ([], "command")


def test_objects_keep_their_words_and_place_and_persons_are_named() -> None:
    reading = read_sentence("Lucia and I left the scissors on the wooden board.")
    assert [(found.name, found.spatial_description) for found in reading.objects] == [
        ("scissors", "on the wooden board"),
        ("wooden board", ""),
    ]
    assert reading.persons == ["wearer", "Lucia"]


def test_a_question_still_names_its_object() -> None:
    assert [found.name for found in read_sentence("Where did you put my blue mug?").objects] == ["blue mug"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I put the cup down.", True),
        ("Put the cup down.", True),
        ("Holding the cup.", True),
        ("Picked up the cup.", True),
        ("Turn left.", True),
        ("Now my hand is on the table.", True),
        ("Where did I put the cup?", False),
        ("Smells amazing!", False),
        ("You can sit here.", False),
        ("at this moment", False),
        ("好的", False),
        ("", False),
    ],
)
def test_first_person_and_verb_first_sentences_are_narration(text: str, expected: bool) -> None:
    assert is_narration(text) is expected


WORDS = """
I you he it Lucia phone the my a put left on in table take taking is was have n't 's and , . to not who
that look at up off with of as if while there let me again right back cut knife glasses her his
"""
words = st.sampled_from(WORDS.split())
texts = st.text(max_size=80) | st.lists(words, max_size=14).map(" ".join)


@given(texts, st.none() | st.text(max_size=8))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_without_error_and_always_the_same(text: str, speaker: str | None) -> None:
    first, again = read_sentence(text, speaker), read_sentence(text, speaker)
    assert isinstance(first, Reading)
    assert first == again


@given(st.lists(words.filter(lambda word: word != "."), max_size=14).map(" ".join), st.sampled_from([None, "Lucia"]))
@settings(max_examples=200, deadline=None)
def test_a_question_never_gives_an_action(text: str, speaker: str | None) -> None:
    assert read_sentence(text + "?", speaker).actions == []
