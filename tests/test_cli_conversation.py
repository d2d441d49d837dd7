"""`amr ask` without a question: a conversation on a terminal, a usage error anywhere else."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import amr, assert_one_sentence, environment

PROMPT = "> "


class Terminal:
    """`amr ask` on a terminal of its own."""

    def __init__(self, *arguments: object, output: int | None = None) -> None:
        self._mine, theirs = pty.openpty()
        command = [sys.executable, "-m", "amr.cli", "ask", *(str(argument) for argument in arguments)]
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs if output is None else output,
            stderr=theirs,
            env=environment({"TERM": "dumb"}),
            start_new_session=True,
            close_fds=True,
        )
        os.close(theirs)

    def until(self, end: str) -> str:
        """What is shown up to and with `end`."""
        shown, deadline = "", time.monotonic() + 60
        while not shown.endswith(end):
            assert time.monotonic() < deadline, shown
            if select.select([self._mine], [], [], 0.1)[0]:
                shown += os.read(self._mine, 4096).decode()
        return shown.replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def ask(self, question: str) -> str:
        """The reply to a question, up to the next prompt."""
        self.type(question + "\n")
        return self.until("\n" + PROMPT).partition("\n")[2]

    def ends(self) -> int:
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()
            os.close(self._mine)


def test_one_question_after_another_is_answered_until_exit(film_memory: Path) -> None:
    terminal = Terminal("--memory", film_memory)
    terminal.until(PROMPT)
    assert "stairs" in terminal.ask("where is my phone")
    assert "Nothing in this memory answers that." in terminal.ask("where is my bicycle")
    assert "stairs" in terminal.ask("where did I last put my phone?")
    terminal.type("exit\n")
    assert terminal.ends() == 0


@pytest.mark.parametrize("leave", ["\n", "quit\n", "\x04"])
def test_an_empty_line_or_ctrl_d_ends_it_too(leave: str, film_memory: Path) -> None:
    terminal = Terminal("--memory", film_memory)
    terminal.until(PROMPT)
    terminal.type(leave)
    assert terminal.ends() == 0


def test_an_error_is_a_sentence_and_the_next_question_may_be_asked(film_memory: Path) -> None:
    terminal = Terminal("--memory", film_memory, "--source", "no-such-source")
    terminal.until(PROMPT)
    for _ in range(2):
        told = terminal.ask("where is my phone").removesuffix(PROMPT)
        assert_one_sentence(told, "no-such-source")
    terminal.type("\n")
    assert terminal.ends() == 0


def test_ctrl_c_interrupts(film_memory: Path) -> None:
    terminal = Terminal("--memory", film_memory)
    terminal.until(PROMPT)
    time.sleep(0.2)  # as long as nobody reads yet, readline lets a signal wait for the next key
    os.kill(terminal.process.pid, signal.SIGINT)
    assert "Interrupted" in terminal.until(".\r\n")
    assert terminal.ends() == 130


def test_the_prompt_is_no_part_of_an_output_that_goes_to_a_file(film_memory: Path, tmp_path: Path) -> None:
    with (tmp_path / "out.json").open("wb") as out:
        terminal = Terminal("--memory", film_memory, "--json", output=out.fileno())
        terminal.until(PROMPT)
        terminal.type("where is my phone\n")
        terminal.until(PROMPT)
        terminal.type("\x04")
        assert terminal.ends() == 0
    written = (tmp_path / "out.json").read_text()
    assert written.startswith("{") and written.endswith("}\n")
    assert PROMPT not in written


def test_without_a_terminal_a_question_must_be_given(film_memory: Path) -> None:
    done = amr("ask", "--memory", film_memory)
    assert (done.code, done.out) == (2, "")
    assert_one_sentence(done.err, "Ask something")
