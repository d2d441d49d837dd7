"""One string names a model; keys come from the environment or the config, and never change what was chosen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.errors import AmrError, ProviderError, UsageError
from amr.models.names import ModelName, key_for, parse_model_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "openrouter:google/gemini-2.5-pro",
            ModelName("openrouter", "https://openrouter.ai/api/v1", "google/gemini-2.5-pro"),
        ),
        ("openrouter:qwen/qwen3:free", ModelName("openrouter", "https://openrouter.ai/api/v1", "qwen/qwen3:free")),
        ("openai:gpt-4o-mini", ModelName("openai", "https://api.openai.com/v1", "gpt-4o-mini")),
        ("http://localhost:8000/v1#qwen2.5-vl", ModelName("server", "http://localhost:8000/v1", "qwen2.5-vl")),
        ("http://[::1]:8000/v1/#Qwen/VL", ModelName("server", "http://[::1]:8000/v1", "Qwen/VL")),
        ("hf:Qwen/Qwen2.5-VL-3B-Instruct", ModelName("hf", "", "Qwen/Qwen2.5-VL-3B-Instruct")),
        ("hf:./a folder", ModelName("hf", "", "./a folder")),
        ("embedded", ModelName("embedded", "", "embedded")),
    ],
)
def test_a_name_says_where_a_model_runs_and_what_it_is_called_there(text: str, expected: ModelName) -> None:
    assert parse_model_name(text) == expected
    assert parse_model_name(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    ["", "gpt-4o-mini", "openai:", "openai: x", "nobody:model", "http://localhost:8000/v1", "http://#model", "hf:"],
)
def test_what_names_no_model_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="write ") as caught:
        parse_model_name(text)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://me:s3cret-key@host/v1#m", "http://host/v1?api_key=s3cret-key#m"])
def test_a_key_inside_an_address_is_refused_without_being_repeated(address: str) -> None:
    with pytest.raises(UsageError, match="AMR_API_KEY") as caught:
        parse_model_name(address)
    assert "s3cret" not in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_is_a_name_or_a_usage_error(text: str) -> None:
    try:
        name = parse_model_name(text)
    except UsageError:
        return
    assert parse_model_name(str(name)) == name


def test_each_provider_has_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "of-router")
    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    monkeypatch.delenv("AMR_API_KEY", raising=False)
    assert key_for(parse_model_name("openrouter:a/b")) == "of-router"
    assert key_for(parse_model_name("openai:gpt-4o")) == "of-openai"
    assert key_for(parse_model_name("http://localhost/v1#m")) == "none"
    assert key_for(parse_model_name("openai:gpt-4o"), "from-config") == "from-config"
    monkeypatch.setenv("AMR_API_KEY", "of-server")
    assert key_for(parse_model_name("http://localhost/v1#m")) == "of-server"


def test_no_key_is_a_provider_error_that_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="OPENROUTER_API_KEY") as caught:
        key_for(parse_model_name("openrouter:google/gemini-2.5-pro"))
    assert isinstance(caught.value, AmrError) and caught.value.exit_code == 4
