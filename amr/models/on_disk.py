"""Models of which only the replies on disk are used: whatever they would have to be asked anew is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amr.errors import ProviderError
from amr.models.embedders import Embedder, RemoteEmbedder
from amr.models.embedding import EMBEDDER_NAME
from amr.models.names import ModelName, parse_model_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amr.config import RoleSettings
    from amr.models.capabilities import Capabilities
    from amr.models.chat import ChatReply, ChatRequest
    from amr.models.open import Models
    from amr.models.remote import Answer


class NotOnDisk(ProviderError):
    """A reply is needed that was never given."""


class OnDisk:
    """A ChatModel and an EmbeddingModel that has no reply to give: it stands behind a call cache that has them all."""

    def __init__(self, name: ModelName, capabilities: Capabilities, role: RoleSettings | None = None) -> None:
        self.name = str(name)
        self.capabilities = capabilities

    def complete(self, request: ChatRequest) -> ChatReply:
        """Raises NotOnDisk."""
        raise self._refusal(request.role)

    def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Answer[NDArray[np.float32]]:
        """Raises NotOnDisk."""
        raise self._refusal("embed")

    def _refusal(self, role: str) -> NotOnDisk:
        return NotOnDisk(
            f"No model is called here, and the memory holds no reply of {self.name} to what it would be asked now"
            f" ({role}); give the --config of the ingest, or run amr ingest again to pay for what is missing."
        )


def embedder_on_disk(models: Models, written_by: str) -> Embedder:
    """The embedder that wrote a memory, by the name recorded there: in this process, or its replies alone."""
    if written_by == EMBEDDER_NAME:
        return models.embedder_named("embedded", None)
    full_name, _, dimensions = written_by.rpartition("@")
    name = parse_model_name(full_name)
    if not name.remote:
        return models.embedder_named(full_name, int(dimensions))
    return RemoteEmbedder(OnDisk(name, models.capabilities(name)), models.calls, int(dimensions))
