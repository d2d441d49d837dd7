"""What the actions of a clip leave its things in."""

from __future__ import annotations

from typing import Any

import pytest

from amr.perceive.cues import read_cues
from amr.perceive.perception import Perceived
from amr.records import Clip, ClipAnalysis, Cue
from amr.write.events import ClipPlace, event_nodes, mentions_of
from amr.write.states import states_of

PLACE = ClipPlace("default", 0, "key", 0, 1, 0, 0, 30_000, None)


def told(*lines: str) -> list[list[dict[str, Any]]]:
    """The states of each line of a clip; a line "Name: words" is said, the others are narrated."""
    return [node.payload.get("states", []) for node in nodes(*lines)]


def nodes(*lines: str) -> list[Any]:
    cues = [Cue(n * 2000, n * 2000 + 1500, line) for n, line in enumerate(lines)]
    read = read_cues(Clip(0, 0, 30_000, cues=cues), "narration")
    analysis = ClipAnalysis(clip_summary="", events=read.events, characters=read.characters, speaker_turns=read.turns)
    return event_nodes(PLACE, Perceived(analysis))


def last(*lines: str) -> dict[str, Any]:
    """The last state that the lines tell."""
    return [state for line in told(*lines) for state in line][-1]


def test_what_is_put_somewhere_is_there() -> None:
    assert last("I put my scarf on the radiator.") == {
        "object": "scarf", "state": "located", "place": "on the radiator", "holder": "", "verb": "put",
        "actor": "wearer", "owner": "",
    }  # fmt: skip


def test_what_is_taken_up_is_held_by_who_took_it_wherever_it_was() -> None:
    state = last("Nora picked up the ladder from the floor.")
    assert (state["state"], state["place"], state["holder"]) == ("held", "", "nora")


@pytest.mark.parametrize(
    ("line", "holder"),
    [
        ("I gave the torch to Nora.", "nora"),
        ("I handed Nora the torch.", "nora"),
        ("Nora handed me the torch.", "wearer"),
        ("Nora passed the torch to Omar.", "omar"),
    ],
)
def test_what_is_handed_over_is_with_the_other_person(line: str, holder: str) -> None:
    state = last(line)
    assert (state["object"], state["state"], state["holder"]) == ("torch", "given", holder)


def test_in_my_hand_is_no_place() -> None:
    assert last("I put the torch in my left hand.")["state"] == "held"
    assert last("I put the torch in my pocket.")["place"] == "in my pocket"


@pytest.mark.parametrize("line", ["Put it on the shelf.", "Then I put it on the shelf.", "threw onto the shelf"])
def test_it_and_what_is_left_out_are_the_thing_in_hand(line: str) -> None:
    state = last("I picked up the tin.", "I looked at the window.", line)
    assert (state["object"], state["place"].split(" ", 1)[1], state["resolved"]) == ("tin", "the shelf", True)
    assert "certain" not in state


def test_it_is_what_one_has_taken_up_last() -> None:
    assert last("I picked up the tin.", "I picked up the spoon.", "I put it down.")["object"] == "spoon"
    assert last("I have the tin in my hand.", "I walk with a spoon.", "I put it down.")["object"] == "spoon"


def test_what_somebody_else_does_with_it_is_done_with_what_they_hold() -> None:
    lines = ("I picked up the tin.", "Nora picked up the brush.", "Nora put it on the floor.", "I put it on the table.")
    assert [state["object"] for line in told(*lines) for state in line] == ["tin", "brush", "brush", "tin"]


def test_it_is_the_box_after_something_was_put_into_the_box() -> None:
    lines = ("I put the needle in the box.", "I closed it.", "I put it on the shelf.")
    assert [(s["object"], s["place"]) for line in told(*lines) for s in line] == [
        ("needle", "in the box"),
        ("box", ""),
        ("box", "on the shelf"),
    ]


