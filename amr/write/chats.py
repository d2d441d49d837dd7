"""Haystacks of chats → the memory: whole sessions, many haystacks in one commit.

A haystack is a source, known by its scope and name, and a session is a clip of it, known by its content: what is there
already is skipped. Sessions are numbered as they arrive; what links them is their order in time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from amr import interrupt
from amr.channels.temporal import NAME as TEMPORAL
from amr.errors import BadInput
from amr.language.names import handle
from amr.media.chats import Haystack, Session
from amr.media.key import name_key
from amr.records import Edge
from amr.store import database
from amr.store.hashing import edge_hash
from amr.store.haystacks import StoredHaystack, StoredSession
from amr.store.rows import Batch, ClipRow, PassRow, SourceRow
from amr.store.snapshot import wearer_key
from amr.store.writer import Writer
from amr.write.chat_facts import learn_facts
from amr.write.chat_nodes import SessionPlace, content_hash, session_rows
from amr.write.chat_vectors import TurnVectors
from amr.write.events import world_node
from amr.write.pipeline import SourceReport, Tools

DAY_MS = 86_400_000
PERCEIVER = "chat"
CHUNK_TURNS = 5_000
"""So many turns are looked up, embedded and committed together: whole sessions, of as many haystacks as it takes."""


_Place = tuple[str, str]
"""The scope and the key of a haystack."""


@dataclass
class _Target:
    """One haystack while it is written: what of it is there, and what this command adds."""

    stored: StoredHaystack
    report: SourceReport
    is_new: bool
    known: dict[str, str]
    """The content hashes of its sessions by their refs."""
    undated: int = 0
    is_whole: bool = True


@dataclass
class ChatReport:
    """What one command did with each haystack, in order of first appearance, and sentences on the file as a whole."""

    sources: list[SourceReport]
    warnings: list[str]


def ingest_chats(
    writer: Writer,
    haystacks: Iterable[Haystack],
    tools: Tools,
    path: Path,
    scope: str | None,
    name: str | None,
    wearer: Sequence[str],
    progress: Callable[[int], None],
) -> ChatReport:
    """Writes every session that the memory does not hold yet.

    A haystack goes into the scope of its own name, unless `scope` is given. `name` is that of the source instead of
    the haystack's; `wearer` are names under which the owner of the memory speaks. `progress` is told how many turns
    have been looked at. A Ctrl-C lets what is in flight finish. Where a model is named for facts, it is asked about
    each session when all are written. Raises BadInput when no haystack has a turn, ProviderError when that model
    cannot be called.
    """
    pipeline = _Pipeline(writer, tools, path, scope, name, wearer)
    seen = 0
    with interrupt.held(), pipeline:
        for part in _parts(haystacks):
            pipeline.take(part)
            seen += sum(len(session.turns) for one in part for session in one.sessions)
            progress(seen)
            if interrupt.asked():
                break
    interrupt.check()
    if not pipeline.reports:
        first = next(iter(pipeline.warnings), "it is empty")
        raise BadInput(f"{path} holds no session that can be read ({first.rstrip('.')}); correct the file.")
    report = ChatReport(list(pipeline.reports.values()), pipeline.warnings)
    if tools.settings.model_of("facts"):
        learn_facts(writer, tools, report.sources)
    return report


@dataclass(frozen=True)
class _Part:
    """Some sessions of a haystack; `is_last` when no others come after them."""

    haystack: Haystack
    sessions: Sequence[Session]
    is_last: bool


def _parts(haystacks: Iterable[Haystack]) -> Iterator[list[_Part]]:
    """The haystacks in groups of about CHUNK_TURNS turns; of a longer one, so many sessions at a time."""
    group: list[_Part] = []
    room = CHUNK_TURNS
    for haystack in haystacks:
        rest: Sequence[Session] = haystack.sessions
        if group and sum(len(session.turns) for session in rest) > room:
            yield group
            group, room = [], CHUNK_TURNS
        while True:
            count = _fitting(rest, room)
            room -= sum(len(session.turns) for session in rest[:count])
            group.append(_Part(haystack, rest[:count], count == len(rest)))
            rest = rest[count:]
            if rest or room <= 0:
                yield group
                group, room = [], CHUNK_TURNS
            if not rest:
                break
    if group:
        yield group


def _fitting(sessions: Sequence[Session], room: int) -> int:
    """How many of the sessions, at least one if there is one, have no more turns than there is room for."""
    count = 0
    for session in sessions:
        room -= len(session.turns)
        if room < 0 and count:
            break
        count += 1
    return count


class _Pipeline:
    """Groups of haystacks, one commit each; while one is committed, the rows of the next are made."""

    def __init__(
        self, writer: Writer, tools: Tools, path: Path, scope: str | None, name: str | None, wearer: Sequence[str]
    ) -> None:
        self._writer = writer
        self._tools = tools
        self._uri = str(path.absolute())
        self._scope, self._name, self._wearer = scope, name, wearer
        self._vectors = TurnVectors(tools.embedder, tools.settings.jobs)
        self.reports: dict[_Place, SourceReport] = {}
        self.warnings: list[str] = []
        self._scopes: dict[str, int] = {}
        self._wearers: dict[str, frozenset[str]] = {}
        self._latest: dict[_Place, _Target] = {}
        """What the group before was about, which may not be committed yet."""
        self._committer = ThreadPoolExecutor(1)
        self._coming: Future[int] | None = None

    def __enter__(self) -> _Pipeline:
        return self

    def __exit__(self, *error: object) -> None:
        """Waits for what is in flight. Raises what committing it raised."""
        with self._committer:
            self._wait()

    def _wait(self) -> None:
        coming, self._coming = self._coming, None
        if coming is not None:
            coming.result()

    def take(self, group: Sequence[_Part]) -> None:
        """Writes what is new of some haystacks, in one commit."""
        for part in group:
            if part.is_last:
                self._tell(part.haystack)
        group = [part for part in group if any(session.turns for session in part.sessions)]
        batch = Batch()
        opened = self._opened(group, batch)
        for part, target in zip(group, opened, strict=True):
            for session in part.sessions:
                self._add(target, session, batch)
            target.is_whole = part.is_last
        self._latest = {(one.stored.row.scope_id, one.stored.row.key): one for one in opened}
        for target in self._latest.values():
            self._link(target, batch)
            _finish(target, batch, self._uri)
        if not batch.clips:
            return
        batch.vectors = self._vectors.take()
        batch.calls += self._tools.models.calls.take_rows()
        self._wait()
        self._coming = self._committer.submit(self._writer.commit, batch)

    def _tell(self, haystack: Haystack) -> None:
        self.warnings += haystack.problems
        empty = [session.ref for session in haystack.sessions if not session.turns]
        if empty:
            self.warnings.append(f"{haystack.name}: {len(empty)} session(s) without a turn were left out ({empty[0]}).")
        elif not haystack.sessions and not haystack.problems:
            self.warnings.append(f"{haystack.name}: there is no session.")

    def _opened(self, group: Sequence[_Part], batch: Batch) -> list[_Target]:
        """Where each haystack is written; what is not there yet is added to the batch."""
        names = [part.haystack.name for part in group]
        places = [(self._scope or name, name_key("chat", self._name or name)) for name in names]
        unknown = sorted({place for place in places if place not in self._latest})
        scopes = sorted({scope for scope, _ in unknown} - self._wearers.keys())
        with database.reading(self._writer.directory) as snapshot:
            stored = snapshot.haystacks.stored(unknown)
            self._scopes |= snapshot.haystacks.scopes(scopes)
            settled = snapshot.haystacks.meta([wearer_key(scope) for scope in scopes])
        for scope in scopes:
            self._settle_wearer(scope, json.loads(settled.get(wearer_key(scope), "[]")), batch)
        found: dict[_Place, _Target] = {}
        for place, name in zip(places, names, strict=True):
            if place in self._latest:
                found.setdefault(place, replace(self._latest[place], is_new=False, undated=0))
            elif place not in found:
                found[place] = self._target(place, self._name or name, stored.get(place), batch)
        return [found[place] for place in places]

    def _settle_wearer(self, scope: str, known: list[str], batch: Batch) -> None:
        """Learns under which names the owner of a scope speaks, and keeps those that are new."""
        names = list(dict.fromkeys([*known, *self._wearer]))
        self._wearers[scope] = frozenset(handle(name) for name in names)
        if names != known:
            batch.meta[wearer_key(scope)] = json.dumps(names, ensure_ascii=False)

    def _target(self, place: _Place, name: str, stored: StoredHaystack | None, batch: Batch) -> _Target:
        is_new = stored is None
        if stored is None:
            stored = self._new(place, name, batch)
        report = self.reports.setdefault(place, SourceReport(stored.row.source_id, name, is_chat=True))
        known = dict(uri.rsplit("#", 1) for uri in stored.uris)
        return _Target(stored, report, is_new, known)

    def _new(self, place: _Place, name: str, batch: Batch) -> StoredHaystack:
        """A haystack that is not there yet; its rows are written with its first session."""
        writer, (scope, key) = self._writer, place
        row = SourceRow(writer.new_id("sources"), scope, key, "chat", name, self._uri, None, None, False)
        if scope not in self._scopes:
            node = world_node(writer.new_id("nodes"), "scope", scope, None, "", None)
            batch.nodes.append(node)
            self._scopes[scope] = node.node_id
        node = world_node(writer.new_id("nodes"), "source", scope, row.source_id, key, self._scopes[scope])
        batch.nodes.append(node)
        batch.sources.append(row)
        current = PassRow(writer.new_id("passes"), row.source_id, PERCEIVER, "", 0, "live")
        batch.passes.append(current)
        return StoredHaystack(row, current.pass_id, node.node_id, node.hash)

    def _add(self, target: _Target, session: Session, batch: Batch) -> None:
        """Adds a session to the batch, unless it is there."""
        digest, stored, report = content_hash(session), target.stored, target.report
        known = target.known.get(session.ref)
        if known is not None or not session.turns:
            report.clips_skipped += known is not None
            if known not in (None, digest):
                report.warnings.append(
                    f"{report.source}: session {session.ref} is there already with other words or another time;"
                    " what is there was left as it is."
                )
            return
        place = self._place(target, session)
        rows = session_rows(session, place, self._writer.new_id)
        target.known[session.ref] = digest
        stored.uris.append(f"{session.ref}#{digest}")
        stored.last_start_ms = place.start_ms
        node = rows.session
        stored.sessions.append(StoredSession(node.node_id, node.hash, place.clip, place.start_ms, node.learnt_at))
        # Without the names: who says something is known besides.
        self._vectors.add(rows.turns, [turn.words for turn in session.turns])
        batch.ready.take(rows.rows)
        clip = (stored.row.source_id, stored.pass_id, place.clip, place.start_ms, place.start_ms, stored.uris[-1])
        batch.clips.append(ClipRow(*clip, "done"))
        report.clips += 1
        report.turns += len(rows.turns)
        report.nodes += len(rows.rows.nodes)
        report.edges += len(rows.rows.edges)

    def _place(self, target: _Target, session: Session) -> SessionPlace:
        """Where a session belongs. One without a date has the time of the one before it."""
        stored, row = target.stored, target.stored.row
        if session.time_ms is None:
            target.undated += 1
            start_ms = stored.last_start_ms
        else:
            if row.origin_wall_ms is None:
                row.origin_wall_ms = session.time_ms // DAY_MS * DAY_MS
            start_ms = session.time_ms - row.origin_wall_ms
        return SessionPlace(
            scope_id=row.scope_id,
            source_id=row.source_id,
            source_key=row.key,
            pass_id=stored.pass_id,
            source_node=stored.node_id,
            source_hash=stored.node_hash,
            clip=len(stored.uris),
            start_ms=start_ms,
            wall_ms=None if row.origin_wall_ms is None else row.origin_wall_ms + start_ms,
            wearer=self._wearers[row.scope_id],
        )

    def _link(self, target: _Target, batch: Batch) -> None:
        """Has each session follow the one before it in time; an edge that skips a new one is retired."""
        stored = target.stored
        chain = sorted(stored.sessions, key=lambda session: session.place)
        wanted = {(a.node_id, b.node_id): (a, b) for a, b in pairwise(chain)}
        after = {session.node_id: session for session in chain}
        for pair in [pair for pair in stored.next_edges if pair not in wanted]:
            batch.retired_edges.append((stored.next_edges.pop(pair), after[pair[1]].learnt_at))
        for pair, (a, b) in wanted.items():
            if pair not in stored.next_edges:
                edge = self._next_edge(stored.row.scope_id, a, b)
                stored.next_edges[pair] = edge.edge_id
                batch.edges.append(edge)
                target.report.edges += 1

    def _next_edge(self, scope: str, a: StoredSession, b: StoredSession) -> Edge:
        payload = {"gap_ms": b.start_ms - a.start_ms}
        digest = edge_hash(TEMPORAL, a.hash, b.hash, payload)
        learnt_at = max(a.learnt_at, b.learnt_at)
        edge_id = self._writer.new_id("edges")
        return Edge(edge_id, scope, TEMPORAL, a.node_id, b.node_id, payload, digest, learnt_at=learnt_at)


def _finish(target: _Target, batch: Batch, uri: str) -> None:
    """Has the row of a haystack say how far it goes."""
    stored, row = target.stored, target.stored.row
    if target.undated:
        target.report.warnings.append(
            f"{target.report.source}: {target.undated} session(s) without a date have the time of the one before."
        )
    before = (row.uri, row.duration_ms, row.origin_wall_ms, row.complete)
    row.uri, row.complete = uri, target.is_whole
    row.duration_ms = max(session.start_ms for session in stored.sessions)
    if not target.is_new and before != (row.uri, row.duration_ms, row.origin_wall_ms, row.complete):
        batch.grown.append(row)
