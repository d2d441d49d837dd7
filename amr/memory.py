"""Memory: the whole public API in one place. A memory is a directory; every method opens it and lets it go."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from amr.allocator import collecting_seldom
from amr.errors import BadInput, ProviderError, UsageError
from amr.interrupt import Interrupted
from amr.records import WEARER, Answer, Edge, Evidence
from amr.store import database
from amr.store.rows import CallSum, SourceRow, View

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.retrieve.people import Proposal
    from amr.retrieve.roster import ObjectSeen, PersonSeen
    from amr.store.snapshot import Snapshot
    from amr.write.pipeline import SourceReport
    from amr.write.rehearse import Estimate

T = TypeVar("T")

_SCOPE_BYTES = 64
"""Escaped, the longest name must still be the name of a folder."""

_OWN_NAMES = ("i", "me", "my", "myself", "user")


def default_directory() -> Path:
    """The memory of a command that names none: AMR_MEMORY, else the user's data directory."""
    named = os.environ.get("AMR_MEMORY")
    if named:
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("amr") / "memory"


@dataclass
class Status:
    """What a memory holds. `bytes` is its size on disk."""

    memory: str
    root_hash: str
    commits: int
    sources: list[SourceRow]
    clips: dict[int, dict[str, int]]
    nodes: dict[str, int]
    edges: dict[str, int]
    embedder: str
    bytes: int
    costs: list[CallSum]


@dataclass(frozen=True)
class Filters:
    """What a question may see: a scope, and optionally a source and times as the user wrote them.

    `without` names channels that are switched off for this question. `asked_at` is the moment that "last week" is
    counted from where that is not `as_of`; it hides nothing.
    """

    scope: str = "default"
    source: str | None = None
    as_of: str | None = None
    known_at: str | None = None
    after: str | None = None
    before: str | None = None
    kinds: tuple[str, ...] = ("event", "turn", "fact")
    without: tuple[str, ...] = ()
    asked_at: str | None = None


@dataclass
class IngestReport:
    """What `ingest` did, source by source; `warnings` are those on what was given as a whole."""

    sources: list[SourceReport] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)
    cost_usd: float = 0.0
    seconds: float = 0.0


@dataclass
class RebuildReport:
    """What `rebuild` did, source by source, and the root hash of the memory before and after it."""

    sources: list[SourceReport]
    root_before: str
    root_after: str
    seconds: float


@dataclass
class Shown:
    """A node with its evidence form, its standing edges and its parent's kind."""

    evidence: Evidence
    edges: list[Edge]


