"""The JSON objects of `ask` and `query`, field by field as documented; times in seconds from the source's start."""

from __future__ import annotations

from typing import Any

from amr.records import Answer, Claim, Evidence, ObjectState
from amr.retrieve.explain import explain_json
from amr.retrieve.times import iso_time


def evidence_json(evidence: Evidence) -> dict[str, Any]:
    """One piece of evidence; `time` is the ISO wall clock of its start, or null."""
    node = evidence.node
    return {
        "node_id": node.node_id,
        "kind": node.kind,
        "source": evidence.source,
        "clip": evidence.clip,
        "ref": evidence.ref,
        "t_start": _seconds(node.t_start_ms),
        "t_end": _seconds(node.t_end_ms),
        "time": None if node.time_ms is None else iso_time(node.time_ms),
        "text": node.text,
        "objects": list(node.payload.get("objects", [])),
        "persons": list(node.payload.get("persons", [])),
        "place": place_of(evidence),
        "frame": evidence.frame,
        "score": round(evidence.score, 4),
        "relevance": round(evidence.relevance, 4),
        "path": [{"channel": step.channel, "from": step.src, "to": step.dst} for step in evidence.path],
    }


def place_of(evidence: Evidence) -> str | None:
    """Where the things of an event are, by its first action or object that says so."""
    payload = evidence.node.payload
    said = [action.get("spatial_relation") for action in payload.get("actions", [])]
    said += list(payload.get("places", {}).values())
    return next((place for place in said if place), None)


def answer_json(answer: Answer, explain: bool = False) -> dict[str, Any]:
    """The reply to a question with its state, claims and evidence; with `explain`, how that was found."""
    return {
        **_head(answer),
        "answer": answer.answer,
        "found": answer.found,
        "confidence": round(answer.confidence, 4),
        "question_type": answer.question_type,
        "as_of": answer.as_of,
        "state": None if answer.state is None else _state_json(answer.state),
        "claims": [_claim_json(claim) for claim in answer.claims],
        "evidence": [evidence_json(evidence) for evidence in answer.evidence],
        **_usage(answer),
        **({"explain": explain_json(answer)} if explain else {}),
    }


def query_json(answer: Answer, explain: bool = False) -> dict[str, Any]:
    """The same without answer, state and claims."""
    whole = answer_json(answer, explain)
    return {name: value for name, value in whole.items() if name not in ("answer", "state", "claims")}


def _head(answer: Answer) -> dict[str, Any]:
    return {"question": answer.question}


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "usage": {
            "calls": usage.calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost_usd": usage.cost_usd,
        },
        "seconds": round(answer.seconds, 3),
        "warnings": answer.warnings,
    }


def _state_json(state: ObjectState) -> dict[str, Any]:
    return {
        "object": state.object,
        "state": state.state,
        "place": state.place,
        "holder": state.holder,
        "since": _seconds(state.since_ms),
        "evidence": state.evidence,
    }


def _claim_json(claim: Claim) -> dict[str, Any]:
    return {"text": claim.text, "evidence": claim.evidence, "supported": claim.supported}


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
