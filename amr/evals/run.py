"""One run of a benchmark: what was asked for, its memory, and asking every question that has no line yet."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from amr import interrupt
from amr.errors import ProviderError
from amr.evals.asking import Asked, Reply, System, brief
from amr.evals.baselines import Baselines, Unit
from amr.evals.folder import RunFolder, key_of
from amr.evals.made_with import code_version, configs_told, machine, prompts_told, settings_told, sha256
from amr.evals.report import Report
from amr.evals.tally import Hits, figures_of
from amr.memory import Memory
from amr.store import database
from amr.store.asked import note as note_calls

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.evals.answering import Answering
    from amr.models.calls import Calls
    from amr.models.embedders import Embedder
    from amr.store.rows import CallSum

_TOLD_EVERY_S = 15.0
_READING = ("type", "verify", "answer")
_ANSWERED = ("longmemeval", "locomo", "beam", "egolife")
FILES = ("data", "questions", "mcq", "audit")

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """What the command line asked for. `memory` is one to use again; without it the run's folder holds one.

    `limit` is how many questions of each set are asked. `model` answers and `judge` judges, by their names, for no
    more than `max_cost` dollars.
    `notice` gets sentences on how far the run is.
    """

    data: Path | None = None
    questions: Path | None = None
    mcq: Path | None = None
    audit: Path | None = None
    memory: Path | None = None
    out: Path | None = None
    without: tuple[str, ...] = ()
    limit: int | None = None
    retrieval_only: bool = False
    oracle: bool = False
    pooled: bool = False
    resume: bool = False
    only_failed: bool = False
    model: str = ""
    judge: str = ""
    max_cost: float | None = None
    notice: Callable[[str], None] = lambda text: None


@dataclass
class Run:
    """A run under way. `notes` are sentences for its report."""

    benchmark: str
    options: Options
    settings: Settings
    folder: RunFolder
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory = Memory(self.options.memory or self.folder.path / "memory")
        self.order: list[str] = []
        self._config: dict[str, Any] = {}

    @property
    def model(self) -> str:
        """The name of the model that answers, empty when none does."""
        return "" if self.options.retrieval_only else self.settings.model_of("answer")

    @cached_property
    def answering(self) -> Answering | None:
        """What answers and judges the questions of a benchmark of chats or of EgoLife; None without a model.

        Raises ProviderError when a model has no key.
        """
        if not self.model or self.benchmark not in _ANSWERED:
            return None
        from amr.evals.answering import Answering

        return Answering(self.settings, self.folder.path / "calls", self.benchmark, self.options.max_cost)

    @cached_property
    def plain_settings(self) -> Settings:
        """The settings with no model on the read path, as retrieval is measured."""
        roles = {
            name: role.model_copy(update={"model": ""}) if name in _READING else role
            for name, role in self.settings.roles.items()
        }
        return self.settings.model_copy(update={"roles": roles})

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder of the memory, for the dense rows. Raises ProviderError when it has no key."""
        from amr.models.open import Models

        return Models(self.settings, self._calls).embedder()

    @cached_property
    def _calls(self) -> Calls:
        from amr.models.calls import Calls

        return Calls(self.memory.directory / "calls", "amr eval")

    def config(self, **more: Any) -> dict[str, Any]:
        """Everything that the run is made with, written to its folder. Raises UsageError as RunFolder.start does.

        No line is kept before this.
        """
        options = self.options
        files = {name: getattr(options, name) for name in FILES if getattr(options, name) is not None}
        self._config = {
            "benchmark": self.benchmark,
            **code_version(),
            **{name: str(path) for name, path in files.items()},
            **{f"{name}_sha256": sha256(path) for name, path in files.items() if path.exists()},
            "memory": str(self.memory.directory),
            "without": list(options.without),
            "limit": options.limit,
            **{name: getattr(options, name) for name in ("retrieval_only", "oracle", "pooled")},
            "model": self.model or None,
            "embedder": self.embedder.name,
            "machine": machine(),
            "settings": settings_told(self.settings),
            "configs": configs_told(),
            "prompts": prompts_told() if self.model or self.settings.perceives_with_model else {},
            **({} if self.answering is None else self.answering.config()),
            **more,
        }
        self.folder.start(self._config)
        return self._config

    def ingest(self, path: Path, scope: str | None = None, captions_kind: str | None = None) -> None:
        """Writes a file into the run's memory; what is there already is skipped. Without a scope the file's own."""
        changed = {} if captions_kind is None else {"captions_kind": captions_kind}
        settings = self.settings.model_copy(update=changed)
        started = time.monotonic()
        named: dict[str, Any] = {} if scope is None else {"scope": scope}
        report = self.memory.ingest(path, settings, **named)
        new = sum(max(0, source.clips - source.clips_skipped) for source in report.sources)
        self.options.notice(f"{path.name}: {new} new clips in {time.monotonic() - started:.1f} s.")

    def baselines(self, units: Sequence[Unit], name: str) -> Baselines:
        """The baselines over some lines of the benchmark, with their index in the run's folder under a name."""
        directory = self.folder.path / "index" / name
        shutil.rmtree(directory, ignore_errors=True)
        return Baselines(units, directory, self.embedder.embed)

    # --- asking ---------------------------------------------------------------------------------------------

    def wanted(self, questions: Sequence[tuple[Mapping[str, Any], T]]) -> list[T]:
        """Of questions, each with what tells it from others (`set` and `id`), those that are to be asked now.

        They are those that have no line, and with --only-failed those in which a system failed. All of them belong
        to the run, in this order.
        """
        keys = [key_of(known) for known, _ in questions]
        self.order += keys
        found = [one for key, (_, one) in zip(keys, questions, strict=True) if self._is_wanted(key)]
        if len(found) < len(keys):
            self.options.notice(f"{len(keys) - len(found)} of {len(keys)} questions have been asked before.")
        return found

    def _is_wanted(self, key: str) -> bool:
        line = self.folder.lines.get(key)
        if self.options.only_failed:
            return line is not None and failed(line)
        return line is None

    def told(self, questions: Iterable[T], number: int) -> Iterator[T]:
        """The `number` questions one by one, with a sentence now and then on how many there have been."""
        last, coming, done = time.monotonic(), iter(questions), 0
        while done < number:
            note_calls(self.memory.directory, self._calls.take_rows())
            # A Ctrl-C in the midst of a library's own code can abort the process; a question is soon done.
            with interrupt.held():
                yield next(coming)
            interrupt.check()
            done += 1
            if time.monotonic() - last > _TOLD_EVERY_S:
                last = time.monotonic()
                self.options.notice(f"{done} of {number} questions asked.")

    def ask_all(
        self,
        questions: Sequence[tuple[Mapping[str, Any], Asked]],
        systems: Mapping[str, System],
        score: Callable[[Mapping[str, Any], Reply, Hits], Mapping[str, Any]],
    ) -> None:
        """Puts every question to every system and keeps what each answered, with its score.

        `questions` are what is known of one, kept in its line, and what is asked. `score` notes the hits and gives
        the verdict.
        """

        def line(known: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
            answers = {name: _answered(system, asked, known, score) for name, system in systems.items()}
            return {**known, "question": asked.question, "as_of": asked.as_of, "systems": answers}

        wanted = self.wanted([(known, (known, asked)) for known, asked in questions])
        for known, asked in self.told(wanted, len(wanted)):
            self.folder.add(line(known, asked))

    def limited(self, questions: Sequence[Any]) -> list[Any]:
        """The first questions of a set, as many as --limit allows."""
        return list(questions[: self.options.limit])

    # --- reporting ------------------------------------------------------------------------------------------

    def report(self, data: Path, headline: tuple[str, ...] = ()) -> Report:
        """What the lines of the run's folder come to; `headline` are the metrics that are shown first."""
        lines = self.folder.settle(self.order)
        notes = list(self.notes)
        if len(lines) < len(self.order):
            notes.append(f"{len(self.order) - len(lines)} questions have not been asked; --resume asks them.")
        number = sum(map(failed, lines))
        if number:
            notes.append(
                f"{number} questions failed: they are neither right nor wrong, and in no other figure of an"
                " answer; --only-failed asks them again."
            )
        folder = self.folder.path
        report = Report(self.benchmark, len(lines), str(data), figures_of(lines), self._config, folder, notes, headline)
        if self.answering is not None:
            from amr.evals.costs import cost_table, payments, totals
            from amr.evals.judging import prompt_section

            report.cost = totals(payments(self.folder.all_lines), self._paid_by_memory())
            told = ["## What models were paid", "", *cost_table(report.cost), ""]
            report.sections = [*told, prompt_section(self._config["prompts"])]
        return report

    def _paid_by_memory(self) -> list[CallSum]:
        """What the run's own memory was paid for; what one that was given has paid belongs to other commands."""
        if self.options.memory is not None:
            return []
        with database.reading(self.memory.directory) as snapshot:
            return snapshot.costs()


def failed(line: Mapping[str, Any]) -> bool:
    """Whether a system gave no answer to a question because something failed."""
    return any(entry.get("failed") for entry in line["systems"].values())


def _answered(
    system: System,
    asked: Asked,
    known: Mapping[str, Any],
    score: Callable[[Mapping[str, Any], Reply, Hits], Mapping[str, Any]],
) -> dict[str, Any]:
    """What a line has of one system."""
    started = time.monotonic()
    try:
        reply = system(asked)
    except ProviderError as error:
        return {"failed": str(error), "hits": {}}
    seconds, hits = time.monotonic() - started, Hits()
    verdict = dict(score(known, reply, hits))
    return {**brief(reply), "seconds": round(seconds, 6), "verdict": verdict, "hits": hits.found}