def test_what_is_put_in_without_a_place_is_in_what_was_opened() -> None:
    assert last("I opened the fridge.", "I put in the butter.")["place"] == "in the fridge"


def test_a_bottle_of_water_is_a_bottle_and_water() -> None:
    states = told("I put the bottle of cold water on the step.")[0]
    assert [(state["object"], state["place"]) for state in states] == [
        ("bottle", "on the step"),
        ("cold_water", "on the step"),
    ]


def test_what_is_only_meant_is_not_certain() -> None:
    assert last("I'm about to put the vase on the sill.")["certain"] is False
    assert last("I tried to put the vase on the sill.")["certain"] is False
    assert "certain" not in last("I'll put the vase on the sill.")


def test_the_bag_i_was_holding_is_not_held_any_more() -> None:
    states = told("I put the basket I was holding on the bench.")[0]
    assert [(state["state"], state["place"], "certain" in state) for state in states] == [
        ("located", "on the bench", False)
    ]


def test_whose_a_thing_is_is_kept() -> None:
    assert last("I put Nora's keys on the hook.")["owner"] == "nora"
    assert last("Nora put her keys in her pocket.")["owner"] == "her"
    assert last("I put my keys on the hook.")["owner"] == ""


@pytest.mark.parametrize("line", ["I carried the ladder into the barn.", "Nora brought the ladder into the barn."])
def test_what_is_carried_somewhere_is_held_there(line: str) -> None:
    assert (last(line)["state"], last(line)["place"]) == ("held", "into the barn")


@pytest.mark.parametrize("line", ["I brought the ladder to Nora.", "I took the ladder from the barn."])
def test_a_person_and_where_it_came_from_are_no_such_place(line: str) -> None:
    assert last(line)["place"] == ""


def test_the_things_are_all_that_is_in_hand_as_far_as_one_knows() -> None:
    lines = ("I picked up the trowel.", "I picked up the rake.", "I put the things in the wheelbarrow.")
    states = {state["object"]: state for state in told(*lines)[-1]}
    assert set(states) == {"trowel", "rake", "thing"}
    assert states["rake"]["place"] == "in the wheelbarrow"
    assert (states["rake"]["certain"], "certain" in states["thing"]) == (False, False)


def test_the_things_are_not_what_has_its_place() -> None:
    lines = ("I put the trowel on the shelf.", "I put the things in the wheelbarrow.")
    assert [state["object"] for state in told(*lines)[-1]] == ["thing"]


def test_hands_and_directions_tell_nothing() -> None:
    assert told("I put my hand on the door.", "I turn my head to the left.") == [[], []]
    assert last("I put the crate over there.")["place"] == ""


def test_it_without_a_thing_before_it_is_left_open_for_the_clip_before() -> None:
    node = nodes("Put it on the sofa.")[0]
    assert "states" not in node.payload
    assert [(state["object"], state["place"]) for state in node.payload["unresolved"]] == [("", "on the sofa")]


def test_speech_resolves_nothing_in_what_is_done() -> None:
    lines = ("I picked up the tin.", "Nora: I put the kettle on the stove.", "I put it on the table.")
    assert last(*lines)["object"] == "tin"


def test_a_state_can_be_looked_up_by_its_thing_also_where_the_words_say_it() -> None:
    second = nodes("I picked up the tin.", "I put it on the table.")[1]
    rows = {(mention.handle, mention.role) for mention in mentions_of(second)}
    assert {("tin", "state"), ("tin", "object")} <= rows


def test_what_comes_later_in_a_clip_changes_no_earlier_state() -> None:
    lines = ["I picked up the tin.", "I put it down.", "I picked up the brush.", "Hung it on the nail."]
    for count in range(1, len(lines)):
        assert told(*lines)[:count] == told(*lines[:count])


def test_events_without_actions_have_no_states() -> None:
    assert states_of([]) == []
    assert told("The sun is shining.") == [[]]
