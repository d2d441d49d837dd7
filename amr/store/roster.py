"""Every handle of a role in what a view sees: how often, first and last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Rows = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Known:
    """A handle, how many nodes mention it, and the ids of the first and the last of them."""

    handle: str
    count: int
    first: int
    last: int


def roster(rows: Rows, scope: str, role: str, condition: str, values: Sequence[Any]) -> list[Known]:
    """The handles of a role, most often mentioned first, by nodes of a scope that meet a condition."""
    query = (
        f"WITH seen AS (SELECT node_id, coalesce(time_ms, t_start_ms, 0) AS moment FROM nodes WHERE {condition})"
        " SELECT handle, count(*), min({'moment': moment, 'id': node_id}).id, max({'moment': moment, 'id': node_id}).id"
        " FROM mentions JOIN seen USING (node_id) WHERE scope_id = ? AND role = ? GROUP BY handle ORDER BY 2 DESC, 1"
    )
    return [Known(*row) for row in rows(query, [*values, scope, role])]
