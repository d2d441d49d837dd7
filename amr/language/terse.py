"""Telegraph style, "open drawer, put knife in sink": the articles it leaves out are put back before reading."""

from __future__ import annotations

from amr.language.lemmas import verb_forms, verbs, word_list
from amr.language.phrases import CONJUNCTIONS, PUNCTUATION, function_words, is_adverb, lists
from amr.language.tokens import Sentence

_FINITE = frozenset({"i", "we", "he", "she", "they", "you", "it's", "who"})


def told_in_full(sentence: Sentence) -> Sentence:
    """The sentence with "the" before its bare nouns if it is told in telegraph style; otherwise as it is.

    An added word takes no room: what is quoted from the sentence stays verbatim.
    """
    start = _opening(sentence.low)
    return _with_articles(sentence, start) if _is_terse(sentence, start) else sentence


def _opening(low: list[str]) -> int:
    """The first token that is not "and then", "now" or the like."""
    index = 0
    while index < len(low) and (low[index] in CONJUNCTIONS | PUNCTUATION or low[index] in ("then", "now", "still")):
        index += 1
    if index + 1 < len(low) and low[index] in ("continue", "keep", "start", "finish") and _tags(low[index + 1], "g"):
        return index + 1
    return index


def _tags(word: str, wanted: str) -> bool:
    return any(tag in tags for _, tags in verb_forms(word) for tag in wanted)


def _is_terse(sentence: Sentence, start: int) -> bool:
    low = sentence.low
    if start >= len(low) or low[start] in lists("auxiliaries", "directions", "adverbs", "question_words"):
        return False
    first = low[start]
    if not _tags(first, "bg") or _is_finite(low, start + 1):
        return False
    if sentence.words[start][:1].isupper() and first in verbs().often_nouns and first not in word_list("deeds"):
        return False  # "Light music." names something
    at = start + 1
    while _word(low, at) in lists("spatial", "particles", "adverbs"):
        at += 1
    return _is_bare(sentence, at)


def _word(low: list[str], index: int) -> str:
    return low[index] if index < len(low) else ""


def _is_finite(low: list[str], start: int) -> bool:
    """Whether some later word must be the verb of a subject."""
    return any(
        word in _FINITE or (word in word_list("auxiliaries") and word not in ("'s", "can")) or _only_past(word)
        for word in low[start:]
    )


def _only_past(word: str) -> bool:
    """Whether a word is a past and nothing else: "fell", but not "cut" or "sliced" of "sliced bread"."""
    forms = verb_forms(word)
    return bool(forms) and all(tags == "p" for _, tags in forms)


def _is_bare(sentence: Sentence, index: int) -> bool:
    """Whether a noun without an article may start at a token."""
    word = _word(sentence.low, index)
    if not word or word[0].isdigit() or is_adverb(word) or sentence.words[index][:1].isupper():
        return False
    return word not in function_words() or word == "can" or (word == "back" and _word(sentence.low, index + 1) == "of")


def _with_articles(sentence: Sentence, start: int) -> Sentence:
    words, low, spans = sentence.words[: start + 1], sentence.low[: start + 1], sentence.spans[: start + 1]
    wanted = True
    for index in range(start + 1, len(sentence.low)):
        word = sentence.low[index]
        if wanted and _is_bare(sentence, index) and not _opens_clause(sentence, index):
            words.append("the")
            low.append("the")
            spans.append((sentence.spans[index][0],) * 2)
            wanted = False
        else:
            wanted = _asks_for_noun(sentence, index)
        words.append(sentence.words[index])
        low.append(word)
        spans.append(sentence.spans[index])
    return Sentence(sentence.text, words, low, spans)


def _asks_for_noun(sentence: Sentence, index: int) -> bool:
    word = sentence.low[index]
    if word in lists("spatial", "particles", "other_prepositions", "adverbs") or word in CONJUNCTIONS | {","}:
        return True
    return _opens_clause(sentence, index)


def _opens_clause(sentence: Sentence, index: int) -> bool:
    """Whether the verb of another deed stands at a token: "wash knife and | dry hands"."""
    low = sentence.low
    if low[index - 1] not in CONJUNCTIONS | {",", ";", ".", "then", "to"} or not _tags(low[index], "b"):
        return False
    after = _word(low, index + 1)
    bases = [base for base, _ in verb_forms(low[index])]
    if not any(base in verbs().often_nouns for base in bases):
        return True
    if after in lists("spatial", "particles"):  # "and turn on the tap", but "and spoon in the rack"
        return any(after in verbs().separable.get(base, ()) for base in bases)
    stops = CONJUNCTIONS | PUNCTUATION | lists("auxiliaries", "other_prepositions")
    return bool(after) and after not in stops
