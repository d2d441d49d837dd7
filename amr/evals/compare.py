"""`amr eval compare A B`: two runs of one benchmark side by side, on the questions that both have.

Everything comes from the runs' lines and config. Questions are the same when id, words and gold are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from amr.errors import UsageError
from amr.evals.folder import Line, differing, key_of, read_config, read_lines
from amr.evals.paired import Paired, paired
from amr.evals.report import aligned
from amr.evals.tally import Hit, figures_of

_SHOWN = 20
_REFS = 10
_CHARACTERS = 120
_UNDER_TEST = "amr"
UNTESTED = ("failed", "latency_ms")


@dataclass
class Comparison:
    """Two runs. `differs` has what they were made with otherwise; `flipped` the questions whose hits changed.

    `untested` has the values of both for what no test is made of: what failed, and the latencies.
    """

    benchmark: str
    a: Path
    b: Path
    n: int
    differs: dict[str, list[Any]]
    systems: dict[str, dict[str, Paired]]
    untested: dict[str, dict[str, list[float | None]]]
    flipped: list[dict[str, Any]]
    notes: list[str]
    headline: tuple[str, ...]


def compare(a: Path, b: Path) -> Comparison:
    """Compares run B with run A. Raises BadInput when one is no run, UsageError when they are of two benchmarks."""
    before, after = read_config(a), read_config(b)
    benchmark = str(before.get("benchmark"))
    if after.get("benchmark") != benchmark:
        raise UsageError(f"{a} is a run of {benchmark} and {b} one of {after.get('benchmark')}; give two of the same.")
    lines = {key_of(line): line for line in read_lines(a)}
    others = {key_of(line): line for line in read_lines(b)}
    pairs = [(lines[key], others[key]) for key in lines if key in others and _same(lines[key], others[key])]
    headline = _headline(benchmark)
    systems = {name: _compared(pairs, name) for name in _systems(pairs)}
    differs = {name: list(values) for name, values in differing(before, after).items()}
    flipped = [change for pair in pairs if (change := _flip(*pair, headline)) is not None]
    notes = _notes(lines, others, len(pairs), systems, differs)
    untested = {name: _untested(pairs, name) for name in systems}
    return Comparison(benchmark, a, b, len(pairs), differs, systems, untested, flipped, notes, headline)


def _same(a: Line, b: Line) -> bool:
    return all(a.get(name) == b.get(name) for name in ("question", "gold", "as_of"))


def _headline(benchmark: str) -> tuple[str, ...]:
    from amr.evals.evaluate import BENCHMARKS

    module = import_module(f"amr.evals.{BENCHMARKS[benchmark]}") if benchmark in BENCHMARKS else None
    return tuple(getattr(module, "HEADLINE", ()))


def _systems(pairs: Sequence[tuple[Line, Line]]) -> list[str]:
    named = dict.fromkeys(name for a, _ in pairs for name in a["systems"])
    return [name for name in named if any(name in b["systems"] for _, b in pairs)]


def _compared(pairs: Sequence[tuple[Line, Line]], system: str) -> dict[str, Paired]:
    """Every metric that both runs have, over the questions for which both have it."""
    found: dict[str, tuple[list[Hit], list[Hit]]] = {}
    for a, b in pairs:
        mine, other = dict(hits_in(a, system)), dict(hits_in(b, system))
        for name in mine:
            if name in other:
                first, second = found.setdefault(name, ([], []))
                first.append(mine[name])
                second.append(other[name])
    return {name: paired(*hits) for name, hits in found.items()}


def _untested(pairs: Sequence[tuple[Line, Line]], system: str) -> dict[str, list[float | None]]:
    sides = [figures_of(lines)[system] for lines in zip(*pairs, strict=True)]
    names = [name for name in {**sides[0], **sides[1]} if name.startswith(UNTESTED)]
    return {name: [figures[name].value if name in figures else None for figures in sides] for name in names}


def hits_in(line: Line, system: str, grouped: bool = True) -> Iterator[tuple[str, Hit]]:
    """The metrics of a line with the system's hits, under the line's groups too."""
    entry = line["systems"].get(system) or {}
    groups = line.get("groups") or [] if grouped else []
    for name, hit in (entry.get("recall") or {}).items():
        yield name, hit
        yield from ((f"{name}.{group}", hit) for group in groups)
    yield from (entry.get("hits") or {}).items()


def _flip(a: Line, b: Line, headline: Sequence[str]) -> dict[str, Any] | None:
    """What changed for a question in what is under test; None where no metric of note did."""
    before, after = dict(hits_in(a, _UNDER_TEST, grouped=False)), dict(hits_in(b, _UNDER_TEST, grouped=False))
    changed = {
        name: [before[name], after[name]]
        for name in before
        if name in after and before[name] != after[name] and "ndcg" not in name and (not headline or name in headline)
    }
    if not changed:
        return None
    sides = {side: _told(line["systems"].get(_UNDER_TEST) or {}) for side, line in (("a", a), ("b", b))}
    return {
        "id": a["id"],
        **({"set": a["set"]} if "set" in a else {}),
        "question": a["question"],
        "gold": a.get("gold", a.get("answer")),
        "metrics": changed,
        **sides,
    }


def _told(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a system found and answered: refs first to last, the best ten."""
    told: dict[str, Any] = {}
    if "retrieved" in entry:
        told["retrieved"] = {unit: refs[:_REFS] for unit, refs in entry["retrieved"].items()}
    elif "evidence" in entry:
        told["retrieved"] = [piece.get("ref") or piece.get("text") for piece in entry["evidence"][:_REFS]]
    for name in ("answer", "failed"):
        if entry.get(name):
            told[name] = entry[name]
    return told


