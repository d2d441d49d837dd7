"""What answering and judging cost: by call in a question's line, by role and model in the report.

A line tells each call that its question rests on with what was paid for it, also when the reply came from disk. So
the report of a run that was resumed tells the same as that of one left alone, and each payment is counted once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from amr.models.calls import RecordedChat, chat_key, reply_from
from amr.models.chat import CallFailed, ChatReply, ChatRequest, Usage

if TYPE_CHECKING:
    from amr.store.rows import CallSum

Row = dict[str, Any]


class Ledger:
    """The calls of one question, for one thread; `before` is what an earlier line has of it, with its calls."""

    def __init__(self, before: Mapping[str, Any] | None = None) -> None:
        self.rows: list[Row] = list((before or {}).get("usage", {}).get("paid", []))

    def complete(self, chat: RecordedChat, request: ChatRequest) -> ChatReply:
        """The reply to a request, its call noted; one that failed at a price is noted too. Raises as `chat` does."""
        try:
            recorded = chat.recorded(request)
        except CallFailed as error:
            if error.usage != Usage():
                at = time.time_ns() // 1_000_000
                self._note(chat_key(chat.name, request), at, request.role, chat.name, error.usage)
            raise
        row = recorded.row
        usage = Usage(row.prompt_tokens, row.completion_tokens, row.cost_usd)
        self._note(row.key, row.wall_ms, request.role, chat.name, usage)
        return reply_from(recorded)

    def _note(self, key: str, at: int, role: str, model: str, usage: Usage) -> None:
        tokens = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        row = {"key": key, "at": at, "role": role, "model": model, **tokens, "cost_usd": usage.cost_usd}
        if all((row["key"], row["at"]) != (other["key"], other["at"]) for other in self.rows):
            self.rows.append(row)

    def usage(self) -> dict[str, Any]:
        """The sums, and under `paid` every call."""
        return {**summed(self.rows), "paid": self.rows}


def summed(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Calls, tokens and dollars of some calls; the dollars are None where the price of one is not known."""
    rows = list(rows)
    costs = [row["cost_usd"] for row in rows]
    return {
        "calls": len(rows),
        "prompt_tokens": sum(row["prompt_tokens"] for row in rows),
        "completion_tokens": sum(row["completion_tokens"] for row in rows),
        "cost_usd": None if None in costs else round(sum(costs), 9),
    }


def payments(lines: Iterable[Mapping[str, Any]], system: str = "amr") -> list[Row]:
    """Every call paid for in the lines of a run, each once: two questions may rest on the same call."""
    paid: dict[tuple[str, int], Row] = {}
    for line in lines:
        for row in line.get("systems", {}).get(system, {}).get("usage", {}).get("paid", []):
            paid.setdefault((row["key"], row["at"]), row)
    return list(paid.values())


def totals(rows: Iterable[Mapping[str, Any]], memory: Iterable[CallSum] = ()) -> list[dict[str, Any]]:
    """The sums by role and model, roles in the order of their names, and of all.

    `memory` is what the run's own memory was paid for, to be written and searched.
    """
    rows = list(rows)
    kinds = sorted({(row["role"], row["model"]) for row in rows})
    parts = [
        {"role": role, "model": model, **summed(row for row in rows if (row["role"], row["model"]) == (role, model))}
        for role, model in kinds
    ]
    parts += [
        {
            "role": one.role,
            "model": one.model,
            "calls": one.calls,
            "prompt_tokens": one.prompt_tokens,
            "completion_tokens": one.completion_tokens,
            "cost_usd": round(one.cost_usd, 9),
        }
        for one in memory
        if one.calls
    ]
    counted = ("calls", "prompt_tokens", "completion_tokens")
    costs = [part["cost_usd"] for part in parts]
    whole = {
        **{name: sum(part[name] for part in parts) for name in counted},
        "cost_usd": None if None in costs else round(sum(costs), 9),
    }
    return [*sorted(parts, key=lambda part: (part["role"], part["model"])), {"role": "all", "model": "", **whole}]


def cost_table(sums: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sums as a table in Markdown."""
    lines = ["| role | model | calls | tokens in | tokens out | dollars |", "| --- | --- | --- | --- | --- | --- |"]
    for one in sums:
        dollars = "not known" if one["cost_usd"] is None else f"{one['cost_usd']:.4f}"
        cells = [one["role"], one["model"], one["calls"], one["prompt_tokens"], one["completion_tokens"], dollars]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines
