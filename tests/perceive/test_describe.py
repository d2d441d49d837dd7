"""Short names for persons and sentences for events: what a model gives is checked against what was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amr.models.asking import RoleModel
from amr.models.calls import Calls, RecordedChat
from amr.models.capabilities import capabilities_of
from amr.models.chat import ChatReply, ChatRequest, ReplyUnusable, Usage
from amr.models.names import parse_model_name
from amr.perceive.describe import Part, complete_actions, give_handles, summarise_events, summarise_merged
from amr.records import Action, Character, ClipAnalysis, EventReport, ObjectReport, SpeakerTurn


class Speaker:
    """A chat model that says what it is told to say, and keeps what it was asked."""

    name = "http://localhost/v1#speaker"
    capabilities = capabilities_of(parse_model_name(name))

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[ChatRequest] = []

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        return ChatReply(json.dumps(self.replies[len(self.asked) - 1]), Usage(10, 5, 0.5))


@pytest.fixture
def says(tmp_path: Path) -> Any:
    """From replies to the role's model that gives them, one after the other, and what it was asked."""

    def model(*replies: Any) -> tuple[RoleModel, list[ChatRequest]]:
        speaker = Speaker(*replies)
        return RoleModel("handles", RecordedChat(speaker, Calls(tmp_path, "test")), 500, "low"), speaker.asked

    return model


def handles(*given: tuple[int, str, str]) -> dict[str, Any]:
    return {"handles": [{"id": number, "handle": handle, "name": name} for number, handle, name in given]}


MAN, GIRL = "older man with glasses", "girl in black hoodie, called Lucia"
GOOD = handles((1, "girl_black_hoodie", "Lucia"), (2, "older_man_glasses", ""))


def test_persons_get_the_handles_given_to_their_ids(says: Any) -> None:
    model, asked = says(GOOD)
    named = give_handles(model, [MAN, GIRL, MAN])
    assert named.handles == {GIRL: "girl_black_hoodie", MAN: "older_man_glasses"}
    assert named.names == {GIRL: "Lucia"}
    assert (named.usage.cost_usd, asked[0].max_tokens, asked[0].reasoning_effort) == (0.5, 500, "low")


def test_the_same_persons_in_another_order_are_the_same_call(says: Any) -> None:
    model, asked = says(GOOD)
    assert give_handles(model, [MAN, GIRL]).handles == give_handles(model, [GIRL, MAN]).handles
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (handles((1, "girl_black_hoodie", "Lucia")), "there is none for id 2"),
        (handles((1, "a_b", ""), (1, "c_d", ""), (2, "e", "")), "several for id 1"),
        (handles((1, "a_b", ""), (2, "c_d", ""), (3, "e", "")), "nothing has the id 3"),
        (handles((1, "Girl_Hoodie", ""), (2, "c_d", "")), '"Girl_Hoodie" is not a handle'),
        (handles((1, "girl hoodie", ""), (2, "c_d", "")), '"girl hoodie" is not a handle'),
        (handles((1, "wearer", ""), (2, "c_d", "")), '"wearer" is not a handle'),
        (handles((1, "", ""), (2, "c_d", "")), '"" is not a handle'),
    ],
)
def test_handles_that_cannot_be_used_are_asked_for_again(says: Any, bad: Any, told: str) -> None:
    model, asked = says(bad, GOOD)
    assert give_handles(model, [MAN, GIRL]).handles[MAN] == "older_man_glasses"
    assert asked[1].prompt == "handles_strict"
    assert told in asked[1].text


def test_nobody_is_asked_about_nothing(says: Any) -> None:
    model, asked = says()
    assert give_handles(model, []).handles == {}
    assert summarise_events(model, ClipAnalysis(clip_summary="Empty.")).texts == {}
    assert asked == []


