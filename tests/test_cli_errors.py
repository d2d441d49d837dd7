"""What was asked wrongly is answered by one sentence and the exit code of its kind; the memory stays as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import pytest

from tests.support.command import amr, assert_one_sentence, root
from tests.support.memories import events_jsonl, said
from tests.support.videos import make_video

ASK = ("ask", "where is my phone?")


@pytest.mark.parametrize(
    ("command", "part"),
    [
        (("ask", "   "), "amr ask"),
        (("query", ""), "amr ask"),
        ((*ASK, "--source", "nowhere.mp4"), "walk.mp4"),
        (("timeline", "--source", "7"), "walk.mp4"),
        ((*ASK, "--as-of", "yesterday"), "yesterday"),
        ((*ASK, "--as-of", "25:99:00"), "25:99:00"),
        (("timeline", "--from", "DAY99x"), "DAY99x"),
        ((*ASK, "--known-at", "noon"), "noon"),
        ((*ASK, "--known-at", "0001-01-01"), "0001-01-01"),
        (("ingest", "walk.mp4", "--scope", " "), "--scope"),
        (("ingest", "walk.mp4", "--scope", "x" * 300), "shorter"),
        (("schema", "film"), "events"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_exit_2(command: tuple[str, ...], part: str, memory: Path) -> None:
    where = () if command[0] == "schema" else ("--memory", memory)
    before = root(memory)
    done = amr(*command, *where)
    assert (done.code, done.out) == (2, "")
    assert_one_sentence(done.err, part)
    assert root(memory) == before


@pytest.mark.parametrize(
    "command", [("ask",), (*ASK, "--colour"), (*ASK, "--k", "0"), ("ingest", "a", "b"), ("dream",)]
)
def test_unknown_options_and_missing_arguments_are_exit_2_and_no_traceback(command: tuple[str, ...]) -> None:
    done = amr(*command)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


def test_a_node_that_is_not_there_is_exit_3(memory: Path) -> None:
    done = amr("show", 10_000, "--memory", memory)
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, "10000")


@pytest.mark.parametrize("command", [ASK, ("query", "phone"), ("timeline",), ("status",), ("show", "1")])
def test_a_memory_that_is_not_there_is_exit_3_and_is_not_made(command: tuple[str, ...], tmp_path: Path) -> None:
    done = amr(*command, "--memory", tmp_path / "none")
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, "amr ingest", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("place", ["file", "file/below"])
@pytest.mark.parametrize("command", ["ask", "ingest"])
def test_a_file_in_the_place_of_a_memory_is_exit_3(command: str, place: str, film: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    what = ASK if command == "ask" else ("ingest", film, "--quiet")
    done = amr(*what, "--memory", tmp_path / place)
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, str(tmp_path / place))
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("content", [b"", b"garbage " * 4000], ids=["empty", "garbage"])
@pytest.mark.parametrize("command", ["ask", "status", "ingest"])
def test_a_damaged_memory_is_exit_3_and_left_alone(command: str, content: bytes, film: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "memory.duckdb").write_bytes(content)
    what = {"ask": ASK, "status": ("status",), "ingest": ("ingest", film, "--quiet")}[command]
    done = amr(*what, "--memory", memory)
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, str(memory))
    assert (memory / "memory.duckdb").read_bytes() == content


@pytest.mark.parametrize("command", ["ask", "ingest"])
def test_a_memory_of_a_newer_version_is_exit_3_and_left_alone(command: str, film: Path, memory: Path) -> None:
    with duckdb.connect(str(memory / "memory.duckdb")) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format_version'")
    before = (memory / "memory.duckdb").read_bytes()
    done = amr(*(ASK if command == "ask" else ("ingest", film, "--quiet")), "--memory", memory)
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, "newer", "update amr")
    assert (memory / "memory.duckdb").read_bytes() == before


@pytest.mark.parametrize("damaged", ["*", "meta.json", "*.idx"])
@pytest.mark.parametrize("content", [None, b"garbage"], ids=["lost", "garbage"])
def test_a_damaged_text_index_is_rebuilt(damaged: str, content: bytes | None, memory: Path) -> None:
    before = amr(*ASK, "--memory", memory)
    for file in (memory / "text" / "default").glob(damaged):
        file.unlink() if content is None else file.write_bytes(content)
    after = amr(*ASK, "--memory", memory)
    assert (after.code, after.out) == (before.code, before.out)


@pytest.mark.parametrize("scope", ["..", ".", "../other", "a/b", "Anna's & Bo's: 我的"])
def test_a_scope_of_any_name_stays_inside_the_memory(scope: str, memory: Path, tmp_path: Path) -> None:
    before = {file.name for file in memory.iterdir()}
    path = events_jsonl(tmp_path / "day.jsonl", [(0, said("I put my phone on the roof.", obj="phone"))])
    assert amr("ingest", path, "--scope", scope, "--memory", memory).code == 0
    for file in (memory / "text").glob("*/indexed-through"):
        file.unlink()
    done = amr("query", "phone", "--scope", scope, "--json", "--memory", memory)
    assert [piece["text"] for piece in done.json["evidence"]] == ["I put my phone on the roof."]
    assert {file.name for file in memory.iterdir()} == before
    assert {file.name for file in tmp_path.iterdir()} == {"memory", "day.jsonl"}


def test_a_name_or_question_that_is_not_utf_8_is_exit_3(film: Path, memory: Path, tmp_path: Path) -> None:
    before = root(memory)
    name = tmp_path / os.fsdecode(b"caf\xe9.mp4")
    name.write_bytes(film.read_bytes())
    for command in (("ingest", name, "--quiet", "--scope", "other"), ("ask", os.fsdecode(b"where is my caf\xe9?"))):
        done = amr(*command, "--memory", memory)
        assert (done.code, done.out) == (3, "")
        assert_one_sentence(done.err, "UTF-8")
    assert root(memory) == before


def with_unknown_key(folder: Path) -> Path:
    path = events_jsonl(folder / "day.jsonl", [(i, said(f"clip {i}")) for i in range(3)])
    lines = path.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), "colour": "red"})
    path.write_text("\n".join(lines))
    return path


def with_broken_line(folder: Path) -> Path:
    path = events_jsonl(folder / "day.jsonl", [(0, said("clip 0"))])
    path.write_text(path.read_text() + '{"source": \n')
    return path


def clips_with_unknown_column(folder: Path) -> Path:
    day = folder / "day"
    day.mkdir()
    make_video(day / "a.mp4", 1, size="64x48", rate=5, sound=None)
    (day / "clips.csv").write_text("file,t_start,t_end,colour\na.mp4,0,1,red\n")
    return day


def broken_captions(folder: Path) -> Path:
    (folder / "talk.srt").write_text("1\n00:00:01,000 --> soon\nHello.\n")
    return folder / "talk.srt"


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (with_unknown_key, ("line 2", "'colour'")),
        (with_broken_line, ("line 2",)),
        (clips_with_unknown_column, ("line 1", "'colour'")),
        (broken_captions, ("line 2",)),
    ],
)
def test_an_unknown_key_or_a_bad_line_is_named_with_its_number(
    make: object, parts: tuple[str, ...], memory: Path, tmp_path: Path
) -> None:
    before = root(memory)
    assert callable(make)
    done = amr("ingest", make(tmp_path), "--quiet", "--memory", memory)
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, *parts)
    assert root(memory) == before


@pytest.mark.parametrize(
    ("options", "code", "parts"),
    [
        (("--captions", "nowhere.srt"), 3, ("nowhere.srt",)),
        (("--config", "nowhere.toml"), 3, ("nowhere.toml",)),
        (("--clip-seconds", "-1"), 2, ("clip_seconds",)),
        (("--perceiver", "oracle"), 2, ("perceiver", "embedded")),
        (("--captions-kind", "song"), 2, ("captions_kind", "narration")),
    ],
)
def test_a_bad_value_of_an_option_is_exit_2_and_a_missing_file_exit_3(
    options: tuple[str, ...], code: int, parts: tuple[str, ...], film: Path, memory: Path
) -> None:
    before = root(memory)
    done = amr("ingest", film, *options, "--memory", memory)
    assert (done.code, done.out) == (code, "")
    assert_one_sentence(done.err, *parts)
    assert root(memory) == before


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("colour = 'red'", "colour"),
        ("clip_seconds = 'long'", "clip_seconds"),
        ("[retrieve]\nanchors = 0", "retrieve.anchors"),
        ("[speech]\ncolour = 1", "speech.colour"),
        ("clip_seconds = = 3", "TOML"),
        ("\xff", "TOML"),
    ],
)
def test_a_config_file_with_an_unknown_key_or_a_bad_value_is_exit_3(
    text: str, part: str, memory: Path, tmp_path: Path
) -> None:
    config = tmp_path / "my.toml"
    config.write_bytes(text.encode("latin-1"))
    done = amr(*ASK, "--config", config, "--memory", memory)
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, part)


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [("AMR_CLIP_SECONDS", "abc", "clip_seconds"), ("AMR_RETRIEVE__ANCHORS", "many", "retrieve.anchors")],
)
def test_a_bad_value_in_the_environment_is_exit_3(variable: str, value: str, name: str, memory: Path) -> None:
    done = amr(*ASK, "--memory", memory, env={variable: value})
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, name)


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = amr("--debug", *ASK, "--memory", tmp_path)
    assert done.code != 0
    assert "Traceback" in done.err


def test_a_memory_on_a_disk_that_cannot_be_written_still_says_so_in_a_sentence(film: Path, tmp_path: Path) -> None:
    if not Path("/proc/version").exists():
        pytest.skip("needs a folder that even root cannot write to, such as /proc")
    done = amr("ingest", film, "--quiet", "--memory", "/proc/memory")
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, "/proc/memory")
