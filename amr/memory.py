"""Memory: the whole public API in one place. A memory is a directory; every method opens it and lets it go."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from amr.errors import BadInput, UsageError
from amr.records import Answer, Edge, Evidence, Node
from amr.store import database
from amr.store.rows import SourceRow, View

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.store.snapshot import Snapshot
    from amr.write.ingest import SourceReport

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
    cost_usd: float


@dataclass(frozen=True)
class Filters:
    """What a question may see: a scope, and optionally a source and times as the user wrote them."""

    scope: str = "default"
    source: str | None = None
    as_of: str | None = None
    known_at: str | None = None
    after: str | None = None
    before: str | None = None
    kinds: tuple[str, ...] = ("event", "turn", "fact")


@dataclass
class IngestReport:
    """What `ingest` did, source by source."""

    sources: list[SourceReport] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


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
        scope: str = "default",
        source: str | None = None,
        keep_pass: bool = False,
        follow: bool = False,
        notice: Callable[[str], None] = lambda text: None,
        progress: Callable[[str, int | None, int], None] = lambda name, total_ms, done_ms: None,
    ) -> IngestReport:
        """Writes a video, a folder of clips, a caption file or an events JSONL into the memory.

        What is already there is skipped, so the same command continues after any interruption. `notice` gets one
        sentence on what will be perceived; `progress` the source's name, its length in milliseconds if known, and
        how far it is. Raises BadInput, UsageError.
        """
        from amr.media.source import open_sources
        from amr.models.embedding import EMBEDDER_NAME
        from amr.perceive.perceiver import load_perceiver
        from amr.store.writer import writing
        from amr.write.ingest import ingest_source

        _check_scope(scope)
        started = time.monotonic()
        sources = open_sources(path, settings, captions=captions, name=source, follow=follow)
        perceiver = load_perceiver(settings)
        notice(perceiver.notice(any(s.has_captions for s in sources)))
        report = IngestReport(models={**perceiver.models, "embedder": EMBEDDER_NAME})
        with writing(self.directory, f"amr ingest {path}", EMBEDDER_NAME) as writer:
            for one in sources:
                name, total = one.name, one.duration_ms

                def advance(done_ms: int, name: str = name, total: int | None = total) -> None:
                    progress(name, total, done_ms)

                report.sources.append(ingest_source(writer, one, perceiver, settings, scope, keep_pass, advance))
        report.seconds = time.monotonic() - started
        return report

    def query(self, question: str, settings: Settings, filters: Filters = Filters(), k: int = 10) -> Answer:
        """The `k` pieces of evidence that bear most on a question, best first, as an answer without words.

        `found` says whether the best of it really bears on the question; what was looked at comes in any case.
        """
        from amr.retrieve.calibration import calibration
        from amr.retrieve.query import query
        from amr.retrieve.question import read_question

        started = time.monotonic()
        _prepare(question)
        with database.reading(self.directory, filters.scope) as snapshot:
            evidence = query(snapshot, self.directory, question, _view(snapshot, filters), settings, k)
            confidence = max((piece.relevance for piece in evidence), default=0.0)
            persons = frozenset(snapshot.handles(filters.scope, "person"))
        return Answer(
            question=question,
            answer="",
            found=confidence >= calibration().threshold,
            confidence=confidence,
            question_type=read_question(question, persons).question_type,
            as_of=filters.as_of,
            state=None,
            claims=[],
            evidence=evidence,
            seconds=time.monotonic() - started,
        )

    def ask(self, question: str, settings: Settings, filters: Filters = Filters(), k: int = 10) -> Answer:
        """Answers a question from the memory's evidence alone, or says that it is not there."""
        from amr.retrieve.ask import ask

        started = time.monotonic()
        _prepare(question)
        with database.reading(self.directory, filters.scope) as snapshot:
            answer = ask(snapshot, self.directory, question, _view(snapshot, filters), settings, k)
        answer.as_of = filters.as_of
        answer.seconds = time.monotonic() - started
        return answer

    def timeline(
        self, filters: Filters = Filters(), person: str | None = None, object: str | None = None
    ) -> list[Evidence]:
        """All visible events in time order, of a person or an object where one is named."""
        import numpy as np

        from amr.language.names import handle, normalise_object
        from amr.retrieve.evidence import evidence_of
        from amr.retrieve.question import WEARER

        with database.reading(self.directory) as snapshot:
            ids = snapshot.visible(_view(snapshot, filters))
            if person is not None:
                name = WEARER if person.lower() in _OWN_NAMES else handle(person)
                ids = np.intersect1d(ids, snapshot.mentioning(filters.scope, [name], "person"))
            if object is not None:
                name = handle(normalise_object(object))
                ids = np.intersect1d(ids, snapshot.mentioning(filters.scope, [name], "object"))
            nodes = sorted(snapshot.nodes(ids).values(), key=_when)
            return evidence_of(snapshot, self.directory, nodes)

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
                cost_usd=snapshot.cost(),
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


def _prepare(question: str) -> None:
    """Loads what any question needs before the memory is open, so that no writer waits for it."""
    import numpy.ma  # noqa: F401, used by DuckDB for every column

    from amr.models.embedding import embed
    from amr.retrieve.question import read_question

    embed([question])
    read_question(question, frozenset())


def _when(node: Node) -> tuple[int, int]:
    start = node.t_start_ms or 0
    return (start if node.time_ms is None else node.time_ms), node.node_id


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
    )


def _chosen(sources: list[SourceRow], name: str | None) -> SourceRow | None:
    if name is None:
        return None
    for source in sources:
        if name in (source.name, str(source.source_id)):
            return source
    known = ", ".join(source.name for source in sources) or "none"
    raise UsageError(f"There is no source {name} in this scope (there are: {known}); see amr status.")
