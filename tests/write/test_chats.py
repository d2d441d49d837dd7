"""What a session of a chat becomes: turns in exchanges in sessions, linked in order of time, with who said what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amr.config import load_settings
from amr.media.chats import Session, Turn
from amr.memory import Filters, Memory
from amr.records import Edge, Node
from amr.store import database
from amr.store.hashing import edge_hash, node_hash
from amr.store.rows import View
from amr.write.chat_nodes import content_hash, exchanges
from tests.support import chats
from tests.support.chats import chat_jsonl, line
from tests.support.model_server import ModelServer
from tests.support.models import KEY, config_file


def written(tmp_path: Path, *lines: dict[str, Any], **options: Any) -> Memory:
    memory = Memory(tmp_path / "memory")
    memory.ingest(chat_jsonl(tmp_path / "talk.jsonl", lines), load_settings(), **options)
    return memory


def graph(memory: Memory, scope: str) -> tuple[dict[int, Node], list[Edge]]:
    view = View(scope=scope, kinds=("turn", "window", "session", "source", "scope"))
    with database.reading(memory.directory) as snapshot:
        ids = snapshot.visible(view)
        return snapshot.nodes(ids), snapshot.edges(ids.tolist(), view)


FOUR = (
    line("s1", "Caroline", "Hey Mel! I saw Melanie's cactus", "2023-05-08T13:56:00Z"),
    line("s1", "Melanie", "Hi Caroline", image_caption="a cactus"),
    line("s1", "Caroline", "Bye"),
    line("s2", "Melanie", "Back again", "2023-05-09T08:00:00Z", turn_id="last"),
)


def test_turns_are_in_exchanges_in_sessions_in_their_source(tmp_path: Path) -> None:
    nodes, edges = graph(written(tmp_path, *FOUR), "talk")
    by_kind: dict[str, list[Node]] = {}
    for node in nodes.values():
        by_kind.setdefault(node.kind, []).append(node)
    assert [node.text for node in by_kind["turn"]] == [
        "Caroline: Hey Mel! I saw Melanie's cactus",
        "Melanie: Hi Caroline [image: a cactus]",
        "Caroline: Bye",
        "Melanie: Back again",
    ]
    assert [node.payload["ref"] for node in by_kind["turn"]] == ["s1:1", "s1:2", "s1:3", "last"]
    assert [node.payload["ref"] for node in by_kind["session"]] == ["s1", "s2"]
    assert [(node.payload["level"], node.payload["n"]) for node in by_kind["window"]] == [
        ("exchange", 0),
        ("exchange", 2),
        ("exchange", 0),
    ]
    chain = []
    at: int | None = by_kind["turn"][0].node_id
    while at is not None:
        chain.append(nodes[at].kind)
        at = nodes[at].parent_id
    assert chain == ["turn", "window", "session", "source", "scope"]
    part_of = {(nodes[e.src].kind, nodes[e.dst].kind) for e in edges if e.channel == "part_of"}
    assert part_of == {("source", "session"), ("session", "window"), ("window", "turn")}
    assert all(nodes[e.dst].parent_id == e.src for e in edges if e.channel == "part_of")
    turn, session = ([node.node_id for node in by_kind[kind]] for kind in ("turn", "session"))
    following = [(e.src, e.dst) for e in edges if e.channel == "temporal"]
    assert sorted(following) == sorted([(turn[0], turn[1]), (turn[1], turn[2]), (session[0], session[1])])


def test_times_are_the_sessions_from_the_first_midnight_on(tmp_path: Path) -> None:
    nodes, _ = graph(written(tmp_path, *FOUR), "talk")
    turns = [node for node in nodes.values() if node.kind == "turn"]
    assert [node.t_start_ms for node in turns] == [50_160_000] * 3 + [115_200_000]
    assert all(node.t_start_ms == node.t_end_ms and node.learnt_at == node.time_ms for node in turns)
    seen = Memory(tmp_path / "memory").status().sources[0]
    assert (seen.kind, seen.name, seen.origin_wall_ms, seen.complete) == ("chat", "talk", 1_683_504_000_000, True)


def test_hashes_are_those_of_any_other_node_and_edge(tmp_path: Path) -> None:
    memory = written(tmp_path, line("s", "Zoë", 'Déjà vu — "cafe\u0301" \x01', scope="é", role="user"))
    nodes, edges = graph(memory, "é")
    key = memory.status().sources[0].key
    for node in nodes.values():
        own = "" if node.kind == "scope" else key
        assert node.hash == node_hash(node.kind, "é", own, node.t_start_ms, node.t_end_ms, node.text, node.payload)
    for edge in edges:
        assert edge.hash == edge_hash(edge.channel, nodes[edge.src].hash, nodes[edge.dst].hash, edge.payload)


def test_persons_are_who_speaks_and_who_of_them_is_named(tmp_path: Path) -> None:
    nodes, _ = graph(written(tmp_path, *FOUR), "talk")
    turns = [node for node in nodes.values() if node.kind == "turn"]
    assert [node.payload["persons"] for node in turns] == [
        ["caroline", "melanie"],
        ["melanie", "caroline"],
        ["caroline"],
        ["melanie"],
    ]
    people = {one.handle: one.count for one in Memory(tmp_path / "memory").people(Filters("talk"))}
    assert people == {"caroline": 3, "melanie": 3}


def test_the_user_is_the_wearer_also_by_name(tmp_path: Path) -> None:
    memory = written(
        tmp_path,
        line("s", "Jake", "Where is it?", role="user"),
        line("s", "Claude", "On the desk.", role="assistant"),
    )
    nodes, _ = graph(memory, "talk")
    assert [n.payload["speaker"] for n in nodes.values() if n.kind == "turn"] == ["wearer", "assistant"]
    for person in ("Jake", "me", "wearer"):
        assert [one.node.text for one in memory.timeline(Filters("talk"), person)] == ["Jake: Where is it?"]


def test_between_friends_the_wearer_is_who_the_command_names(tmp_path: Path) -> None:
    memory = written(tmp_path, *FOUR, wearer=["Caroline"])
    assert len(memory.timeline(Filters("talk"), "I")) == len(memory.timeline(Filters("talk"), "Caroline")) == 3


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (("user", "assistant", "user", "assistant"), [[0, 1], [2, 3]]),
        (("assistant", "user", "user", "assistant", "tool"), [[0], [1], [2, 3, 4]]),
        ((None, None, None), [[0, 1], [2]]),
        ((), []),
    ],
)
def test_an_exchange_is_a_users_turn_with_its_answer_and_two_turns_of_peers(
    roles: tuple[str | None, ...], expected: list[list[int]]
) -> None:
    assert [list(one) for one in exchanges([Turn("x", "y", str(n), role) for n, role in enumerate(roles)])] == expected


def test_the_same_again_is_skipped_and_other_words_under_the_same_name_are_told(tmp_path: Path) -> None:
    memory = written(tmp_path, *FOUR)
    before = memory.status().root_hash
    changed = {**FOUR[3], "text": "Something else"}
    report = memory.ingest(chat_jsonl(tmp_path / "talk.jsonl", [*FOUR[:3], changed]), load_settings())
    (one,) = report.sources
    assert (one.clips, one.clips_skipped, one.turns) == (0, 2, 0)
    assert one.warnings == [
        "talk: session s2 is there already with other words or another time; what is there was left as it is."
    ]
    assert memory.status().root_hash == before


def test_a_session_without_a_date_has_the_time_of_the_one_before(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory")
    lines = [
        line("first", "Ann", "Hm", None),
        line("second", "Ann", "Hello", "2024-05-01T09:30:00Z"),
        line("third", "Ann", "Ah", None),
    ]
    report = memory.ingest(chat_jsonl(tmp_path / "talk.jsonl", lines), load_settings())
    assert report.sources[0].warnings == ["talk: 2 session(s) without a date have the time of the one before."]
    turns = [node for node in graph(memory, "talk")[0].values() if node.kind == "turn"]
    assert [node.time_ms for node in turns] == [None, 1_714_555_800_000, 1_714_555_800_000]
    assert [node.payload.get("undated", False) for node in turns] == [True, False, True]


def test_one_scope_may_hold_several_haystacks(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([chats.longmemeval("q1", 2), chats.longmemeval("q2", 1)]))
    memory = Memory(tmp_path / "memory")
    memory.ingest(path, load_settings(), scope="both")
    assert [(one.scope_id, one.name) for one in memory.status().sources] == [("both", "q1"), ("both", "q2")]


def test_a_content_is_told_from_another_by_time_and_every_word() -> None:
    turn = Turn("Ann", "Hi", "s:1")
    one = Session("s", 1, (turn,))
    others = [Session("s", 2, (turn,)), Session("s", None, (turn,)), Session("s", 1, (Turn("Ann", "Hi", "s:1", "x"),))]
    assert content_hash(one) == content_hash(Session("other", 1, (turn,)))
    assert len({content_hash(session) for session in (one, *others)}) == 4


def test_sessions_that_haystacks_share_are_embedded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMR_API_KEY", KEY)
    first, second = chats.longmemeval("q1", 6), chats.longmemeval("q2", 2)
    for place in range(4):
        second["haystack_sessions"].append(first["haystack_sessions"][place])
        second["haystack_session_ids"].append(f"shared-{place}")
        second["haystack_dates"].append("2023/06/01 (Thu) 10:00")
    path = tmp_path / "two.json"
    path.write_text(json.dumps([first, second]))
    with ModelServer(mode="local", key=KEY) as server:
        settings = load_settings(config_file(tmp_path, server.base_url, jobs=4))
        memory = Memory(tmp_path / "memory")
        memory.ingest(path, settings)
        assert len(server.log.model_calls()) == 6 + 2
        Memory(tmp_path / "memory").ingest(path, settings)
        assert len(server.log.model_calls()) == 6 + 2
    assert memory.status().costs[0].calls == 8
