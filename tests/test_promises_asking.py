"""Questions answered by models over a real wire: typed, verified, answered, and never believed without evidence."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amr.config import Settings, load_settings
from amr.errors import ProviderError
from amr.memory import Filters, Memory
from amr.models.budget import BudgetReached
from amr.models.chat import CallFailed
from amr.records import Answer
from amr.retrieve.wording import NOTHING
from tests.conftest import PLACES
from tests.support.chats import chat_jsonl, line
from tests.support.command import amr, assert_one_sentence, ran
from tests.support.model_server import ModelServer
from tests.support.model_server_answers import LIES, UNKNOWN_ID
from tests.support.model_server_faults import Fault
from tests.support.models import KEY, USD_PER_MILLION
from tests.support.videos import srt

LIFE = [
    (2, "I put my phone on the kitchen table."),
    (20, "I wash the blue mug."),
    (40, "Lucia: I left the red umbrella behind the door."),
    (100, "I put my phone on the windowsill."),
    (160, "I gave the keys to Lucia."),
    (220, "I put the book on the shelf."),
]
PHONE = "where did I put my phone?"
ROLES = ("type", "verify", "answer")
_TASKS = {"type": "question_type", "verify": "verification", "answer": "answer"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("life")
    (folder / "life.srt").write_text(srt(*[(at, at + 2.0, text) for at, text in LIFE]))
    Memory(folder / "memory").ingest(folder / "life.srt", load_settings())
    return folder / "memory"


@pytest.fixture
def memory(written: Path, tmp_path: Path) -> Memory:
    return Memory(shutil.copytree(written, tmp_path / "memory"))


@pytest.fixture(scope="module")
def listening() -> Iterator[ModelServer]:
    with ModelServer(mode="local", key=KEY) as server:
        yield server


@pytest.fixture
def server(listening: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    monkeypatch.setenv("AMR_API_KEY", KEY)
    listening.faults.clear()
    listening.log.clear()
    return listening


def settings(server: ModelServer, *roles: str, **more: Any) -> Settings:
    """Settings with a model for some roles, at a price."""
    name = f"{server.base_url}#text-only"
    return load_settings(
        None,
        roles={role: {"model": name} for role in roles or ROLES},
        models={name: USD_PER_MILLION},
        patience={"first_wait_s": 0.02, "total_s": 20.0},
        **more,
    )


def told(answer: Answer) -> tuple[Any, ...]:
    """What an answer says, without what it cost."""
    evidence = [(piece.node.node_id, piece.relevance) for piece in answer.evidence]
    return answer.answer, answer.found, answer.question_type, answer.claims, evidence, answer.state


def text_of(memory: Memory, node_id: int) -> str:
    return memory.show(node_id).evidence.node.text


def test_a_question_is_typed_verified_and_answered_in_one_call_each(memory: Memory, server: ModelServer) -> None:
    answer = memory.ask(PHONE, settings(server))
    assert answer.found
    assert answer.answer == "You put your phone on the windowsill."
    assert answer.question_type == "Object_Tracking"
    (claim,) = answer.claims
    assert claim.supported
    assert [text_of(memory, node_id) for node_id in claim.evidence] == ["I put my phone on the windowsill."]
    assert answer.evidence[0].node.node_id == claim.evidence[0]
    assert answer.state is not None and answer.state.evidence in claim.evidence
    assert Counter(call.role for call in server.log.calls()) == {"question_type": 1, "verification": 1, "answer": 1}
    assert answer.usage.calls == 3
    assert answer.usage.prompt_tokens == sum(call.prompt_tokens for call in server.log.calls())
    assert not answer.warnings


def test_no_model_is_called_unless_one_is_named(memory: Memory, server: ModelServer) -> None:
    before = memory.ask(PHONE, load_settings())
    assert before.usage.calls == 0
    assert not server.log.calls()
    only_typed = memory.ask(PHONE, settings(server, "type"))
    assert [call.role for call in server.log.calls()] == ["question_type"]
    assert told(only_typed) == told(before)


def test_a_query_is_typed_and_verified_and_never_answered(memory: Memory, server: ModelServer) -> None:
    found = memory.query(PHONE, settings(server))
    assert {call.role for call in server.log.calls()} == {"question_type", "verification"}
    assert found.found and found.answer == ""


def test_a_group_of_events_that_the_model_finds_irrelevant_is_dropped(memory: Memory, server: ModelServer) -> None:
    question = "the phone and the book"
    by_rules = {piece.node.text for piece in memory.query(question, load_settings()).evidence}
    server.log.clear()
    by_model = {piece.node.text for piece in memory.query("the book", settings(server, "verify")).evidence}
    assert by_model == {"I put the book on the shelf."} < by_rules


def test_a_model_puts_the_turns_of_a_chat_in_its_own_order_and_drops_none(tmp_path: Path, server: ModelServer) -> None:
    words = ("How was your week?", "I fixed the blue kettle.", "The kettle sings in blue.", "Good night!")
    turns = [line("s", ("Ann", "Bea")[n % 2], text, turn_id=str(n)) for n, text in enumerate(words)]
    chat = Memory(tmp_path / "chat")
    chat.ingest(chat_jsonl(tmp_path / "talk.jsonl", turns), load_settings(), scope="talk")
    question, where = "who fixed the blue kettle", Filters(scope="talk")
    plain = chat.query(question, load_settings(), where)
    judged = chat.query(question, settings(server, "verify"), where)
    (call,) = server.log.calls()
    assert call.role == "verification"
    assert {piece.ref for piece in judged.evidence} == {piece.ref for piece in plain.evidence} == {"0", "1", "2", "3"}
    assert judged.evidence[0].node.text == "Bea: I fixed the blue kettle."
    relevances = [piece.relevance for piece in judged.evidence]
    assert relevances == sorted(relevances, reverse=True)
    assert relevances != [piece.relevance for piece in plain.evidence]
    assert chat.ask(question, settings(server, "verify"), where).answer.endswith('Bea: "I fixed the blue kettle."')


def test_the_type_of_the_model_counts(memory: Memory, server: ModelServer) -> None:
    question = "my phone, after I washed the blue mug"
    assert memory.query(question, load_settings()).question_type != "Cross_Modal"
    by_model = memory.query(f"{question}: what was said?", settings(server, "type"))
    assert by_model.question_type == "Temporal_Multihop"
    assert memory.query("what was said of the door?", settings(server, "type")).question_type == "Cross_Modal"


@pytest.mark.parametrize(
    "kind",
    [
        *("429", "500", "502", "reset", "cut_body", "empty_choices", "empty", "error_in_choice"),
        *("truncated", "length", "fenced", "prose", "not_json", "wrong_types", "missing_keys", "extra_keys"),
    ],
)
def test_faults_that_pass_change_nothing(kind: str, memory: Memory, server: ModelServer) -> None:
    clean = Memory(shutil.copytree(memory.directory, memory.directory.with_name("clean")))
    wanted = told(clean.ask(PHONE, settings(server)))
    server.log.clear()
    server.faults.set(*(Fault(kind, role=task, nth=1, seconds=0.05) for task in _TASKS.values()))
    answer = memory.ask(PHONE, settings(server))
    assert [call.role for call in server.log.calls() if call.fault == kind] == list(_TASKS.values())
    assert told(answer) == wanted
    assert not answer.warnings


@pytest.mark.parametrize("lie", ["cites_unknown", "cites_nothing", "cites_another", "invents", "wrong_place"])
def test_a_claim_that_its_citation_does_not_bear_out_is_no_answer(
    lie: str, memory: Memory, server: ModelServer
) -> None:
    assert lie in LIES
    server.faults.set(Fault(lie, role="answer", times=None))
    answer = memory.ask(PHONE, settings(server))
    assert server.log.calls("answer")
    assert (answer.found, answer.answer, answer.claims, answer.state) == (False, NOTHING, [], None)
    assert answer.warnings == [
        "One claim of the model's answer was left out, because the evidence does not bear it out."
    ]


@pytest.mark.parametrize("lie", ["half_invents", "says_more"])
def test_what_is_not_borne_out_is_left_out_of_the_answer_and_the_rest_stays(
    lie: str, memory: Memory, server: ModelServer
) -> None:
    server.faults.set(Fault(lie, role="answer", times=None))
    answer = memory.ask(PHONE, settings(server))
    assert answer.found
    assert answer.answer == "You put your phone on the windowsill."
    assert [claim.text for claim in answer.claims] == [answer.answer]


def test_what_the_context_lacks_is_not_found(memory: Memory, server: ModelServer) -> None:
    for question in ("where did I put my phone charger?", "where is the bicycle?", "who repaired the blue mug?"):
        answer = memory.ask(question, settings(server))
        assert (answer.found, answer.answer) == (False, NOTHING)
    assert server.log.calls("answer")


def test_nor_if_the_model_answers_all_the_same(memory: Memory, server: ModelServer) -> None:
    server.faults.set(Fault("answers_anyway", role="answer", times=None))
    answer = memory.ask("where did I put my phone charger?", settings(server))
    assert [call.fault for call in server.log.calls("answer")] == ["answers_anyway"]
    assert (answer.found, answer.answer) == (False, NOTHING)


def test_a_question_asked_again_is_not_paid_again(memory: Memory, server: ModelServer) -> None:
    chosen = settings(server)
    first = memory.ask(PHONE, chosen)
    again = memory.ask(PHONE, chosen)
    assert told(again) == told(first)
    assert (again.usage.calls, again.usage.cost_usd) == (0, 0)
    assert len(server.log.calls()) == 3


def test_a_reply_that_was_paid_before_a_kill_is_not_paid_again(memory: Memory, server: ModelServer) -> None:
    chosen = settings(server)
    server.faults.set(Fault("not_json", role="answer", times=None))
    with pytest.raises(ProviderError):
        memory.ask(PHONE, chosen)
    server.faults.clear()
    server.log.clear()
    assert memory.ask(PHONE, chosen).found
    assert [call.role for call in server.log.calls()] == ["answer"]


def test_every_call_is_in_the_ledger_now_and_after_the_next_writer(
    memory: Memory, server: ModelServer, tmp_path: Path
) -> None:
    for question in (PHONE, PHONE, "who did I give the keys to?"):
        memory.ask(question, settings(server))
    rows = {row.role: (row.calls, row.cached, row.prompt_tokens, row.cost_usd) for row in memory.status().costs}
    prompt = {role: sum(call.prompt_tokens for call in server.log.calls(task)) for role, task in _TASKS.items()}
    assert {role: row[:3] for role, row in rows.items()} == {role: (2, 1, prompt[role]) for role in ROLES}
    (tmp_path / "more.srt").write_text(srt((1.0, 2.0, "I open the window.")))
    memory.ingest(tmp_path / "more.srt", load_settings())
    assert {row.role: (row.calls, row.cached, row.prompt_tokens, row.cost_usd) for row in memory.status().costs} == rows


def test_the_embedding_of_a_question_is_in_the_ledger_too(server: ModelServer, tmp_path: Path) -> None:
    name = f"{server.base_url}#local-embedder"
    chosen = load_settings(None, embedder=name, embedding_dimensions=384, models={name: USD_PER_MILLION})
    (tmp_path / "life.srt").write_text(srt(*[(at, at + 2.0, text) for at, text in LIFE]))
    memory = Memory(tmp_path / "memory")
    memory.ingest(tmp_path / "life.srt", chosen)
    asked = [memory.ask(PHONE, chosen) for _ in range(2)]
    assert [answer.usage.calls for answer in asked] == [1, 0]
    (row,) = memory.status().costs
    calls = server.log.calls("embeddings")
    assert (row.calls, row.cached) == (len(calls), 1)
    assert row.prompt_tokens == sum(call.prompt_tokens for call in calls)


def test_a_question_that_a_model_cannot_type_or_verify_is_typed_and_verified_by_rules(
    memory: Memory, server: ModelServer
) -> None:
    server.faults.set(
        Fault("not_json", role="question_type", times=None), Fault("not_json", role="verification", times=None)
    )
    answer = memory.ask(PHONE, settings(server))
    assert answer.answer == "You put your phone on the windowsill."
    assert [warning.partition(",")[0] for warning in answer.warnings] == [
        "The question was typed by rules",
        "The evidence was verified by the scorer",
    ]


def test_no_answer_of_the_model_is_a_failure_and_not_an_answer_by_rules(memory: Memory, server: ModelServer) -> None:
    server.faults.set(Fault("not_json", role="answer", times=None))
    with pytest.raises(ProviderError, match="ask again, or leave roles"):
        memory.ask(PHONE, settings(server))


def test_a_model_that_cannot_be_called_at_all_is_a_failure(
    memory: Memory, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMR_API_KEY", "wrong")
    with pytest.raises(ProviderError, match="key") as caught:
        memory.ask(PHONE, settings(server, "type"))
    assert not isinstance(caught.value, CallFailed)


def test_the_most_that_may_be_spent_is_never_passed(memory: Memory, server: ModelServer) -> None:
    with pytest.raises(BudgetReached):
        memory.ask(PHONE, settings(server), max_cost=0.0005)
    assert sum(call.status == 200 for call in server.log.calls()) == 0
    assert memory.ask(PHONE, settings(server), max_cost=1.0).found


def test_the_evidence_that_is_sent_keeps_to_the_budget_of_tokens(server: ModelServer, tmp_path: Path) -> None:
    cues = [(4.0 * n, 4.0 * n + 2, f"I put my phone on the {place}.") for n, place in enumerate(PLACES)]
    (tmp_path / "walk.srt").write_text(srt(*cues))
    memory = Memory(tmp_path / "memory")
    memory.ingest(tmp_path / "walk.srt", load_settings())
    tokens = []
    for budget in (100, 200, 3000):
        assert memory.ask(PHONE, settings(server, "answer", retrieve={"context_tokens": budget})).found
        tokens.append(server.log.calls("answer")[-1].prompt_tokens)
    assert tokens[0] < tokens[1] < tokens[2]
    assert tokens[1] - tokens[0] <= 100


def test_what_was_not_yet_seen_is_not_shown(memory: Memory, server: ModelServer) -> None:
    answer = memory.ask(PHONE, settings(server), Filters(as_of="00:01:00"))
    assert answer.answer == "You put your phone on the kitchen table."


def test_no_lock_is_held_while_a_model_is_called(memory: Memory, server: ModelServer, tmp_path: Path) -> None:
    from threading import Thread

    server.latency = 1.5
    (tmp_path / "more.srt").write_text(srt((1.0, 2.0, "I open the window.")))
    answers: list[Answer] = []
    asking = Thread(target=lambda: answers.append(memory.ask(PHONE, settings(server))))
    try:
        asking.start()
        while not server.log.calls():
            assert asking.is_alive()
        memory.ingest(tmp_path / "more.srt", load_settings())
        assert asking.is_alive(), "the writer waited for the model"
    finally:
        asking.join()
        server.latency = 0.0
    assert answers[0].found


def test_on_the_command_line_the_exit_code_says_what_came_of_it(
    memory: Memory, server: ModelServer, tmp_path: Path
) -> None:
    config = tmp_path / "models.toml"
    model = f'model = "{server.base_url}#text-only"\n'
    config.write_text("[patience]\nfirst_wait_s = 0.02\n" + "".join(f"[roles.{role}]\n{model}" for role in ROLES))
    options = ("--memory", memory.directory, "--config", config)
    env = {"AMR_API_KEY": KEY}
    done = ran("ask", PHONE, *options, "--json", env=env).json
    assert (done["answer"], done["usage"]["calls"]) == ("You put your phone on the windowsill.", 3)
    assert done["claims"][0]["supported"] is True
    assert ran("status", "--memory", memory.directory, "--json").json["costs"]
    server.faults.set(Fault("cites_unknown", role="answer", times=None))
    lost = amr("ask", "where is my phone", *options, "--json", env=env)
    assert (lost.code, lost.json["found"]) == (1, False)
    assert str(UNKNOWN_ID) not in lost.out
    assert_one_sentence(lost.err, "One claim of the model's answer was left out")
    server.faults.set(Fault("not_json", role="answer", times=None))
    failed = amr("ask", "where is the phone", *options, "--json", env=env)
    assert (failed.code, failed.out) == (4, "")
    assert_one_sentence(failed.err, "ask again")
