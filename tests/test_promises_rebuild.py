"""A rebuild makes the memory anew from what was observed, asks no model, and loses nothing on the way."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amr.config import load_settings
from amr.memory import Filters, Memory
from tests.support.coded_video import Film, random_film
from tests.support.command import amr, assert_one_sentence, contents, moved_on, ran, root, start, stopped
from tests.support.memories import events_jsonl, said
from tests.support.model_server import ModelServer
from tests.support.model_server_faults import Fault
from tests.support.models import config_file, settings
from tests.support.videos import make_video, srt

CLIPS = 5


@pytest.fixture(scope="module")
def script() -> Film:
    return random_film(5, CLIPS)


@pytest.fixture(scope="module")
def captioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    film = make_video(tmp_path_factory.mktemp("told") / "film.mp4", 6, size="64x48", rate=5, sound=None)
    cues = [(0.2, 1.0, "I put my keys on the shelf."), (2.1, 3.0, "Lucia: Where is it?"), (4.5, 5.0, "I open the bag.")]
    film.with_suffix(".srt").write_text(srt(*cues))
    return film


def long_events(path: Path) -> Path:
    """An events file so long that it is committed in several groups of clips."""
    return events_jsonl(path, [(i, said(f"I put the cup on table {i}.", obj="cup")) for i in range(3_500)])


def test_the_root_hash_is_the_same_again_and_the_source_is_still_complete(captioned: Path, tmp_path: Path) -> None:
    events = events_jsonl(tmp_path / "day.jsonl", [(i, said(f"I hold cup {i}.", obj="cup")) for i in range(30)])
    memory = tmp_path / "memory"
    for source in (captioned, events):
        ran("ingest", source, "--clip-seconds", 2, "--memory", memory)
    before = contents(memory)
    done = ran("rebuild", "--memory", memory, "--json").json
    assert done["root_before"] == done["root_after"] == before[0]
    assert [one["source"] for one in done["sources"]] == ["film.mp4", "film"]
    assert contents(memory) == before
    for source in (captioned, events):
        again = ran("ingest", source, "--clip-seconds", 2, "--memory", memory, "--json").json
        assert (again["clips"], again["nodes"]) == (0, 0)
    assert "as before" in ran("rebuild", "--memory", memory).out


def test_only_the_source_that_is_named_is_made_anew(captioned: Path, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory")
    for source in (captioned, events_jsonl(tmp_path / "day.jsonl", [(0, said("I hold the cup.", obj="cup"))])):
        memory.ingest(source, load_settings())
    ids = {piece.source: piece.node.node_id for piece in memory.timeline()}
    assert len(memory.rebuild(load_settings(), source="film").sources) == 1
    after = {piece.source: piece.node.node_id for piece in memory.timeline()}
    assert after["film.mp4"] == ids["film.mp4"]
    assert after["film"] > ids["film"]
    missing = amr("rebuild", "--source", "nothing", "--memory", memory.directory)
    assert missing.code == 2
    assert_one_sentence(missing.err, "no source nothing")


def test_what_leads_from_one_source_to_another_does_so_again(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory")
    for number, name in enumerate(("kitchen", "garden")):
        memory.ingest(timed_events(tmp_path / f"{name}.jsonl", name, 80 * number), load_settings())
    assert contents(memory.directory)[2].keys() >= {"entity_jump", "object_lifecycle", "temporal"}
    before = contents(memory.directory)
    for source in ("kitchen", "garden", "kitchen", None):
        memory.rebuild(load_settings(), source=source)
        assert contents(memory.directory) == before


def timed_events(path: Path, source: str, late: int) -> Path:
    """Six clips of ten seconds, one every three minutes from `late` seconds after nine o'clock on."""
    rows = []
    for i in range(6):
        start = 180 * i + late
        time = f"2024-05-01T09:{start // 60:02d}:{start % 60:02d}Z"
        analysis = said(f"I put the cup on table {i}.", obj="cup").model_dump()
        analysis["events"][0]["actions"] = [
            {"actor": "wearer", "verb": "put", "object": "cup", "spatial_relation": f"on table {i}"}
        ]
        row = {"source": source, "clip": i, "t_start": 180.0 * i, "t_end": 180.0 * i + 10, "time": time}
        rows.append(json.dumps({**row, "analysis": analysis}) + "\n")
    path.write_text("".join(rows))
    return path


