"""Texts to vectors, here or over the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amr.errors import ProviderError
from amr.models import embedding
from amr.models.calls import Calls
from amr.models.capabilities import capabilities_of
from amr.models.embedders import EmbeddedEmbedder, RemoteEmbedder
from amr.models.names import ModelName
from amr.models.remote import Patience, Remote
from tests.support.model_server import ModelServer
from tests.support.model_server_faults import Fault

TEXTS = ["A girl puts the mug on the table.", "", "The mug is on the table.", "  ", "A car drives by."]
LARGE = "openai/text-embedding-3-large"


def _remote(server: ModelServer, model: str = LARGE, **changed: Any) -> Remote:
    name = ModelName("openrouter" if server.mode == "openrouter" else "server", server.base_url, model)
    capabilities = capabilities_of(name).model_copy(update=changed)
    patience = Patience(total_s=1, answer_s=1, first_wait_s=0.02)
    return Remote(name, capabilities, api_key="test-key", patience=patience)


def test_the_embedded_one_is_the_one_of_the_package() -> None:
    embedder = EmbeddedEmbedder()
    assert (embedder.name, embedder.dimensions) == (embedding.EMBEDDER_NAME, 256)
    assert np.array_equal(embedder.embed(TEXTS), embedding.embed(TEXTS))


def test_a_remote_one_gives_rows_of_unit_length_in_order_and_zeros_for_blank_texts(tmp_path: Path) -> None:
    with ModelServer() as server:
        rows = RemoteEmbedder(_remote(server), Calls(tmp_path, "ingest")).embed(TEXTS)
        (call,) = server.log.model_calls()
    assert rows.shape == (5, 3072) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0, 1], atol=1e-6)
    assert rows[0] @ rows[2] > rows[0] @ rows[4]
    assert call.status == 200


def test_texts_are_embedded_once_in_as_few_calls_as_the_model_allows(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(10)]
    with ModelServer() as server:
        rows = RemoteEmbedder(_remote(server, max_texts=4), Calls(tmp_path, "ingest")).embed(texts)
        calls = Calls(tmp_path, "ingest")
        again = RemoteEmbedder(_remote(server, max_texts=4), calls).embed(texts)
        whole = RemoteEmbedder(_remote(server), Calls(tmp_path, "ingest")).embed(texts)
        assert len(server.log.model_calls()) == 3 + 1
        paid = [row for row in calls.take_rows() if not row.cached]
        assert sum(row.cost_usd or 0 for row in paid) == pytest.approx(
            sum(call.cost_usd for call in server.log.model_calls()[:3])
        )
    assert rows.tobytes() == again.tobytes() == whole.tobytes()


def test_dimensions_are_a_setting_and_part_of_the_name(tmp_path: Path) -> None:
    with ModelServer() as server:
        embedder = RemoteEmbedder(_remote(server), Calls(tmp_path, "ingest"), dimensions=256)
        assert embedder.embed(TEXTS).shape == (5, 256)
        assert embedder.name == f"openrouter:{LARGE}@256"


def test_a_model_of_other_dimensions_is_an_error_that_names_the_setting(tmp_path: Path) -> None:
    with ModelServer(mode="local") as server:
        remote = _remote(server, "local-embedder")
        with pytest.raises(ProviderError, match=r"embedding_dimensions"):
            RemoteEmbedder(remote, Calls(tmp_path, "ingest"))
        with pytest.raises(ProviderError, match="gives 384 dimensions, not 100"):
            RemoteEmbedder(remote, Calls(tmp_path, "ingest"), 100).embed(TEXTS)
        assert RemoteEmbedder(remote, Calls(tmp_path, "ingest"), 384).embed(TEXTS).shape == (5, 384)


@pytest.mark.parametrize("kind", ["truncated", "empty", "500", "429", "cut_body"])
def test_a_fault_that_passes_is_not_noticed(kind: str, tmp_path: Path) -> None:
    with ModelServer(faults=[Fault(kind, seconds=0.02)]) as server:
        assert RemoteEmbedder(_remote(server), Calls(tmp_path, "ingest")).embed(TEXTS).any()
