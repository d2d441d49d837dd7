"""The Batch API, against a server whose batches go on by one step with each poll."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amr.errors import BadInput, ProviderError
from amr.models.batch import Batches
from amr.models.batch_files import input_files, read_results
from amr.models.budget import Budget, BudgetReached
from amr.models.calls import Calls, RecordedChat, chat_key
from amr.models.capabilities import capabilities_of
from amr.models.chat import CallFailed, ChatReply, ChatRequest, Media, RequestTooLarge, Stopped
from amr.models.names import ModelName, parse_model_name
from amr.models.remote import Patience, Remote
from amr.models.structured import strict_schema
from tests.models.test_remote import Words
from tests.support.model_server import ModelServer, over_http, separate_server
from tests.support.model_server_faults import Fault

KEY = "sk-0123456789abcdef"
QUICK = Patience(total_s=0.5, answer_s=2.0, first_wait_s=0.01)
ASK = ChatRequest("chat", "chat", "hash", "Say something as json.", max_tokens=50)
REPLY = "This is a reply of the test server."


def asks(count: int) -> list[ChatRequest]:
    return [replace(ASK, text=f"Say something as json, {number}.") for number in range(count)]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(mode="openai", key=KEY) as server:
        yield server


def model_name(server: ModelServer, model: str = "gpt-4o-mini") -> ModelName:
    return ModelName("openai", server.base_url, model)


def batches(server: ModelServer, folder: Path, calls: Calls | None = None, **more: Any) -> Batches:
    name = more.pop("name", None) or model_name(server)
    capabilities = capabilities_of(name).model_copy(update=more.pop("changed", {}))
    given: dict[str, Any] = {"api_key": KEY, "patience": QUICK} | more
    return Batches(name, capabilities, calls or Calls(folder, "ingest"), folder, **given)


class StopAfter(threading.Event):
    """Is set by the waits after which a command is to be stopped."""

    def __init__(self, waits: int) -> None:
        super().__init__()
        self._left = waits

    def wait(self, timeout: float | None = None) -> bool:
        self._left -= 1
        if self._left < 0:
            self.set()
        return super().wait(timeout)


def stopped_while_waiting(server: ModelServer, folder: Path, requests: list[ChatRequest], waits: int = 0) -> None:
    with pytest.raises(Stopped):
        batches(server, folder, stop=StopAfter(waits)).submit_and_wait(requests)


def noted(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "batches.json").read_text())["batches"]
    return found


def submitted(server: ModelServer) -> int:
    return len(server.batches.listed()["data"])


def sent_through(server: ModelServer, *roles: str) -> int:
    """How many chat requests were answered, in batches or not."""
    return len([call for call in server.log.model_calls() if call.role in roles or not roles])


# The ordinary course


def test_each_request_gets_its_reply_in_order(server: ModelServer, tmp_path: Path) -> None:
    requests = [*asks(5), replace(ASK, schema=strict_schema(Words), system="Be brief.")]
    replies = batches(server, tmp_path).submit_and_wait(requests)
    assert [reply.text for reply in replies if isinstance(reply, ChatReply)] == [REPLY] * 6
    assert submitted(server) == 1 and noted(tmp_path) == []


def test_the_ordinary_path_then_finds_the_replies_on_disk(server: ModelServer, tmp_path: Path) -> None:
    calls = Calls(tmp_path, "ingest")
    batches(server, tmp_path, calls).submit_and_wait(asks(3))
    name = model_name(server)
    chat = RecordedChat(Remote(name, capabilities_of(name), api_key=KEY), calls)
    assert [chat.complete(request).cached for request in asks(3)] == [True] * 3
    assert sent_through(server) == 3


def test_a_batch_costs_half_and_each_request_has_its_row_in_the_ledger(server: ModelServer, tmp_path: Path) -> None:
    calls, budget = Calls(tmp_path, "ingest"), Budget(1.0)
    batches(server, tmp_path, calls, budget=budget).submit_and_wait(asks(3))
    rows = calls.take_rows()
    assert [(row.role, row.cached) for row in rows] == [("chat", False)] * 3
    assert sum(row.cost_usd or 0 for row in rows) == pytest.approx(server.log.cost_usd() / 2)
    assert budget.spent_usd == pytest.approx(server.log.cost_usd() / 2, abs=1e-8)


def test_equal_requests_are_sent_once_and_those_on_disk_not_at_all(server: ModelServer, tmp_path: Path) -> None:
    batches(server, tmp_path).submit_and_wait(asks(2))
    replies = batches(server, tmp_path).submit_and_wait([*asks(3), *asks(3)])
    assert all(isinstance(reply, ChatReply) for reply in replies) and len(replies) == 6
    assert sent_through(server) == 3 and submitted(server) == 2
    batches(server, tmp_path).submit_and_wait(asks(3))
    assert submitted(server) == 2


def test_nothing_to_ask_submits_nothing(server: ModelServer, tmp_path: Path) -> None:
    assert batches(server, tmp_path).submit_and_wait([]) == []
    assert submitted(server) == 0


def test_footage_does_not_stay_at_the_provider(server: ModelServer, tmp_path: Path) -> None:
    batches(server, tmp_path).submit_and_wait(asks(2))
    listed = server.batches.listed()["data"][0]
    for field in ("input_file_id", "output_file_id"):
        with pytest.raises(Exception, match="No such File"):
            server.batches.file(listed[field])


def test_progress_is_told(server: ModelServer, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    batches(server, tmp_path).submit_and_wait(asks(4), lambda done, all_: told.append((done, all_)))
    assert told[0] == (0, 4) and told[-1] == (4, 4) and told == sorted(told)


def test_a_server_of_ones_own_may_have_batches_too(tmp_path: Path) -> None:
    with ModelServer(mode="local", key=None) as server:
        name = parse_model_name(f"{server.base_url}#qwen2.5-vl")
        (reply,) = batches(server, tmp_path, name=name, api_key=None).submit_and_wait([ASK])
    assert isinstance(reply, ChatReply) and reply.text == REPLY


# Restarts


@pytest.mark.parametrize("waits", [0, 1])
def test_a_stopped_command_goes_on_waiting_when_run_again(server: ModelServer, tmp_path: Path, waits: int) -> None:
    stopped_while_waiting(server, tmp_path, asks(3), waits)
    assert len(noted(tmp_path)) == 1
    replies = batches(server, tmp_path).submit_and_wait(asks(3))
    assert all(isinstance(reply, ChatReply) for reply in replies)
    assert submitted(server) == 1 and sent_through(server) == 3


def test_what_is_new_at_the_second_run_goes_into_a_batch_of_its_own(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(2))
    replies = batches(server, tmp_path).submit_and_wait(asks(5))
    assert all(isinstance(reply, ChatReply) for reply in replies)
    assert submitted(server) == 2 and sent_through(server) == 5


def test_paid_replies_are_kept_even_if_no_longer_asked_for(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(2))
    calls = Calls(tmp_path, "ingest")
    assert batches(server, tmp_path, calls).submit_and_wait([]) == []
    assert all(calls.read(chat_key(str(model_name(server)), request)) for request in asks(2))
    assert [(row.role, row.prompt, row.prompt_hash) for row in calls.take_rows()] == [("chat", "chat", "hash")] * 2


def change_note(folder: Path, **changed: Any) -> None:
    (note,) = noted(folder)
    (folder / "batches.json").write_text(json.dumps({"batches": [note | changed]}))


def test_a_kill_before_the_batchs_id_was_noted_does_not_submit_it_twice(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(3))
    change_note(tmp_path, batch="")
    replies = batches(server, tmp_path).submit_and_wait(asks(3))
    assert all(isinstance(reply, ChatReply) for reply in replies)
    assert submitted(server) == 1 and sent_through(server) == 3


def test_a_kill_before_the_batch_was_created_creates_it_from_the_uploaded_file(
    server: ModelServer, tmp_path: Path
) -> None:
    stopped_while_waiting(server, tmp_path, asks(3))
    server.batches._batches.clear()
    change_note(tmp_path, batch="")
    assert all(isinstance(reply, ChatReply) for reply in batches(server, tmp_path).submit_and_wait(asks(3)))
    assert submitted(server) == 1 and sent_through(server) == 3


def test_kills_at_any_instant_lose_nothing_and_have_nothing_answered_twice(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from amr.models.chat import ChatReply
        from tests.models.test_batch import KEY, ModelName, Patience, asks, batches
        name, folder = ModelName("openai", sys.argv[1], "gpt-4o-mini"), Path(sys.argv[2])
        waiting = batches(None, folder, name=name, patience=Patience(total_s=5.0, first_wait_s=0.02))
        print("ready", flush=True)
        print(all(isinstance(reply, ChatReply) for reply in waiting.submit_and_wait(asks(5))), flush=True)
    """
    root = Path(__file__).resolve().parents[2]
    with separate_server(tmp_path / "server", [], "--mode", "openai", "--key", KEY) as base_url:
        command = [sys.executable, "-c", code, base_url, str(tmp_path / "calls")]
        for delay_s in (0.005, 0.02, 0.06, 30.0):
            with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None and process.stdout.readline() == "ready\n"
                with suppress(subprocess.TimeoutExpired):
                    process.wait(delay_s)
                process.kill()
                last = process.stdout.read()
        keys = Counter(call["key"] for call in over_http(base_url, "/_log")["calls"] if call["batch"])
    assert last == "True\n" and list(keys.values()) == [1] * 5
    assert noted(tmp_path / "calls") == []


