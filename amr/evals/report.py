"""What a benchmark's run comes to: its JSON object, and a table for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amr.evals.tally import Figure

_NOTES = 12
_CONFIG = "config.json"
_LONG = ("settings", "configs", "prompts")
_LAST = ("failed", "latency_ms")
_ALWAYS = ("failed", "latency_ms.p50")


@dataclass
class Report:
    """The figures of every system of a run. `notes` are sentences on what was left out or measured otherwise.

    `headline` are the metrics that a terminal shows; all of them where it is empty. `cost` is what models were paid,
    `sections` is what the Markdown ends with.
    """

    benchmark: str
    n: int
    data: str
    systems: dict[str, dict[str, Figure]]
    config: dict[str, Any]
    out: Path
    notes: list[str] = field(default_factory=list)
    headline: tuple[str, ...] = ()
    cost: list[dict[str, Any]] | None = None
    sections: list[str] = field(default_factory=list)


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
        **({} if report.cost is None else {"cost": report.cost}),
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
    rows = _rows(_shown(report))
    head = f"{report.benchmark}: {report.n} questions; in brackets the 95 % interval"
    notes = report.notes
    if len(notes) > _NOTES:
        notes = [*notes[:_NOTES], f"… and {len(notes) - _NOTES} more notes in report.md."]
    if report.headline:
        number = len({name for figures in report.systems.values() for name in figures})
        notes = [*notes, f"All {number} metrics are in report.md and report.json."]
    return "\n".join([head, "", *aligned(rows), "", *notes, f"Written to {report.out}"])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table in plain text, its columns one below the other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _shown(report: Report) -> dict[str, dict[str, Figure]]:
    if not report.headline:
        return report.systems
    return {
        system: {
            name: figures[name]
            for name in [*report.headline, *(name for name in figures if name.startswith(_ALWAYS))]
            if name in figures
        }
        for system, figures in report.systems.items()
    }


def report_markdown(report: Report) -> str:
    """The same table as Markdown, with the settings of the run."""
    lines = [f"# {report.benchmark}", "", f"{report.n} questions over `{report.data}`; 95 % intervals.", ""]
    lines += [*_table(_shown(report)), "", *(f"- {note}" for note in report.notes)]
    if report.headline:
        lines += ["", "## All metrics", "", *_table(report.systems)]
    told = (f"- {name}: `{value}`" for name, value in report.config.items() if name not in _LONG)
    lines += ["", "## Settings", "", *told, "", f"The rest is in `{_CONFIG}`.", "", *report.sections]
    return "\n".join(lines)


def _table(systems: Mapping[str, Mapping[str, Figure]]) -> list[str]:
    head, *rows = _rows(systems)
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


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
    return sorted(names, key=lambda name: (name.startswith(_LAST), first[name.split(".")[0]], name))


def _cell(metric: str, figure: Figure | None) -> str:
    if figure is None:
        return "-"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.{1 if metric.startswith('latency_ms') else 0}f}"
    return f"{figure.value:.3f} [{figure.low:.2f}, {figure.high:.2f}]"
