"""What the test server reads from the text of a request: the one place to change when a prompt's form changes.

Task: the name of the JSON schema (`TASK_NAMES`); without one, a line `task: NAME` in any text, else media means
perception, else the keys of the JSON in the text.
Fields: a JSON object in a user text, fenced or bare; of several, the last that has a key the task looks for.
Frame times: seconds from the clip's start, in the text part just before each image ("1.4 s"), or a list of as
many numbers as there are images under `frame_times`, `frames` or `times` in the JSON, or in a line of text that
says "frame".
Clip length: `clip_seconds`, `duration`, `duration_seconds` or `seconds` in the JSON, or "10.0 seconds long" or
"lasts 10.0" in the text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.model_server_rules import Chat

TASK_NAMES = {
    "perception": ("perceive", "clip_analysis", "clipanalysis", "perceive_strict"),
    "handles": ("handle", "person_handles"),
    "summaries": ("summary", "event_summaries", "summarize", "summarise"),
    "merged_summary": ("merged", "merge", "merged_summaries", "resummary"),
    "actions": ("refine", "refine_actions", "refined_actions"),
    "question_type": ("typing", "question_typing", "type"),
    "verification": ("verify", "verification_scores", "relevance"),
    "answer": ("ask", "final_answer"),
    "facts": (),
    "eval_answer": (),
    "judge": (),
    "judge_rubric": (),
}
"""Each task with the other names it goes by."""

TASK_KEYS = {
    "handles": ("descriptors", "descriptions", "persons", "people", "characters"),
    "verification": ("groups", "candidates"),
    "merged_summary": ("nodes", "summaries", "merged", "parents"),
    "answer": ("context", "evidence"),
    "actions": ("events",),
    "summaries": ("events",),
    "facts": ("turns",),
    "question_type": ("question", "query"),
}
"""The keys of a task's JSON, the one that holds the list first where there is one."""

_NUMBER = r"-?\d+(?:\.\d+)?"


def task_of(chat: Chat) -> str:
    """Which of TASK_NAMES a request asks for; "chat" for anything else."""
    names = [chat.schema_name] if chat.schema_name else []
    names += re.findall(r"(?im)^\s*task:\s*(\w+)", "\n".join(chat.texts))
    for name in names:
        for task, others in TASK_NAMES.items():
            if name.lower() in (task, *others):
                return task
    if chat.media:
        return "perception"
    for task, keys in TASK_KEYS.items():
        if any(key in found for found in json_objects(chat.user_texts) for key in keys):
            return task
    return "chat"


def fields(chat: Chat, task: str) -> dict[str, Any]:
    """The JSON object that the user's text holds for a task; empty when there is none."""
    keys = (*TASK_KEYS.get(task, ()), "question", "events")
    found = json_objects(chat.user_texts)
    return next((item for item in reversed(found) if any(key in item for key in keys)), found[-1] if found else {})


def listed(data: dict[str, Any], task: str) -> list[Any]:
    """The list that a task is about."""
    for key in (*TASK_KEYS.get(task, ()), "events", "groups", "context"):
        if isinstance(data.get(key), list):
            return list(data[key])
    return []


def json_objects(texts: list[str]) -> list[dict[str, Any]]:
    """All JSON objects that stand in the texts, outermost ones only, in order."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    for text in texts:
        at = text.find("{")
        while at >= 0:
            try:
                value, end = decoder.raw_decode(text, at)
            except ValueError:
                end = at + 1
            else:
                found.append(value)
            at = text.find("{", end)
    return found


def frame_times(chat: Chat) -> list[float] | None:
    """The times that the request tells of its images, in seconds from the clip's start; None when it tells none."""
    images = [part for part in chat.media if part.kind == "image"]
    before = [re.findall(rf"({_NUMBER})\s*(?:s\b|sec|$)", part.before.strip()) for part in images]
    if images and all(before):
        return [float(numbers[-1]) for numbers in before]
    for data in json_objects(chat.user_texts):
        for key in ("frame_times", "frames", "times"):
            times: list[Any] = [
                item.get("time") if isinstance(item, dict) else item for item in _as_list(data.get(key))
            ]
            if len(times) == len(images) and all(isinstance(time, int | float) for time in times):
                return [float(time) for time in times]
    for line in "\n".join(chat.user_texts).splitlines():
        numbers = re.findall(rf"(?<![\w.]){_NUMBER}", line.partition(":")[2] or line)
        if "frame" in line.lower() and len(numbers) == len(images) > 1:
            return [float(number) for number in numbers]
    return None


def clip_length(chat: Chat) -> float | None:
    """How long the request says the clip is, in seconds."""
    for data in json_objects(chat.user_texts):
        for key in ("clip_seconds", "duration", "duration_seconds", "seconds"):
            if isinstance(data.get(key), int | float):
                return float(data[key])
    text = "\n".join(chat.user_texts)
    match = re.search(rf"({_NUMBER})\s*(?:s|seconds)\s+long", text) or re.search(rf"\blasts\s+({_NUMBER})", text)
    return float(match[1]) if match else None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
