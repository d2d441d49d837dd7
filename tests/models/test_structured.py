"""JSON of a given shape, or a failure that is counted and kept: never a default that nobody said."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from amr.models.calls import Calls, RecordedChat
from amr.models.capabilities import Capabilities, capabilities_of
from amr.models.chat import CallFailed, ChatReply, ChatRequest, ReplyUnusable, Usage
from amr.models.names import parse_model_name
from amr.models.prompts import Prompt
from amr.models.structured import Structured, ask_json, strict_schema
from amr.records import ClipAnalysis
from tests.support.model_server_schema import schema_fault


class Thing(BaseModel):
    """A thing."""

    name: str = Field(description="what it is", max_length=40)
    place: str | None = None
    title: str = "none"


class Scene(BaseModel):
    """A scene with things."""

    kind: Literal["room", "street"]
    length: float = Field(ge=0)
    things: list[Thing] = []


GOOD = {"kind": "room", "length": 2.5, "things": [{"name": "mug", "place": None, "title": "a"}]}
TEXT = json.dumps(GOOD)
FIRST = ChatRequest("scene", "scene", "hash-1", "Tell the scene as JSON.")


class Speaker:
    """A chat model that says what it is told to say, and keeps what it was asked."""

    name = "test:speaker"
    capabilities: Capabilities = capabilities_of(parse_model_name("http://localhost/v1#speaker"))

    def __init__(self, *texts: str, finish: str = "stop") -> None:
        self.texts, self.finish = list(texts), finish
        self.asked: list[ChatRequest] = []

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        finish = self.finish if len(self.asked) == 1 else "stop"
        return ChatReply(self.texts[len(self.asked) - 1], Usage(10, 5, 0.5), finish)


def _strict(problem: str, raw: str) -> Prompt:
    return Prompt("scene_strict", "hash-2", f"Only JSON. The reply was: {raw}. Wrong with it: {problem}")


def _ask(speaker: Speaker, folder: Path) -> Structured[Scene]:
    return ask_json(RecordedChat(speaker, Calls(folder, "test")), FIRST, Scene, _strict)


def test_a_good_reply_needs_no_salvage(tmp_path: Path) -> None:
    speaker = Speaker(TEXT)
    scene = _ask(speaker, tmp_path)
    assert scene.value == Scene.model_validate(GOOD)
    assert scene.raw == TEXT and scene.usage == Usage(10, 5, 0.5) and not scene.salvages
    assert speaker.asked[0].schema == strict_schema(Scene)


@pytest.mark.parametrize(
    ("text", "salvages"),
    [
        (f"```json\n{TEXT}\n```", {"fences": 1}),
        (f"```\n{json.dumps(GOOD, indent=2)}\n```\n", {"fences": 1}),
        (f"Here is the scene:\n{TEXT}\nI hope this helps.", {"prose": 1}),
        (f"Sure!\n```json\n{TEXT}\n```\nDone.", {"prose": 1}),
        (TEXT.replace("}]}", "},]}"), {"repaired": 1}),
        (TEXT.replace('"', "'").replace("None", "null"), {"repaired": 1}),
        (f"```json\n{TEXT.replace('}]}', '}],}')}\n```", {"fences": 1, "repaired": 1}),
        (json.dumps({**GOOD, "why": 1, "things": [{**GOOD["things"][0], "x": 2}]}), {"extra_keys": 2}),  # type: ignore[index]
    ],
)
def test_what_is_mended_gives_the_same_and_is_counted(text: str, salvages: dict[str, int], tmp_path: Path) -> None:
    scene = _ask(Speaker(text), tmp_path)
    assert scene.value == Scene.model_validate(GOOD)
    assert scene.salvages == Counter(salvages)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (json.dumps({**GOOD, "length": "2.5"}), "length"),
        (json.dumps({**GOOD, "kind": "sea"}), "kind"),
        (json.dumps({**GOOD, "length": -1}), "length"),
        (json.dumps({**GOOD, "things": None}), "things"),
        (json.dumps({**GOOD, "things": [{"name": "mug", "title": "a"}]}), "things.0.place: missing"),
        (json.dumps({"kind": "room", "length": 1}), "things: missing"),
        (json.dumps([GOOD]), "single complete JSON object"),
        (TEXT.replace("2.5", "NaN"), "length"),
        (TEXT[:-3], "single complete JSON object"),
        (TEXT + TEXT, "single complete JSON object"),
        ("I cannot see anything.", "single complete JSON object"),
        ("{}", "kind: missing"),
        ("[" * 5000, "single complete JSON object"),
    ],
)
def test_what_cannot_be_mended_is_asked_for_once_more(bad: str, problem: str, tmp_path: Path) -> None:
    speaker = Speaker(bad, TEXT)
    scene = _ask(speaker, tmp_path)
    assert scene.value == Scene.model_validate(GOOD)
    assert scene.salvages["reasked"] == 1
    assert scene.usage == Usage(20, 10, 1.0)
    again = speaker.asked[1]
    assert problem in again.text and bad in again.text
    assert (again.prompt, again.prompt_hash, again.schema) == ("scene_strict", "hash-2", strict_schema(Scene))


def test_a_reply_that_was_cut_off_is_never_completed_by_guessing(tmp_path: Path) -> None:
    speaker = Speaker(TEXT, TEXT, finish="length")
    scene = _ask(speaker, tmp_path)
    assert scene.salvages == Counter(reasked=1)
    assert speaker.asked[1].max_tokens == 2 * speaker.asked[0].max_tokens
    assert "cut off" in speaker.asked[1].text


def test_two_bad_replies_are_a_failed_call_whose_text_is_kept_and_the_next_run_asks_again(tmp_path: Path) -> None:
    with pytest.raises(ReplyUnusable, match="asked again") as caught:
        _ask(Speaker("nothing", "still nothing"), tmp_path)
    assert caught.value.raw == "still nothing"
    assert isinstance(caught.value, CallFailed)
    assert len(list(tmp_path.rglob("*.unusable"))) == 2
    assert _ask(Speaker(TEXT), tmp_path).value == Scene.model_validate(GOOD)


def test_a_schema_is_of_the_subset_that_providers_enforce() -> None:
    schema = strict_schema(Scene)
    assert schema_fault({"name": "scene", "strict": True, "schema": schema}) is None
    thing = schema["$defs"]["Thing"]
    assert thing["required"] == ["name", "place", "title"] and thing["additionalProperties"] is False
    assert thing["properties"]["name"] == {"type": "string", "description": "what it is"}
    assert "default" not in json.dumps(schema) and "minimum" not in json.dumps(schema)
    assert "A thing." not in json.dumps(schema)
    assert schema_fault({"name": "clip", "strict": True, "schema": strict_schema(ClipAnalysis)}) is None


class _Free(BaseModel):
    anything: dict[str, int]


class _Any(BaseModel):
    anything: Any


@pytest.mark.parametrize("shape", [_Free, _Any])
def test_what_the_subset_cannot_say_is_an_error_of_the_programmer(shape: type[BaseModel]) -> None:
    with pytest.raises(TypeError):
        strict_schema(shape)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60) | st.integers(0, len(TEXT) - 1).map(lambda end: TEXT[:end]))
def test_no_text_but_a_whole_scene_ever_becomes_one(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.raises(ReplyUnusable):
        _ask(Speaker(text, text), Path(folder))