def test_a_kill_before_the_files_were_deleted_deletes_them_later(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(1))
    (note,) = noted(tmp_path)
    change_note(tmp_path, requests={}, leftover=[note["input_file"], "file-gone"])
    batches(server, tmp_path).submit_and_wait([])
    with pytest.raises(Exception, match="No such File"):
        server.batches.file(note["input_file"])
    assert noted(tmp_path) == []


def test_batches_of_other_models_are_left_alone(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(1))
    other = batches(server, tmp_path, name=model_name(server, "gpt-4o"))
    assert isinstance(other.submit_and_wait(asks(1))[0], ChatReply)
    assert [note["model"] for note in noted(tmp_path)] == ["openai:gpt-4o-mini"]


def test_a_damaged_note_is_an_error_and_not_a_second_submission(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "batches.json").write_text('{"batches": [{"token"')
    with pytest.raises(BadInput, match="delete it to submit"):
        batches(server, tmp_path).submit_and_wait(asks(1))
    assert submitted(server) == 0


def test_neither_key_nor_request_is_in_the_note(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(1))
    assert KEY not in (tmp_path / "batches.json").read_text()
    assert "Say something" not in (tmp_path / "batches.json").read_text()


# Failures


def test_a_request_that_fails_is_the_only_one_and_is_asked_again_by_the_next_run(
    server: ModelServer, tmp_path: Path
) -> None:
    server.faults.set(Fault("500", contains="json, 1."), Fault("empty_choices", contains="json, 2."))
    replies = batches(server, tmp_path).submit_and_wait(asks(4))
    assert [isinstance(reply, CallFailed) for reply in replies] == [False, True, True, False]
    assert "500" in str(replies[1]) and "no choice" in str(replies[2])
    assert not any(isinstance(reply, CallFailed) for reply in batches(server, tmp_path).submit_and_wait(asks(4)))
    assert sent_through(server) == 6


