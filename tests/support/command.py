"""Runs the real command line in processes of its own, as a person does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amr.memory import Memory

_ENVIRONMENT = {
    "AMR_SPEECH__DOWNLOAD": "never",
    "AMR_SPEECH__RECOGNISER": "none",
    "AMR_TEXT_IN_VIEW__ENABLED": "false",
    "OMP_NUM_THREADS": "1",
}
"""What keeps a command quick and off the network; tests that want more give it in `env`."""


@dataclass(frozen=True)
class Done:
    """A finished command: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that is all of stdout."""
        value = json.loads(self.out)
        assert isinstance(value, dict), self.out
        return value


def amr(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    prepare: Callable[[], None] | None = None,
) -> Done:
    """Runs `amr` to its end; `prepare` is called in the new process before it."""
    done = subprocess.run(
        _command(arguments),
        env=environment(env),
        cwd=cwd,
        preexec_fn=prepare,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def ran(*arguments: object, env: Mapping[str, str] | None = None) -> Done:
    """Runs `amr`, which must succeed."""
    done = amr(*arguments, env=env)
    assert done.code == 0, done
    return done


def start(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Starts `amr` and returns at once; the caller reads its output and waits for it."""
    return subprocess.Popen(
        _command(arguments),
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command: this one without its AMR_ variables, and `more`."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AMR_")}
    return {**own, **_ENVIRONMENT, **(more or {})}


def wait_for(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    """Waits until `reached()` holds; the command must be at work until then."""
    deadline = time.monotonic() + 60
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.2)


def stopped(process: subprocess.Popen[str], reached: Callable[[], bool], then_seconds: float, sign: int) -> bool:
    """Sends a signal some time after `reached()` first holds; False when the command had ended by then."""
    while process.poll() is None and not reached():
        time.sleep(0.001)
    time.sleep(then_seconds)
    if process.poll() is not None:
        return False
    process.send_signal(sign)
    return True


def commits_seen(memory: Path) -> str:
    """A mark that changes with every commit, read without opening the memory."""
    note = memory / "text" / "default" / "indexed-through"
    return note.read_text() if note.exists() else ""


def moved_on(memory: Path) -> Callable[[], bool]:
    """A condition that holds from the next commit on."""
    before = commits_seen(memory)
    return lambda: commits_seen(memory) != before


def root(memory: Path) -> str:
    """The root hash of a memory."""
    return Memory(memory).status().root_hash


def contents(memory: Path) -> tuple[str, dict[str, int], dict[str, int]]:
    """What must be equal when nothing was lost and nothing doubled: root hash, nodes and edges by kind."""
    state = Memory(memory).status()
    return state.root_hash, state.nodes, state.edges


def assert_one_sentence(text: str, *parts: str) -> None:
    """What a person is told is one line, ends with a period, is no traceback, and has these parts."""
    assert text.count("\n") == 1, text
    assert text.endswith(".\n"), text
    assert "Traceback" not in text
    for part in parts:
        assert part in text, text


def _command(arguments: tuple[object, ...]) -> list[str]:
    return [sys.executable, "-m", "amr.cli", *(str(argument) for argument in arguments)]
