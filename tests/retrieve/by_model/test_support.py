"""A claim counts only if the events it cites bear it out, word by word, place by place, person by person."""

from __future__ import annotations

from typing import Any

import pytest

from amr.records import Evidence, Node
from amr.retrieve.by_model.citations import check_claims
from amr.retrieve.by_model.support import Cited, unsupported_by

DAY2_16_02_35 = 946_828_955_000
MAY_2023 = 1_683_554_160_000


def event(
    number: int, text: str, actor: str = "wearer", verb: str = "", time_ms: int | None = DAY2_16_02_35, **payload: Any
) -> Evidence:
    """An event of three seconds as evidence."""
    actions = [{"actor": actor, "verb": verb, "object": "", "spatial_relation": ""}] if verb else []
    payload = {"persons": [actor], "objects": [], "actions": actions, **payload}
    node = Node(number, "event", "default", 0, 0, None, 0, 0, 2000, 5000, time_ms, text, payload, f"h{number}")
    return Evidence(node, "kitchen.mp4", "0:0", None, 1.0, 1.0)


TABLE = event(1, "I put my phone on the table.", verb="put")
SHELF = event(2, "I put the cup on the shelf.", verb="put")
APPLE = event(3, "Lucia ate the apple.", "lucia", "eat")
DENIED = event(4, "I did not put the key in the drawer.")
ALICES = event(5, "Alice's phone is on the sofa.")
OPENED = event(6, "I opened the fridge.", verb="open")
AGAIN = event(7, "I opened the fridge again.", verb="open")
CHINESE = event(8, "我把手机放在桌子上。")
IT = event(9, "Put it on the windowsill.", verb="put")
ASKED = event(10, "Did I put my phone on the table?")
GIVEN = event(11, "Lucia gave me the key.", "lucia", "give")
POCKET = event(12, "I put my car keys into the left pocket of my jacket.", verb="put")
SAID = event(13, 'Lucia says: "I left the umbrella behind the door."', "lucia", "leave")
DATED = event(14, "We went to the lake.", time_ms=MAY_2023)
TWO = event(15, "I put two spoons into the sink.", verb="put")


@pytest.mark.parametrize(
    ("claim", "cited"),
    [
        ("Your phone is on the table.", [TABLE]),
        ("You placed your mobile phone on the table.", [TABLE]),
        ("Your phone was last seen on the table at 16:02:35.", [TABLE]),
        ("At 4:02 PM you put your phone on the table.", [TABLE]),
        ("On DAY2 in the afternoon you put your phone on the table.", [TABLE]),
        ("Lucia ate the apple.", [APPLE]),
        ("You did not put the key in the drawer.", [DENIED]),
        ("Alice's phone is on the sofa.", [ALICES]),
        ("You opened the fridge twice.", [OPENED, AGAIN]),
        ("You opened the fridge 2 times.", [OPENED, AGAIN]),
        ("手机在桌子上。", [CHINESE]),
        ("Your phone is on the window sill.", [TABLE, IT]),
        ("Lucia gave you the key.", [GIVEN]),
        ("Your car keys are in the left pocket of your jacket.", [POCKET]),
        ("Lucia left the umbrella behind the door.", [SAID]),
        ("You went to the lake on 8 May 2023.", [DATED]),
        ("You went to the lake on 2023-05-08.", [DATED]),
        ("There are 2 spoons in the sink.", [TWO]),
    ],
)
def test_what_the_events_say_in_these_or_like_words_is_borne_out(claim: str, cited: list[Evidence]) -> None:
    assert unsupported_by(claim, [Cited(piece) for piece in cited]) == ""


@pytest.mark.parametrize(
    ("claim", "cited", "reason"),
    [
        ("Your phone is on the shelf.", [TABLE], '"shelf"'),
        ("Your phone is on the shelf.", [TABLE, SHELF], "something else"),
        ("Your phone is under the table.", [TABLE], "under the table"),
        ("Your phone is in the table.", [TABLE], "in the table"),
        ("Your car keys are in the right pocket of your jacket.", [POCKET], '"right"'),
        ("Your phone is on the table, next to the golden trumpet.", [TABLE], '"golden"'),
        ("You put your phone on the table at 17:02.", [TABLE], "17:02"),
        ("You put your phone on the table on DAY3.", [TABLE], "DAY3"),
        ("In the morning you put your phone on the table.", [TABLE], "morning"),
        ("Katrina put your phone on the table.", [TABLE], '"katrina"'),
        ("You ate the apple.", [APPLE], "not You"),
        ("You gave the key to Lucia.", [GIVEN], "not You"),
        ("You left the umbrella behind the door.", [SAID], "not You"),
        ("Lucia ate two apples.", [APPLE], '"two"'),
        ("There are 3 spoons in the sink.", [TWO], '"3"'),
        ("You opened the fridge three times.", [OPENED, AGAIN], '"three"'),
        ("You opened the fridge three times.", [OPENED, AGAIN, TABLE], '"three"'),
        ("You closed the fridge.", [OPENED], '"closed"'),
        ("Your key is in the drawer.", [DENIED], "opposite"),
        ("You did not put your phone on the table.", [TABLE], "deny"),
        ("Your phone is on the table.", [ASKED], "ask"),
        ("Your phone is on the sofa.", [ALICES], "somebody else's"),
        ("手机在冰箱里。", [CHINESE], "do not say"),
        ("You went to the lake on 9 May 2023.", [DATED], "9 May 2023"),
        ("Yes.", [TABLE], "says nothing"),
    ],
)
def test_what_the_events_do_not_say_is_caught(claim: str, cited: list[Evidence], reason: str) -> None:
    assert reason in unsupported_by(claim, [Cited(piece) for piece in cited])


def test_the_thing_that_it_stood_for_counts_as_said() -> None:
    resolved = event(20, "I put it in the drawer.", verb="put", states=[{"object": "phone", "resolved": True}])
    assert unsupported_by("Your phone is in the drawer.", [Cited(resolved)]) == ""


SHOWN = {piece.node.node_id: piece for piece in (TABLE, SHELF, APPLE)}


@pytest.mark.parametrize(
    ("ids", "reason"), [([], "cites nothing"), ([99], "99"), ([1, 99], "99"), ([2], "phone"), ([3], "phone")]
)
def test_a_claim_without_a_true_citation_is_dropped(ids: list[int], reason: str) -> None:
    checked = check_claims([("Your phone is on the table.", ids)], SHOWN)
    assert not checked.kept
    assert reason in checked.dropped[0][1]


def test_a_citation_that_adds_nothing_is_left_out() -> None:
    checked = check_claims([("Your phone is on the table.", [3, 1, 1])], SHOWN)
    assert [claim.evidence for claim in checked.kept] == [[1]]
    assert checked.kept[0].supported
