"""What somebody gave, and when somebody came."""

from __future__ import annotations

from pathlib import Path

import pytest

from amr.memory import Memory
from tests.retrieve.lives import captions, settings

VISIT = [
    (1, "I sweep the porch."),
    (4000, "Nora waves at me."),
    (4005, "Nora hands me a lemonade."),
    (4100, "I was holding the rope."),
    (4110, "Omar is holding the rope."),
    (4200, "I put the kite down."),
    (4203, "I take the lamp."),
    (4206, "I dust the lamp."),
    (4210, "I climb the ladder."),
    (4300, "I open the crate."),
    (4303, "There are some ropes in the crate."),
]


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    folder = tmp_path_factory.mktemp("visit")
    memory = Memory(folder / "memory")
    narrated = settings().model_copy(update={"captions_kind": "narration"})
    memory.ingest(captions(folder / "visit.srt", VISIT), narrated)
    return memory


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("What drink did Nora hand me?", "Lemonade:"),
        ("When did Nora show up?", "01:06:40"),
        ("Who was holding the rope?", "Omar:"),
        ("What was in the crate I opened?", "ropes:"),
        ("What did I do with the lamp right before I climbed the ladder?", '"I dust the lamp."'),
    ],
)
def test_it_is_read_off_the_deeds(visit: Memory, question: str, begins: str) -> None:
    assert visit.ask(question, settings()).answer.startswith(begins)


def test_what_nobody_gave_is_not_found(visit: Memory) -> None:
    assert not visit.ask("What did Omar hand me?", settings()).found


@pytest.mark.parametrize(
    ("question", "begins"),
    [("Who finally gave me the coin?", "Omar:"), ("Who got the badge I handed out?", "Nora:")],
)
def test_a_giving_is_known_from_either_side(tmp_path: Path, question: str, begins: str) -> None:
    memory = Memory(tmp_path / "memory")
    narrated = settings().model_copy(update={"captions_kind": "narration"})
    told = [(1, "I took the coin that Omar handed me."), (9, "I hand the badge to Nora."), (20, "I pick up the badge.")]
    memory.ingest(captions(tmp_path / "fair.srt", told), narrated)
    assert memory.ask(question, settings()).answer.startswith(begins)
