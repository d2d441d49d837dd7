"""All SQL is in `amr/store`: the rest of the package would not notice another database."""

from __future__ import annotations

import re

from tests.support.data import ROOT

_SQL = re.compile(r"\b(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE)\b")


def test_no_sql_and_no_duckdb_outside_the_store() -> None:
    outside = [file for file in (ROOT / "amr").rglob("*.py") if file.parent.name != "store"]
    assert len(outside) > 10
    offenders = [f for f in outside if _SQL.search(f.read_text()) or "import duckdb" in f.read_text()]
    assert offenders == []


def test_the_store_itself_has_sql_so_that_the_search_can_fail() -> None:
    assert any(_SQL.search(file.read_text()) for file in (ROOT / "amr" / "store").glob("*.py"))
