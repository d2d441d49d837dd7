"""What a benchmark's run comes to: its JSON object, and a table for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amr.evals.tally import Figure


@dataclass
class Report:
    """The figures of every system of a run. `notes` are sentences on what was left out or measured otherwise."""

    benchmark: str
    n: int
    data: str
    systems: dict[str, dict[str, Figure]]
    config: dict[str, Any]
    out: Path
    notes: list[str] = field(default_factory=list)


def report_json(report: Report) -> dict[str, Any]:
    """The `eval` object; `intervals` has, as `systems` does, each metric's [low, high, n]."""
    return {
        "benchmark": report.benchmark,
        "n": report.n,
        "data": report.data,
        "systems": _each(report, lambda figure: round(figure.value, 4)),
        "intervals": _each(report, _interval),
        "config": report.config,
        "out": str(report.out),
        "notes": report.notes,
    }


def _each(report: Report, what: Any) -> dict[str, dict[str, Any]]:
    return {
        system: {name: what(figure) for name, figure in figures.items()} for system, figures in report.systems.items()
    }


def _interval(figure: Figure) -> list[float | int | None]:
    bounds = [None if bound is None else round(bound, 4) for bound in (figure.low, figure.high)]
    return [*bounds, figure.n]


def report_text(report: Report) -> str:
    """The table in plain text: one line for each metric, one column for each system."""
    rows = _rows(report.systems)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = f"{report.benchmark}: {report.n} questions; in brackets the 95 % interval"
    return "\n".join([head, "", *lines, "", *report.notes, f"Written to {report.out}"])


def report_markdown(report: Report) -> str:
    """The same table as Markdown, with the settings of the run."""
    head, *rows = _rows(report.systems)
    lines = [f"# {report.benchmark}", "", f"{report.n} questions over `{report.data}`; 95 % intervals.", ""]
    lines += [_row(head), _row(["---"] * len(head)), *map(_row, rows), ""]
    lines += [f"- {note}" for note in report.notes]
    lines += ["", "## Settings", "", *(f"- {name}: `{value}`" for name, value in report.config.items()), ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rows(systems: Mapping[str, Mapping[str, Figure]]) -> list[list[str]]:
    metrics = _ordered(dict.fromkeys(name for figures in systems.values() for name in figures))
    rows = [["metric", "n", *systems]]
    for metric in metrics:
        told = [figures.get(metric) for figures in systems.values()]
        n = max(figure.n for figure in told if figure is not None)
        rows.append([metric, str(n), *(_cell(metric, figure) for figure in told)])
    return rows


def _ordered(metrics: Iterable[str]) -> list[str]:
    """By measure in the order in which they came up; the variants of a measure right after it."""
    names = list(metrics)
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        first.setdefault(name.split(".")[0], place)
    return sorted(names, key=lambda name: (first[name.split(".")[0]], name.startswith("latency"), name))


def _cell(metric: str, figure: Figure | None) -> str:
    if figure is None:
        return "-"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.1f}" if metric.startswith("latency_ms") else f"{figure.value:.3f}"
    return f"{figure.value:.3f} [{figure.low:.2f}, {figure.high:.2f}]"
