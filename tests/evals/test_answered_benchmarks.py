"""LongMemEval and BEAM from their files to verdicts, with models over a real wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amr.config import load_settings
from amr.evals.evaluate import evaluate
from amr.evals.report import report_json
from amr.evals.run import Options
from tests.support.model_server import ModelServer
from tests.support.models import KEY


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with pytest.MonkeyPatch.context() as patch, ModelServer(mode="local", key=KEY) as listening:
        patch.setenv("AMR_API_KEY", KEY)
        yield listening


def answered(name: str, data: Path, server: ModelServer, tmp_path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report of a run, and the lines of its questions."""
    server.log.clear()
    options = Options(data=data, out=tmp_path / "run", model=f"{server.base_url}#text-only")
    report = report_json(evaluate(name, options, load_settings(None, jobs=2)))
    lines = [json.loads(line) for line in (tmp_path / "run" / "questions.jsonl").read_text().splitlines()]
    return report, lines


def record(name: str, kind: str, question: str, answer: str) -> dict[str, Any]:
    """A record of LongMemEval, its haystack two sessions."""
    evidence = [
        {"role": "user", "content": "I adopted a beagle named Pixel yesterday.", "has_answer": True},
        {"role": "assistant", "content": "Congratulations on the new friend!"},
    ]
    other = [
        {"role": "user", "content": "How do I bake sourdough bread?"},
        {"role": "assistant", "content": "Start with flour and water."},
    ]
    return {
        "question_id": name,
        "question_type": kind,
        "question": question,
        "answer": answer,
        "question_date": "2023/05/30 (Tue) 01:13",
        "haystack_dates": ["2023/05/20 (Sat) 06:13", "2023/05/21 (Sun) 10:00"],
        "haystack_session_ids": [f"answer_{name}", f"other_{name}"],
        "haystack_sessions": [evidence, other],
        "answer_session_ids": [f"answer_{name}"],
    }


def test_longmemeval_is_answered_by_type_and_abstentions_are_judged_as_such(
    server: ModelServer, tmp_path: Path
) -> None:
    records = [
        record("q1", "single-session-user", "Which dog was adopted and how is it named?", "a beagle named Pixel"),
        record("q2", "temporal-reasoning", "When was the beagle adopted?", "2023-05-20"),
        record("q3_abs", "single-session-user", "Which parrot repeats telephone numbers?", "No parrot is mentioned."),
    ]
    (tmp_path / "lme.json").write_text(json.dumps(records))
    report, lines = answered("longmemeval", tmp_path / "lme.json", server, tmp_path)
    figures = report["systems"]["amr"]
    assert figures["accuracy.temporal-reasoning"] == 1.0
    assert figures["accuracy.abstention"] == 1.0
    assert report["intervals"]["amr"]["accuracy"][2] == 3
    assert [line["systems"]["amr"]["failed"] for line in lines] == [None] * 3
    asked = server.log.calls("eval_answer")
    assert all("Asked at: 2023/05/30 (Tue) 01:13" in call.text for call in asked)
    assert all("[2023-05-20 06:13:00 (Saturday)]" in call.text for call in asked if "beagle" in call.text)


def test_beam_is_judged_by_its_rubrics_and_by_the_order_of_events(server: ModelServer, tmp_path: Path) -> None:
    turns = [
        {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I chose the Flask framework for my app."},
        {"role": "assistant", "id": 1, "content": "Flask is a good choice."},
        {"role": "user", "id": 2, "time_anchor": "March-16-2024", "content": "Now I deploy the app to Render."},
    ]
    questions = {
        "information_extraction": [
            {
                "question": "Which framework did I choose for my app?",
                "answer": "Flask",
                "source_chat_ids": [0],
                "rubric": ["LLM response should state: Flask", "LLM response should state: Django REST"],
            }
        ],
        "event_ordering": [
            {
                "question": "I chose which framework for my app first?",
                "answer": "Flask, Render",
                "source_chat_ids": [0, 2],
                "rubric": ["chose the Flask framework", "deploy to Render"],
            }
        ],
        "summarization": [{"question": "Summarise my app.", "source_chat_ids": [0]}],
    }
    chat = {"id": "1", "chat": [{"batch_number": 1, "turns": [turns]}], "probing_questions": questions}
    (tmp_path / "conv.json").write_text(json.dumps(chat))
    report, lines = answered("beam", tmp_path / "conv.json", server, tmp_path)
    figures = report["systems"]["amr"]
    assert figures["score.information_extraction"] == 0.5
    assert 0 < figures["order_f1.event_ordering"] < 1
    assert (figures["failed"], report["intervals"]["amr"]["score"][2]) == (1, 2)
    (lost,) = [line for line in lines if line["category"] == "summarization"]
    assert "no rubric" in lost["systems"]["amr"]["failed"]
