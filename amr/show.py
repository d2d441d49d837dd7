"""What commands print: one documented JSON object, or plain text for a person."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amr.doctor import Finding
from amr.memory import IngestReport, RebuildReport, Shown, Status
from amr.records import Answer, Evidence
from amr.retrieve.explain import explain_text
from amr.retrieve.json_out import answer_json, evidence_json, query_json
from amr.retrieve.times import show_time

if TYPE_CHECKING:
    from amr.retrieve.people import Proposal
    from amr.write.pipeline import SourceReport
    from amr.write.rehearse import Estimate

__all__ = ["answer_json", "query_json"]

Notice = Callable[[str], None]
Progress = Callable[[str, int | None, int], None]


@contextmanager
def progress_bar(quiet: bool, of_turns: bool = False) -> Iterator[tuple[Notice, Progress]]:
    """A progress bar with ETA and speed on stderr; silent when stderr is no terminal or with `quiet`.

    What is done is told in milliseconds of film, or `of_turns` as their number. The notice is one line that scripts
    may want too, so only `quiet` silences it.
    """
    unit, rate, parts = ("turns", "turns/s", 1) if of_turns else ("s", "× real time", 1000)

    def notice(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)

    if quiet or not sys.stderr.isatty():
        yield notice, lambda name, whole, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} " + unit),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def progress(name: str, whole: int | None, done: int) -> None:
            total = None if whole is None else whole / parts
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total, speed="")
            task = bar.tasks[bar.task_ids.index(tasks[name])]
            speed = f"{done / parts / task.elapsed:.1f} {rate}" if task.elapsed else ""
            bar.update(tasks[name], completed=done / parts, speed=speed)

        yield notice, progress


def ingest_json(report: IngestReport) -> dict[str, Any]:
    """The `ingest` object: the sums over the command's sources, with one entry each when there are several."""
    one = report.sources[0] if len(report.sources) == 1 else None
    seconds = sum(s.video_seconds for s in report.sources)
    return {
        "source_id": one.source_id if one else None,
        "source": one.source if one else None,
        "clips": sum(s.clips for s in report.sources),
        "turns": sum(s.turns for s in report.sources),
        "facts": sum(s.facts for s in report.sources),
        "facts_failed": sum(s.facts_failed for s in report.sources),
        "clips_skipped": sum(s.clips_skipped for s in report.sources),
        "clips_failed": sum(s.clips_failed for s in report.sources),
        "nodes": sum(s.nodes for s in report.sources),
        "edges": sum(s.edges for s in report.sources),
        "video_seconds": round(seconds, 3),
        "seconds": round(report.seconds, 3),
        "realtime": round(seconds / report.seconds, 2) if report.seconds else None,
        "cost_usd": report.cost_usd,
        "models": report.models,
        "merges": sum(s.merges for s in report.sources),
        "salvages": dict(sorted(_salvages(report).items())),
        "warnings": ingest_warnings(report),
        "sources": [
            {"source_id": s.source_id, "source": s.source, "clips": s.clips, "turns": s.turns} for s in report.sources
        ],
    }


def _salvages(report: IngestReport) -> Counter[str]:
    return sum((s.salvages for s in report.sources), Counter[str]())


_MENDED = {
    "fences": "in code fences",
    "prose": "with words around the JSON",
    "repaired": "with broken JSON",
    "extra_keys": "keys nobody asked for",
    "reasked": "asked for again",
}


def ingest_warnings(report: IngestReport) -> list[str]:
    """What went otherwise than it should, as sentences; the last says what was mended in models' replies."""
    warnings = [*report.warnings, *(warning for s in report.sources for warning in s.warnings)]
    mended = [f"{number} {_MENDED.get(kind, kind)}" for kind, number in sorted(_salvages(report).items())]
    return [*warnings, f"Models' replies that had to be mended: {', '.join(mended)}."] if mended else warnings


def ingest_text(report: IngestReport) -> str:
    """One line per source, of many haystacks one line for all."""
    lines = []
    for s in [_sum(report.sources)] if len(report.sources) > _MANY else report.sources:
        what = f"{s.clips} sessions, {s.turns} turns" if s.is_chat else f"{s.clips} clips"
        parts = [what, f"{s.nodes} nodes", f"{s.edges} edges"]
        if s.facts:
            parts.append(f"{s.facts} facts")
        if s.clips_skipped:
            parts.insert(1, f"{s.clips_skipped} were there already")
        if s.clips_failed:
            parts.insert(1, f"{s.clips_failed} failed")
        if s.video_seconds and report.seconds:
            parts.append(f"{s.video_seconds:.1f} s of video at {s.video_seconds / report.seconds:.1f} × real time")
        lines.append(f"{s.source}: {', '.join(parts)}")
    if report.cost_usd:
        lines.append(f"cost: ${report.cost_usd:.4f}")
    turns = sum(s.turns for s in report.sources)
    if turns and report.seconds:
        lines.append(f"{turns / report.seconds:.0f} turns a second")
    return "\n".join(lines)


