"""The text index of one scope: tantivy, a field of English stems and a field of CJK character bigrams.

The index holds every row of its scope, live or not, in id order, so that it ranks the same after a rebuild;
filters drop rows from the ranking, never change a score.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import tantivy
from blake3 import blake3
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Keep = Callable[[Ids], Sequence[bool] | NDArray[np.bool_]]
"""Which of some ids a search may give."""

_WORDS = 256
"""Of so many words it is remembered which rows have them: questions share words."""
_TERMS = 4096
_K1 = 1.2
"""The constant of tantivy's BM25."""
_HEAP_BYTES = 15_000_000
_NOTE = "indexed-through"
_MEMORY = Path("/dev/shm")
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_CJK_RUN = re.compile(f"[{_CJK}]+")


def text_directory(memory: Path, scope: str) -> Path:
    """Where the index of a scope lives; the scope's name is escaped to be one safe folder name."""
    # quote() leaves the dots, and the folder ".." is the memory itself.
    return memory / "text" / quote(scope, safe=" ").replace(".", "%2E")


def cjk_bigrams(text: str) -> list[str]:
    """Overlapping character pairs of each Chinese, Japanese or Korean run; a lone character stands for itself."""
    if text.isascii():
        return []
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
            pairs = cjk_bigrams(text)
            english = _CJK_RUN.sub(" ", text) if pairs else text
            self._writer.add_document(tantivy.Document(id=node_id, english=english, cjk=" ".join(pairs)))

    def commit(self, through: int) -> None:
        """Makes the added rows durable and notes `through`, the last node id that the index holds."""
        self._writer.commit()
        note = self._directory / f"{_NOTE}.new"
        note.write_text(str(through))
        note.replace(self._directory / _NOTE)

    def close(self) -> None:
        """Waits for merges, so that no thread touches the files afterwards."""
        self._writer.wait_merging_threads()


def scratch_folder(memory: Path) -> Path | None:
    """Where indexes of a memory may be made before they go to their places: in the machine's memory, if that can be.

    It belongs to the memory's one writer, who clears it.
    """
    known_as = blake3(str(memory.absolute()).encode()).hexdigest()[:16]
    return _MEMORY / f"amr-text-{os.getuid()}-{known_as}" if os.access(_MEMORY, os.W_OK) else None


def build(directory: Path, rows: Sequence[tuple[int, str]], through: int, scratch: Path | None) -> None:
    """Makes a whole index beside the place of a new scope's, for `adopt` to put there; any number of them at once.

    tantivy waits for the disk a dozen times; in the `scratch` folder it does not, and the files are copied at the end.
    """
    beside = _beside(directory)
    shutil.rmtree(beside, ignore_errors=True)
    if scratch is not None:
        made = scratch / directory.name
        try:
            _write(made, rows, through)
        except (OSError, ValueError):  # there is no room: it is made on the disk
            shutil.rmtree(made, ignore_errors=True)
        else:
            shutil.copytree(made, beside, ignore=shutil.ignore_patterns("*.lock"), copy_function=_copy)
            shutil.rmtree(made, ignore_errors=True)
            return
    _write(beside, rows, through)


def _write(directory: Path, rows: Iterable[tuple[int, str]], through: int) -> None:
    writer = TextWriter(directory)
    writer.add(rows)
    writer.commit(through)
    writer.close()


def adopt(directory: Path) -> None:
    """Puts the index that `build` made in its place."""
    shutil.rmtree(directory, ignore_errors=True)
    _beside(directory).replace(directory)


def clear(memory: Path) -> None:
    """Removes the indexes that a writer which was killed had begun."""
    scratch = scratch_folder(memory)
    for left_over in [*(memory / "text").glob("*.new"), *([scratch] if scratch is not None else [])]:
        shutil.rmtree(left_over, ignore_errors=True)


