"""How evidence was found, for `--explain`: type, anchors by lane, each hop of the walk, groups, what was dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from amr.records import Answer
from amr.retrieve.anchors import Anchors
from amr.retrieve.navigate import Reached, Walked
from amr.retrieve.relevance import Candidate
from amr.retrieve.times import show_time
from amr.retrieve.verify import Group
from amr.retrieve.wording import in_a_line


@dataclass
class Trace:
    """What was done to find evidence. `entries` is how many of the fused anchors the walk began from."""

    question_type: str
    anchors: Anchors
    walked: Walked
    entries: int
    groups: Sequence[Group]
    candidates: Sequence[Candidate]


@dataclass
class ChatTrace:
    """What put the turns or sessions of a chat in order: the `merits` of each are what its lanes add beside others."""

    question_type: str
    candidates: Sequence[Candidate]


def explain_json(answer: Answer) -> dict[str, Any] | None:
    """What `--explain` adds to the JSON of an answer; None for one that no search of the graph led to."""
    trace = answer.trace
    if isinstance(trace, ChatTrace):
        return {"question_type": trace.question_type, "pieces": [_piece_json(one) for one in trace.candidates]}
    if not isinstance(trace, Trace):
        return None
    return {
        "question_type": trace.question_type,
        "anchors": [
            {"node_id": node_id, "score": round(score, 4), "lanes": trace.anchors.ranks(node_id)}
            for node_id, score in trace.anchors.fused[: trace.entries]
        ],
        "hops": [[_reached_json(reached) for reached in hop] for hop in trace.walked.hops[1:]],
        "ended": trace.walked.ended,
        "groups": [_group_json(group) for group in trace.groups if not group.dropped],
        "dropped": [{**_group_json(group), "why": group.dropped} for group in trace.groups if group.dropped],
    }


def _piece_json(candidate: Candidate) -> dict[str, Any]:
    return {
        "node_id": candidate.node.node_id,
        "score": round(candidate.rank, 6),
        "relevance": candidate.relevance,
        "lanes": candidate.merits,
    }


def _reached_json(reached: Reached) -> dict[str, Any]:
    step = reached.path[-1]
    return {
        "node_id": reached.node_id,
        "from": _from(reached),
        "channel": step.channel,
        "score": round(reached.score, 4),
    }


def _from(reached: Reached) -> int:
    return reached.path[-1].src


def _group_json(group: Group) -> dict[str, Any]:
    return {
        "relevance": round(group.relevance, 4),
        "evidence": [
            {"node_id": candidate.node.node_id, "relevance": candidate.relevance, "rank": round(candidate.rank, 4)}
            for candidate in group.candidates
        ],
    }


def explain_text(answer: Answer) -> str:
    """The same for a person to read."""
    trace = answer.trace
    if isinstance(trace, ChatTrace):
        return "\n".join(_chat_lines(trace))
    if not isinstance(trace, Trace):
        return "There is nothing to explain: no graph was searched."
    return "\n".join(_lines(trace))


def _chat_lines(trace: ChatTrace) -> Iterator[str]:
    yield f"type: {trace.question_type}"
    yield "pieces, with what each lane adds beside the other pieces:"
    for one in trace.candidates:
        lanes = sorted(one.merits.items(), key=lambda lane: -lane[1])
        told = ", ".join(f"{name} {worth:+.2f}" for name, worth in lanes)
        yield f"  {one.rank:.4f}  #{one.node.node_id}  {told}{_said(one)}"


def _lines(trace: Trace) -> Iterator[str]:
    said = {candidate.node.node_id: _said(candidate) for candidate in trace.candidates}
    yield f"type: {trace.question_type}"
    yield "anchors, with their place in each lane:"
    for node_id, score in trace.anchors.fused[: trace.entries]:
        ranks = ", ".join(f"{name} {rank}" for name, rank in trace.anchors.ranks(node_id).items())
        yield f"  {score:.4f}  #{node_id}  {ranks}{said.get(node_id, '')}"
    for number, hop in enumerate(trace.walked.hops[1:], 1):
        yield f"hop {number}:"
        for reached in hop:
            way = f"#{_from(reached)} ─{reached.path[-1].channel}→ #{reached.node_id}"
            yield f"  {reached.score:.4f}  {way}{said.get(reached.node_id, '')}"
    yield f"the walk ended: {trace.walked.ended}"
    yield "groups:"
    for group in trace.groups:
        if not group.dropped:
            yield f"  relevance {group.relevance:.2f}"
            yield from (f"    {candidate.relevance:.2f}{_said(candidate)}" for candidate in group.candidates)
    yield "dropped:"
    for group in trace.groups:
        if group.dropped:
            yield f"  {group.dropped}: " + ", ".join(f"#{candidate.node.node_id}" for candidate in group.candidates)


def _said(candidate: Candidate) -> str:
    return f'  "{in_a_line(candidate.node.text)}" ({show_time(candidate.node)})'
