"""The folder of a run: its settings first, a line for each question as it is answered, the report last.

The lines are all that counts: each is on disk before the next question is asked, and the report is made from them
alone. So a run that was killed can be continued, and what it was killed in is the only thing asked again.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from amr.errors import BadInput, UsageError
from amr.evals.report import Report, report_json, report_markdown

CONFIG, QUESTIONS, REPORT_TEXT, REPORT = "config.json", "questions.jsonl", "report.md", "report.json"
_LOCK = "run.lock"
_RUNS = Path("amr-eval")
_MAY_DIFFER = ("changed", "data", "questions", "mcq", "audit", "memory", "settings.jobs", "settings.patience")
"""What a run may be continued with otherwise: where files lie (their contents are compared) and how fast it goes."""

Line = dict[str, Any]


class RunFolder:
    """Where a run is written. Raises UsageError when it belongs to another benchmark or another process.

    Files of an earlier run in it are written anew, unless it is continued; its memory is used again.
    """

    def __init__(self, path: Path | None, benchmark: str, resume: bool = False) -> None:
        self.path = (path or _named(benchmark, resume)).expanduser().absolute()
        self.all_lines: list[Line] = []
        """Every line of the run, those too that a later one of the same question replaced."""
        self.lines: dict[str, Line] = {}
        """The line that counts, by question."""
        self._writing = threading.Lock()
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file; give --out a folder.")
        self._before = _config_of(self.path)
        self._resume = resume and bool(self._before)
        if self._before and self._before.get("benchmark") != benchmark:
            raise UsageError(f"{self.path} holds a run of {self._before.get('benchmark')}; give --out another folder.")
        # A run that was killed before it had its settings left a folder, and is begun in it.
        if resume and not self.path.exists():
            raise UsageError(f"{self.path} holds no run to continue; give --out the folder of one, or start it anew.")
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = self._locked()

    def start(self, config: Mapping[str, Any]) -> None:
        """Writes what the run is made with; from here on lines can be added.

        Raises UsageError when a run is continued that was made with something else.
        """
        config = json.loads(json.dumps(config, ensure_ascii=False))
        if self._resume:
            for name, (old, new) in differing(self._before, config).items():
                raise UsageError(
                    f"The run in {self.path} was made with {name} = {old!r}, not {new!r}; give what it was made with,"
                    " or another --out."
                )
            self.all_lines = list(every_line(self.path))
            self.lines = {key_of(line): line for line in self.all_lines}
        # What a kill tore is dropped here, before anything is added behind it.
        self._write_lines(self.all_lines)
        self._write(CONFIG, _json(config))

    def leave(self) -> None:
        """Removes the folder again where nothing was written into it."""
        self._lock.close()
        if sorted(self.path.iterdir()) == [self.path / _LOCK]:
            (self.path / _LOCK).unlink()
            self.path.rmdir()

    def add(self, line: Mapping[str, Any]) -> None:
        """Writes one question with what every system answered and how it was judged. Any thread may."""
        text = json.dumps(line, ensure_ascii=False) + "\n"
        with self._writing, (self.path / QUESTIONS).open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            kept = json.loads(text)
            self.all_lines.append(kept)
            self.lines[key_of(kept)] = kept

    def settle(self, order: Sequence[str]) -> list[Line]:
        """The line that counts of every question there is, in the order given, in which the file has them from now on.

        So a run that was continued, or had several questions under way, leaves what an undisturbed one leaves.
        """
        place = {key: number for number, key in enumerate(order)}
        self.all_lines.sort(key=lambda line: place.get(key_of(line), len(place)))
        self._write_lines(self.all_lines)
        return [self.lines[key] for key in order if key in self.lines]

    def write_report(self, report: Report) -> None:
        """Writes the report as JSON and as Markdown."""
        self._write(REPORT, _json(report_json(report)))
        self._write(REPORT_TEXT, report_markdown(report))

    def close(self) -> None:
        """Lets another run write the folder."""
        self._lock.close()

    def _write_lines(self, lines: Iterable[Mapping[str, Any]]) -> None:
        self._write(QUESTIONS, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    def _write(self, name: str, text: str) -> None:
        partial = self.path / f"{name}.new"
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path / name)

    def _locked(self) -> TextIOWrapper:
        lock = (self.path / _LOCK).open("w", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"Another amr eval is writing {self.path}; wait for it or give another --out.") from error
        return lock


def read_lines(folder: Path) -> list[Line]:
    """The lines of a run that count: of a question that has several the last. Raises BadInput as `every_line`."""
    return list({key_of(line): line for line in every_line(folder)}.values())


def every_line(folder: Path) -> Iterator[Line]:
    """The lines of a run, but for the end of a file that a kill cut. Raises BadInput when one is damaged."""
    file = folder / QUESTIONS
    try:
        whole, _, _ = file.read_bytes().rpartition(b"\n")
    except OSError as error:
        raise BadInput(f"{file} cannot be read ({error.strerror}); give the folder of a run of amr eval.") from error
    for number, text in enumerate(whole.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            key_of(line)
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{file}, line {number} is no line of a question ({error}); remove it.") from error
        yield line


def read_config(folder: Path) -> dict[str, Any]:
    """What a run was made with. Raises BadInput when there is none."""
    config = _config_of(folder)
    if not config:
        raise BadInput(f"{folder} holds no run of amr eval; give the folder that --out named.")
    return config


def key_of(line: Mapping[str, Any]) -> str:
    """What tells a question from all others of its run."""
    return f"{line['set']}/{line['id']}" if "set" in line else str(line["id"])


def _named(benchmark: str, resume: bool) -> Path:
    """A new folder, or the newest there is."""
    if not resume:
        return _RUNS / f"{benchmark}-{time.strftime('%Y%m%d-%H%M%S')}"
    there = sorted(path for path in _RUNS.glob(f"{benchmark}-*") if _config_of(path).get("benchmark") == benchmark)
    if not there:
        raise UsageError(f"There is no run of {benchmark} in {_RUNS}/ to continue; give --out the folder of one.")
    return there[-1]


def _config_of(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What two runs were made with otherwise, by name: `settings.embedder`. Where their files lie does not count."""
    old, new = _flat(before), _flat(now)
    names = [name for name in {**old, **new} if not name.startswith(_MAY_DIFFER) or name.endswith("_sha256")]
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _flat(config: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in config.items():
        inside = isinstance(value, dict) and bool(value)
        found.update(_flat(value, f"{above}{name}.") if inside else {f"{above}{name}": value})
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
