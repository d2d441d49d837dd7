"""Scores of an answer that need no model: token F1, a letter among choices, the order of a list."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_LEADING_LETTER = re.compile(r"^[\W_]*(?:(?:option|choice|letter)\s+)?\(?([A-Z])(?:[\W_]+|$)", re.IGNORECASE)


def token_f1(answer: str, gold: str) -> float:
    """F1 over the stems of the words of two texts, as LoCoMo's `f1_score` has it, 0 to 1.

    Lower case, without punctuation and "a", "an", "the", "and". The stems are Snowball's for English, which differ
    from the Porter stems of LoCoMo's own code in few words.
    """
    said, wanted = _stems(answer), _stems(gold)
    same = sum((Counter(said) & Counter(wanted)).values())
    if not same:
        return 0.0
    precision, recall = same / len(said), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def many_answers_f1(answer: str, gold: str) -> float:
    """The same where the gold is several answers between commas: the mean over them of the best part of the answer."""
    parts, golds = _parts(answer), _parts(gold)
    return sum(max(token_f1(part, one) for part in parts) for one in golds) / len(golds)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _stems(text: str) -> list[str]:
    plain = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))
    return list(_stemmer().analyze(plain))


@lru_cache(maxsize=1)
def _stemmer() -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer("english")).build()


def letter_of(answer: str, choices: Mapping[str, str]) -> str:
    """Which of the choices, by letter, an answer names; empty when it names none.

    An answer names one by its letter ("B", "(b)", "B. the red cup") or by the whole of its words. A sentence that only
    begins with a letter, as "A cup" does, names none.
    """
    plain = _bare(answer)
    for letter, words in choices.items():
        if plain == _bare(words):
            return letter
    found = _LEADING_LETTER.match(answer.strip())
    if found is None or found[1].upper() not in choices:
        return ""
    rest, letter = _bare(answer.strip()[found.end() :]), found[1].upper()
    marked = not rest or answer.strip()[found.end(1) :][:1] in ".):,"
    return letter if marked or rest == _bare(choices[letter]) else ""


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def order_scores(references: Sequence[str], said: Sequence[str]) -> tuple[float, float]:
    """How well a list keeps to the order of the reference, and its F1, as BEAM has them: both 0 to 1.

    `said` has the reference itself in place of each line that means it, and any other line as it is. The order is
    Kendall's tau-b over the ranks of all lines of both, those that one of the two lacks tied behind its last, as
    (tau + 1) / 2; 0 where tau is not defined.
    """
    known = set(references)
    right = len(known & set(said))
    wrong = sum(line not in known for line in said)
    missing = sum(line not in set(said) for line in references)
    precision = right / (right + wrong) if right + wrong else 0.0
    recall = right / (right + missing) if right + missing else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    both = list(dict.fromkeys([*references, *said]))
    tau = _tau_b(_ranks(references, both), _ranks(said, both))
    return (0.0 if tau is None else (tau + 1) / 2), f1


def _ranks(lines: Sequence[str], both: Sequence[str]) -> list[int]:
    places = {line: place for place, line in enumerate(lines, start=1)}
    return [places.get(line, len(both) + 1) for line in both]


def _tau_b(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Kendall's tau-b; None where all of one side are tied."""
    balance = untied_first = untied_second = 0
    for i in range(len(first)):
        for j in range(i):
            a, b = _sign(first[i] - first[j]), _sign(second[i] - second[j])
            balance += a * b
            untied_first += a != 0
            untied_second += b != 0
    if not untied_first or not untied_second:
        return None
    return balance / math.sqrt(untied_first * untied_second)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