def _notes(
    lines: Mapping[str, Line],
    others: Mapping[str, Line],
    n: int,
    systems: Mapping[str, Mapping[str, Paired]],
    differs: Mapping[str, Any],
) -> list[str]:
    both = len(lines.keys() & others.keys())
    notes = [f"Compared are the {n} questions that both have."]
    if any(name.endswith("_sha256") for name in differs):
        notes.append("The runs are over different data.")
    for side, mine, other in (("A", lines, others), ("B", others, lines)):
        alone = len(mine.keys() - other.keys())
        if alone:
            notes.append(f"{alone} questions are in {side} only.")
    if both > n:
        notes.append(f"{both - n} questions have the same id but other words or gold, and are left out.")
    for side, mine in (("A", lines), ("B", others)):
        failed = sum(bool((line["systems"].get(_UNDER_TEST) or {}).get("failed")) for line in mine.values())
        if failed:
            notes.append(f"{failed} questions failed in {side}; they are in no comparison of answers.")
    moved = [
        name
        for name, metrics in systems.items()
        if name != _UNDER_TEST and any(m.gained or m.lost for m in metrics.values())
    ]
    if moved:
        notes.append(f"Not only what is under test differs: {', '.join(moved)} found other things too.")
    notes.append(
        "p is two-sided, by McNemar's exact test for what is right or wrong and by permutation for fractions, for each"
        " metric by itself: of twenty metrics in which nothing changed one is below 0.05."
    )
    return notes


# --- showing ------------------------------------------------------------------------------------------------


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The object of `amr eval compare --json`."""
    return {
        "benchmark": comparison.benchmark,
        "a": str(comparison.a),
        "b": str(comparison.b),
        "n": comparison.n,
        "differs": comparison.differs,
        "systems": {
            system: {name: _rounded(asdict(metric)) for name, metric in metrics.items()}
            for system, metrics in comparison.systems.items()
        },
        "untested": comparison.untested,
        "flipped": comparison.flipped,
        "notes": comparison.notes,
    }


def _rounded(metric: Mapping[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in metric.items()}


def comparison_text(comparison: Comparison) -> str:
    """The table of what is under test, then the questions that flipped."""
    parts = [f"{comparison.benchmark}: A = {comparison.a}, B = {comparison.b}", "", *_differences(comparison.differs)]
    metrics = comparison.systems.get(_UNDER_TEST, {})
    names = [name for name in comparison.headline if name in metrics] or list(metrics)
    if names:
        head = ["metric", "n", "A", "B", "B − A", "95 %", "better", "worse", "p"]
        values = comparison.untested[_UNDER_TEST].items()
        rows = [*(_row(name, metrics[name]) for name in names), *(_untested_row(name, *both) for name, both in values)]
        parts += ["", *aligned([head, *rows])]
    parts += ["", *comparison.notes, "", f"Questions that flipped: {len(comparison.flipped)}."]
    for change in comparison.flipped[:_SHOWN]:
        parts += ["", *_flipped_lines(change)]
    if len(comparison.flipped) > _SHOWN:
        parts += ["", f"… and {len(comparison.flipped) - _SHOWN} more; --json has all."]
    return "\n".join(parts)


def _differences(differs: Mapping[str, Sequence[Any]]) -> list[str]:
    if not differs:
        return ["Both were made with the same."]
    return [f"{name}: A {_short(a)}, B {_short(b)}" for name, (a, b) in differs.items()]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"


def _row(name: str, metric: Paired) -> list[str]:
    return [
        name,
        str(metric.n),
        f"{metric.a:.3f}",
        f"{metric.b:.3f}",
        f"{metric.difference:+.3f}",
        f"[{metric.low:+.3f}, {metric.high:+.3f}]",
        str(metric.gained),
        str(metric.lost),
        _p(metric.p),
    ]


def _untested_row(name: str, a: float | None, b: float | None) -> list[str]:
    change = "-" if a is None or b is None else f"{b - a:+.1f}"
    return [name, "-", *("-" if value is None else f"{value:.1f}" for value in (a, b)), change, *["-"] * 4]


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _flipped_lines(change: Mapping[str, Any]) -> Iterable[str]:
    yield f"{change['id']}  {change['question']}"
    yield f"  gold {_brief(change['gold'])}"
    yield "  " + ", ".join(f"{name} {_hit(a)} → {_hit(b)}" for name, (a, b) in change["metrics"].items())
    for side in ("a", "b"):
        for name, value in change[side].items():
            yield f"  {side.upper()} {name}: {_brief(value)}"


def _brief(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_brief(inner)}" for name, inner in value.items() if inner)
    if isinstance(value, list):
        return ", ".join(str(one.get("text", one)) if isinstance(one, Mapping) else str(one) for one in value)
    return _short(value)


def _hit(hit: Hit) -> str:
    return str(int(hit)) if isinstance(hit, bool) or math.isclose(hit, round(hit)) else f"{hit:.2f}"
