"""One run of a benchmark: what was asked for, its memory, and asking every system every question."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amr.evals.asking import Asked, Reply, System, brief
from amr.evals.baselines import Baselines, Unit
from amr.evals.folder import RunFolder, code_version
from amr.evals.tally import Figure, Tally
from amr.memory import Memory

if TYPE_CHECKING:
    from amr.config import Settings

_TOLD_EVERY_S = 15.0


@dataclass(frozen=True)
class Options:
    """What the command line asked for. `memory` is one to use again; without it the run's folder holds one.

    `limit` is how many questions of each set are asked. `notice` gets sentences on how far the run is.
    """

    data: Path | None = None
    questions: Path | None = None
    mcq: Path | None = None
    memory: Path | None = None
    out: Path | None = None
    without: tuple[str, ...] = ()
    limit: int | None = None
    notice: Callable[[str], None] = lambda text: None


@dataclass
class Run:
    """A run under way."""

    benchmark: str
    options: Options
    settings: Settings
    folder: RunFolder
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory = Memory(self.options.memory or self.folder.path / "memory")

    def config(self, **more: Any) -> dict[str, Any]:
        """Everything that the run is made with, written to its folder."""
        options = self.options
        files = {"data": options.data, "questions": options.questions, "mcq": options.mcq}
        config = {
            "benchmark": self.benchmark,
            **code_version(),
            **{name: None if path is None else str(path) for name, path in files.items()},
            "memory": str(self.memory.directory),
            "without": list(options.without),
            "limit": options.limit,
            "embedder": self.settings.embedder,
            "perceiver": self.settings.perceiver,
            "retrieve": self.settings.retrieve.model_dump(),
            **more,
        }
        self.folder.write_config(config)
        return config

    def ingest(self, path: Path, scope: str = "default", captions_kind: str | None = None) -> None:
        """Writes a file into the run's memory; what is there already is skipped."""
        changed = {} if captions_kind is None else {"captions_kind": captions_kind}
        settings = self.settings.model_copy(update=changed)
        started = time.monotonic()
        report = self.memory.ingest(path, settings, scope=scope)
        new = sum(source.clips - source.clips_skipped for source in report.sources)
        self.options.notice(f"{path.name}: {new} new clips in {time.monotonic() - started:.1f} s.")

    def baselines(self, units: Sequence[Unit], name: str) -> Baselines:
        """The baselines over some lines of the benchmark, with their index in the run's folder under a name."""
        from amr.models.calls import Calls
        from amr.models.open import Models

        embedder = Models(self.settings, Calls(self.memory.directory / "calls", "amr eval")).embedder()
        directory = self.folder.path / "index" / name
        shutil.rmtree(directory, ignore_errors=True)
        return Baselines(units, directory, embedder.embed)

    def ask_all(
        self,
        questions: Sequence[tuple[Mapping[str, Any], Asked]],
        systems: Mapping[str, System],
        tallies: Mapping[str, Tally],
        score: Callable[[Mapping[str, Any], Reply, Tally], Mapping[str, Any]],
    ) -> None:
        """Puts every question to every system, scores it and writes its line.

        `questions` are what is known of one, kept in its line, and what is asked. `score` adds to the tally.
        """
        told = time.monotonic()
        for number, (known, asked) in enumerate(questions, start=1):
            answers = {}
            for name, system in systems.items():
                started = time.monotonic()
                reply = system(asked)
                tallies[name].seconds.append(time.monotonic() - started)
                answers[name] = {**brief(reply), "verdict": dict(score(known, reply, tallies[name]))}
            self.folder.add({**known, "question": asked.question, "as_of": asked.as_of, "systems": answers})
            if time.monotonic() - told > _TOLD_EVERY_S:
                told = time.monotonic()
                self.options.notice(f"{number} of {len(questions)} questions asked.")

    def limited(self, questions: Sequence[Any]) -> list[Any]:
        """The first questions of a set, as many as --limit allows."""
        return list(questions[: self.options.limit])


def figures_of(tallies: Mapping[str, Tally]) -> dict[str, dict[str, Figure]]:
    """The figures of every system."""
    return {name: tally.figures() for name, tally in tallies.items()}
