"""The estimate of `amr ingest --dry-run`: every clip is read and every request is built, but none is sent."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from amr.config import RoleSettings, Settings
from amr.media.source import Source
from amr.models.calls import Calls
from amr.models.capabilities import Capabilities
from amr.models.chat import ChatModel
from amr.models.embedders import Embedder
from amr.models.names import ModelName, parse_model_name
from amr.models.open import Models
from amr.models.rehearsal import Counted, StandIn, StandInSpeech, Tally, stand_in_embedder
from amr.perceive.describe import Part
from amr.perceive.perceiver import Perceiver, load_perceiver
from amr.records import Clip
from amr.write.drafts import drafted
from amr.write.events import ClipPlace, embedded_text, event_nodes
from amr.write.merging import Summarise, merging, summariser
from amr.write.target import clips_done


@dataclass
class Estimate:
    """What an ingest would call. `clips` are those still to do; `most_usd` is None where a price is not known.

    Without merging the number of calls is exact where every clip has an event and a described person, and no two
    clips the same persons; otherwise it is an upper bound. With merging it is one as long as no clip has more than an
    event a second.
    """

    clips: int
    merging: bool
    rows: list[Counted]

    @property
    def calls(self) -> int:
        """All calls together."""
        return sum(row.calls for row in self.rows)

    @property
    def input_tokens(self) -> int:
        """All input tokens together."""
        return sum(row.input_tokens for row in self.rows)

    @property
    def most_usd(self) -> float | None:
        """The most that all calls together can cost."""
        known = [row.most_usd for row in self.rows if row.most_usd is not None]
        return sum(known) if len(known) == len(self.rows) else None


def rehearse(directory: Path, sources: Sequence[Source], settings: Settings, scope: str) -> Estimate:
    """What writing the sources into the memory would call; the memory is left as it is, or is not made."""
    tally = Tally(Calls(directory / "calls", ""))
    with tempfile.TemporaryDirectory() as folder:
        models = Models(settings, Calls(Path(folder), ""))

        def stand_in(name: ModelName, capabilities: Capabilities, role: RoleSettings) -> ChatModel:
            return StandIn(name, models.with_listed_prices(name, capabilities, role.api_key), tally)

        models.opener = stand_in
        models.speech_opener = partial(StandInSpeech, tally=tally)
        perceiver = load_perceiver(settings, models)
        name = parse_model_name(settings.embedder)
        prices = models.with_listed_prices(name, models.capabilities(name), settings.embedder_api_key)
        embedder = stand_in_embedder(settings.embedder, prices, tally)
        rehearsal = _Rehearsal(perceiver, embedder, summariser(settings, models))
        clips = 0
        for source in sources:
            merged = merging(settings, source.kind)
            todo = source.clips(clips_done(directory, source, perceiver, settings, scope, merged))
            made = drafted(todo, partial(rehearsal.clip, merged=merged), settings.jobs, models.stop)
            clips += sum(1 for _ in made)
    merges = any(merging(settings, source.kind) for source in sources)
    return Estimate(clips, merges, [tally.counts[key] for key in sorted(tally.counts)])


@dataclass(frozen=True)
class _Rehearsal:
    perceiver: Perceiver
    embedder: Embedder
    summarise: Summarise

    def clip(self, clip: Clip, merged: bool) -> None:
        """Makes all calls for one clip that there can be; merged away, each event takes a summary and its vector.

        What a model will report is not known, so for merging a clip has as many events as it has seconds.
        """
        if clip.error is not None:
            return
        perceived = self.perceiver.perceive(clip)
        place = ClipPlace("", 0, "", 0, 0, clip.index, clip.start_ms, clip.end_ms, None)
        nodes = event_nodes(place, perceived)
        texts = [embedded_text(node, bool(perceived.model)) for node in nodes]
        if texts:
            self.embedder.embed(texts)
        most = max(len(nodes), math.ceil((clip.end_ms - clip.start_ms) / 1000)) if merged and nodes else 0
        for number in range(most):
            node, text = nodes[number % len(nodes)], texts[number % len(nodes)]
            other = f"{node.text} ({clip.index}.{number})"  # no two events alike, which would be one call
            one = Part(other, node.payload["dialogue"], node.payload["actions"])
            self.summarise([one, one])
            self.embedder.embed([text])
