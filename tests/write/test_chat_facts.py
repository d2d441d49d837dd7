"""Facts of chats: asked for once per session, tied to the turns that say so, and never the price of what was said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amr.config import Settings, load_settings
from amr.errors import ProviderError
from amr.memory import Filters, Memory
from amr.records import Node
from amr.store import database
from amr.store.rows import View
from tests.support.chats import chat_jsonl, line
from tests.support.command import contents
from tests.support.model_server import ModelServer
from tests.support.model_server_faults import Fault
from tests.support.models import KEY, USD_PER_MILLION

TALK = (
    line("s1", "Caroline", "I went to a pottery class. I bought a kayak!", "2023-05-08T13:56:00Z"),
    line("s1", "Melanie", "How nice."),
    line("s2", "Melanie", "I have a cactus, and I have a cactus.", "2023-06-01T08:00:00Z"),
    line("s3", "Melanie", "Bye.", "2023-06-02T08:00:00Z"),
)


def learning(server: ModelServer, **more: Any) -> Settings:
    """Settings in which a model of the server tells facts, and nothing else."""
    name = f"{server.base_url}#qwen2.5-omni"
    return load_settings(roles={"facts": {"model": name}}, models={name: USD_PER_MILLION}, **more)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(mode="local", key=KEY) as server:
        yield server


@pytest.fixture
def settings(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Settings:
    server.faults.clear()
    server.log.clear()
    monkeypatch.setenv("AMR_API_KEY", KEY)
    return learning(server)


def facts_of(memory: Path) -> list[Node]:
    with database.reading(memory) as snapshot:
        view = View(scope="talk", kinds=("fact",))
        return list(snapshot.nodes(snapshot.visible(view)).values())


def test_a_fact_is_a_node_with_edges_to_the_turns_that_say_it(settings: Settings, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory")
    report = memory.ingest(chat_jsonl(tmp_path / "talk.jsonl", TALK), settings)
    facts = facts_of(memory.directory)
    assert [fact.text for fact in facts] == [
        "Caroline went to a pottery class",
        "Caroline bought a kayak",
        "Melanie have a cactus",
    ]
    assert report.sources[0].facts == 3
    assert facts[0].payload["subject"] == "Caroline" and facts[0].payload["persons"] == ["caroline"]
    for fact in facts:
        shown = memory.show(fact.node_id)
        (edge,) = [edge for edge in shown.edges if edge.src == fact.node_id]
        told = memory.show(edge.dst).evidence
        assert (edge.channel, told.node.kind, told.node.hash) == ("derived_from", "turn", fact.payload["turns"][0])
        assert fact.payload["object"] in told.node.text
        assert fact.parent_id is not None and memory.show(fact.parent_id).evidence.node.kind == "session"
    found = memory.query("Who bought a kayak?", load_settings(), Filters("talk", kinds=("fact",)), k=1)
    assert [one.node.text for one in found.evidence] == ["Caroline bought a kayak"]


def test_a_session_is_asked_about_once(settings: Settings, server: ModelServer, tmp_path: Path) -> None:
    memory, file = Memory(tmp_path / "memory"), chat_jsonl(tmp_path / "talk.jsonl", TALK)
    memory.ingest(file, settings)
    assert [call.role for call in server.log.model_calls()] == ["facts"] * 3
    whole = contents(memory.directory)
    assert memory.ingest(file, settings).sources[0].facts == 0
    assert len(server.log.model_calls()) == 3
    assert contents(memory.directory) == whole


def test_facts_are_learnt_of_what_was_written_without_them(settings: Settings, tmp_path: Path) -> None:
    file = chat_jsonl(tmp_path / "talk.jsonl", TALK)
    at_once, later = Memory(tmp_path / "at once"), Memory(tmp_path / "later")
    at_once.ingest(file, settings)
    later.ingest(file, load_settings())
    assert not facts_of(later.directory)
    later.ingest(file, settings)
    assert contents(later.directory) == contents(at_once.directory)


def test_a_session_whose_call_fails_is_kept_and_asked_about_again(
    settings: Settings, server: ModelServer, tmp_path: Path
) -> None:
    memory, file = Memory(tmp_path / "memory"), chat_jsonl(tmp_path / "talk.jsonl", TALK)
    server.faults.set(Fault("not_json", role="facts", times=None, contains="pottery"))
    report = memory.ingest(file, learning(server, jobs=1))
    assert (report.sources[0].facts_failed, report.sources[0].turns) == (1, 4)
    assert report.sources[0].warnings[0].startswith("talk: session s1 has no facts: ")
    assert len(memory.timeline(Filters("talk", kinds=("turn",)))) == 4
    asked = len(server.log.model_calls())
    server.faults.clear()
    assert memory.ingest(file, settings).sources[0].facts == 2
    assert len(server.log.model_calls()) == asked + 1


def test_a_provider_that_fails_leaves_all_that_was_said(settings: Settings, tmp_path: Path) -> None:
    memory, file = Memory(tmp_path / "memory"), chat_jsonl(tmp_path / "talk.jsonl", TALK)
    wrong = settings.model_copy(
        update={"roles": {**settings.roles, "facts": settings.roles["facts"].model_copy(update={"api_key": "no"})}}
    )
    with pytest.raises(ProviderError):
        memory.ingest(file, wrong)
    assert memory.status().nodes["turn"] == 4
    memory.ingest(file, settings)
    assert len(facts_of(memory.directory)) == 3


def test_a_dry_run_counts_what_is_then_called(settings: Settings, server: ModelServer, tmp_path: Path) -> None:
    memory, file = Memory(tmp_path / "memory"), chat_jsonl(tmp_path / "talk.jsonl", TALK)
    estimate = memory.rehearse(file, settings)
    assert (estimate.clips, estimate.calls, len(server.log.model_calls())) == (3, 3, 0)
    assert not memory.directory.exists()
    report = memory.ingest(file, settings)
    assert 0 < report.cost_usd <= (estimate.most_usd or 0)
    after = memory.rehearse(file, settings)
    assert (after.clips, after.calls) == (0, 0)
