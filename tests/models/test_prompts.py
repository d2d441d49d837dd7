"""Prompts are files; what they were is known by a hash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from amr.models import prompts
from amr.models.prompts import prompt_hash, render


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of prompts of the test's own."""
    (tmp_path / "greet.md").write_text("{% include 'rules.md' %}\nHello {{ name }}: {{ data | json }}\n")
    (tmp_path / "rules.md").write_text("Be brief.\n")
    monkeypatch.setattr(prompts, "resource", lambda _: tmp_path)
    prompts._environment.cache_clear()
    prompt_hash.cache_clear()
    yield tmp_path
    prompts._environment.cache_clear()
    prompt_hash.cache_clear()


def test_values_are_filled_in_as_they_are() -> None:
    prompt = render("greet", name="<Ann & Bob>", data={"said": "“hé” & <b>"})
    assert prompt.text == 'Be brief.\nHello <Ann & Bob>: {\n "said": "“hé” & <b>"\n}'
    assert (prompt.name, prompt.hash) == ("greet", prompt_hash("greet"))


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="data"):
        render("greet", name="Ann")


def test_the_hash_changes_with_the_file_and_with_what_it_includes(folder: Path) -> None:
    before = prompt_hash("greet")
    (folder / "rules.md").write_text("Be very brief.\n")
    prompt_hash.cache_clear()
    prompts._environment.cache_clear()
    assert prompt_hash("greet") != before
