"""What a model is shown of the evidence: events in order of time, no more than the budget allows."""

from __future__ import annotations

from dataclasses import replace

from amr.records import Evidence, Node
from amr.retrieve.by_model.context import context_of, event_line, line_tokens


def event(number: int, text: str, start_ms: int = 0, **payload: object) -> Evidence:
    node = Node(
        number, "event", "default", 0, 0, None, 0, 0, start_ms, start_ms + 1000, None, text, dict(payload), f"h{number}"
    )
    return Evidence(node, "life.srt", "0:0", None, 1.0, 1.0)


BEST, SECOND, THIRD = event(7, "I put it down.", 9000), event(3, "I pick it up.", 2000), event(5, "I wait.", 5000)


def test_events_stand_in_order_of_time_whatever_their_rank() -> None:
    shown = context_of([BEST, SECOND, THIRD], 1000)
    assert [line["id"] for _, line in shown] == [3, 5, 7]
    assert shown[0][1] == {"id": 3, "time": "00:00:02", "source": "life.srt", "text": "I pick it up."}


def test_the_best_come_first_when_not_all_fit() -> None:
    two = sum(line_tokens(line) for _, line in context_of([BEST, SECOND], 1000))
    assert [line["id"] for _, line in context_of([BEST, SECOND, THIRD], two)] == [3, 7]


def test_a_long_best_piece_is_cut_short_rather_than_left_out() -> None:
    long = replace(BEST, node=replace(BEST.node, text="word " * 2000))
    ((piece, line),) = context_of([long, SECOND], 150)
    assert piece is long
    assert line["text"].endswith("…")
    assert line_tokens(line) <= 150


def test_words_that_were_said_and_things_that_were_meant_are_told_where_the_text_lacks_them() -> None:
    states = [{"object": "power_bank", "resolved": True}, {"object": "sofa"}]
    told = event(9, "I put it on the sofa.", dialogue=["There you go."], states=states)
    line = event_line(told.node, "life.srt")
    assert (line["said"], line["about"]) == (["There you go."], ["power bank"])


def test_nothing_to_show_is_nothing() -> None:
    assert context_of([], 100) == []
