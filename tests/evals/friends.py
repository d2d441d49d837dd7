"""A small conversation in the format of LoCoMo, with questions of every category and every fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSIONS = [
    (
        "1:56 pm on 8 May, 2023",
        [
            ("Ann", "I adopted a grey cat named Pepper last week."),
            ("Bob", "Lovely! I went to a pottery class yesterday."),
            ("Ann", "What did you make there?"),
            ("Bob", "A blue bowl with a wobbly rim."),
        ],
    ),
    (
        "10:04 am on 19 June, 2023",
        [
            ("Ann", "Pepper hid under the sofa during the thunderstorm."),
            ("Bob", "Poor thing. My sister Carla moved to Lisbon."),
            ("Ann", "I am learning the cello now."),
            ("Bob", "I sold my old motorbike to pay for a kayak."),
        ],
    ),
    (
        "7:30 pm on 2 July, 2023",
        [
            ("Ann", "The cello teacher says my bow hold is better."),
            ("Bob", "I paddled the kayak on the lake with Carla."),
            ("Ann", "Did you take the blue bowl to her?"),
            ("Bob", "Yes, it stands in her kitchen in Lisbon."),
        ],
    ),
]

QUESTIONS: list[dict[str, Any]] = [
    {"question": "What is the name of Ann's cat?", "answer": "Pepper", "evidence": ["D1:1"], "category": 4},
    {"question": "When did Bob go to a pottery class?", "answer": "7 May 2023", "evidence": ["D1:2"], "category": 2},
    {
        "question": "What did Bob make in the pottery class and where does it stand?",
        "answer": "a blue bowl, in Carla's kitchen",
        "evidence": ["D1:4; D3:4"],
        "category": 1,
    },
    {"question": "Would Ann enjoy a concert?", "answer": "likely yes", "evidence": ["D2:3", "D3:1"], "category": 3},
    {
        "question": "Where did Ann paddle her kayak?",
        "adversarial_answer": "on the lake",
        "evidence": ["D3:2"],
        "category": 5,
    },
    {"question": "What instrument does Ann play?", "answer": "cello", "evidence": ["D2:3", "D9:9"], "category": 4},
    {"question": "Where does Carla live?", "answer": "Lisbon", "evidence": ["D30:05"], "category": 4},
    {"question": "What does Bob like?", "answer": "kayaks", "evidence": [], "category": 3},
    {"question": "What colour is the bowl?", "answer": "blue", "evidence": ["D1:4"], "category": 9},
    {"question": "What did Bob sell?", "evidence": ["D2:4"], "category": 4},
]
"""The first five are as they should be; the sixth names one turn too many, the seventh and eighth none that is there,
the ninth is of no category, the last has no answer."""

AUDIT = [
    {
        "question_id": "locomo_0_qa1",
        "question": QUESTIONS[1]["question"],
        "error_type": "WRONG_CITATION",
        "cited_evidence": ["D1:2"],
        "correct_evidence": ["D1:3"],
    },
    {
        "question_id": "locomo_0_qa3",
        "question": QUESTIONS[3]["question"],
        "error_type": "HALLUCINATION",
        "cited_evidence": ["D2:3", "D3:1"],
        "correct_evidence": ["D2:3", "D3:1"],
    },
]


def conversation(name: str = "conv-1", questions: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A conversation as LoCoMo has it."""
    told: dict[str, Any] = {"speaker_a": "Ann", "speaker_b": "Bob"}
    for number, (date, turns) in enumerate(SESSIONS, start=1):
        told[f"session_{number}_date_time"] = date
        told[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{turn}", "text": text}
            for turn, (speaker, text) in enumerate(turns, start=1)
        ]
    return {"sample_id": name, "conversation": told, "qa": QUESTIONS if questions is None else questions}


def write_friends(folder: Path, *conversations: dict[str, Any]) -> Path:
    """Writes conversations, or the one above, as a file of LoCoMo."""
    path = folder / "locomo10.json"
    path.write_text(json.dumps(list(conversations) or [conversation()]), encoding="utf-8")
    return path
