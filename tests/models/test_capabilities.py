"""The table of what models accept and cost."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.errors import BadInput
from amr.models.capabilities import Capabilities, capabilities_of, highest_cost, input_tokens, priced, token_cost
from amr.models.chat import ChatRequest, Media
from amr.models.names import parse_model_name
from amr.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _of(name: str, overrides: dict[str, Any] | None = None) -> Capabilities:
    return capabilities_of(parse_model_name(name), overrides)


def _request(text: str = "x" * 400, *media: Media, max_tokens: int = 100) -> ChatRequest:
    return ChatRequest("perceive", "perceive", "hash", text, media=media, max_tokens=max_tokens)


def test_every_row_of_the_table_can_be_used() -> None:
    table = tomllib.loads(resource("configs/models.toml").read_text(encoding="utf-8"))
    for fields in table["models"].values():
        _of("openai:any", {"openai:any": fields})


def test_the_models_of_the_paper_are_in_it() -> None:
    gemini = _of("openrouter:google/gemini-2.5-pro")
    assert gemini.video and gemini.audio and gemini.images and gemini.reasoning_effort
    assert (gemini.dialect, gemini.json_output, gemini.data_collection) == ("openrouter", "schema", "deny")
    assert token_cost(gemini, 1_000_000, 100_000) == pytest.approx(2.25)
    small = _of("openrouter:openai/gpt-4o-mini")
    assert small.images and not small.video and small.max_tokens_name == "max_tokens"
    assert _of("openai:gpt-4o-mini").max_tokens_name == "max_completion_tokens"
    assert _of("openrouter:openai/text-embedding-3-large").dimensions == 3072
    assert not _of("openrouter:openai/gpt-5").temperature


def test_a_longer_pattern_weighs_more_and_an_override_most() -> None:
    assert _of("openrouter:google/gemini-2.5-flash-lite").usd_per_million_output == 0.40
    changed = {"openrouter:google/*": {"video": False}, "openrouter:google/gemini-2.5-pro": {"max_images": 8}}
    gemini = _of("openrouter:google/gemini-2.5-pro", changed)
    assert not gemini.video and gemini.max_images == 8 and gemini.audio


def test_a_name_with_brackets_can_be_overridden() -> None:
    name = "http://[::1]:8000/v1#vl"
    assert _of(name, {name: {"video": True}}).video


@pytest.mark.parametrize("fields", [{"vidoe": True}, {"max_images": 0}, {"json_output": "yes"}])
def test_an_override_that_cannot_be_used_is_named(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=f"models.*{next(iter(fields))}"):
        _of("openai:gpt-4o", {"openai:gpt-4o": fields})


def test_a_server_of_ones_own_costs_nothing_and_an_unknown_model_has_no_price() -> None:
    assert highest_cost(_request(), _of("http://localhost:8000/v1#x")) == 0
    unknown = _of("openrouter:new/model")
    assert not priced(unknown) and highest_cost(_request(), unknown) is None


def test_input_is_counted_by_characters_and_constants() -> None:
    gemini = _of("openrouter:google/gemini-2.5-pro")
    assert input_tokens(_request(), gemini) == 100
    assert input_tokens(_request("", Media("video", b"v", "video/mp4", 10.0)), gemini) == 10 * (263 + 32)
    assert input_tokens(_request("", *[Media("image", b"i", "image/jpeg")] * 8), gemini) == 8 * 258


@given(st.text(max_size=300), st.floats(0, 60), st.integers(1, 5000))
def test_the_highest_cost_is_above_the_expected_one(text: str, seconds: float, max_tokens: int) -> None:
    model = _of("openrouter:google/gemini-2.5-flash")
    request = _request(text, Media("audio", b"a", "audio/wav", seconds), max_tokens=max_tokens)
    highest = highest_cost(request, model)
    expected = token_cost(model, input_tokens(request, model), max_tokens)
    assert highest is not None and expected is not None and highest >= expected