_MANY = 20


def _sum(sources: list[SourceReport]) -> SourceReport:
    """What was done with all sources together."""
    whole = replace(sources[0], source=f"{len(sources)} sources")
    for name in ("clips", "turns", "facts", "clips_skipped", "clips_failed", "nodes", "edges", "video_seconds"):
        setattr(whole, name, sum(getattr(one, name) for one in sources))
    return whole


def rebuild_json(report: RebuildReport) -> dict[str, Any]:
    """The `rebuild` object: what was made of each source, and the root hash before and after."""
    names = ("source_id", "source", "clips", "clips_failed", "nodes", "edges", "merges")
    return {
        "root_before": report.root_before,
        "root_after": report.root_after,
        "seconds": round(report.seconds, 3),
        "sources": [{name: getattr(s, name) for name in names} for s in report.sources],
    }


def rebuild_text(report: RebuildReport) -> str:
    """One line per source, and whether anything is different."""
    lines = [f"{s.source}: {s.clips} clips, {s.nodes} nodes, {s.edges} edges" for s in report.sources]
    same = report.root_before == report.root_after
    return "\n".join([*lines, f"root hash  {report.root_after} ({'as before' if same else 'changed'})"])


def proposals_json(found: list[Proposal]) -> dict[str, Any]:
    """The `people --proposals` object."""
    return {"proposals": [{"persons": list(pair.handles), "why": pair.why, "score": pair.score} for pair in found]}


def proposals_text(found: list[Proposal]) -> str:
    """One line per pair, and what to do about it."""
    if not found:
        return "Nobody looks like somebody else."
    lines = [f"{a}  {b}  ({pair.why} {pair.score:.2f})" for pair in found for a, b in [pair.handles]]
    return "\n".join([*lines, "Settle a pair with amr people --same A B or --different A B."])


def settled_json(pair: tuple[str, str], same: bool) -> dict[str, Any]:
    """The `people --same` and `--different` object."""
    return {"persons": list(pair), "same": same}


def settled_text(pair: tuple[str, str], same: bool) -> str:
    """What was settled, as a sentence."""
    return f"{pair[0]} and {pair[1]} are {'one person' if same else 'two persons'} from now on."


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """The object of `ingest --dry-run`; dollars are an upper bound, null where a price is not known."""
    return {
        "clips": estimate.clips,
        "calls": estimate.calls,
        "input_tokens": estimate.input_tokens,
        "cost_usd": estimate.most_usd,
        "merging": estimate.merging,
        "roles": [vars(row) for row in estimate.rows],
    }


def estimate_text(estimate: Estimate) -> str:
    """What an ingest would call, by role and model."""
    lines = [
        f"{row.role:<12} {row.model}: {row.calls} calls, {row.input_tokens} tokens in, {_at_most(row.most_usd)}"
        for row in estimate.rows
    ]
    most = f"{estimate.clips} clips, {'at most ' if estimate.merging else ''}{estimate.calls} calls,"
    return "\n".join([*lines, f"{most} {estimate.input_tokens} tokens in, {_at_most(estimate.most_usd)}"])


def _at_most(dollars: float | None) -> str:
    return "price not known" if dollars is None else f"at most ${dollars:.4f}"


def answer_text(answer: Answer, explain: bool = False) -> str:
    """The answer, then the evidence it rests on; with `explain`, then how that was found."""
    cited = {node_id for claim in answer.claims for node_id in claim.evidence}
    proof = [piece for piece in answer.evidence if piece.node.node_id in cited]
    lines = [answer.answer, *(_evidence_line(piece) for piece in (proof if answer.found else []))]
    return "\n".join([*lines, *([explain_text(answer)] if explain else [])])


def query_text(answer: Answer, explain: bool = False) -> str:
    """The evidence, and whether it really bears on the question; with `explain`, then how it was found."""
    none = "Nothing in this memory bears on that; the nearest is:"
    lines = [] if answer.found or not answer.evidence else [none]
    return "\n".join([*lines, evidence_text(answer.evidence), *([explain_text(answer)] if explain else [])])


def evidence_text(found: list[Evidence]) -> str:
    """One line per piece of evidence."""
    return "\n".join(_evidence_line(piece) for piece in found) or "Nothing was found."


