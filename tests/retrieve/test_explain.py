"""`--explain`: how the evidence was found, for a person and for a program."""

from __future__ import annotations

from amr.memory import Filters, Memory
from amr.retrieve.explain import explain_text
from amr.retrieve.json_out import answer_json, query_json
from tests.retrieve.lives import settings
from tests.support.command import amr

QUESTION = "Where did I put my phone?"


def test_it_tells_type_anchors_by_lane_hops_groups_and_what_was_dropped(whole_day: Memory) -> None:
    told = query_json(whole_day.query(QUESTION, settings()), explain=True)["explain"]
    assert told["question_type"] == "Object_Tracking"
    best = told["anchors"][0]
    assert set(best) == {"node_id", "score", "lanes"}
    assert set(best["lanes"]) <= {"words", "meaning", "dense", "entity", "state", "moment"}
    assert all(rank >= 1 for rank in best["lanes"].values())
    assert told["ended"]
    for hop in told["hops"]:
        assert all(set(step) == {"node_id", "from", "channel", "score"} for step in hop)
    assert all(0 <= group["relevance"] <= 1 for group in told["groups"])
    assert all(group["why"] for group in told["dropped"])


def test_every_hop_begins_where_the_one_before_ended(whole_day: Memory) -> None:
    told = query_json(whole_day.query(QUESTION, settings()), explain=True)["explain"]
    known = {anchor["node_id"] for anchor in told["anchors"]}
    for hop in told["hops"]:
        assert {step["from"] for step in hop} <= known
        known = {step["node_id"] for step in hop}


def test_a_channel_that_is_switched_off_is_in_no_hop(whole_day: Memory) -> None:
    answer = whole_day.query(QUESTION, settings(), Filters(without=("temporal",)))
    hops = query_json(answer, explain=True)["explain"]["hops"]
    assert "temporal" not in {step["channel"] for hop in hops for step in hop}


def test_the_object_is_there_only_when_asked_for(whole_day: Memory) -> None:
    answer = whole_day.ask(QUESTION, settings())
    assert "explain" not in answer_json(answer)
    assert set(answer_json(answer, explain=True)) - set(answer_json(answer)) == {"explain"}


def test_a_person_reads_the_walk_with_what_was_said(whole_day: Memory) -> None:
    text = explain_text(whole_day.ask(QUESTION, settings()))
    assert text.startswith("type: Object_Tracking\nanchors")
    assert "I put my phone on the kitchen table next to the mug." in text
    for part in ("hop 1:", "─temporal→", "the walk ended:", "groups:", "dropped:"):
        assert part in text


def test_the_command_prints_it_after_the_answer(whole_day: Memory) -> None:
    shown = amr("ask", QUESTION, "--memory", whole_day.directory, "--explain")
    assert "\ntype: Object_Tracking\n" in shown.out
    found = amr("query", QUESTION, "--memory", whole_day.directory, "--explain", "--json")
    assert '"explain": {' in found.out