@pytest.mark.parametrize("merge", ["off", "on"])
def test_what_a_model_saw_is_used_again_without_a_request(
    merge: str, video: Path, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, chosen = Memory(tmp_path), settings(server.base_url, merge=merge)
    memory.ingest(video, chosen)
    before = contents(tmp_path)
    frames = [piece.frame for piece in memory.timeline(Filters())]
    server.log.clear()
    monkeypatch.delenv("AMR_API_KEY")
    report = memory.rebuild(chosen)
    assert not server.log.calls()
    assert (report.root_before, report.sources[0].clips) == (report.root_after, CLIPS)
    assert (report.sources[0].merges > 0) == (merge == "on")
    assert contents(tmp_path) == before
    assert [piece.frame for piece in memory.timeline(Filters())] == frames
    assert any(frames)
    assert memory.ingest(video, chosen).sources[0].clips_skipped == CLIPS
    assert not server.log.calls()


def test_the_perceiver_of_a_source_is_the_one_that_perceived_it(
    video: Path, server: ModelServer, tmp_path: Path
) -> None:
    memory, before = Memory(tmp_path), settings(server.base_url, merge="auto")
    memory.ingest(video, before)
    report = memory.rebuild(load_settings())
    assert report.root_after == report.root_before
    assert memory.ingest(video, before).sources[0].clips_skipped == CLIPS


def test_other_rules_give_other_nodes_where_no_new_reply_is_needed(
    video: Path, server: ModelServer, tmp_path: Path
) -> None:
    memory = Memory(tmp_path)
    roots = {}
    for merge in ("off", "on"):
        memory.ingest(video, settings(server.base_url, merge=merge))
        roots[merge] = root(tmp_path)
    assert roots["off"] != roots["on"]
    server.log.clear()
    for merge in ("off", "on", "off"):
        chosen = settings(server.base_url, merge=merge)
        assert memory.rebuild(chosen).root_after == roots[merge]
        assert memory.ingest(video, chosen).sources[0].clips_skipped == CLIPS
    assert not server.log.calls()


def test_a_reply_that_was_never_given_is_refused_and_everything_stays(
    script: Film, video: Path, server: ModelServer, tmp_path: Path
) -> None:
    memory = tmp_path / "memory"
    Memory(memory).ingest(video, settings(server.base_url, merge="off"))
    before = contents(memory)
    server.log.clear()
    config = config_file(tmp_path, server.base_url, merge="on")
    done = amr("rebuild", "--memory", memory, "--config", config, "--quiet")
    assert (done.code, done.out) == (4, "")
    assert_one_sentence(done.err, "No model is called here", "(merge)", "amr ingest")
    assert not server.log.calls()
    assert contents(memory) == before
    assert Memory(memory).rebuild(settings(server.base_url, merge="off")).root_after == before[0]


def test_nodes_follow_the_rules_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = events_jsonl(tmp_path / "day.jsonl", [(0, said("I hold the cup.", obj="cup"))])
    memory, fresh = Memory(tmp_path / "memory"), Memory(tmp_path / "fresh")
    fresh.ingest(events, load_settings())
    with monkeypatch.context() as older:
        older.setattr("amr.write.events.states_of", lambda told: [[] for _ in told])
        memory.ingest(events, load_settings())
    assert root(memory.directory) != root(fresh.directory)
    assert memory.rebuild(load_settings()).root_after == root(fresh.directory)


@pytest.mark.parametrize("merge", ["off", "on"])
def test_a_clip_that_failed_stays_failed_until_it_is_ingested(
    merge: str, video: Path, server: ModelServer, tmp_path: Path
) -> None:
    memory, chosen = Memory(tmp_path), settings(server.base_url, merge=merge)
    server.faults.set(Fault("not_json", role="perception", clip=2, times=None))
    memory.ingest(video, chosen)
    failed = contents(tmp_path)
    report = memory.rebuild(chosen)
    assert (report.sources[0].clips, report.sources[0].clips_failed) == (CLIPS - 1, 1)
    assert contents(tmp_path) == failed
    assert memory.status().clips == {0: {"done": CLIPS - 1, "failed": 1}}
    assert _raw(tmp_path, 2)
    server.faults.clear()
    memory.ingest(video, chosen)
    assert memory.status().clips == {0: {"done": CLIPS}}
    # Spliced in late: a rebuild writes the clips in the same order again.
    spliced = contents(tmp_path)
    memory.rebuild(chosen)
    assert contents(tmp_path) == spliced


def _raw(memory: Path, clip: int) -> list[Any]:
    import duckdb

    with duckdb.connect(str(memory / "memory.duckdb"), read_only=True) as store:
        query = (
            "SELECT raw FROM observations JOIN passes USING (pass_id)"
            " WHERE clip_index = ? AND analysis IS NULL AND state = 'live'"
        )
        return store.execute(query, [clip]).fetchall()


def test_vectors_that_were_asked_for_in_groups_are_taken_from_the_memory(server: ModelServer, tmp_path: Path) -> None:
    events = events_jsonl(tmp_path / "day.jsonl", [(i, said(f"I hold cup {i}.", obj="cup")) for i in range(40)])
    memory = Memory(tmp_path / "memory")
    chosen = load_settings(**_embedding(server))
    memory.ingest(events, chosen)
    before = _vectors(memory.directory)
    assert len(before) == 40
    for reply in (memory.directory / "calls").rglob("*.json"):
        reply.unlink()
    server.log.clear()
    memory.rebuild(load_settings())
    assert not server.log.calls()
    assert _vectors(memory.directory) == before


def _embedding(server: ModelServer) -> dict[str, Any]:
    chosen = settings(server.base_url)
    return {name: getattr(chosen, name) for name in ("embedder", "embedding_dimensions", "models")}


def _vectors(memory: Path) -> Sequence[Any]:
    import duckdb

    with duckdb.connect(str(memory / "memory.duckdb"), read_only=True) as store:
        query = "SELECT text, v FROM vectors JOIN nodes USING (node_id) WHERE withdrawn_commit IS NULL ORDER BY 1"
        return store.execute(query).fetchall()


def test_what_was_known_before_can_still_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = events_jsonl(tmp_path / "day.jsonl", [(0, said("I hold the cup.", obj="cup"))])
    memory = Memory(tmp_path / "memory")
    memory.ingest(events, load_settings())
    (old,) = memory.timeline()
    with monkeypatch.context() as later:
        in_2040 = 2_208_988_800_000_000_000
        later.setattr("amr.store.writer.time.time_ns", lambda: in_2040)
        memory.rebuild(load_settings())
    (new,) = memory.timeline()
    assert new.node.node_id != old.node.node_id
    (known,) = memory.timeline(Filters(known_at="2030-01-01"))
    assert known.node.node_id == old.node.node_id


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.soak)])
def test_killed_at_any_instant_the_old_stays_and_the_same_command_makes_the_new(kills: int, tmp_path: Path) -> None:
    memory, chance = tmp_path / "memory", random.Random(kills)
    ran("ingest", long_events(tmp_path / "day.jsonl"), "--memory", memory)
    before = contents(memory)
    landed = 0
    for _ in range(kills):
        process = start("rebuild", "--memory", memory, "--quiet")
        landed += stopped(process, moved_on(memory), chance.uniform(0, 0.3), signal.SIGKILL)
        process.communicate()
        assert contents(memory) == before
        assert Memory(memory).status().clips == {0: {"done": 3_500}}
    assert landed
    ran("rebuild", "--memory", memory)
    assert contents(memory) == before
    assert Memory(memory).status().clips == {0: {"done": 3_500}}


def test_ctrl_c_leaves_the_memory_as_it_was(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    ran("ingest", long_events(tmp_path / "day.jsonl"), "--memory", memory)
    before = contents(memory)
    process = start("rebuild", "--memory", memory, "--quiet")
    assert stopped(process, moved_on(memory), 0.0, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert_one_sentence(err, "Run the same command")
    assert contents(memory) == before
