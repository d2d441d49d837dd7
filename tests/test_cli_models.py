"""The command line with models: what it says before, while and after it calls them, and when they cannot be called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from amr.memory import Memory
from tests.support.coded_video import Film, random_film
from tests.support.command import amr, assert_one_sentence, ran
from tests.support.model_server import ModelServer
from tests.support.model_server_faults import Fault
from tests.support.models import KEY, config_file

ENV = {"AMR_API_KEY": KEY}


@pytest.fixture(scope="module")
def script() -> Film:
    return random_film(11, 3)


@pytest.fixture(scope="module")
def server(script: Film) -> Iterator[ModelServer]:
    with ModelServer([script], mode="local", key=KEY) as server:
        yield server


@pytest.fixture
def config(server: ModelServer, tmp_path: Path) -> Path:
    server.faults.clear()
    server.log.clear()
    return config_file(tmp_path, server.base_url, jobs=4)


def test_what_models_were_called_for_and_what_it_cost_is_told(config: Path, video: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    before = ran("ingest", video, "--config", config, "--memory", memory, "--dry-run", "--json", env=ENV).json
    assert not memory.exists()
    done = ran("ingest", video, "--config", config, "--memory", memory, "--json", env=ENV).json
    state = ran("status", "--memory", memory, "--json").json
    assert (before["clips"], before["calls"]) == (3, 12)
    assert before["cost_usd"] >= done["cost_usd"] == pytest.approx(state["cost_usd"], abs=1e-6)
    assert done["models"]["embedder"].endswith("#local-embedder@384")
    assert {row["role"] for row in state["costs"]} == {"embed", "handles", "perceive", "summaries"}
    told = ran("status", "--cost", "--memory", memory).out.splitlines()
    assert len(told) == 5
    assert told[-1].startswith("all")


def test_replies_that_were_mended_are_counted_at_the_end(
    config: Path, server: ModelServer, video: Path, tmp_path: Path
) -> None:
    server.faults.set(Fault("fenced", role="perception"))
    done = ran("ingest", video, "--config", config, "--memory", tmp_path / "memory", "--json", env=ENV)
    assert done.json["salvages"] == {"fences": 3}
    assert "Models' replies that had to be mended: 3 in code fences." in done.err


def test_clips_that_a_model_fails_are_listed_and_the_exit_code_is_4(
    config: Path, server: ModelServer, video: Path, tmp_path: Path
) -> None:
    server.faults.set(Fault("not_json", role="perception", clip=1, times=None))
    done = amr("ingest", video, "--config", config, "--memory", tmp_path / "memory", "--json", env=ENV)
    assert (done.code, done.json["clips"], done.json["clips_failed"]) == (4, 2, 1)
    assert done.json["warnings"][0].startswith("Clip 1 failed: ")
    server.faults.clear()
    again = ran("ingest", video, "--config", config, "--memory", tmp_path / "memory", "--json", env=ENV).json
    assert (again["clips"], again["clips_skipped"], again["clips_failed"]) == (1, 2, 0)


def test_the_cap_on_costs_ends_the_command_with_what_is_finished(config: Path, video: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    done = amr("ingest", video, "--config", config, "--memory", memory, "--max-cost", 0.1, "--quiet", env=ENV)
    assert (done.code, done.out) == (4, "")
    assert_one_sentence(done.err, "--max-cost 0.10")
    ran("ingest", video, "--config", config, "--memory", memory, env=ENV)
    assert Memory(memory).status().clips == {0: {"done": 3}}


@pytest.mark.parametrize(
    ("options", "env", "parts"),
    [
        (("--perceiver", "openrouter:google/gemini-2.5-pro"), {}, ("OPENROUTER_API_KEY",)),
        (("--embedder", "openai:text-embedding-3-large"), ENV, ("OPENAI_API_KEY",)),
        (("--perceiver", "{base}#no-such-model"), ENV, ("no-such-model",)),
        ((), {"AMR_API_KEY": "wrong"}, ("key",)),
        (("--perceiver", "http://127.0.0.1:9/v1#model"), {**ENV, "AMR_PATIENCE__TOTAL_S": "0.1"}, ("127.0.0.1:9",)),
    ],
)
def test_a_model_that_cannot_be_called_is_a_sentence_and_exit_4(
    options: tuple[str, ...], env: dict[str, str], parts: tuple[str, ...], config: Path, server: ModelServer,
    video: Path, tmp_path: Path,
) -> None:  # fmt: skip
    given = [option.format(base=server.base_url) for option in options]
    none = {"OPENROUTER_API_KEY": "", "OPENAI_API_KEY": ""}
    memory = tmp_path / "memory"
    done = amr("ingest", video, "--config", config, "--memory", memory, "--quiet", *given, env={**none, **env})
    assert (done.code, done.out) == (4, ""), done.err
    assert_one_sentence(done.err, *parts)
    assert KEY not in done.err


def test_no_key_is_kept_anywhere(config: Path, video: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    ran("ingest", video, "--config", config, "--memory", memory, env=ENV)
    files = [file for file in memory.rglob("*") if file.is_file()]
    assert any(file.parent.parent.name == "calls" for file in files)
    assert not [file for file in files if KEY.encode() in file.read_bytes()]


def test_a_dry_run_of_the_embedded_perceiver_calls_nothing(video: Path, tmp_path: Path) -> None:
    done = ran("ingest", video, "--memory", tmp_path / "memory", "--dry-run", "--json")
    assert json.loads(done.out)["calls"] == 0
    assert done.json["clips"] == 3


def test_another_embedder_than_the_one_that_wrote_the_memory_is_refused(
    config: Path, video: Path, tmp_path: Path
) -> None:
    memory = tmp_path / "memory"
    ran("ingest", video, "--memory", memory)
    done = amr("ingest", video, "--config", config, "--memory", memory, "--quiet", env=ENV)
    assert done.code == 3
    assert_one_sentence(done.err, "embedder")


@pytest.mark.parametrize("name", ["openrouter", "local"])
def test_the_configs_that_come_with_the_package_are_complete(name: str) -> None:
    from amr.config import load_settings
    from amr.models.names import parse_model_name
    from amr.resources import resource

    settings = load_settings(resource(f"configs/{name}.toml"))
    assert settings.perceives_with_model
    for role in ("perceive", "handles", "summaries", "merge", "refine", "type", "verify", "answer"):
        parse_model_name(settings.model_of(role))
    assert settings.embedder != "embedded"
