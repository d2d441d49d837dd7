"""The vectors of turns: sessions that many haystacks share are embedded once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from amr.models.embedders import Embedder, RemoteEmbedder

KEPT_BYTES = 128 << 20
Matrix = NDArray[np.float32]


class TurnVectors:
    """Collects the turns of sessions, and gives their vectors.

    A model over the wire gets one session at a time, `jobs` sessions at once: what it is asked is then the same
    whenever a command is begun again, so that no reply is paid for twice.
    """

    def __init__(self, embedder: Embedder, jobs: int) -> None:
        self._embedder = embedder
        self._jobs = jobs
        self._asked: list[tuple[bytes, list[int]]] = []
        self._texts: dict[bytes, list[str]] = {}
        self._kept: OrderedDict[bytes, Matrix] = OrderedDict()
        self._bytes = 0

    def add(self, ids: list[int], texts: list[str]) -> None:
        """Takes note of a session: the ids of its turns, and the words of each."""
        content = blake3("\0".join(texts).encode()).digest()
        self._asked.append((content, ids))
        if content in self._kept:
            self._kept.move_to_end(content)
        else:
            self._texts[content] = texts

    def take(self) -> list[tuple[int, str, Matrix]]:
        """The rows of `vectors` of all turns that were added since the last time."""
        asked, self._asked = self._asked, []
        texts, self._texts = self._texts, {}
        fresh = dict(zip(texts, self._embed(list(texts.values())), strict=True))
        rows = []
        for content, ids in asked:
            matrix = fresh[content] if content in fresh else self._kept[content]
            rows += [(node_id, "text", row) for node_id, row in zip(ids, matrix, strict=True)]
        self._keep(fresh)
        return rows

    def _embed(self, sessions: Sequence[list[str]]) -> list[Matrix]:
        if isinstance(self._embedder, RemoteEmbedder):
            with ThreadPoolExecutor(self._jobs) as pool:
                return list(pool.map(self._embedder.embed, sessions))
        # For the others a call costs as much as a hundred texts.
        flat = [text for texts in sessions for text in texts]
        matrix = self._embedder.embed(flat) if flat else np.zeros((0, 0), np.float32)
        ends = np.cumsum([len(texts) for texts in sessions]).tolist()
        return [matrix[end - len(texts) : end] for texts, end in zip(sessions, ends, strict=True)]

    def _keep(self, fresh: dict[bytes, Matrix]) -> None:
        for content, matrix in fresh.items():
            self._kept[content] = matrix
            self._bytes += matrix.nbytes
        while self._bytes > KEPT_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
