"""The embedder that comes with the package."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amr.models import embedding
from amr.models.embedding import DIMENSIONS, EMBEDDER_NAME, embed
from amr.resources import resource
from tests.support.data import ROOT

SENTENCES = [
    "Where is my phone?",
    "I put my phone on the kitchen table next to the mug.",
    "Caroline: I went to a support group yesterday and it was so powerful.",
    "我把手机放在桌子上",
    "Café, naïve – ‘quoted’ words…",
    "",
]


def _similarity(one: str, other: str) -> float:
    first, second = embed([one, other])
    return float(first @ second)


def test_its_name_and_dimensions_are_those_of_its_data() -> None:
    about = json.loads(resource("models/embedder/model.json").read_text(encoding="utf-8"))
    assert EMBEDDER_NAME.startswith(f"embedded:{about['name']}-v")
    assert about["dimensions"] == DIMENSIONS
    assert about["license"] == "Apache-2.0"
    assert embed(["phone"]).shape == (1, DIMENSIONS)


def test_a_change_of_its_rows_needs_another_name() -> None:
    """The sums are exact, so these bytes hold on every machine; if they change, raise the name's version."""
    assert EMBEDDER_NAME == "embedded:minilm-static-256-v1"
    assert hashlib.sha256(embed(SENTENCES).tobytes()).hexdigest().startswith("71ba4b8b70b5d328")


def test_its_data_fits_in_the_wheel() -> None:
    files = list(resource("models/embedder").iterdir())
    assert sum(file.stat().st_size for file in files) <= 16_000_000


def test_no_texts_give_no_rows() -> None:
    rows = embed([])
    assert rows.shape == (0, DIMENSIONS)
    assert rows.dtype == np.float32


@pytest.mark.parametrize("text", ["", "   \n", "?!…", "🙂", "\x00\x07"])
def test_a_text_without_a_known_token_is_a_zero_row(text: str) -> None:
    assert not embed([text]).any()


def test_punctuation_and_case_change_nothing() -> None:
    rows = embed(["where is my phone", "Where is my PHONE?"])
    assert rows[0].tobytes() == rows[1].tobytes()


def test_words_are_told_apart_in_non_english_text_too() -> None:
    assert _similarity("我把手机放在桌子上", "手机在哪里") > _similarity("我把手机放在桌子上", "今天下雨")


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("sofa", "couch", "motorway"),
        ("cell phone", "mobile telephone", "kitchen sink"),
        ("C picks up the knife", "C takes a knife from the drawer", "C opens the tap"),
        ("wash the dishes", "C cleans the plates in the sink", "C drives the car"),
        ("where is my phone?", "I put my phone on the kitchen table.", "I hang my coat on the hook."),
    ],
)
def test_like_meanings_are_nearer_than_unlike_ones(text: str, near: str, far: str) -> None:
    assert _similarity(text, near) > _similarity(text, far) + 0.1


@settings(deadline=None)
@given(st.lists(st.text(max_size=60) | st.sampled_from(SENTENCES), max_size=8))
def test_a_text_has_the_same_row_alone_and_in_any_batch(texts: list[str]) -> None:
    together = embed(texts)
    backwards = embed(texts[::-1])[::-1]
    alone = [embed([text])[0] for text in texts]
    assert together.tobytes() == backwards.tobytes() == b"".join(row.tobytes() for row in alone)


def test_rows_are_the_same_across_the_seams_of_large_batches() -> None:
    texts = [f"{SENTENCES[number % 6]} {number}" for number in range(9000)]
    rows = embed(texts)
    for number in (0, 4095, 4096, 8191, 8192, 8999):
        assert rows[number].tobytes() == embed([texts[number]])[0].tobytes()


@settings(deadline=None)
@given(st.text(max_size=200))
def test_a_row_has_unit_length_or_is_zero(text: str) -> None:
    norm = float(np.linalg.norm(embed([text])[0].astype(np.float64)))
    assert norm == 0 or abs(norm - 1) < 1e-6


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_ascii_is_split_as_the_tokenizer_splits_it(text: str) -> None:
    tokenizer = embedding._tokenizer()
    plain = tokenizer.normalizer.normalize_str(text)
    words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(plain)]
    expected = [token for word in words for token in embedding._word_tokens(word)]
    assert embedding._tokens(text) == expected


def test_a_very_long_text_is_embedded_whole() -> None:
    row = embed(["phone " * 50_000])[0]
    assert row.tobytes() == embed(["phone"])[0].tobytes()


def test_another_process_without_a_network_gives_the_same_bytes(tmp_path: object) -> None:
    program = (
        "import json, socket, sys\n"
        "def refuse(*_, **__): raise OSError('no network')\n"
        "socket.socket = socket.create_connection = refuse\n"
        "from amr.models.embedding import embed\n"
        "sys.stdout.buffer.write(embed(json.loads(sys.argv[1])).tobytes())\n"
        "assert not {'torch', 'model2vec', 'huggingface_hub'} & set(sys.modules)\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", program, json.dumps(SENTENCES)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stdout == embed(SENTENCES).tobytes()
