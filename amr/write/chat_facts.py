"""Facts of chats, by a model: what each session tells, as subject, predicate and object with the turns that say so.

A session is written without them first. Its facts are kept as its observation, so a session that has one is not asked
about again, and one whose call failed is asked about by the next command.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from amr import interrupt
from amr.language.names import handle
from amr.models.asking import RoleModel, role_model
from amr.models.chat import CallFailed
from amr.models.prompts import prompt_hash
from amr.models.structured import Structured
from amr.records import Edge, Mention, Node
from amr.store import database
from amr.store.hashing import edge_hash, node_hash
from amr.store.haystacks import ToldSession
from amr.store.rows import Batch, ObservationRow
from amr.store.writer import Writer
from amr.write.pipeline import SourceReport, Tools

DERIVED_FROM = "derived_from"
_AT_ONCE = 64
"""So many sessions are read and written together."""


class Fact(BaseModel):
    """A fact; `turns` are the numbers of the turns that say it."""

    subject: str
    predicate: str
    object: str
    turns: list[int]

    def text(self) -> str:
        """The fact as a sentence."""
        return " ".join(f"{self.subject} {self.predicate} {self.object}".split())


class Facts(BaseModel):
    """What a model is asked for."""

    facts: list[Fact]


@dataclass(frozen=True)
class _Learnt:
    """What a model said of a session, with a vector [n, d] for each fact; or why it said nothing that can be used."""

    session: ToldSession
    reply: Structured[Facts] | None
    vectors: NDArray[np.float32] | None = None
    error: str = ""


def learn_facts(writer: Writer, tools: Tools, reports: Sequence[SourceReport]) -> None:
    """Adds the facts of all sessions of these sources that have none yet; what fails is told in the reports.

    Raises ProviderError, with all facts before it written, when no further session can be asked about.
    """
    model = role_model(tools.models, "facts")
    by_source = {report.source_id: report for report in reports}
    with database.reading(writer.directory) as snapshot:
        waiting = snapshot.haystacks.without_observation(sorted(by_source))
    with interrupt.held(), ThreadPoolExecutor(tools.settings.jobs) as pool:
        for first in range(0, len(waiting), _AT_ONCE):
            with database.reading(writer.directory) as snapshot:
                sessions = snapshot.haystacks.told(waiting[first : first + _AT_ONCE])
            asked = [pool.submit(_learn, model, tools, session) for session in sessions]
            batch = Batch()
            try:
                for one in asked:
                    if interrupt.asked():
                        _cancel(asked)
                    if one.cancelled():
                        break
                    learnt = one.result()
                    _add(writer, model, learnt, batch, by_source[learnt.session.node.source_id or 0])
            except BaseException:
                tools.models.stop.set()
                raise
            finally:
                batch.calls += tools.models.calls.take_rows()
                if batch.observations:
                    writer.commit(batch)
            if interrupt.asked():
                break
    interrupt.check()


def _cancel(asked: Sequence[Future[_Learnt]]) -> None:
    """Calls off what is not under way."""
    for one in asked:
        one.cancel()


def _learn(model: RoleModel, tools: Tools, session: ToldSession) -> _Learnt:
    """Asks about one session. Raises ProviderError when no other could be asked about either."""
    parts = [turn.text.partition(": ") for turn in session.turns]
    try:
        reply = ask_facts(model, session.node.text, [(speaker, words) for speaker, _, words in parts])
        texts = [fact.text() for fact in _each_once(reply.value)]
        return _Learnt(session, reply, tools.embedder.embed(texts) if texts else None)
    except CallFailed as error:
        return _Learnt(session, None, error=str(error))


def ask_facts(model: RoleModel, date: str, turns: Sequence[tuple[str, str]]) -> Structured[Facts]:
    """What a session tells: its `turns` are (speaker, words), `date` is "" when it is unknown. Raises CallFailed."""
    shown = [{"id": number, "speaker": speaker, "text": words} for number, (speaker, words) in enumerate(turns, 1)]
    values = {"date": date or None, "turns": shown}
    return model.ask("facts", values, Facts, lambda facts: _nonsense(facts, len(turns)))


def _nonsense(facts: Facts, count: int) -> list[str]:
    """What makes a reply unusable, in words for the model."""
    wrong = []
    for number, fact in enumerate(facts.facts):
        wrong += [
            f"facts, {number}: {part} is empty"
            for part in ("subject", "predicate", "object")
            if not getattr(fact, part).strip()
        ]
        if not fact.turns:
            wrong.append(f"facts, {number}: turns is empty")
        wrong += [f"facts, {number}: there is no turn {turn}" for turn in fact.turns if not 1 <= turn <= count]
    return wrong


def _each_once(facts: Facts) -> list[Fact]:
    return list({fact.text(): fact for fact in reversed(facts.facts)}.values())[::-1]


def _add(writer: Writer, model: RoleModel, learnt: _Learnt, batch: Batch, report: SourceReport) -> None:
    """Adds what was learnt of a session to the batch, and to the report."""
    node, reply = learnt.session.node, learnt.reply
    if reply is None:
        report.facts_failed += 1
        report.warnings.append(f"{report.source}: session {node.payload['ref']} has no facts: {learnt.error}")
        return
    prompt = prompt_hash("facts_strict" if reply.salvages["reasked"] else "facts")
    cost = reply.usage.cost_usd or 0.0
    where = (node.source_id or 0, node.clip_first or 0, node.pass_id or 0)
    told = reply.value.model_dump_json()
    batch.observations.append(ObservationRow(*where, told, reply.raw, prompt, model.chat.name, cost))
    report.salvages += reply.salvages
    for number, fact in enumerate(_each_once(reply.value)):
        made = _node(writer.new_id("nodes"), fact, learnt.session)
        batch.nodes.append(made)
        batch.mentions += _mentions(made)
        batch.edges += _edges(writer, made, [learnt.session.turns[turn - 1] for turn in dict.fromkeys(fact.turns)])
        if learnt.vectors is not None:
            batch.vectors.append((made.node_id, "text", learnt.vectors[number]))
        report.facts += 1
        report.nodes += 1
    report.edges += sum(len(set(fact.turns)) for fact in _each_once(reply.value))


def _node(node_id: int, fact: Fact, session: ToldSession) -> Node:
    within = session.node
    persons = [name for name in map(handle, (fact.subject, fact.object)) if name in within.payload["persons"]]
    turns = [session.turns[turn - 1].hash for turn in dict.fromkeys(fact.turns)]
    triple = {part: getattr(fact, part).strip() for part in ("subject", "predicate", "object")}
    payload = {**triple, "persons": list(dict.fromkeys(persons)), "turns": turns}
    start, text = within.t_start_ms, fact.text()
    return Node(
        node_id=node_id,
        kind="fact",
        scope_id=within.scope_id,
        source_id=within.source_id,
        pass_id=within.pass_id,
        parent_id=within.node_id,
        clip_first=within.clip_first,
        clip_last=within.clip_last,
        t_start_ms=start,
        t_end_ms=start,
        time_ms=within.time_ms,
        text=text,
        payload=payload,
        hash=node_hash("fact", within.scope_id, session.source_key, start, start, text, payload),
        learnt_at=within.learnt_at,
    )


def _mentions(fact: Node) -> list[Mention]:
    return [
        Mention(fact.node_id, fact.scope_id, person, "person", fact.t_start_ms or 0, fact.learnt_at)
        for person in fact.payload["persons"]
    ]


def _edges(writer: Writer, fact: Node, turns: Sequence[Node]) -> list[Edge]:
    return [
        Edge(
            edge_id=writer.new_id("edges"),
            scope_id=fact.scope_id,
            channel=DERIVED_FROM,
            src=fact.node_id,
            dst=turn.node_id,
            payload={},
            hash=edge_hash(DERIVED_FROM, fact.hash, turn.hash, {}),
            learnt_at=fact.learnt_at,
        )
        for turn in turns
    ]