def test_a_reply_of_no_use_that_was_paid_for_is_in_the_ledger(server: ModelServer, tmp_path: Path) -> None:
    server.faults.set(Fault("empty_choices"))
    calls = Calls(tmp_path, "ingest")
    (failed,) = batches(server, tmp_path, calls).submit_and_wait([ASK])
    assert isinstance(failed, CallFailed) and failed.usage.cost_usd
    assert [row.cost_usd for row in calls.take_rows()] == [failed.usage.cost_usd]


def test_lost_and_broken_lines_fail_their_requests_alone(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(4))
    batch = server.batches.listed()["data"][0]["id"]
    while server.batches.poll(batch)["status"] != "completed":
        pass
    output = server.batches.poll(batch)["output_file_id"]
    lines = server.batches.content(output).splitlines(keepends=True)
    server.batches._contents[output] = b"\n" + lines[1] + lines[2][: len(lines[2]) // 2] + b"\n[]\n" + lines[3]
    lost = {json.loads(line)["custom_id"] for line in (lines[0], lines[2])}
    replies = batches(server, tmp_path).submit_and_wait(asks(4))
    keys = [chat_key(str(model_name(server)), request) for request in asks(4)]
    assert [isinstance(reply, CallFailed) for reply in replies] == [key in lost for key in keys]
    assert all("gave no result" in str(reply) for reply in replies if isinstance(reply, CallFailed))
    again = batches(server, tmp_path).submit_and_wait(asks(4))
    assert all(isinstance(reply, ChatReply) for reply in again) and sent_through(server) == 6


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_a_batch_that_ends_early_fails_what_it_did_not_answer(server: ModelServer, tmp_path: Path, status: str) -> None:
    stopped_while_waiting(server, tmp_path, asks(2))
    batch = server.batches._batches[noted(tmp_path)[0]["batch"]]
    key = chat_key(str(model_name(server)), asks(2)[0])
    row = {
        "id": "batch_req_1",
        "custom_id": key,
        "response": None,
        "error": {"code": "batch_expired", "message": "This request could not be executed before the window ended."},
    }
    batch["error_file_id"] = server.batches.upload("errors", json.dumps(row).encode(), "batch_output")["id"]
    batch["status"] = status
    told, silent = batches(server, tmp_path).submit_and_wait(asks(2))
    assert isinstance(told, CallFailed) and "before the window ended" in str(told)
    assert isinstance(silent, CallFailed) and status in str(silent)


def test_a_batch_that_the_provider_does_not_take_is_an_error_and_can_be_submitted_again(
    server: ModelServer, tmp_path: Path
) -> None:
    stopped_while_waiting(server, tmp_path, asks(1))
    batch = server.batches._batches[noted(tmp_path)[0]["batch"]]
    batch["status"] = "failed"
    batch["errors"] = {"object": "list", "data": [{"code": "token_limit_exceeded", "message": "Enqueued too much."}]}
    with pytest.raises(ProviderError, match="Enqueued too much"):
        batches(server, tmp_path).submit_and_wait(asks(1))
    assert isinstance(batches(server, tmp_path).submit_and_wait(asks(1))[0], ChatReply)


def test_a_request_that_is_too_large_is_not_sent(server: ModelServer, tmp_path: Path) -> None:
    large = replace(ASK, media=(Media("image", b"\xff\xd8\xff" * 100, "image/jpeg"),))
    failed, fine = batches(server, tmp_path, changed={"max_media_bytes": 100}).submit_and_wait([large, ASK])
    assert isinstance(failed, RequestTooLarge) and isinstance(fine, ChatReply)
    assert sent_through(server) == 1


def test_a_wrong_key_or_model_is_an_error_of_the_run(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="refused the key"):
        batches(server, tmp_path, api_key="sk-wrong-key-000000").submit_and_wait(asks(1))
    assert submitted(server) == 0
    with pytest.raises(ProviderError, match="knows no model gpt-unknown"):
        batches(server, tmp_path, name=model_name(server, "gpt-unknown")).submit_and_wait(asks(1))
    assert noted(tmp_path) == []


def test_a_batch_that_the_key_does_not_know_says_what_to_do(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(1))
    server.batches._batches.clear()
    with pytest.raises(ProviderError, match="use the key that it was submitted with"):
        batches(server, tmp_path).submit_and_wait(asks(1))


def test_a_provider_that_is_away_ends_the_run_but_not_the_batch(server: ModelServer, tmp_path: Path) -> None:
    stopped_while_waiting(server, tmp_path, asks(2))
    port = server.port
    server.__exit__()
    with pytest.raises(ProviderError, match="cannot be reached"):
        batches(server, tmp_path).submit_and_wait(asks(2))
    with ModelServer(mode="openai", key=KEY, port=port) as again:
        again.batches = server.batches
        assert all(isinstance(reply, ChatReply) for reply in batches(again, tmp_path).submit_and_wait(asks(2)))
        assert submitted(again) == 1


@pytest.mark.parametrize("text", ["openrouter:openai/gpt-4o-mini", "hf:some/model", "embedded"])
def test_a_provider_without_batches_is_an_error_that_says_what_to_do(text: str, tmp_path: Path) -> None:
    name = parse_model_name(text)
    with pytest.raises(ProviderError, match="has no Batch API; leave --batch out"):
        Batches(name, capabilities_of(name), Calls(tmp_path, "ingest"), tmp_path, api_key=KEY)


def test_a_server_without_batches_is_too(tmp_path: Path) -> None:
    with ModelServer(mode="openrouter", key=KEY) as server:
        name = parse_model_name(f"{server.base_url}#qwen2.5-vl")
        with pytest.raises(ProviderError, match="has no Batch API"):
            batches(server, tmp_path, name=name).submit_and_wait(asks(1))


# Cost


def test_a_batch_that_could_pass_the_cap_is_not_sent(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(BudgetReached):
        batches(server, tmp_path, budget=Budget(0.00001)).submit_and_wait(asks(20))
    with pytest.raises(BudgetReached, match="price is not known"):
        unpriced = {"usd_per_million_input": None}
        batches(server, tmp_path, budget=Budget(1.0), changed=unpriced).submit_and_wait(asks(1))
    assert submitted(server) == 0 and not server.log.calls("files")


# Files


def test_files_of_requests_keep_within_their_limits_and_their_order() -> None:
    bodies = [(f"id-{number}", {"text": "é" * number}) for number in range(20)]
    by_lines = list(input_files(bodies, most_lines=6))
    assert [len(file.ids) for file in by_lines] == [6, 6, 6, 2]
    by_bytes = list(input_files(bodies, most_bytes=300))
    assert all(len(file.content) <= 300 or len(file.ids) == 1 for file in by_bytes)
    for files in (by_lines, by_bytes):
        assert [identity for file in files for identity in file.ids] == [identity for identity, _ in bodies]
        rows = [json.loads(line) for file in files for line in file.content.splitlines()]
        assert [(row["custom_id"], row["body"]) for row in rows] == bodies


def test_results_that_cannot_be_read_are_left_out() -> None:
    content = '{"custom_id": "a"}\n\nnull\n{"custom_id": "b"\n{"id": 1}\n{"custom_id": "c", "response": null}'
    assert set(read_results(content)) == {"a", "c"}