def _beside(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.new")  # the name of a scope has no dot in it


def _copy(source: str, target: str) -> None:
    with Path(source).open("rb") as file, Path(target).open("wb") as out:
        shutil.copyfileobj(file, out, 1 << 20)
        out.flush()
        os.fsync(out.fileno())


def noted_through(directory: Path) -> int | None:
    """The last node id that the index says it holds; None when it says nothing."""
    try:
        return int((directory / _NOTE).read_text())
    except (OSError, ValueError):
        return None


def indexed_through(directory: Path) -> int | None:
    """The last node id that the index holds; None when there is no usable index."""
    noted = noted_through(directory)
    if noted is None:
        return None
    try:
        tantivy.Index.open(str(directory))
    except (OSError, ValueError):
        return None
    except BaseException as error:
        # Files cut short make tantivy's Rust panic, which reaches Python as no Exception.
        if type(error).__name__ != "PanicException":
            raise
        return None
    return noted


def search(directory: Path, query: str, k: int, keep: Keep) -> list[tuple[int, float]]:
    """As `Searcher.search`, on the index as it is now. Raises OSError or ValueError when it cannot be read."""
    return Searcher(directory).search(query, k, keep)


class Searcher:
    """An index as it was when this was made. Raises OSError or ValueError when it cannot be read."""

    def __init__(self, directory: Path) -> None:
        self._searcher = tantivy.Index.open(str(directory)).searcher()
        self._latest: dict[tuple[Any, ...], Ids] = {}
        self._last: tuple[list[tuple[str, str]], int, Ids, NDArray[np.float64]] | None = None
        self._having: dict[str, tuple[Ids, NDArray[np.float64]]] = {}

    def search(self, query: str, k: int, keep: Keep) -> list[tuple[int, float]]:
        """The best `k` rows that `keep` accepts as (node id, BM25 score), best first, ties by id.

        Fetches more until enough survive, so the filter never costs a good row.
        """
        terms = terms_of(query)
        if not terms or k < 1:
            return []
        depth = max(4 * k, 100)
        while True:
            depth, ids, scores = self._best(terms, depth)
            kept = np.asarray(keep(ids), np.bool_)
            if len(ids) < depth or (np.count_nonzero(kept) >= k and scores[kept][k - 1] > scores[-1]):
                found, worth = ids[kept], scores[kept]
                order = np.lexsort((found, -worth))[:k]
                return list(zip(found[order].tolist(), worth[order].tolist(), strict=True))
            depth *= 4

    def _best(self, terms: list[tuple[str, str]], depth: int) -> tuple[int, Ids, NDArray[np.float64]]:
        """The ids and the scores of the best rows, `depth` or more, and how many those are unless there are no more.

        Those of the last query are kept, which is often put again with another filter.
        """
        last = self._last
        if last is None or last[0] != terms or last[1] < depth:
            hits = self._searcher.search(_any_of(terms), depth, count=False).hits
            ids = self._searcher.fast_field_values("id", [address for _, address in hits])
            scores = np.asarray(np.round([score for score, _ in hits], 4), np.float64)
            last = self._last = (terms, depth, np.array(ids, np.int64), scores)
        return last[1:]

    def having(self, term: str) -> tuple[Ids, NDArray[np.float64]]:
        """The rows that have a stem or a CJK bigram: their ids ascending, and how far it fills them, from 0 to 1.

        That is the part of its BM25 score that grows with how often the row has it: tf / (tf + k1 (1 - b + b l / L)),
        with l the length of the row and L the mean length.
        """
        if term not in self._having:
            if len(self._having) >= _TERMS:
                self._having.clear()
            self._having[term] = self._read_having(term)
        return self._having[term]

    def _read_having(self, term: str) -> tuple[Ids, NDArray[np.float64]]:
        field = "cjk" if _CJK_RUN.match(term) else "english"
        rows = self._searcher.doc_freq(field, term)
        if not rows:
            return np.zeros(0, np.int64), np.zeros(0)
        hits = self._searcher.search(tantivy.Query.term_query(_schema(), field, term), rows, count=False).hits
        ids = np.array(self._searcher.fast_field_values("id", [address for _, address in hits]), np.int64)
        total = self._searcher.num_docs
        highest = (_K1 + 1) * np.log1p((total - rows + 0.5) / (rows + 0.5))
        order = np.argsort(ids)
        return ids[order], np.array([score for score, _ in hits], np.float64)[order] / highest

    def latest(self, query: str, through: int, k: int) -> Ids:
        """The last `k` rows up to the id `through` that share a word with the query, ascending."""
        terms = terms_of(query)
        if not terms or k < 1:
            return np.zeros(0, np.int64)
        key = (tuple(terms), through, k)
        if key not in self._latest:
            if len(self._latest) >= _WORDS:
                self._latest.clear()
            self._latest[key] = self._read_latest(terms, through, k)
        return self._latest[key]

    def _read_latest(self, terms: list[tuple[str, str]], through: int, k: int) -> Ids:
        upto = tantivy.Query.range_query(_schema(), "id", tantivy.FieldType.Integer, 0, through)
        both = [(tantivy.Occur.Must, _any_of(terms)), (tantivy.Occur.Must, upto)]
        hits = self._searcher.search(tantivy.Query.boolean_query(both), k, count=False, order_by_field="id").hits
        return np.array([node_id for node_id, _ in hits], np.int64)[::-1]


def _any_of(terms: list[tuple[str, str]]) -> tantivy.Query:
    clauses: list[tuple[Any, Any]] = [
        (tantivy.Occur.Should, tantivy.Query.term_query(_schema(), field, term)) for field, term in terms
    ]
    return tantivy.Query.boolean_query(clauses)
