"""ClipAnalysis → event nodes."""

from __future__ import annotations

from amr.perceive.perception import Perceived
from amr.records import Action, Character, ClipAnalysis, EventReport, ObjectReport, SpeakerTurn
from amr.write.events import ClipPlace, event_node, events_of, mentions_of

PLACE = ClipPlace("default", 0, "key", 0, 1, 3, 30_000, 40_000, None)


def analysis(**fields: object) -> ClipAnalysis:
    return ClipAnalysis.model_validate({"clip_summary": "", **fields})


def event(**fields: object) -> EventReport:
    return EventReport.model_validate({"local_event_id": "E1", "time_start": 0, "time_end": 4, "summary": "", **fields})


def turn(words: str, start: float, end: float) -> SpeakerTurn:
    return SpeakerTurn(speaker_id="voice_1", utterance=words, time_start=start, time_end=end)


def test_times_become_milliseconds_of_the_source() -> None:
    node = event_node(5, PLACE, Perceived(analysis()), event(time_start=1.25, time_end=2.5))
    assert (node.t_start_ms, node.t_end_ms, node.time_ms, node.learnt_at) == (31_250, 32_500, None, 40_000)


def test_a_wall_clock_source_gives_wall_times_and_learns_on_the_wall_clock() -> None:
    place = ClipPlace(**{**vars(PLACE), "origin_wall_ms": 1_000_000})
    node = event_node(5, place, Perceived(analysis()), event())
    assert (node.time_ms, node.learnt_at) == (1_030_000, 1_040_000)


def test_a_turn_belongs_to_the_event_it_overlaps_most() -> None:
    found = events_of(
        analysis(
            events=[event(), event(local_event_id="E2", time_start=4, time_end=9)],
            speaker_turns=[turn("hello", 3.5, 6)],
        )
    )
    assert [e.dialogue for e in found] == [[], ["hello"]]
    assert found[1].actors == ["voice_1"]


def test_a_turn_that_an_event_quotes_stays_there_whatever_it_overlaps() -> None:
    quoting = event(local_event_id="E2", time_start=5, time_end=6, dialogue=["hello"])
    found = events_of(analysis(events=[event(time_end=9), quoting], speaker_turns=[turn("hello", 1, 6)]))
    assert [e.dialogue for e in found] == [[], ["hello"]]


def test_a_turn_that_overlaps_nothing_is_an_event_of_its_own_heard_only() -> None:
    found = events_of(analysis(events=[event()], speaker_turns=[turn("hello", 6, 7)]))
    assert [(e.modality, e.dialogue) for e in found] == [("seen", []), ("heard", ["hello"])]


def test_events_are_in_time_order() -> None:
    found = events_of(analysis(events=[event(time_start=3, summary="late"), event(summary="early")]))
    assert [e.summary for e in found] == ["early", "late"]


def test_characters_become_handles_and_names_in_the_words_are_persons() -> None:
    report = analysis(
        characters=[
            Character(local_character_id="C1", name_or_description="girl in black hoodie"),
            Character(local_character_id="C2", name_or_description="Tasha"),
            Character(local_character_id="C3", name_or_description="Ann"),
        ]
    )
    action = Action(actor="C1", verb="give", object="the cups")
    node = event_node(
        1, PLACE, Perceived(report), event(summary="She announces Tasha.", actors=["C1"], actions=[action])
    )
    assert node.payload["persons"] == ["girl_black_hoodie", "tasha"]
    assert node.payload["actions"][0]["actor"] == "girl_black_hoodie"


def test_objects_are_verbatim_in_the_record_and_singular_in_mentions() -> None:
    report = event(objects=[ObjectReport(name="Power Banks", spatial_description="on the desk")], actors=["wearer"])
    node = event_node(1, PLACE, Perceived(analysis()), report)
    assert node.payload["objects"] == ["Power Banks"]
    assert node.payload["places"] == {"Power Banks": "on the desk"}
    assert [(m.handle, m.role) for m in mentions_of(node)] == [
        ("wearer", "person"),
        ("power_bank", "object"),
        ("power_bank", "state"),
    ]


def test_equal_reports_have_equal_hashes_and_ids_do_not_count() -> None:
    one, two = (event_node(node_id, PLACE, Perceived(analysis()), event(summary="a")) for node_id in (1, 2))
    assert one.hash == two.hash
    assert one.hash != event_node(1, PLACE, Perceived(analysis()), event(summary="b")).hash
