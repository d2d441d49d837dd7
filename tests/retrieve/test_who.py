from __future__ import annotations

import pytest

from amr.memory import Filters, Memory
from tests.retrieve.lives import captions, settings

WORKSHOP = [
    (1, "I pick up the chisel."),
    (4, "I hand it to Otis."),
    (20, "Nora hands me the ruler."),
    (40, "Otis put the glue in the cupboard."),
    (60, "Mara comes home."),
    (64, "Nora put the glue on the bench."),
    (90, "I lend the ladder to Mara."),
    (120, "I lend the ladder to Nora."),
    (150, "I measure the plank."),
]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    folder = tmp_path_factory.mktemp("workshop")
    memory = Memory(folder / "memory")
    narrated = settings().model_copy(update={"captions_kind": "narration"})
    memory.ingest(captions(folder / "workshop.srt", WORKSHOP), narrated)
    return memory


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("Who handed me the ruler?", "Nora:"),
        ("Who did I give the chisel to?", "Otis:"),
        ("Who did I lend the ladder to?", "Nora:"),
        ("Who did I first lend the ladder to?", "Mara:"),
        ("Who put the glue in the cupboard?", "Otis:"),
        ("Who did I lend the ladder to before I measured the plank?", "Nora:"),
    ],
)
def test_the_person_is_read_off_the_deed(workshop: Memory, question: str, begins: str) -> None:
    assert workshop.ask(question, settings()).answer.startswith(begins)


def test_as_of_shows_who_had_it_then(workshop: Memory) -> None:
    answer = workshop.ask("Who did I lend the ladder to?", settings(), Filters(as_of="00:01:40"))
    assert answer.answer.startswith("Mara:")


@pytest.mark.parametrize("question", ["Who handed me the violin?", "Who did I sell the ladder's steps to in Rome?"])
def test_nobody_is_named_for_what_was_not_done(workshop: Memory, question: str) -> None:
    assert not workshop.ask(question, settings()).found
