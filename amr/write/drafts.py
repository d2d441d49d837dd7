"""Clips to drafts: what was perceived, its event nodes without ids, their vectors. Any number of them at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from amr.media.frame import save_frame
from amr.models.chat import CallFailed, ReplyUnusable
from amr.models.embedders import Embedder
from amr.perceive.perception import Perceived
from amr.records import Clip, Frame, Node
from amr.write.events import ClipPlace, embedded_text, event_nodes

_T = TypeVar("_T")

Submit = Callable[[Callable[[], None]], object]
"""Has something done in another thread."""

FRAMES_PER_CLIP = 3
_FINISHED_AHEAD = 3
"""How many finished drafts for each one in flight may wait for an earlier clip; they hold no media any more."""


@dataclass
class Draft:
    """All that one clip adds to the memory but ids and edges.

    `error` says why the clip could not be read or perceived, and `raw` is what a model replied all the same.
    `vectors` [n, d] are None where they are to be made together with those of other clips.
    """

    clip: Clip
    place: ClipPlace
    perceived: Perceived | None = None
    nodes: list[Node] = field(default_factory=list)
    vectors: NDArray[np.float32] | None = None
    error: str | None = None
    raw: str | None = None


@dataclass(frozen=True)
class Drafter:
    """Makes drafts; `at_once` embeds each clip's events as soon as they are there."""

    perceive: Callable[[Clip], Perceived]
    embedder: Embedder
    directory: Path
    at_once: bool

    def draft(self, clip: Clip, place: ClipPlace) -> Draft:
        """The draft of a clip; depends on nothing but the clip and its place, and may run in any thread.

        Raises ProviderError when no other clip could be perceived either.
        """
        if clip.error is not None:
            return Draft(clip, place, error=clip.error)
        try:
            perceived = self.perceive(clip)
            nodes = event_nodes(place, perceived)
            vectors = None
            if self.at_once:
                texts = [embedded_text(node, bool(perceived.model)) for node in nodes]
                vectors = self.embedder.embed(texts) if texts else _NONE
        except CallFailed as error:
            raw = error.raw if isinstance(error, ReplyUnusable) else None
            _let_go(clip)
            return Draft(clip, place, error=str(error), raw=raw)
        _keep_frames(self.directory, clip, nodes)
        _let_go(clip)
        return Draft(clip, place, perceived, nodes, vectors)


_NONE = np.zeros((0, 0), np.float32)


def _let_go(clip: Clip) -> None:
    """Frees the media, so that drafts that wait for their turn take no room."""
    clip.frames, clip.audio = [], None


def drafted(
    clips: Iterator[Clip],
    draft: Callable[[Clip], _T],
    jobs: int,
    stop: threading.Event,
    foresee: Callable[[list[_T], Submit], None] | None = None,
) -> Iterator[_T]:
    """What `draft` makes of the clips, in their order, at most `jobs` at once; no clip is read before there is room.

    `foresee` is shown, before each draft is given, all that are ready to come next, and may have more done by the
    same threads. Raises what the first of them raises, and sets `stop` to have the others end soon.
    """
    if jobs == 1:
        yield from map(draft, clips)
        return
    waiting: deque[Future[_T]] = deque()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for clip in clips:
                waiting.append(pool.submit(draft, clip))
                while waiting and (waiting[0].done() or _is_full(waiting, jobs)):
                    if waiting[0].done() or len(waiting) > jobs * _FINISHED_AHEAD:
                        if foresee is not None:
                            foresee(_ready(waiting), pool.submit)
                        yield waiting.popleft().result()
                    else:
                        wait([one for one in waiting if not one.done()], return_when=FIRST_COMPLETED)
            while waiting:
                if foresee is not None:
                    foresee(_ready(waiting), pool.submit)
                yield waiting.popleft().result()
        except BaseException:
            stop.set()
            raise


def _ready(waiting: deque[Future[_T]]) -> list[_T]:
    """What is there already of the next clips, up to the first that is not."""
    ready = takewhile(lambda one: one.done() and one.exception() is None, waiting)
    return [one.result() for one in ready]


def _is_full(waiting: deque[Future[_T]], jobs: int) -> bool:
    return sum(not one.done() for one in waiting) >= jobs or len(waiting) > jobs * _FINISHED_AHEAD


def _keep_frames(directory: Path, clip: Clip, events: list[Node]) -> None:
    """Stores at most three frames of a clip, each the nearest to the middle of an event."""
    middles = [((node.t_start_ms or 0) + (node.t_end_ms or 0)) // 2 for node in events]
    chosen: dict[int, Frame] = {}
    for middle in middles if clip.frames else []:
        nearest = min(clip.frames, key=lambda frame: (abs(frame.time_ms - middle), frame.time_ms))
        chosen[nearest.time_ms] = nearest
    source_id = events[0].source_id if events else None
    for time_ms in _spread(sorted(chosen), FRAMES_PER_CLIP):
        save_frame(chosen[time_ms], directory / "frames" / str(source_id) / f"{clip.index}_{time_ms}.jpg")


def _spread(times: list[int], most: int) -> list[int]:
    """At most `most` of the times, evenly spread from the first to the last."""
    if len(times) <= most:
        return times
    return [times[round(i * (len(times) - 1) / (most - 1))] for i in range(most)]
