"""A source may come in parts, come twice, or be perceived anew: the memory is what its content says."""

from __future__ import annotations

import random
import shutil
import signal
from functools import partial
from pathlib import Path

import pytest

from amr.memory import Memory
from tests.support.command import amr, assert_one_sentence, contents, moved_on, ran, root, start, stopped, wait_for
from tests.support.memories import events_jsonl, said
from tests.support.videos import make_video, srt


@pytest.fixture(scope="module")
def six_clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of six clips of different lengths, with captions."""
    folder = tmp_path_factory.mktemp("six") / "day"
    folder.mkdir()
    for i in range(6):
        make_video(folder / f"clip{i}.mp4", 1 + i / 5, size="64x48", rate=5, sound=None)
        (folder / f"clip{i}.srt").write_text(srt((0.1, 0.8, f"I put my keys on hook {i}.")))
    return folder


def copy_clips(source: Path, target: Path, numbers: range) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for i in numbers:
        for suffix in ("mp4", "srt"):
            shutil.copy(source / f"clip{i}.{suffix}", target)


def test_a_folder_that_grew_between_two_commands_is_the_folder_ingested_at_once(
    six_clips: Path, tmp_path: Path
) -> None:
    growing = tmp_path / "day"
    for numbers in (range(2), range(2, 6)):
        copy_clips(six_clips, growing, numbers)
        ran("ingest", growing, "--memory", tmp_path / "in parts")
    ran("ingest", six_clips, "--memory", tmp_path / "at once")
    assert contents(tmp_path / "in parts") == contents(tmp_path / "at once")


def test_a_folder_that_is_followed_as_it_grows_is_the_folder_ingested_at_once(six_clips: Path, tmp_path: Path) -> None:
    growing, memory = tmp_path / "day", tmp_path / "followed"
    growing.mkdir()
    process = start("ingest", growing, "--follow", "--quiet", "--memory", memory)
    for numbers in (range(2), range(2, 6)):
        copy_clips(six_clips, growing, numbers)
        wait_for(process, partial(holds, memory, numbers.stop))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    ran("ingest", growing, "--memory", memory)
    ran("ingest", six_clips, "--memory", tmp_path / "at once")
    assert contents(memory) == contents(tmp_path / "at once")


def holds(memory: Path, clips: int) -> bool:
    """Whether the memory has so many clips by now."""
    if not (memory / "memory.duckdb").exists():
        return False
    return clips == sum(counts.get("done", 0) for counts in Memory(memory).status().clips.values())


def test_a_clip_that_arrives_late_keeps_the_numbers_and_times_of_the_others(six_clips: Path, tmp_path: Path) -> None:
    growing = tmp_path / "day"
    copy_clips(six_clips, growing, range(1, 3))
    ran("ingest", growing, "--memory", tmp_path / "memory")
    before = texts(tmp_path / "memory")
    copy_clips(six_clips, growing, range(1))
    done = ran("ingest", growing, "--json", "--memory", tmp_path / "memory")
    assert (done.json["clips"], done.json["clips_skipped"]) == (1, 2)
    after = texts(tmp_path / "memory")
    assert {clip: after[clip] for clip in before} == before
    assert len(after) == 3


def texts(memory: Path) -> dict[str, tuple[float, str]]:
    """Of each clip with an event: when the event starts and what it says."""
    events = ran("timeline", "--json", "--memory", memory).json["events"]
    return {event["clip"]: (event["t_start"], event["text"]) for event in events}


def test_an_events_file_in_two_halves_is_the_whole_file(tmp_path: Path) -> None:
    rows = [(i, said(f"I put the cup on table {i}.", obj="cup")) for i in range(40)]
    for half in (rows[:17], rows):
        ran("ingest", events_jsonl(tmp_path / "day.jsonl", half), "--memory", tmp_path / "in parts")
    ran("ingest", tmp_path / "day.jsonl", "--memory", tmp_path / "at once")
    assert contents(tmp_path / "in parts") == contents(tmp_path / "at once")


def test_the_same_film_twice_or_under_another_name_is_there_once(film: Path, memory: Path, tmp_path: Path) -> None:
    before = contents(memory)
    other_name = Path(shutil.copy(film, tmp_path / "other.mp4"))
    shutil.copy(film.with_suffix(".srt"), other_name.with_suffix(".srt"))
    for path in (film, other_name):
        done = ran("ingest", path, "--clip-seconds", 2, "--json", "--memory", memory)
        assert (done.json["clips"], done.json["clips_skipped"], done.json["nodes"]) == (0, 10, 0)
        assert contents(memory) == before


def test_the_same_film_in_two_scopes_is_two_lives(film: Path, memory: Path) -> None:
    ran("ingest", film, "--clip-seconds", 2, "--scope", "other", "--memory", memory)
    status = ran("status", "--json", "--memory", memory).json
    assert [source["scope"] for source in status["sources"]] == ["default", "other"]
    assert status["nodes"]["scope"] == status["nodes"]["source"] == 2


def test_a_film_perceived_anew_replaces_the_old_pass_only_when_it_is_finished(
    film: Path, memory: Path, tmp_path: Path
) -> None:
    before, question = contents(memory), ("ask", "where is my phone?", "--json", "--memory", memory)
    told = ran(*question).json["answer"]
    command = ("ingest", film, "--clip-seconds", 1, "--memory", memory)
    process = start(*command)
    assert stopped(process, moved_on(memory), random.Random(3).uniform(0, 0.03), signal.SIGKILL)
    process.communicate()
    assert contents(memory) == before
    assert ran(*question).json["answer"] == told
    ran(*command)
    ran("ingest", film, "--clip-seconds", 1, "--memory", tmp_path / "fresh")
    assert contents(memory) == contents(tmp_path / "fresh")
    assert ran(*question).json["answer"] == told


def test_keep_pass_keeps_both_passes(film: Path, memory: Path) -> None:
    before = Memory(memory).status().nodes["event"]
    ran("ingest", film, "--clip-seconds", 3, "--keep-pass", "--memory", memory)
    assert Memory(memory).status().nodes["event"] == 2 * before


def test_another_folder_of_the_same_name_asks_for_a_name_of_its_own(six_clips: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    ran("ingest", six_clips, "--memory", memory)
    before = root(memory)
    copy_clips(six_clips, tmp_path / "elsewhere" / "day", range(2))
    done = amr("ingest", tmp_path / "elsewhere" / "day", "--quiet", "--memory", memory)
    assert done.code == 2
    assert_one_sentence(done.err, "--source")
    assert root(memory) == before
    ran("ingest", tmp_path / "elsewhere" / "day", "--source", "other day", "--memory", memory)
    assert [source.name for source in Memory(memory).status().sources] == ["day", "other day"]
