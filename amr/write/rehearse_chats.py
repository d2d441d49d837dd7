"""The estimate of `amr ingest --dry-run` for chats: every session is read and every request built, none is sent."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from amr.config import RoleSettings, Settings
from amr.media.chats import Haystack
from amr.media.key import name_key
from amr.models.asking import role_model
from amr.models.calls import Calls
from amr.models.capabilities import Capabilities
from amr.models.chat import ChatModel
from amr.models.names import ModelName, parse_model_name
from amr.models.open import Models
from amr.models.rehearsal import StandIn, Tally, stand_in_embedder
from amr.store import database
from amr.write.chat_facts import ask_facts
from amr.write.chat_nodes import session_date
from amr.write.rehearse import Estimate


def rehearse_chats(
    directory: Path, haystacks: Iterable[Haystack], settings: Settings, scope: str | None, name: str | None
) -> Estimate:
    """What writing the haystacks into the memory would call; the memory is left as it is, or is not made.

    Exact for what is said; each session is taken to tell one fact.
    """
    tally = Tally(Calls(directory / "calls", ""))
    with tempfile.TemporaryDirectory() as folder:
        models = Models(settings, Calls(Path(folder), ""))
        models.opener = partial(_stand_in, models, tally)
        known_as = parse_model_name(settings.embedder)
        prices = models.with_listed_prices(known_as, models.capabilities(known_as), settings.embedder_api_key)
        embedder = stand_in_embedder(settings.embedder, prices, tally)
        facts = role_model(models, "facts") if settings.model_of("facts") else None
        sessions = 0
        embedded: set[tuple[str, ...]] = set()
        for haystack in haystacks:
            written, told = _there(directory, scope or haystack.name, name_key("chat", name or haystack.name))
            for session in haystack.sessions:
                texts = tuple(turn.words for turn in session.turns)
                if session.ref not in written and texts:
                    sessions += 1
                    if texts not in embedded:
                        embedder.embed(texts)
                        embedded.add(texts)
                if facts is not None and session.ref not in told and texts:
                    spoken = [(turn.speaker, words) for turn, words in zip(session.turns, texts, strict=True)]
                    reply = ask_facts(facts, session_date(session.time_ms), spoken)
                    embedder.embed([fact.text() for fact in reply.value.facts])
    return Estimate(sessions, False, [tally.counts[key] for key in sorted(tally.counts)])


def _stand_in(
    models: Models, tally: Tally, name: ModelName, capabilities: Capabilities, role: RoleSettings
) -> ChatModel:
    return StandIn(name, models.with_listed_prices(name, capabilities, role.api_key), tally)


def _there(directory: Path, scope: str, key: str) -> tuple[set[str], set[str]]:
    """The refs of the sessions of a haystack that are written, and of those whose facts are told."""
    if not database.database_file(directory).exists():
        return set(), set()
    with database.reading(directory) as snapshot:
        stored = snapshot.haystacks.stored([(scope, key)]).get((scope, key))
        if stored is None:
            return set(), set()
        source_id = stored.row.source_id
        untold = {clip for _, clip in snapshot.haystacks.without_observation([source_id])}
    refs = [uri.rpartition("#")[0] for uri in stored.uris]
    return set(refs), {ref for clip, ref in enumerate(refs) if clip not in untold}
