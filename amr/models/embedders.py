"""Texts to vectors, by the embedder that comes with the package or by a model over the wire."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from amr.errors import ProviderError
from amr.models import embedding
from amr.models.calls import Calls, Purpose, call_key
from amr.models.capabilities import Capabilities
from amr.models.chat import Usage
from amr.models.remote import Answer


class Embedder(Protocol):
    """Turns texts into rows of unit length. `name` is recorded in the memory; a row of zeros stands for no text."""

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Rows [n, dimensions], one for each text, in order."""
        ...


class EmbeddingModel(Protocol):
    """A model that gives vectors as they come, of at most `capabilities.max_texts` texts at once."""

    name: str
    capabilities: Capabilities

    def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Answer[NDArray[np.float32]]:
        """Rows [n, dimensions], one for each text, in order."""
        ...


class EmbeddedEmbedder:
    """The embedder that comes with the package."""

    name = embedding.EMBEDDER_NAME
    dimensions = embedding.DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Rows [n, 256]."""
        return embedding.embed(texts)


class RemoteEmbedder:
    """An embedding model over the wire, behind the call cache. Blank texts are not sent.

    `dimensions` is asked for where the model lets one choose; otherwise it must be what the model gives.
    """

    def __init__(self, remote: EmbeddingModel, calls: Calls, dimensions: int | None = None) -> None:
        known = dimensions or remote.capabilities.dimensions
        if not known:
            raise ProviderError(
                f"How many dimensions {remote.name} gives is not known; set embedding_dimensions in the config."
            )
        self.dimensions = known
        self.name = f"{remote.name}@{known}"
        self._remote = remote
        self._calls = calls

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Rows [n, dimensions]; one call for every `max_texts` texts. Raises as a chat call does."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        places = [place for place, text in enumerate(texts) if text.strip()]
        most = self._remote.capabilities.max_texts
        for first in range(0, len(places), most):
            batch = places[first : first + most]
            rows[batch] = _unit(self._rows([texts[place] for place in batch]))
        return rows

    def _rows(self, texts: list[str]) -> NDArray[np.float32]:
        purpose = Purpose("embed", "", "", self._remote.name)
        key = call_key(["embed", self._remote.name, self.dimensions, texts])
        content = self._calls.once(key, purpose, lambda: self._call(texts)).content
        rows = np.frombuffer(base64.b64decode(content["rows"]), "<f4")
        return rows.reshape(len(texts), self.dimensions).astype(np.float32)

    def _call(self, texts: list[str]) -> tuple[dict[str, Any], Usage, float]:
        answer = self._remote.embed(texts, self.dimensions)
        given = answer.value.shape[1]
        if given != self.dimensions:
            raise ProviderError(
                f"{self._remote.name} gives {given} dimensions, not {self.dimensions}; "
                f"set embedding_dimensions to {given} in the config."
            )
        rows = base64.b64encode(answer.value.astype("<f4").tobytes()).decode("ascii")
        return {"rows": rows}, answer.usage, answer.latency_ms


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    unit: NDArray[np.float64] = rows / np.maximum(norms, 1e-12)
    return unit.astype(np.float32)
