"""The embedder that comes with the package: texts to vectors by summing word vectors, with no model to run.

The vectors are distilled from all-MiniLM-L6-v2 (`scripts/distill_embedder.py`). They are small integers, so a
text's sum is exact: its vector is the same alone, in any batch and on any machine. Nothing is ever downloaded.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.resources import resource

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EMBEDDER_NAME = "embedded:minilm-static-256-v1"
"""Recorded in every memory. A change of the vectors, or of what is done here, needs another name."""

DIMENSIONS = 256

_BATCH, _BLOCK = 4096, 32
_DATA = "models/embedder"

# What the tokenizer does to ASCII: whitespace and punctuation end a word, control characters vanish.
_SEPARATORS: dict[int, str | None] = dict.fromkeys([*range(32), 127])
_SEPARATORS.update({ord(character): " " for character in string.punctuation + " \t\n\r"})


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Rows of unit length [n, 256], one for each text, in order; zeros for a text with no known token."""
    rows = np.zeros((len(texts), DIMENSIONS), np.float32)
    for first in range(0, len(texts), _BATCH):
        batch = texts[first : first + _BATCH]
        rows[first : first + len(batch)] = _unit(_sums([_tokens(text) for text in batch]))
    return rows


def _tokens(text: str) -> list[int]:
    """The known tokens of a text. Words repeat, so each is cut into its tokens once and remembered."""
    return list(chain.from_iterable(map(_word_tokens, _words(text))))


def _words(text: str) -> Iterable[str]:
    """The lower-case words of a text, as the tokenizer splits it; for ASCII five times faster than it does."""
    if text.isascii():
        return text.translate(_SEPARATORS).lower().split()
    tokenizer = _tokenizer()
    plain = tokenizer.normalizer.normalize_str(text)
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(plain)]


@lru_cache(maxsize=1 << 16)
def _word_tokens(word: str) -> tuple[int, ...]:
    model = _tokenizer().model
    unknown = model.token_to_id("[UNK]")
    return tuple(token.id for token in model.tokenize(word) if token.id != unknown)


def _sums(texts: list[list[int]]) -> NDArray[np.int32]:
    """The sum of each text's word vectors [n, 256]; texts of one length are added up together."""
    vectors = _vectors()
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    tokens = np.fromiter(chain.from_iterable(texts), np.int64, int(lengths.sum()))
    starts = np.cumsum(lengths) - lengths
    sums = np.zeros((len(texts), DIMENSIONS), np.int32)
    for length in set(lengths.tolist()):
        alike = np.flatnonzero(lengths == length)
        total = np.zeros((len(alike), DIMENSIONS), np.int32)
        for place in range(length):
            total += vectors[tokens[starts[alike] + place]]
        sums[alike] = total
    return sums


def _unit(sums: NDArray[np.int32]) -> NDArray[np.float32]:
    norms = np.sqrt(np.square(sums, dtype=np.float64).sum(axis=1, keepdims=True))
    rows: NDArray[np.float64] = sums / np.maximum(norms, 1.0)
    return rows.astype(np.float32)


@lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(resource(f"{_DATA}/tokenizer.json")))


@lru_cache(maxsize=1)
def _vectors() -> NDArray[np.int8]:
    """The word vectors [tokens, 256]."""
    from safetensors import safe_open

    with safe_open(str(resource(f"{_DATA}/vectors.safetensors")), "numpy") as file:
        vectors: NDArray[np.int8] = file.get_tensor("vectors")
    return vectors


def words_near(words: Sequence[str], least: float, most: int) -> list[list[tuple[str, float]]]:
    """Of each lowercase word the known words nearest to it, with their cosines from `least` up, the nearest first.

    Only words of three ASCII letters or more that are one token; nothing is near a word that is not one token.
    """
    tokens = [_tokenizer().token_to_id(word) for word in words]
    if all(token is None for token in tokens):
        return [[] for _ in words]
    return [
        [] if token is None else _nearest(row, token, least, most)
        for token, row in zip(tokens, _cosines(embed(words)), strict=True)
    ]


def _cosines(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosines of rows [n, 256] of unit length with every token [n, tokens or some more]."""
    blocks, lengths = _floats()
    # BLAS keeps to one thread in so small a block: others, once woken, would busily wait ten times as long as it takes.
    products = (rows @ blocks.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(len(rows), -1)
    return np.asarray(np.round(products / lengths, 4))


def _nearest(cosines: NDArray[np.float32], token: int, least: float, most: int) -> list[tuple[str, float]]:
    near = np.flatnonzero(cosines >= least)
    found: list[tuple[str, float]] = []
    for row in near[np.lexsort((near, -cosines[near]))].tolist():
        word = _tokenizer().id_to_token(row)
        if word and row != token and len(word) > 2 and word.isascii() and word.isalpha():
            found.append((word, round(float(cosines[row]), 4)))
        if len(found) == most:
            break
    return found


def length_of(word: str) -> float:
    """The length of the longest vector of a word's tokens: the more a word tells, the longer; 0 when none is known."""
    tokens = list(_word_tokens(word))
    return float(np.sqrt(np.square(_vectors()[tokens], dtype=np.float64).sum(axis=1)).max()) if tokens else 0.0


@lru_cache(maxsize=1)
def _floats() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The word vectors in blocks [blocks, 32, 256], the last filled up with zeros, and their lengths [tokens]."""
    vectors = _vectors()
    blocks = np.zeros((-(-len(vectors) // _BLOCK) * _BLOCK, DIMENSIONS), np.float32)
    blocks[: len(vectors)] = vectors
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", blocks, blocks)), 1.0)
    return blocks.reshape(-1, _BLOCK, DIMENSIONS), lengths
