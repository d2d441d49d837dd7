"""Where a thing was last known to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from amr.memory import Filters, Memory
from amr.retrieve.wanted import Wanted, wanted
from tests.retrieve.lives import live, settings


def where(tmp_path: Path, cues: list[tuple[int, str]], question: str, as_of: str | None = None) -> str:
    return live(tmp_path, cues).ask(question, settings(), Filters(as_of=as_of)).answer


SHED = [
    (1, "I walk into the shed."),
    (4, "I pick up the lantern."),
    (8, "I put the lantern on the barrel."),
    (40, "I walk into the house."),
    (44, "I put the rope under the bench."),
]


def test_the_room_one_had_just_come_into_is_added(tmp_path: Path) -> None:
    answer = where(tmp_path, [*SHED[:1], (2, "I walk into the garage."), *SHED[1:]], "Where did I put the lantern?")
    assert answer.startswith("On the barrel (in the garage): ")


def test_no_room_is_added_that_was_left_again(tmp_path: Path) -> None:
    cues = [(1, "I walk into the kitchen."), (5, "I go downstairs."), (9, "I put the rope under the bench.")]
    assert where(tmp_path, cues, "Where did I put the rope?").startswith("Under the bench: ")


def test_what_was_put_down_where_is_not_said_is_where_one_had_walked_up_to(tmp_path: Path) -> None:
    cues = [(1, "I pick up the jug."), (5, "I walk over to the table."), (8, "I put down the jug.")]
    assert where(tmp_path, cues, "Where did I put the jug?").startswith("At the table: ")


def test_what_was_put_back_is_where_it_had_been(tmp_path: Path) -> None:
    cues = [(1, "I put the jug on the mantelpiece."), (50, "I pick up the jug."), (70, "I put the jug back.")]
    assert where(tmp_path, cues, "Where is the jug?").startswith("On the mantelpiece: ")


def test_the_box_is_the_cardboard_box_named_just_before(tmp_path: Path) -> None:
    cues = [
        (1, "I put the box on the roof."),
        (200, "I pick up the cardboard box."),
        (210, "I put the box behind the curtain."),
        (600, "I put the box in the car."),
    ]
    assert where(tmp_path, cues, "Where did I put the cardboard box?").startswith("Behind the curtain: ")
    assert where(tmp_path / "b", cues, "Where did I put the box?").startswith("In the car: ")


def test_it_goes_on_from_one_clip_to_the_next(tmp_path: Path) -> None:
    cues = [(8, "I picked up the tablet."), (11, "Turned around and put it on the sofa.")]
    assert where(tmp_path, cues, "Where did I put the tablet?").startswith("On the sofa: ")


def test_somebody_elses_is_not_mine(tmp_path: Path) -> None:
    cues = [(1, "I put my phone on the sill."), (20, "I put Nora's phone in the drawer.")]
    assert where(tmp_path, cues, "Where is my phone?").startswith("On the sill: ")
    assert where(tmp_path / "b", cues, "Where is Nora's phone?").startswith("In the drawer: ")


def test_the_thing_described_is_meant_not_the_latest_like_it(tmp_path: Path) -> None:
    cues = [
        (1, "I fold the blanket."),
        (5, "I put the blanket in the corner of the bed."),
        (3000, "I put the blanket on the floor."),
    ]
    described = where(tmp_path, cues, "Where did I put the blanket I folded?")
    assert described.startswith("In the corner of the bed: ")
    assert where(tmp_path / "b", cues, "Where did I put the blanket?").startswith("On the floor: ")


def test_of_two_things_together_that_place_is_meant(tmp_path: Path) -> None:
    cues = [(1, "I put the charger and the cable on the shelf."), (30, "I put the charger in the box.")]
    assert where(tmp_path, cues, "Where did I put the charger and the cable?").startswith("On the shelf: ")


def test_the_bag_of_salt_is_the_salt(tmp_path: Path) -> None:
    cues = [(1, "I carry a bag of salt down the stairs."), (9, "I put the salt on the counter.")]
    assert where(tmp_path, cues, "Where did I put the bag of salt?").startswith("On the counter: ")


def test_a_sip_leaves_the_drink_where_it_is(tmp_path: Path) -> None:
    cues = [(1, "I put the lemonade on the step."), (9, "Nora drinks some lemonade.")]
    assert where(tmp_path, cues, "Where did I put the lemonade?").startswith("On the step: ")


def test_what_else_the_question_tells_of_the_thing_does_not_hide_it(tmp_path: Path) -> None:
    cues = [(1, "I put the tambourine on the harmonium."), (40, "I wash the car.")]
    question = "Where did I put the tambourine that uncle's neighbours complained about all summer?"
    assert where(tmp_path, cues, question).startswith("On the harmonium: ")


def test_what_was_done_to_a_thing_need_not_be_told(tmp_path: Path) -> None:
    cues = [(1, "I put the turnip on the harmonium."), (40, "I wash the car.")]
    assert where(tmp_path, cues, "Where did I put the half-eaten turnip?").startswith("On the harmonium: ")


def test_a_cable_has_many_names(tmp_path: Path) -> None:
    cues = [(1, "I unplug the charging cable."), (400, "I put the data cable on the bed.")]
    assert where(tmp_path, cues, "Where did I leave the charging cable?").startswith("On the bed: ")


def test_what_was_switched_off_as_a_clip_ended_is_put_away_in_the_next(tmp_path: Path) -> None:
    cues = [(5, "I took out the radio."), (8, "I turned off the radio."), (11, "Put it in the drawer.")]
    assert where(tmp_path, cues, "Where did I put the radio?").startswith("In the drawer: ")


def test_a_verb_that_sounds_like_the_thing_is_no_answer(tmp_path: Path) -> None:
    assert "coats" not in where(tmp_path, [(1, "Nora: It coats the dough.")], "Where did I leave my jacket?")


def test_the_two_boxes_are_not_any_box(tmp_path: Path) -> None:
    cues = [
        (1, "I pick up the two crates."),
        (5, "I put the crates on the roof."),
        (400, "I put the crate in the barn."),
    ]
    assert where(tmp_path, cues, "Where did I put the two crates?").startswith("On the roof: ")
    assert where(tmp_path / "b", cues, "Where did I put the crate?").startswith("In the barn: ")


def test_my_phone_is_not_somebody_elses_that_has_no_later_state(tmp_path: Path) -> None:
    cues = [(1, "I put Nora's phone on the sill."), (20, "I picked up my phone."), (30, "I put my phone in the bag.")]
    assert where(tmp_path, cues, "Where did I put Nora's phone?").startswith("On the sill: ")


def test_the_bag_with_the_salt_in_it_goes_where_the_salt_goes(tmp_path: Path) -> None:
    cues = [
        (1, "I put the bag on the sofa."),
        (40, "I put the salt in the bag."),
        (44, "I put the salt on the counter."),
    ]
    assert where(tmp_path, cues, "Where did I put the bag with the salt in it?").startswith("On the counter: ")


def test_what_was_put_somewhere_and_taken_up_long_ago_is_where_it_was_put(tmp_path: Path) -> None:
    cues = [(1, "I put the vase on the piano."), (5, "I pick up the vase."), (400, "I wash the car.")]
    assert where(tmp_path, cues, "Where did I put the vase?").startswith("On the piano: ")
    soon = where(tmp_path / "b", cues[:2], "Where did I put the vase?")
    assert soon.startswith("You were last seen holding it: ")


def test_after_something_asks_where_it_stayed_right_after_for_the_next_place(tmp_path: Path) -> None:
    cues = [
        (1, "I wash the kettle."),
        (10, "I put the kettle on the floor."),
        (14, "I pick up the kettle."),
        (20, "I put the kettle on the piano."),
    ]
    assert where(tmp_path, cues, "Where did I put the kettle after I washed it?").startswith("On the piano: ")
    soon = where(tmp_path / "b", cues, "Where did I put the kettle right after I washed it?")
    assert soon.startswith("On the floor: ")


def test_what_was_carried_somewhere_is_there_with_who_carried_it(tmp_path: Path) -> None:
    cues = [(1, "I carried the ladder to the barn."), (40, "I wash the car.")]
    assert where(tmp_path, cues, "Where is the ladder?").startswith("You took it to the barn: ")


def test_all_that_is_in_hand_is_put_with_the_things(tmp_path: Path) -> None:
    cues = [(1, "I picked up the trowel."), (5, "I put everything in the wheelbarrow."), (40, "I wash the car.")]
    assert where(tmp_path, cues, "Where did I put the trowel?").startswith("In the wheelbarrow: ")


def test_who_has_it_is_asked_of_its_state(tmp_path: Path) -> None:
    assert where(tmp_path, [(1, "I hand the saw to Nora.")], "Who has the saw?").startswith("Nora has it: ")


def test_what_one_is_about_to_do_counts_until_something_else_is_said(tmp_path: Path) -> None:
    cues = [(1, "I pick up the vase."), (5, "I'm going to put the vase on the piano.")]
    assert where(tmp_path, cues, "Where is the vase?").startswith("On the piano: ")
    changed = [*cues, (9, "I put the vase on the floor.")]
    assert where(tmp_path / "b", changed, "Where is the vase?").startswith("On the floor: ")


def test_as_of_a_moment_within_a_clip_a_caption_that_has_ended_is_known(tmp_path: Path) -> None:
    cues = [(1, "I put the key on the hook."), (5, "I put the key in the bowl.")]
    memory = live(tmp_path, cues)
    assert memory.ask("Where is the key?", settings(), Filters(as_of="00:00:04")).answer.startswith("On the hook: ")
    assert memory.ask("Where is the key?", settings(), Filters(as_of="00:00:07")).answer.startswith("In the bowl: ")


@pytest.mark.parametrize("question", ["Where did I put the trumpet?", "Where is my passport?", "Who has the trumpet?"])
def test_a_thing_never_mentioned_is_not_found(morning: Memory, question: str) -> None:
    assert not morning.ask(question, settings()).found


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("Where did I put my phone?", Wanted("phone", "my")),
        ("Where's Nora's phone?", Wanted("phone", "nora")),
        ("Where did I leave the card Nora gave me?", Wanted("card")),
        ("Where did I put the plate upstairs?", Wanted("plate")),
        ("Where are the two blankets I folded last night?", Wanted("blanket", number="two")),
        ("Where did I put the bag of salt?", Wanted("bag", content="salt")),
        ("Where did I leave the jug and the cup that nobody wanted?", Wanted("jug", others=("cup",))),
        ("What happened to the dirty plate I wiped, where did I leave it?", Wanted("dirty plate")),
        ("On which table is the mug?", Wanted("mug")),
        ("Where did I put the towels the porter left me?", Wanted("towel")),
        ("Where did I put the tin with the nails in it?", Wanted("tin", content="nail")),
        ("Where did I carry my two crates?", Wanted("crate", "my", number="two")),
        ("Where?", Wanted()),
    ],
)
def test_what_is_wanted_is_read_off_the_question(question: str, thing: Wanted) -> None:
    assert wanted(question) == thing
