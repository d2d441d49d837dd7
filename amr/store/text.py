"""The text index of one scope: tantivy, a field of English stems and a field of CJK character bigrams.

The index holds every row of its scope, live or not, in id order, so that it ranks the same after a rebuild;
filters drop rows from the ranking, never change a score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tantivy

_HEAP_BYTES = 15_000_000
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_CJK_RUN = re.compile(f"[{_CJK}]+")


def text_directory(memory: Path, scope: str) -> Path:
    """Where the index of a scope lives; the scope's name is escaped to be one safe folder name."""
    # quote() leaves the dots, and the folder ".." is the memory itself.
    return memory / "text" / quote(scope, safe=" ").replace(".", "%2E")


def cjk_bigrams(text: str) -> list[str]:
    """Overlapping character pairs of each Chinese, Japanese or Korean run; a lone character stands for itself."""
    pairs: list[str] = []
    for run in _CJK_RUN.findall(text):
        pairs.extend(run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else pairs.append(run)
    return pairs


@lru_cache(maxsize=1)
def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=False, indexed=True, fast=True)
    builder.add_text_field("english", stored=False, tokenizer_name="en_stem", index_option="freq")
    builder.add_text_field("cjk", stored=False, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


@lru_cache(maxsize=1)
def _english_analyzer() -> tantivy.TextAnalyzer:
    """The steps of tantivy's own `en_stem` tokenizer, for queries."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(40))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


def english_stems(text: str) -> list[str]:
    """The stems under which `text` is indexed."""
    stems: list[str] = _english_analyzer().analyze(text)
    return stems


def terms_of(query: str) -> list[tuple[str, str]]:
    """The (field, term) pairs of a query, each once, in order. No user text reaches a query parser."""
    english = [("english", stem) for stem in english_stems(_CJK_RUN.sub(" ", query))]
    cjk = [("cjk", pair) for pair in cjk_bigrams(query)]
    return list(dict.fromkeys(english + cjk))


class TextWriter:
    """Adds rows to a scope's index; used by the memory's one writer only."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._index = tantivy.Index(_schema(), path=str(directory))
        self._writer = self._index.writer(_HEAP_BYTES, 1)

    def holds(self, node_id: int) -> bool:
        """Whether a row with this id is committed."""
        self._index.reload()
        query = tantivy.Query.term_query(_schema(), "id", node_id)
        return bool(self._index.searcher().search(query, 1, count=False).hits)

    def add(self, rows: Iterable[tuple[int, str]]) -> None:
        """Adds (node id, text) rows; they must come in id order."""
        for node_id, text in rows:
            self._writer.add_document(
                tantivy.Document(id=node_id, english=_CJK_RUN.sub(" ", text), cjk=" ".join(cjk_bigrams(text)))
            )

    def commit(self, through: int) -> None:
        """Makes the added rows durable and notes `through`, the last node id that the index holds."""
        self._writer.commit()
        note = self._directory / "indexed-through.new"
        note.write_text(str(through))
        note.replace(self._directory / "indexed-through")

    def close(self) -> None:
        """Waits for merges, so that no thread touches the files afterwards."""
        self._writer.wait_merging_threads()


def indexed_through(directory: Path) -> int | None:
    """The last node id that the index holds; None when there is no usable index."""
    try:
        noted = int((directory / "indexed-through").read_text())
        tantivy.Index.open(str(directory))
    except (OSError, ValueError):
        return None
    except BaseException as error:
        # Files cut short make tantivy's Rust panic, which reaches Python as no Exception.
        if type(error).__name__ != "PanicException":
            raise
        return None
    return noted


def search(directory: Path, query: str, k: int, keep: Callable[[list[int]], list[bool]]) -> list[tuple[int, float]]:
    """The best `k` rows that `keep` accepts as (node id, BM25 score), best first, ties by id.

    Fetches more until enough survive, so the filter never costs a good row. Raises OSError or ValueError when
    the index cannot be read.
    """
    terms = terms_of(query)
    if not terms or k < 1:
        return []
    index = tantivy.Index.open(str(directory))
    searcher = index.searcher()
    clauses: list[tuple[Any, Any]] = [
        (tantivy.Occur.Should, tantivy.Query.term_query(_schema(), field, term)) for field, term in terms
    ]
    parsed = tantivy.Query.boolean_query(clauses)
    depth = max(4 * k, 100)
    while True:
        hits = searcher.search(parsed, depth, count=False).hits
        rows = _accepted(searcher, hits, keep)
        if len(hits) < depth or (len(rows) >= k and rows[k - 1][1] > hits[-1][0]):
            return rows[:k]
        depth *= 4


def _accepted(
    searcher: tantivy.Searcher, hits: list[Any], keep: Callable[[list[int]], list[bool]]
) -> list[tuple[int, float]]:
    ids = [int(value or 0) for value in searcher.fast_field_values("id", [address for _, address in hits])]
    rows = [
        (node_id, round(float(score), 4))
        for node_id, (score, _), kept in zip(ids, hits, keep(ids), strict=True)
        if kept
    ]
    return sorted(rows, key=lambda row: (-row[1], row[0]))