class Memory:
    """A memory directory. Nothing is kept open between calls."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (directory or default_directory()).expanduser().absolute()

    def ingest(
        self,
        path: Path,
        settings: Settings,
        *,
        captions: Path | None = None,
        scope: str | None = None,
        source: str | None = None,
        wearer: Sequence[str] = (),
        keep_pass: bool = False,
        follow: bool = False,
        max_cost: float | None = None,
        notice: Callable[[str], None] = lambda text: None,
        progress: Callable[[str, int | None, int], None] = lambda name, total_ms, done_ms: None,
    ) -> IngestReport:
        """Writes a video, a folder of clips, captions, narrations, an events JSONL or chats into the memory.

        Without a `scope`, each haystack of chats has one of its own name, and all else goes into `default`. `wearer`
        are names of who wears the camera, kept for the scope. What is already there is skipped, so the same command
        continues after any interruption. `max_cost` is in dollars. `notice` gets one sentence on what will be
        perceived; `progress` the source's name, its length in milliseconds if known, and how far it is, or the name of
        a file of chats, None, and how many turns were looked at. Raises BadInput, UsageError, ProviderError.
        """
        from amr.media.chats import is_chats
        from amr.media.source import open_sources
        from amr.models.budget import Budget
        from amr.models.calls import Calls
        from amr.models.open import Models
        from amr.perceive.perceiver import load_perceiver
        from amr.store.writer import writing
        from amr.write.batches import fetch_in_batches, wants_batches
        from amr.write.ingest import ingest_source
        from amr.write.pipeline import Tools
        from amr.write.wearer import settle_wearer

        if scope is not None:
            _check_scope(scope)
        if is_chats(path):
            if captions is not None:
                raise BadInput(f"{path} is a chat; captions can be given only for a video or a folder of clips.")
            if follow:
                raise BadInput(f"{path} is not a folder; only a folder can be followed as it grows.")
            return self._ingest_chats(path, settings, scope, source, wearer, max_cost, progress)
        scope = scope or "default"
        started = time.monotonic()
        command = f"amr ingest {path}"
        models = Models(settings, Calls(self.directory / "calls", command), Budget(max_cost))
        sources = open_sources(path, settings, captions=captions, name=source, follow=follow)
        perceiver = load_perceiver(settings, models)
        tools = Tools(settings, models, models.embedder())
        notice(perceiver.notice(any(s.has_captions for s in sources)))
        report = IngestReport(models={**perceiver.models, **tools.roles(sources)})
        with collecting_seldom(), writing(self.directory, command, tools.embedder.name) as writer:
            try:
                settle_wearer(writer, sources, scope, wearer)
                if wants_batches(settings):
                    fetch_in_batches(
                        models, self.directory, lambda: open_sources(path, settings, captions, source), scope, notice
                    )
                for one in sources:
                    name, total = one.name, one.duration_ms

                    def advance(done_ms: int, name: str = name, total: int | None = total) -> None:
                        progress(name, total, done_ms)

                    report.sources.append(ingest_source(writer, one, perceiver, tools, scope, keep_pass, advance))
            except (ProviderError, Interrupted):
                writer.add_calls(models.calls.take_rows())
                raise
            writer.add_calls(models.calls.take_rows())
        report.cost_usd = models.budget.spent_usd
        report.seconds = time.monotonic() - started
        return report

    def _ingest_chats(
        self,
        path: Path,
        settings: Settings,
        scope: str | None,
        source: str | None,
        wearer: Sequence[str],
        max_cost: float | None,
        progress: Callable[[str, int | None, int], None],
    ) -> IngestReport:
        from amr.media.chats import chosen_chats
        from amr.models.budget import Budget
        from amr.models.calls import Calls
        from amr.models.open import Models
        from amr.store.writer import writing
        from amr.write.chats import ingest_chats
        from amr.write.pipeline import Tools

        started = time.monotonic()
        command = f"amr ingest {path}"
        models = Models(settings, Calls(self.directory / "calls", command), Budget(max_cost))
        tools = Tools(settings, models, models.embedder())
        haystacks = chosen_chats(path, source, _check_scope if scope is None else lambda name: None)
        facts = {"facts": settings.model_of("facts")} if settings.model_of("facts") else {}
        report = IngestReport(models={**tools.roles([]), **facts})
        with collecting_seldom(), writing(self.directory, command, tools.embedder.name) as writer:
            try:
                told = ingest_chats(
                    writer, haystacks, tools, path, scope, source, wearer, partial(progress, path.name, None)
                )
            finally:
                writer.add_calls(models.calls.take_rows())
        report.sources, report.warnings = told.sources, told.warnings
        report.cost_usd = models.budget.spent_usd
        report.seconds = time.monotonic() - started
        return report

    def rebuild(
        self,
        settings: Settings,
        *,
        scope: str = "default",
        source: str | None = None,
        progress: Callable[[str, int | None, int], None] = lambda name, total_ms, done_ms: None,
    ) -> RebuildReport:
        """Makes nodes, edges, mentions and vectors anew from what was observed, without calling a model.

        For all sources of a scope, or one, but for chats, whose nodes are what was said. Each keeps what it has until
        the new is whole. Raises ProviderError when a reply would be needed that is not on disk; UsageError, BadInput.
        """
        from amr.models.calls import Calls
        from amr.store.writer import writing
        from amr.write.rebuild import rebuild_source

        started = time.monotonic()
        with database.reading(self.directory) as snapshot:
            rows = snapshot.sources(scope)
            chosen = _chosen(rows, source)
            embedder, root = snapshot.meta("embedder") or "", snapshot.root_hash()
        if not rows:
            raise UsageError(f"There is no source in the scope {scope} to rebuild; amr status lists what there is.")
        calls = Calls(self.directory / "calls", "amr rebuild")
        reports = []
        with collecting_seldom(), writing(self.directory, "amr rebuild", embedder) as writer:
            for row in [chosen] if chosen else rows:
                if row.kind == "chat":
                    continue

                def advance(done_ms: int, row: SourceRow = row) -> None:
                    progress(row.name, row.duration_ms, done_ms)

                reports.append(rebuild_source(writer, row, settings, calls, embedder, advance))
        with database.reading(self.directory) as snapshot:
            return RebuildReport(reports, root, snapshot.root_hash(), time.monotonic() - started)

    def rehearse(
        self,
        path: Path,
        settings: Settings,
        *,
        captions: Path | None = None,
        scope: str | None = None,
        source: str | None = None,
    ) -> Estimate:
        """What `ingest` would call, counted without calling anything but a provider's list of prices."""
        from amr.media.chats import chosen_chats, is_chats
        from amr.media.source import open_sources
        from amr.write.rehearse import rehearse
        from amr.write.rehearse_chats import rehearse_chats

        if scope is not None:
            _check_scope(scope)
        if is_chats(path):
            haystacks = chosen_chats(path, source, _check_scope if scope is None else lambda name: None)
            return rehearse_chats(self.directory, haystacks, settings, scope, source)
        sources = open_sources(path, settings, captions=captions, name=source)
        return rehearse(self.directory, sources, settings, scope or "default")

    def query(
        self,
        question: str,
        settings: Settings,
        filters: Filters = Filters(),
        k: int = 10,
        max_cost: float | None = None,
    ) -> Answer:
        """The `k` pieces of evidence that bear most on a question, best first, as an answer without words.

        `found` says whether the best of it really bears on the question; what was looked at comes in any case.
        `max_cost` is in dollars. Raises ProviderError when a model that is named in the settings cannot be called.
        """
        from amr.retrieve.query import query

        return self._answered(query, question, settings, filters, k, max_cost)

    def ask(
        self,
        question: str,
        settings: Settings,
        filters: Filters = Filters(),
        k: int = 10,
        max_cost: float | None = None,
    ) -> Answer:
        """Answers a question from the memory's evidence alone, or says that it is not there.

        As `query`; also raises ProviderError when the model that answers gives no answer.
        """
        from amr.retrieve.ask import ask

        return self._answered(ask, question, settings, filters, k, max_cost)

    def _answered(
        self,
        retrieve: Callable[..., Answer],
        question: str,
        settings: Settings,
        filters: Filters,
        k: int,
        max_cost: float | None,
    ) -> Answer:
        started = time.monotonic()
        database.start_engine()
        from amr.models.embedding import EMBEDDER_NAME
        from amr.retrieve.ask import ask

        _prepare()

        def without_model(snapshot: Snapshot, view: View) -> tuple[str, Answer | None]:
            written_by = snapshot.meta("embedder") or EMBEDDER_NAME
            if written_by != EMBEDDER_NAME or settings.reads_with_model:
                return written_by, None
            return written_by, retrieve(snapshot, self.directory, question, view, settings, k)

        written_by, answer = self._read(filters, without_model)
        if answer is None:
            from amr.retrieve.by_model.reading import Reader

            reader = Reader(self.directory, question, settings, f"amr {retrieve.__name__}", max_cost)
            in_words = retrieve is ask and bool(settings.model_of("answer"))
            read = partial(self._read, filters)
            answer = reader.answer(retrieve, read, written_by, k, filters.as_of, in_words)
        answer.as_of = filters.as_of
        answer.seconds = time.monotonic() - started
        return answer

    def _read(self, filters: Filters, work: Callable[[Snapshot, View], T]) -> T:
        """What is found in the memory, opened for a moment, and in what a question may see of it."""
        return database.read(self.directory, filters.scope, lambda snapshot: work(snapshot, _view(snapshot, filters)))

    def timeline(
        self, filters: Filters = Filters(), person: str | None = None, object: str | None = None
    ) -> list[Evidence]:
        """All visible events in time order, of a person or an object where one is named."""
        import numpy as np

        from amr.language.names import handle, normalise_object
        from amr.retrieve.evidence import evidence_of

        with database.reading(self.directory) as snapshot:
            ids = snapshot.visible(_view(snapshot, filters))
            if person is not None:
                own = {*_OWN_NAMES, *(handle(one) for one in snapshot.wearer(filters.scope))}
                name = WEARER if {person.lower(), handle(person)} & own else handle(person)
                same = snapshot.people.classes(_view(snapshot, filters)).all_of([name])
                ids = np.intersect1d(ids, snapshot.mentioning(filters.scope, same, "person"))
            if object is not None:
                name = handle(normalise_object(object))
                ids = np.intersect1d(ids, snapshot.mentioning(filters.scope, [name], "object"))
            nodes = sorted(snapshot.nodes(ids).values(), key=lambda node: node.in_time)
            return evidence_of(snapshot, self.directory, nodes)

    def objects(self, filters: Filters = Filters()) -> list[ObjectSeen]:
        """Every object with its last known state, the most often seen first."""
        from amr.retrieve.roster import objects

        with database.reading(self.directory) as snapshot:
            return objects(snapshot, _view(snapshot, filters))

    def people(self, filters: Filters = Filters()) -> list[PersonSeen]:
        """Every person, the most often seen first."""
        from amr.retrieve.roster import people

        with database.reading(self.directory) as snapshot:
            return people(snapshot, _view(snapshot, filters))

    def look_alikes(self, filters: Filters = Filters()) -> list[Proposal]:
        """Persons that may well be one under two handles, and that nobody has settled, best first."""
        from amr.retrieve.people import proposals

        with database.reading(self.directory) as snapshot:
            return proposals(snapshot, _view(snapshot, filters))

    def settle(self, first: str, second: str, same: bool, scope: str = "default") -> None:
        """Records that two handles are one person, or two; what was decided before is kept as history.

        Raises UsageError when there is no such person, or other decisions say otherwise.
        """
        from amr.language.names import handle
        from amr.store.writer import writing
        from amr.write.people import settle

        with database.reading(self.directory) as snapshot:
            embedder = snapshot.meta("embedder") or ""
        a, b = handle(first), handle(second)
        with writing(self.directory, f"amr people --{'same' if same else 'different'} {a} {b}", embedder) as writer:
            settle(writer, scope, a, b, same)

    def show(self, node_id: int) -> Shown:
        """One node with its standing edges. Raises BadInput when there is no such node."""
        from amr.retrieve.evidence import evidence_of

        with database.reading(self.directory) as snapshot:
            node = snapshot.nodes([node_id]).get(node_id)
            if node is None:
                raise BadInput(f"There is no node {node_id} in {self.directory}; amr timeline lists the nodes.")
            edges = snapshot.edges([node_id], View(scope=node.scope_id))
            return Shown(evidence_of(snapshot, self.directory, [node])[0], edges)

    def status(self) -> Status:
        """What the memory holds, and its root hash."""
        with database.reading(self.directory) as snapshot:
            nodes, edges = snapshot.counts()
            return Status(
                memory=str(self.directory),
                root_hash=snapshot.root_hash(),
                commits=snapshot.commits(),
                sources=snapshot.sources(),
                clips=snapshot.clip_counts(),
                nodes=nodes,
                edges=edges,
                embedder=snapshot.meta("embedder") or "",
                bytes=_bytes_in(self.directory),
                costs=snapshot.costs(),
            )


