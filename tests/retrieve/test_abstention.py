"""Made questions: what never occurs is not found, what the captions say is. Figures on whole days: scripts."""

from __future__ import annotations

import random
import re
import sys
from itertools import islice
from pathlib import Path

import pytest

from amr.memory import Memory
from tests.retrieve.lives import settings
from tests.support.data import ROOT, test_data
from tests.support.egolife import day_to_srt

sys.path.insert(0, str(ROOT / "scripts"))
import make_questions

LINES = 700


@pytest.fixture(scope="module")
def half_hour(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """Some half hour of a real day, whose questions the constants were not fitted on."""
    folder = tmp_path_factory.mktemp("half_hour")
    whole = day_to_srt(test_data("egolife/A1_JAKE_sync_clips.jsonl.gz"), 1, folder / "day.srt")
    blocks = whole.read_text(encoding="utf-8").split("\n\n")
    whole.write_text("\n\n".join(blocks[3000 : 3000 + LINES]) + "\n", encoding="utf-8")
    memory = Memory(folder / "memory")
    memory.ingest(whole, settings())
    return memory


def test_what_never_occurs_is_not_found_and_what_the_captions_say_is(half_hour: Memory) -> None:
    known = make_questions.known_of(half_hour.directory)
    made = make_questions.make(known, "check", seed=3, absent=40, answerable=40)
    found = {True: [0, 0], False: [0, 0]}
    for one in made:
        found[one.answerable][0] += half_hour.ask(one.question, settings()).found
        found[one.answerable][1] += 1
    assert found[False][0] <= 0.05 * found[False][1], found
    assert found[True][0] >= 0.85 * found[True][1], found
    assert found[True][1] >= 30


def test_made_questions_are_the_same_for_a_seed_and_the_parts_share_no_words(morning: Memory) -> None:
    known = make_questions.known_of(morning.directory)
    first = make_questions.make(known, "check", 1, 40, 10)
    assert first == make_questions.make(known, "check", 1, 40, 10)
    assert first != make_questions.make(known, "check", 2, 40, 10)
    words = {part: _things(known, part) for part in make_questions.PARTS}
    assert not words["check"] & words["development"]


def test_a_thing_that_the_memory_knows_is_never_called_absent(morning: Memory) -> None:
    known = make_questions.known_of(morning.directory)
    assert make_questions.is_absent(known, "trombone")
    assert make_questions.is_absent(known, "laser pointer")
    for present in ("phone", "phones", "fridge", "refrigerator", "kitchen table"):
        assert not make_questions.is_absent(known, present)


def _things(known: make_questions.Known, part: str) -> set[str]:
    made = make_questions.absent_questions(known, part, random.Random(0))
    things = (one.question for one in islice(made, 400) if one.kind == "thing")
    return {found[1] for question in things if (found := re.search(r"(?:the|my) (.+)\?", question))}


def test_the_script_prints_one_question_a_line(
    morning: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["make_questions.py", "--memory", str(morning.directory), "--absent", "5"])
    make_questions.main()
    assert len(capsys.readouterr().out.splitlines()) >= 5
    assert Path(make_questions.WORDS).exists()
