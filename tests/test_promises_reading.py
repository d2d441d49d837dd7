"""Questions asked while a command writes are answered from whole commits; indexes are never the truth."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from amr.memory import Memory
from amr.store import database, gate
from tests.support.command import Done, amr, ran, start
from tests.support.videos import make_video, srt

CLIPS = 20
READERS = 8


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of short clips; in each the phone is put on another table."""
    folder = tmp_path_factory.mktemp("clips") / "day"
    folder.mkdir()
    one = make_video(folder.parent / "one.mp4", 1, size="64x48", rate=5, sound=None)
    for i in range(CLIPS):
        shutil.copy(one, folder / f"clip{i:02}.mp4")
        (folder / f"clip{i:02}.srt").write_text(srt((0.1, 0.8, f"I put my phone on table {i}.")))
    return folder


def ask_until(ended: Callable[[], bool], memory: Path) -> list[Done]:
    """Asks in a loop until the writer has ended, at least once, and once more."""
    answers: list[Done] = []
    while not ended() or len(answers) < 1:
        answers.append(amr("ask", "where is my phone?", "--json", "--memory", memory))
    return [*answers, amr("ask", "where is my phone?", "--json", "--memory", memory)]


@pytest.mark.soak
def test_eight_processes_that_ask_while_one_writes_see_whole_commits_in_order(clips: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    first = clips.parent / "first" / "day"
    first.mkdir(parents=True)
    for file in ("clip00.mp4", "clip00.srt"):
        shutil.copy(clips / file, first / file)
    ran("ingest", first, "--memory", memory)
    shutil.rmtree(first)
    writer = start("ingest", clips, "--memory", memory)
    with ThreadPoolExecutor(READERS) as readers:
        loops = [readers.submit(ask_until, lambda: writer.poll() is not None, memory) for _ in range(READERS)]
        answers = [loop.result() for loop in loops]
    assert writer.wait() == 0, writer.communicate()
    assert Memory(memory).status().commits >= 20
    assert sum(len(answered) for answered in answers) >= 20
    for answered in answers:
        assert all(done.code == 0 and done.err == "" for done in answered)
        seen = [told(done.json) for done in answered]
        assert seen == sorted(seen)
        assert seen[-1] == CLIPS - 1
    assert len({told(done.json) for answered in answers for done in answered}) >= 4


def told(answer: dict[str, Any]) -> int:
    """The clip whose words an answer gives; state, claim and evidence must all be of that clip."""
    place = answer["state"]["place"]
    assert place.startswith("on table ")
    proof = next(piece for piece in answer["evidence"] if piece["node_id"] == answer["state"]["evidence"])
    assert proof["text"] == f"I put my phone {place}."
    assert answer["claims"][0]["evidence"] == [proof["node_id"]]
    clip = int(place.removeprefix("on table "))
    assert clip == int(proof["clip"].split(":")[1])
    return clip


@pytest.mark.parametrize("command", ["ask", "query"])
def test_deleted_indexes_are_rebuilt_to_the_same_json(command: str, memory: Path) -> None:
    def answers() -> list[dict[str, Any]]:
        questions = ("where is my phone?", "what did I put on the piano?", "the bed")
        return [timeless(amr(command, question, "--json", "--memory", memory)) for question in questions]

    before = answers()
    assert any(answer["found"] for answer in before)
    shutil.rmtree(memory / "text")
    shutil.rmtree(memory / "vectors", ignore_errors=True)
    assert answers() == before


def timeless(done: Done) -> dict[str, Any]:
    """An answer without how long it took."""
    return {name: value for name, value in done.json.items() if name != "seconds"}


def test_a_reader_that_finds_an_index_behind_waits_for_the_writer_to_bring_it_up_and_not_for_its_end(
    memory: Path,
) -> None:
    (memory / "text" / "default" / "indexed-through").unlink()
    with gate.writing_command(memory, "amr ingest something long"):
        reader = start("ask", "where is my phone?", "--memory", memory)
        with pytest.raises(subprocess.TimeoutExpired):
            reader.wait(timeout=2)
        database.repair_text(memory, "default")
        out, err = reader.communicate(timeout=20)
    assert (reader.returncode, err) == (0, "")
    assert "stairs" in out
