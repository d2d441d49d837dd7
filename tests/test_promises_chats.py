"""The promises, for chats: nothing lost or doubled, the same memory whatever the commands, ranks that stay the same."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amr.config import load_settings
from amr.memory import Filters, Memory
from amr.store import database
from amr.write import chats as writing
from tests.support import chats
from tests.support.command import contents, root, start, stopped


def file_of(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(records))
    return path


def part_of(record: dict[str, Any], keep: Callable[[int], bool]) -> dict[str, Any]:
    """A record with some of its sessions, by number."""
    lists = ("haystack_dates", "haystack_session_ids", "haystack_sessions")
    return {**record, **{key: [x for n, x in enumerate(record[key]) if keep(n)] for key in lists}}


def ingested(folder: Path, *commands: list[dict[str, Any]]) -> Path:
    for number, records in enumerate(commands):
        file = file_of(folder.with_name(f"{folder.name}-{number}.json"), records)
        Memory(folder).ingest(file, load_settings())
    return folder


RECORDS = [chats.longmemeval(f"q{number}", 12, turns=6, seed=number) for number in range(3)]


def test_two_halves_and_a_late_session_give_the_memory_of_one_go(tmp_path: Path) -> None:
    def some(keep: Callable[[int], bool]) -> list[dict[str, Any]]:
        return [part_of(record, keep) for record in RECORDS]

    whole = contents(ingested(tmp_path / "whole", RECORDS))
    assert contents(ingested(tmp_path / "halves", some(lambda n: n < 7), some(lambda n: n >= 7))) == whole
    assert contents(ingested(tmp_path / "late", some(lambda n: n != 4), some(lambda n: n == 4))) == whole
    assert contents(ingested(tmp_path / "gaps", some(lambda n: n % 3 == 0), RECORDS)) == whole
    assert contents(ingested(tmp_path / "apart", *([record] for record in reversed(RECORDS)))) == whole


def test_how_much_is_committed_at_once_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = contents(ingested(tmp_path / "whole", RECORDS))
    for turns in (1, 100):
        monkeypatch.setattr(writing, "CHUNK_TURNS", turns)
        assert contents(ingested(tmp_path / str(turns), RECORDS)) == whole


def test_the_edge_that_a_late_session_ends_is_seen_no_more(tmp_path: Path) -> None:
    record = chats.longmemeval("q1", 3)
    memory = ingested(tmp_path / "memory", [part_of(record, lambda n: n != 1)], [record])
    with database.reading(memory) as snapshot:
        _, edges = snapshot.counts()
    assert edges["temporal"] == 3 * 3 + 2


def test_killed_again_and_again_the_same_command_gives_the_memory_of_a_run_left_alone(tmp_path: Path) -> None:
    records = [chats.longmemeval(f"q{number:02}", 25, turns=10, seed=number) for number in range(20)]
    file = file_of(tmp_path / "records.json", records)
    whole = contents(ingested(tmp_path / "whole", records))
    memory = tmp_path / "memory"

    def moved(before: int) -> Callable[[], bool]:
        folder = memory / "text"
        return lambda: folder.is_dir() and len(list(folder.iterdir())) > before

    landed = 0
    for number in range(2):
        before = len(list((memory / "text").iterdir())) if (memory / "text").is_dir() else 0
        process = start("ingest", file, "--memory", memory, "--quiet")
        landed += stopped(process, moved(before), 0.05 * number, signal.SIGKILL)
        process.communicate(timeout=60)
    assert landed
    process = start("ingest", file, "--memory", memory, "--quiet")
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert contents(memory) == whole
    shutil.rmtree(memory / "text")
    answers = [ranked(folder, "q07") for folder in (memory, tmp_path / "whole")]
    assert answers[0] == answers[1]


def ranked(memory: Path, scope: str) -> list[tuple[str | None, float]]:
    answer = Memory(memory).query("What did I buy in the shop, an oboe?", load_settings(), Filters(scope), k=5)
    return [(one.ref, one.score) for one in answer.evidence]


def test_a_haystack_ranks_the_same_alone_and_among_hundreds(tmp_path: Path) -> None:
    many = [chats.longmemeval(f"q{number:03}", 4, seed=number) for number in range(120)]
    among, alone = ingested(tmp_path / "among", many), ingested(tmp_path / "alone", [many[77]])
    assert ranked(among, "q077") == ranked(alone, "q077")
    # The same words in another life tell nothing here.
    assert all(ref is not None and ref.startswith("q077-") for ref, _ in ranked(among, "q077"))
    assert root(among) != root(alone)