EVENT = EventReport(
    local_event_id="E1",
    time_start=0,
    time_end=4,
    summary="C1 takes the phone.",
    actors=["C1", "wearer"],
    objects=[ObjectReport(name="phone", spatial_description="to the left of the mug")],
    dialogue=["I am leaving.", "Bye!"],
    actions=[Action(actor="C1", verb="take", object="phone")],
)
CLIP = ClipAnalysis(
    clip_summary="A girl leaves.",
    scene_type="kitchen",
    characters=[Character(local_character_id="C1", name_or_description="girl in black hoodie")],
    speaker_turns=[SpeakerTurn(speaker_id="C1", utterance="I am leaving.", time_start=1, time_end=2)],
    events=[EVENT, EVENT.model_copy(update={"local_event_id": "E2", "actions": []})],
)
SUMMARIES = {"summaries": [{"id": "E2", "summary": "Second."}, {"id": "E1", "summary": " First\nline. "}]}


def test_all_events_of_a_clip_are_summed_up_in_one_call_with_all_that_is_known_of_them(says: Any) -> None:
    model, asked = says(SUMMARIES)
    assert summarise_events(model, CLIP).texts == {"E1": "First line.", "E2": "Second."}
    sent = json.loads(asked[0].text[asked[0].text.rindex('{\n "clip_summary"') :])
    assert (sent["clip_summary"], sent["scene_type"]) == ("A girl leaves.", "kitchen")
    assert sent["events"][0] == {
        "id": "E1",
        "summary": "C1 takes the phone.",
        "dialogue": [{"speaker": "girl in black hoodie", "utterance": "I am leaving."}, "Bye!"],
        "actors": ["girl in black hoodie", "wearer"],
        "objects": [{"name": "phone", "spatial_description": "to the left of the mug"}],
        "actions": [{"actor": "girl in black hoodie", "verb": "take", "object": "phone", "spatial_relation": ""}],
    }


def test_a_summary_that_is_missing_empty_or_far_too_long_is_asked_for_again(says: Any) -> None:
    first = SUMMARIES["summaries"][0]
    for number, text in enumerate(("", "word " * 90)):
        model, asked = says({"summaries": [first, {"id": "E1", "summary": text}]}, SUMMARIES)
        changed = CLIP.model_copy(update={"scene_type": f"kitchen {number}"})
        assert summarise_events(model, changed).salvages == {"reasked": 1}
    model, asked = says({"summaries": [first]}, {"summaries": [first]})
    with pytest.raises(ReplyUnusable, match="none for id E1"):
        summarise_events(model, CLIP)
    assert len(asked) == 2


def test_merged_events_get_one_summary_from_all_their_parts(says: Any) -> None:
    model, asked = says({"summary": "She takes the phone and leaves."})
    parts = [Part("She takes the phone.", ["Bye!"], [EVENT.actions[0].model_dump()]), Part("She leaves.", [], [])]
    text, usage, salvages = summarise_merged(model, parts)
    assert (text, usage.cost_usd, salvages) == ("She takes the phone and leaves.", 0.5, {})
    sent = json.loads(asked[0].text[asked[0].text.rindex('{\n "nodes"') :])
    assert [node["summary"] for node in sent["nodes"]] == ["She takes the phone.", "She leaves."]
    assert sent["nodes"][0]["actions"][0]["verb"] == "take"


def test_only_relations_that_are_missing_are_completed(says: Any) -> None:
    deed = {"actor": "girl in black hoodie", "verb": "take", "object": "phone", "spatial_relation": "from the table"}
    model, _ = says({"events": [{"id": "E1", "actions": [deed]}]})
    assert complete_actions(model, CLIP).actions == {
        "E1": [Action(actor="C1", verb="take", object="phone", spatial_relation="from the table")]
    }
    changed = {"events": [{"id": "E1", "actions": [{**deed, "verb": "steal"}]}]}
    model, _ = says(changed, changed)
    other = CLIP.model_copy(update={"clip_summary": "Other.", "events": [EVENT.model_copy(update={"dialogue": []})]})
    with pytest.raises(ReplyUnusable, match="not those that were given"):
        complete_actions(model, other)
