"""The folder of a run: its settings first, a line for each question as it is answered, the report last."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amr.errors import UsageError
from amr.evals.report import Report, report_json, report_markdown

CONFIG, QUESTIONS, REPORT_TEXT, REPORT = "config.json", "questions.jsonl", "report.md", "report.json"


class RunFolder:
    """Where a run is written; files of an earlier run in it are written anew, its memory is used again."""

    def __init__(self, path: Path | None, benchmark: str) -> None:
        named = path or Path("amr-eval") / f"{benchmark}-{time.strftime('%Y%m%d-%H%M%S')}"
        self.path = named.expanduser().absolute()
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file; give --out a folder.")
        others = _benchmark_of(self.path / CONFIG)
        if others not in (None, benchmark):
            raise UsageError(f"{self.path} holds a run of {others}; give --out another folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / QUESTIONS).write_text("", encoding="utf-8")

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Writes what the run is made with."""
        self._write(CONFIG, _json(config))

    def add(self, question: Mapping[str, Any]) -> None:
        """Writes one question with what every system answered and how it was judged."""
        with (self.path / QUESTIONS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(question, ensure_ascii=False) + "\n")

    def write_report(self, report: Report) -> None:
        """Writes the report as JSON and as Markdown."""
        self._write(REPORT, _json(report_json(report)))
        self._write(REPORT_TEXT, report_markdown(report))

    def _write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")


def code_version() -> dict[str, str | None]:
    """The package's version, and the commit of the checkout it runs from, None outside of one."""
    from amr import __version__

    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, encoding="utf-8", check=False
        )  # fmt: skip
    except OSError:
        return {"version": __version__, "commit": None}
    return {"version": __version__, "commit": done.stdout.strip() or None}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _benchmark_of(file: Path) -> str | None:
    try:
        return str(json.loads(file.read_text(encoding="utf-8")).get("benchmark"))
    except (OSError, ValueError, AttributeError):
        return None
