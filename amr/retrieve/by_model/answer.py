"""The answer by a model, strictly from the evidence, each claim checked before it counts (AMR-Graph Part II §5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel

from amr.records import Answer, Claim, Evidence
from amr.retrieve import wording
from amr.retrieve.by_model.citations import Checked, check_claims, is_borne_out
from amr.retrieve.by_model.context import context_of

if TYPE_CHECKING:
    from amr.models.asking import RoleModel


class _Claim(BaseModel):
    text: str
    evidence: list[int]


class _Reply(BaseModel):
    found: bool
    answer: str
    claims: list[_Claim]


def answer_by_model(model: RoleModel, extracted: Answer, looked_at: Sequence[Evidence], tokens: int, k: int) -> Answer:
    """The answer to the question of `extracted`, from `looked_at`, which is given best first.

    A claim that cites nothing, cites what was not shown, or is not borne out by what it cites is left out, and the
    answer then says only what the other claims say; where none is left, the answer is not found. With no evidence to
    show, no model is called. Raises CallFailed when the model gives no answer that can be read.
    """
    context = context_of(looked_at, tokens)
    if not context:
        return _not_found(extracted, [])
    values = {
        "question": extracted.question,
        "as_of": extracted.as_of or "",
        "context": [line for _, line in context],
    }
    reply = model.ask("answer", values, _Reply, _nonsense).value
    if not reply.found:
        return _not_found(extracted, [])
    shown = {piece.node.node_id: piece for piece, _ in context}
    checked = check_claims([(claim.text, claim.evidence) for claim in reply.claims], shown)
    warnings = _warnings(checked)
    if not checked.kept:
        return _not_found(extracted, warnings)
    return _answer(extracted, reply.answer, checked, shown, looked_at, k, warnings)


def _nonsense(reply: _Reply) -> list[str]:
    """What is wrong with a reply in itself, in words for the model."""
    if reply.found and not reply.claims:
        return ["found is true, but there are no claims; give each claim with its evidence, or found false"]
    return ["claims: a text is empty"] if any(not claim.text.strip() for claim in reply.claims) else []


def _answer(
    extracted: Answer,
    text: str,
    checked: Checked,
    shown: dict[int, Evidence],
    looked_at: Sequence[Evidence],
    k: int,
    warnings: list[str],
) -> Answer:
    cited = [shown[i] for i in dict.fromkeys(i for claim in checked.kept for i in claim.evidence)]
    whole = not checked.dropped and is_borne_out(text, cited)
    ids = {piece.node.node_id for piece in cited}
    state = extracted.state if extracted.state and extracted.state.evidence in ids else None
    return replace(
        extracted,
        answer=" ".join(text.split()) if whole else _in_sentences(checked.kept),
        found=True,
        confidence=max(piece.relevance for piece in cited),
        state=state,
        claims=checked.kept,
        evidence=[*cited, *(piece for piece in looked_at if piece.node.node_id not in ids)][: max(k, len(cited))],
        warnings=[*extracted.warnings, *warnings],
    )


def _in_sentences(claims: Sequence[Claim]) -> str:
    sentences = [" ".join(claim.text.split()) for claim in claims]
    return " ".join(text if text.endswith((".", "!", "?", "。")) else f"{text}." for text in sentences)


def _not_found(extracted: Answer, warnings: list[str]) -> Answer:
    return replace(
        extracted,
        answer=wording.NOTHING,
        found=False,
        confidence=0.0,
        state=None,
        claims=[],
        warnings=[*extracted.warnings, *warnings],
    )


def _warnings(checked: Checked) -> list[str]:
    """What was left out, without saying it again."""
    if not checked.dropped:
        return []
    number = len(checked.dropped)
    what = "One claim of the model's answer was" if number == 1 else f"{number} claims of the model's answer were"
    return [f"{what} left out, because the evidence does not bear {'it' if number == 1 else 'them'} out."]
