"""Perception by models over a real wire: what the film says is what the memory holds, whatever happens on the way."""

from __future__ import annotations

import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from amr.config import load_settings
from amr.memory import Filters, IngestReport, Memory
from amr.models.budget import BudgetReached
from amr.models.capabilities import capabilities_of
from amr.models.names import parse_model_name
from amr.resources import resource
from tests.support.coded_video import Film, expected_clips, random_film, save_film
from tests.support.command import amr, commits_seen, ran, start, stopped
from tests.support.model_server import ModelServer, over_http, separate_server
from tests.support.model_server_faults import Fault
from tests.support.models import KEY, config_file, settings

CLIPS = 8


@pytest.fixture(scope="module")
def script() -> Film:
    return random_film(3, CLIPS)


@pytest.fixture(scope="module")
def clean(video: Path, listening: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The root hashes of runs left alone, one clip after another, by whether events were merged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMR_API_KEY", KEY)
        return {merge: _root(video, listening, tmp_path_factory.mktemp("clean"), merge) for merge in ("off", "on")}


def _root(video: Path, server: ModelServer, folder: Path, merge: str) -> str:
    # The first test to ask for this may come after one that set faults.
    server.faults.clear()
    server.latency = 0.0
    memory = Memory(folder)
    memory.ingest(video, settings(server.base_url, merge=merge))
    assert memory.status().clips == {0: {"done": CLIPS}}
    return memory.status().root_hash


def written(video: Path, server: ModelServer, folder: Path, **more: object) -> tuple[Memory, IngestReport]:
    memory = Memory(folder)
    return memory, memory.ingest(video, settings(server.base_url, **{"jobs": 8, **more}))


def test_the_memory_holds_exactly_what_the_film_shows_and_says(
    script: Film, video: Path, server: ModelServer, tmp_path: Path
) -> None:
    memory, _ = written(video, server, tmp_path)
    found = [piece.node for piece in memory.timeline(Filters())]
    wanted = [(index, event) for index, clip in enumerate(expected_clips(script)) for event in clip.events]
    assert len(found) == len(wanted)
    for node, (index, event) in zip(found, wanted, strict=True):
        start, end = (round((index * 10 + time) * 1000) for time in (event.time_start, event.time_end))
        assert abs((node.t_start_ms or 0) - start) <= 300
        assert abs((node.t_end_ms or 0) - end) <= 300
        assert node.payload["objects"] == [thing.name for thing in event.objects]
        assert node.payload["dialogue"] == event.dialogue
        relations = [(deed["verb"], deed["object"], deed["spatial_relation"]) for deed in node.payload["actions"]]
        assert relations == [(deed.verb, deed.object, deed.spatial_relation) for deed in event.actions]
        assert [deed["actor"] for deed in node.payload["actions"]] == node.payload["persons"][: len(relations)]


@pytest.mark.parametrize("merge", ["off", "on"])
def test_eight_clips_in_flight_give_the_memory_of_one_after_another(
    merge: str, video: Path, server: ModelServer, clean: dict[str, str], tmp_path: Path
) -> None:
    server.latency = 0.05
    memory, report = written(video, server, tmp_path, merge=merge)
    assert memory.status().root_hash == clean[merge]
    assert (report.sources[0].merges > 0) == (merge == "on")
    assert server.log.max_in_flight <= 8
    most = 4 * CLIPS + 2 * report.sources[0].merges
    assert len(server.log.model_calls()) <= most


@pytest.mark.parametrize("merge", ["off", "on"])
def test_requests_that_fail_for_a_while_change_nothing(
    merge: str, video: Path, server: ModelServer, clean: dict[str, str], tmp_path: Path
) -> None:
    server.faults.set(Fault(("429", "500", "502", "fenced", "extra_keys"), probability=0.3, seconds=0.05))
    memory, report = written(video, server, tmp_path, merge=merge)
    assert report.sources[0].clips_failed == 0
    assert memory.status().root_hash == clean[merge]
    assert report.sources[0].salvages


def test_clips_that_fail_for_good_are_named_and_a_later_run_splices_them_in(
    video: Path, server: ModelServer, clean: dict[str, str], tmp_path: Path
) -> None:
    server.faults.set(
        Fault("not_json", role="perception", clip=2, times=None), Fault("500", role="perception", clip=5, times=None)
    )
    memory, report = written(video, server, tmp_path)
    assert memory.status().clips == {0: {"done": CLIPS - 2, "failed": 2}}
    assert [warning.partition(" failed")[0] for warning in report.sources[0].warnings[:2]] == ["Clip 2", "Clip 5"]
    server.faults.clear()
    written(video, server, tmp_path)
    assert memory.status().clips == {0: {"done": CLIPS}}
    assert memory.status().root_hash == clean["off"]


def test_the_words_of_a_model_that_could_not_be_used_are_kept(video: Path, server: ModelServer, tmp_path: Path) -> None:
    import duckdb

    server.faults.set(Fault("not_json", role="perception", clip=2, times=None))
    memory, _ = written(video, server, tmp_path)
    with duckdb.connect(str(memory.directory / "memory.duckdb"), read_only=True) as store:
        rows = store.execute("SELECT clip_index, raw FROM observations WHERE analysis IS NULL").fetchall()
    assert [(index, bool(raw)) for index, raw in rows] == [(2, True)]


def test_the_most_that_may_be_spent_is_never_passed(
    video: Path, server: ModelServer, clean: dict[str, str], tmp_path: Path
) -> None:
    memory = Memory(tmp_path)
    chosen = settings(server.base_url, jobs=16)
    for cap in (0.0, 0.12):
        server.log.clear()
        with pytest.raises(BudgetReached, match="raise it and run the same command again"):
            memory.ingest(video, chosen, max_cost=cap)
        spent = sum(_dollars(call.prompt_tokens, call.completion_tokens) for call in server.log.model_calls())
        assert spent <= cap
    memory.ingest(video, chosen, max_cost=5.0)
    assert memory.status().root_hash == clean["off"]


def _dollars(prompt_tokens: int, completion_tokens: int) -> float:
    return (prompt_tokens * 1.25 + completion_tokens * 10.0) / 1e6


def test_every_call_is_in_the_ledger_with_what_it_cost(video: Path, server: ModelServer, tmp_path: Path) -> None:
    memory, report = written(video, server, tmp_path)
    rows = {row.role: row for row in memory.status().costs}
    calls = Counter(call.role for call in server.log.model_calls())
    assert {role: rows[role].calls for role in rows} == {
        "embed": calls["embeddings"],
        "handles": calls["handles"],
        "perceive": calls["perception"],
        "summaries": calls["summaries"],
    }
    prompt = sum(call.prompt_tokens for call in server.log.model_calls())
    assert sum(row.prompt_tokens for row in rows.values()) == prompt
    assert report.cost_usd == pytest.approx(sum(row.cost_usd for row in rows.values()), abs=1e-6)


@pytest.mark.parametrize("merge", ["off", "on"])
def test_a_dry_run_tells_calls_tokens_and_dollars_before_anything_is_sent(
    merge: str, video: Path, server: ModelServer, tmp_path: Path
) -> None:
    memory = Memory(tmp_path / "memory")
    chosen = settings(server.base_url, merge=merge, jobs=4)
    estimate = memory.rehearse(video, chosen)
    assert not server.log.calls()
    assert not memory.directory.exists()
    report = memory.ingest(video, chosen)
    rows = memory.status().costs
    answered = sum(row.calls + row.cached for row in rows)
    assert estimate.clips == CLIPS
    assert (estimate.calls == answered) if merge == "off" else (estimate.calls >= answered)
    if merge == "off":
        sent = sum(call.prompt_tokens for call in server.log.model_calls())
        assert abs(estimate.input_tokens - sent) <= 0.1 * sent
    assert estimate.most_usd is not None
    assert estimate.most_usd >= report.cost_usd > 0
    assert memory.rehearse(video, chosen).calls == 0


def test_the_batch_api_gives_the_same_memory(
    video: Path, server: ModelServer, clean: dict[str, str], tmp_path: Path
) -> None:
    server.faults.set(Fault(("fenced", "not_json"), role="perception", probability=0.5))
    roles = {role: {"mode": "batch"} for role in ("perceive", "handles", "summaries")}
    memory, report = written(video, server, tmp_path, roles=roles)
    assert memory.status().root_hash == clean["off"]
    assert {(call.role, call.batch) for call in server.log.model_calls()} == {
        *((role, True) for role in ("perception", "handles", "summaries")),
        ("embeddings", False),
    }
    assert report.sources[0].salvages["reasked"] > 0


@pytest.mark.parametrize("instants", [4, pytest.param(10, marks=pytest.mark.soak)])
def test_killed_at_any_instant_the_same_command_pays_for_no_reply_twice(
    instants: int, script: Film, video: Path, clean: dict[str, str], tmp_path: Path
) -> None:
    chance, memory, env = random.Random(4), tmp_path / "memory", {"AMR_API_KEY": KEY}
    film = save_film(script, tmp_path / "film.json")
    with separate_server(tmp_path / "server", [film], "--mode", "local", "--key", KEY) as base_url:
        over_http(base_url, "/_settings", {"latency": 0.15})
        config = config_file(tmp_path, base_url, jobs=8)
        command = ("ingest", video, "--config", config, "--memory", memory, "--quiet")
        kills = 0
        for _ in range(instants):
            process = start(*command, env=env)
            began = (memory / "calls").exists
            kills += stopped(process, began, chance.uniform(0.05, 0.6), signal.SIGKILL)
            process.communicate()
        ran(*command, env=env)
        log = over_http(base_url, "/_log")
    assert kills
    assert sum(_repeated(log["calls"]).values()) <= 8 * kills
    assert Memory(memory).status().clips == {0: {"done": CLIPS}}
    # Another address is another model, but what it told is the same.
    assert Memory(memory).status().root_hash == clean["off"]


def _repeated(calls: list[dict[str, Any]]) -> Counter[str]:
    """How often each request came again that the server had answered."""
    answered = [call["key"] for call in calls if call["status"] == 200 and call["replied"]]
    return Counter({key: number - 1 for key, number in Counter(answered).items()})


def test_the_first_ctrl_c_finishes_what_is_in_flight(
    script: Film, video: Path, clean: dict[str, str], tmp_path: Path
) -> None:
    memory, env = tmp_path / "memory", {"AMR_API_KEY": KEY}
    film = save_film(script, tmp_path / "film.json")
    with separate_server(tmp_path / "server", [film], "--mode", "local", "--key", KEY) as base_url:
        over_http(base_url, "/_settings", {"latency": 0.3})
        config = config_file(tmp_path, base_url, jobs=2)
        command = ("ingest", video, "--config", config, "--memory", memory, "--quiet")
        process = start(*command, env=env)
        assert stopped(process, lambda: commits_seen(memory) != "", 0.1, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, "")
        assert "Run the same command to continue" in err
        calls = over_http(base_url, "/_log")["calls"]
        done = Memory(memory).status().clips[0]["done"]
        assert done < CLIPS
        assert sum(call["role"] == "perception" for call in calls) == done
        ran(*command, env=env)
    assert Memory(memory).status().root_hash == clean["off"]


def test_a_question_is_put_to_the_embedder_that_wrote_the_memory(
    video: Path, server: ModelServer, tmp_path: Path
) -> None:
    written(video, server, tmp_path)
    server.log.clear()
    done = amr("query", "umbrella", "--memory", tmp_path, "--json", env={"AMR_API_KEY": KEY})
    assert done.code == 0, done.err
    assert [call.role for call in server.log.model_calls()] == ["embeddings"]
    assert done.json["usage"]["calls"] == 1


def test_the_openrouter_config_works_against_a_server_as_strict_as_the_real_one(
    script: Film, video: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMR_API_KEY", KEY)
    config = resource("configs/openrouter.toml")
    base = load_settings(config)
    with ModelServer([script], mode="openrouter", key=KEY) as server:

        def here(name: str) -> str:
            return f"{server.base_url}#{name.partition(':')[2]}"

        named = {role: base.model_of(role) for role in base.roles if base.model_of(role)}
        names = {base.perceiver, base.embedder, *named.values()}
        chosen = load_settings(
            config,
            perceiver=here(base.perceiver),
            embedder=here(base.embedder),
            roles={role: {"model": here(name)} for role, name in named.items()},
            models={here(name): capabilities_of(parse_model_name(name)).model_dump() for name in names},
            refine_actions=True,
        )
        memory = Memory(tmp_path)
        estimate = memory.rehearse(video, chosen)
        report = memory.ingest(video, chosen)
        assert report.sources[0].clips == CLIPS
        assert report.cost_usd == pytest.approx(server.log.cost_usd())
        assert estimate.most_usd is not None
        assert estimate.most_usd > report.cost_usd