def _evidence_line(piece: Evidence) -> str:
    frame = f"\n    {piece.frame}" if piece.frame else ""
    return f"  [{piece.node.node_id}] {show_time(piece.node)}  {piece.source}  {_words_of(piece)}{frame}"


def _words_of(piece: Evidence) -> str:
    from amr.retrieve.wording import in_a_line, person

    if piece.node.kind == "session":
        return f"session {piece.ref}: {', '.join(map(person, piece.node.payload.get('persons', [])))}"
    return in_a_line(piece.node.text)


def timeline_json(found: list[Evidence]) -> dict[str, Any]:
    """The `timeline` object: the events in time order."""
    return {"events": [evidence_json(piece) for piece in found]}


def shown_json(shown: Shown) -> dict[str, Any]:
    """The `show` object: a node as evidence, with its payload, hash, parent and standing edges."""
    node = shown.evidence.node
    edges = [{"edge_id": e.edge_id, "channel": e.channel, "from": e.src, "to": e.dst, **e.payload} for e in shown.edges]
    return {
        **evidence_json(shown.evidence),
        "parent_id": node.parent_id,
        "hash": node.hash,
        "payload": node.payload,
        "edges": edges,
    }


def shown_text(shown: Shown) -> str:
    """A node for a person to read."""
    node = shown.evidence.node
    lines = [f"{node.kind} {node.node_id}  {show_time(node)}  {shown.evidence.source}", node.text]
    lines += [f"{name}: {value}" for name, value in node.payload.items() if value not in ([], "", {})]
    lines += [f"{e.channel}: {e.src} → {e.dst} {e.payload or ''}" for e in shown.edges]
    if shown.evidence.frame:
        lines.append(f"frame: {shown.evidence.frame}")
    return "\n".join([*lines, f"hash: {node.hash}"])


def status_json(state: Status) -> dict[str, Any]:
    """The `status` object."""
    sources = [
        {
            "source_id": s.source_id,
            "source": s.name,
            "scope": s.scope_id,
            "kind": s.kind,
            "uri": s.uri,
            "seconds": None if s.duration_ms is None else s.duration_ms / 1000,
            "complete": s.complete,
            "clips": state.clips.get(s.source_id, {}).get("done", 0),
            "clips_failed": state.clips.get(s.source_id, {}).get("failed", 0),
        }
        for s in state.sources
    ]
    return {
        "memory": state.memory,
        "root_hash": state.root_hash,
        "commits": state.commits,
        "sources": sources,
        "nodes": state.nodes,
        "edges": state.edges,
        "embedder": state.embedder,
        "bytes": state.bytes,
        "cost_usd": _dollars(state),
        "costs": [vars(row) for row in state.costs],
    }


def _dollars(state: Status) -> float:
    return float(sum(row.cost_usd for row in state.costs))


def cost_text(state: Status) -> str:
    """What models were called for: one line for each role and model, then the sum."""
    lines = [
        f"{row.role:<12} {row.model}: {row.calls} calls ({row.cached} more answered from disk),"
        f" {row.prompt_tokens} tokens in, {row.completion_tokens} out, ${row.cost_usd:.4f}"
        for row in state.costs
    ]
    return "\n".join([*lines, f"{'all':<12} ${_dollars(state):.4f}"])


_MOST_SOURCES = 50


def status_text(state: Status) -> str:
    """The memory for a person to read."""
    lines = [
        f"memory     {state.memory}",
        f"root hash  {state.root_hash}",
        f"commits    {state.commits}",
        f"nodes      {_counts(state.nodes)}",
        f"edges      {_counts(state.edges)}",
        f"embedder   {state.embedder}",
        f"size       {state.bytes / 1e6:.1f} MB",
    ]
    for s in state.sources[:_MOST_SOURCES]:
        clips = _counts(state.clips.get(s.source_id, {}))
        state_of = "complete" if s.complete else "not complete"
        lines.append(f"source {s.source_id}   {s.name} ({s.kind}, {state_of}; clips: {clips})")
    more = len(state.sources) - _MOST_SOURCES
    lines += [f"and {more} more sources; --json lists all"] if more > 0 else []
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"


def doctor_json(findings: list[Finding]) -> dict[str, Any]:
    """The `doctor` object."""
    checks = [{"check": f.check, "ok": f.ok, "found": f.found} for f in findings]
    return {"ok": all(f.ok for f in findings), "checks": checks}


def doctor_text(findings: list[Finding]) -> str:
    """One line per check."""
    return "\n".join(f"{'ok     ' if f.ok else 'missing'}  {f.check}: {f.found}" for f in findings)
