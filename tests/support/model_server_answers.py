"""How the test server's models answer questions: by the words of the events they are shown, or falsely on demand."""

from __future__ import annotations

import json
import re
from typing import Any

LIES = (
    "cites_unknown", "cites_nothing", "cites_another", "invents", "wrong_place", "half_invents", "says_more",
    "answers_anyway",
)  # fmt: skip
"""Answers of the right form that are not true to the events: what they cite, or what they say."""

UNKNOWN_ID = 987_654

_ASKING_WORDS = """
    a an the in on of with and or to from at by is are was were be been it its this that these those my your his her
    their i you he she they we me who what where when which how did do does for as into has have had last first put
    leave left place placed see seen say said give gave about many times time right after before just now today
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_YOURS = (("I", "you"), ("me", "you"), ("my", "your"), ("mine", "yours"), ("myself", "yourself"))


def things_of(question: str) -> set[str]:
    """The words of a question that say what it is about."""
    return {_stem(word) for word in _words(question)} - _ASKING


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def share(question: str, text: str) -> float:
    """The share of what a question is about that stands in a text, 0 to 1."""
    things = things_of(question)
    return round(len(things & {_stem(word) for word in _words(text)}) / len(things), 4) if things else 0.0


def answer_from(question: str, context: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer that the last event to name all that is asked about gives; not found where there is none."""
    fitting = [event for event in context if share(question, json.dumps(event, ensure_ascii=False)) == 1]
    if not fitting:
        return {"answer": "", "found": False, "confidence": 0.0, "claims": [], "evidence": []}
    event = fitting[-1]
    text = to_you(str(event.get("text", "")))
    claim = {"text": text, "evidence": [event["id"]]}
    return {"answer": text, "found": True, "confidence": 1.0, "claims": [claim], "evidence": [event["id"]]}


def to_you(text: str) -> str:
    """What the wearer says of themselves, told to them."""
    for mine, yours in _YOURS:
        text = re.sub(rf"\b{mine}\b", yours, text)
    return text[:1].upper() + text[1:]


def misled(text: str, kind: str, context: list[dict[str, Any]]) -> str:
    """An answer with one of LIES."""
    value: dict[str, Any] = json.loads(text)
    if kind == "answers_anyway" and not value["claims"] and context:
        value |= {"found": True, "answer": "It is in the attic."}
        value["claims"] = [{"text": value["answer"], "evidence": [context[0]["id"]]}]
    for claim in value["claims"]:
        others = [event["id"] for event in context if event["id"] not in claim["evidence"]]
        if kind == "cites_unknown":
            claim["evidence"] = [UNKNOWN_ID]
        elif kind == "cites_nothing":
            claim["evidence"] = []
        elif kind == "cites_another":
            claim["evidence"] = others[:1]
        elif kind == "invents":
            claim["text"] = value["answer"] = claim["text"].rstrip(".") + ", beside the golden trumpet."
        elif kind == "wrong_place":
            claim["text"] = value["answer"] = re.sub(r"\w+(\W*)$", r"attic\1", claim["text"])
    if kind == "half_invents" and value["claims"]:
        value["claims"].append({"text": "Lucia saw it there.", "evidence": value["claims"][0]["evidence"]})
        value["answer"] += " Lucia saw it there."
    if kind == "says_more":
        value["answer"] += " It is made of gold."
    return json.dumps(value, ensure_ascii=False)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
