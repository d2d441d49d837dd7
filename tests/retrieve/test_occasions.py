"""Deeds that a question names in more words than were told, or the other way round."""

from __future__ import annotations

import pytest

from amr.memory import Memory
from tests.retrieve.lives import captions, settings

FAIR = [
    (1, "Otis: The fair is huge."),
    (5, "Otis hands me a ticket."),
    (9, "I take the parcel from Nora."),
    (20, "I hand the lantern to Mara."),
    (24, "I pick up the tray and hand it to Nora."),
    (30, "I hand the tray to Otis."),
    (40, "We toast."),
    (3000, "Nora hands me a ticket."),
    (3010, "I whistle."),
]


@pytest.fixture(scope="module")
def fair(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    folder = tmp_path_factory.mktemp("fair")
    memory = Memory(folder / "memory")
    narrated = settings().model_copy(update={"captions_kind": "narration"})
    memory.ingest(captions(folder / "fair.srt", FAIR), narrated)
    return memory


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("Who gave me that really huge ticket at the fair?", "Otis:"),
        ("Who gave me the parcel?", "Nora:"),
        ("Who did I hand the lantern to that was on the stool?", "Mara:"),
        ("Who has the lantern I brought?", "Mara has it:"),
        ("How many people did I hand the tray to?", "2 (Nora and Otis)"),
        ("When did Nora give me the parcel?", "00:00:09"),
        ("What time did we make a toast?", "00:00:40"),
    ],
)
def test_a_deed_is_known_by_fewer_words(fair: Memory, question: str, begins: str) -> None:
    assert fair.ask(question, settings()).answer.startswith(begins)


@pytest.mark.parametrize(
    "question",
    ["Who gave me the ticket at the aquarium?", "Who has my accordion?", "When did Nora give me the lantern?"],
)
def test_what_was_never_told_is_not_made_up_for(fair: Memory, question: str) -> None:
    assert not fair.ask(question, settings()).found
