"""Every reply is on disk before it is used, and none is paid for twice."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amr.models.calls import Calls, Purpose, call_key, chat_key
from amr.models.chat import CallFailed, ChatRequest, Media, Usage

PURPOSE = Purpose("perceive", "perceive", "hash", "test:model")
KEY = call_key(["a request"])
REPLY = ({"text": "hé \ud800"}, Usage(10, 5, 0.25), 12.0)
REQUEST = ChatRequest("perceive", "perceive", "hash", "text", media=(Media("image", b"frame", "image/jpeg"),))


class Counted:
    """A call that counts how often it is made."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.made, self._seconds = 0, seconds

    def __call__(self) -> tuple[dict[str, Any], Usage, float]:
        self.made += 1
        time.sleep(self._seconds)
        return REPLY


def test_a_reply_is_on_disk_and_not_paid_for_again(tmp_path: Path) -> None:
    call = Counted()
    first = Calls(tmp_path / "calls", "ingest").once(KEY, PURPOSE, call)
    assert not first.cached and first.content == REPLY[0]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file.name for file in files] == [f"{KEY}.json"]
    again = Calls(tmp_path / "calls", "ingest").once(KEY, PURPOSE, call)
    assert again.cached and again.content == first.content and call.made == 1


def test_the_ledger_tells_paid_calls_from_cached_ones(tmp_path: Path) -> None:
    calls = Calls(tmp_path, "ingest")
    calls.once(KEY, PURPOSE, Counted())
    calls.once(KEY, replace(PURPOSE, role="other"), Counted())
    paid, cached = calls.take_rows()
    assert (paid.cached, paid.cost_usd, paid.prompt_tokens, paid.role) == (False, 0.25, 10, "perceive")
    assert (cached.cached, cached.cost_usd, cached.prompt_tokens, cached.role) == (True, 0.0, 10, "other")
    assert calls.take_rows() == []


def test_a_call_paid_before_a_kill_is_reported_again_as_it_was(tmp_path: Path) -> None:
    before = Calls(tmp_path, "ingest")
    before.once(KEY, PURPOSE, Counted())
    after = Calls(tmp_path, "ingest again")
    after.once(KEY, PURPOSE, Counted())
    paid, cached = after.take_rows()
    assert [paid] == before.take_rows()
    assert cached.cached and cached.command == "ingest again"


def test_identical_calls_at_once_are_one(tmp_path: Path) -> None:
    calls, call = Calls(tmp_path, "ingest"), Counted(0.1)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: calls.once(KEY, PURPOSE, call), range(8)))
    assert call.made == 1
    assert sum(not reply.cached for reply in replies) == 1
    assert sum(row.cost_usd or 0 for row in calls.take_rows()) == 0.25


def test_a_failure_reaches_all_who_wait_for_it_and_is_not_kept(tmp_path: Path) -> None:
    calls, began = Calls(tmp_path, "ingest"), threading.Event()

    def fail() -> tuple[dict[str, Any], Usage, float]:
        began.set()
        time.sleep(0.1)
        raise CallFailed("refused", Usage(10, 0, 0.1))

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(calls.once, KEY, PURPOSE, fail)
        began.wait()
        other = pool.submit(calls.once, KEY, PURPOSE, fail)
        for failed in (one, other):
            with pytest.raises(CallFailed, match="refused"):
                failed.result()
    assert [row.cost_usd for row in calls.take_rows()] == [0.1]
    assert calls.once(KEY, PURPOSE, Counted()).content == REPLY[0]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"content": {}}', "null", "other"])
def test_a_damaged_file_counts_as_absent(damage: str, tmp_path: Path) -> None:
    Calls(tmp_path, "ingest").once(KEY, PURPOSE, Counted())
    (file,) = tmp_path.rglob("*.json")
    file.write_text(damage if damage != "other" else file.read_text().replace("h\\u00e9", "ha"))
    call = Counted()
    assert Calls(tmp_path, "ingest").once(KEY, PURPOSE, call).content == REPLY[0]
    assert call.made == 1
    assert Calls(tmp_path, "ingest").read(KEY) is not None


def test_a_reply_of_no_use_is_set_aside_and_asked_for_again(tmp_path: Path) -> None:
    calls, call = Calls(tmp_path, "ingest"), Counted()
    calls.once(KEY, PURPOSE, call)
    calls.discard(KEY)
    calls.discard(KEY)
    calls.once(KEY, PURPOSE, call)
    assert call.made == 2
    assert len(list(tmp_path.rglob("*.unusable"))) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"text": "other"},
        {"system": "other"},
        {"prompt_hash": "other"},
        {"media": (Media("image", b"Frame", "image/jpeg"),)},
        {"media": ()},
        {"schema": {"type": "object"}},
        {"max_tokens": 1},
        {"reasoning_effort": "low"},
    ],
)
def test_whatever_may_change_the_reply_changes_the_key(change: dict[str, Any]) -> None:
    assert chat_key("m", replace(REQUEST, **change)) != chat_key("m", REQUEST)
    assert chat_key("other", REQUEST) != chat_key("m", REQUEST)


def test_what_the_call_is_for_does_not_change_the_key() -> None:
    assert chat_key("m", replace(REQUEST, role="other")) == chat_key("m", REQUEST)
