"""The type of a question by a model (AMR-Graph Part II §1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

if TYPE_CHECKING:
    from amr.models.asking import RoleModel

QuestionType = Literal["Object_Tracking", "Person_Understanding", "Temporal_Multihop", "Cross_Modal", "General"]


class _Typed(BaseModel):
    question_type: QuestionType
    reason: str


def type_question(model: RoleModel, question: str) -> QuestionType:
    """One of the five types. Raises CallFailed when the model gives none."""
    return model.ask("question_type", {"question": question}, _Typed, lambda _: ()).value.question_type