def _check_scope(name: str) -> None:
    if not name.strip():
        raise UsageError("A scope needs a name; leave --scope out for the default one.")
    if len(name.encode()) > _SCOPE_BYTES:
        raise UsageError(f"The name of a scope may be {_SCOPE_BYTES} letters long; choose a shorter one than {name}.")


def _bytes_in(directory: Path) -> int:
    """The size of all files; those that a writer removes meanwhile do not count."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(folder) / name).stat().st_size
    return total


@cache
def _prepare() -> None:
    """Loads what any question needs before the memory is open, so that no writer waits for it."""
    import numpy.ma  # noqa: F401, used by DuckDB for every column

    from amr.models.embedding import embed
    from amr.retrieve.question import read_question

    embed(["what"])
    read_question("What did I do?")


def _view(snapshot: Snapshot, filters: Filters) -> View:
    from amr.retrieve.times import parse_time, parse_wall_time

    sources = snapshot.sources(filters.scope)
    chosen = _chosen(sources, filters.source)
    considered = [chosen] if chosen else sources

    def moment(text: str | None, end_of_day: bool) -> int | None:
        return None if text is None else parse_time(text, considered, end_of_day=end_of_day)

    known_at = None if filters.known_at is None else snapshot.last_commit_before(parse_wall_time(filters.known_at))
    return View(
        scope=filters.scope,
        source_id=chosen.source_id if chosen else None,
        as_of=moment(filters.as_of, end_of_day=True),
        from_ms=moment(filters.after, end_of_day=False),
        to_ms=moment(filters.before, end_of_day=True),
        known_at=known_at,
        kinds=filters.kinds,
        without=frozenset(filters.without),
        asked_at=moment(filters.asked_at, end_of_day=True),
    )


def _chosen(sources: list[SourceRow], name: str | None) -> SourceRow | None:
    if name is None:
        return None
    for source in sources:
        if name in (source.name, str(source.source_id)):
            return source
    known = ", ".join(source.name for source in sources) or "none"
    raise UsageError(f"There is no source {name} in this scope (there are: {known}); see amr status.")
