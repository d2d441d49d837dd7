"""How clauses begin: with a subject, with a verb of its own, or with somebody spoken to."""

from __future__ import annotations

from amr.language.groups import BE, HAVE
from amr.language.lemmas import verb_forms, verb_list, verbs, word_list
from amr.language.phrases import CONJUNCTIONS, PUNCTUATION, Nouns, Phrase, is_adverb, lists

_OBJECT_FORMS = frozenset({"me", "him", "them", "us"})


def find_subject(nouns: Nouns, index: int) -> tuple[list[Phrase], int] | None:
    """The subject that starts at a token and where its verb group starts, or None."""
    phrases = _joined(nouns, index)
    if not phrases or (phrases[0].kind == "pronoun" and phrases[0].head in _OBJECT_FORMS):
        return None
    end = phrases[-1].end
    for _ in range(3):
        if _is_finite(nouns, nouns.skip_adverbs(end), phrases):
            return phrases, end
        if phrases[-1].kind in ("person", "thing") and nouns.is_gerund(end):  # "a man wearing a hat is …"
            worn = nouns.at(end + 1)
            known = worn is not None and _is_finite(nouns, nouns.skip_adverbs(worn.end), phrases)
            return (phrases, worn.end) if worn is not None and known else None
        if nouns.word(end) not in lists("spatial", "other_prepositions") or nouns.word(end) in ("up", "down"):
            return None
        inner = nouns.at(end + 1, "subject")  # "everyone at the table was …"
        if inner is None:
            return None
        end = inner.end
    return None


def follows_as_verb(nouns: Nouns, index: int, phrase: Phrase) -> bool:
    """Whether a verb that can follow this subject stands at a token, adverbs aside."""
    return _is_finite(nouns, nouns.skip_adverbs(index), [phrase])


def _joined(nouns: Nouns, index: int) -> list[Phrase]:
    """Subject phrases joined by "and" or commas from a token on."""
    first = nouns.at(index, "subject")
    if first is None:
        return []
    phrases = [first]
    while nouns.word(phrases[-1].end) in ("and", "or", "&", ","):
        comma = nouns.word(phrases[-1].end) == ","
        after = phrases[-1].end + 1
        if nouns.word(after) == "and":
            after += 1
        following = nouns.at(after, "subject")
        if following is None or verb_forms(nouns.word(after)):
            break
        names = following.kind == first.kind == "name" and nouns.word(following.end) in (",", "and")
        if comma and not names:
            break
        phrases.append(following)
    return phrases


def _is_finite(nouns: Nouns, index: int, phrases: list[Phrase]) -> bool:
    word, after = nouns.word(index), nouns.word(index + 1)
    if not word or word in word_list("negations"):
        return False
    if word in word_list("auxiliaries"):
        return word != "'s" or not nouns.is_possessive(index)
    tags = nouns.tags(index)
    if "p" in tags or word in HAVE:
        return word != "left" or nouns.is_argument(index + 1) or _ends(after) or is_adverb(after)
    if "s" in tags:
        noun = any(base in verbs().often_nouns for base, found in verb_forms(word) if "s" in found)
        return not noun or not (_ends(after) or nouns.is_noun(index + 1))
    return "b" in tags and (len(phrases) > 1 or nouns.is_plural(phrases[0]))


def _ends(word: str) -> bool:
    return not word or word in PUNCTUATION or word in CONJUNCTIONS


def is_verb_first(nouns: Nouns, index: int, opening: bool) -> bool:
    """Whether a word that may be a noun as well is the verb that opens a clause.

    `opening` says that it opens the sentence, where a lone noun is likelier.
    """
    word, after, tags = nouns.word(index), nouns.word(index + 1), nouns.tags(index)
    if word in lists("auxiliaries", "spatial") or is_adverb(word) or after in ("of", "'s"):
        return False
    if word in ("left", "right") and not nouns.is_argument(index + 1):
        return False
    if after in BE and word not in ("put", "let"):
        return False
    argument = nouns.is_argument(index + 1) or after in lists("directions", "particles")
    if "b" in tags:
        return argument or _is_bare_deed(nouns, index, opening)
    if "p" in tags:
        return argument or "n" not in tags or word == "got" or not nouns.is_noun(index + 1)
    return "s" in tags and argument and verb_forms(word)[0][0] not in verb_list("linking")


def _is_bare_deed(nouns: Nouns, index: int, opening: bool) -> bool:
    word, after = nouns.word(index), nouns.word(index + 1)
    bases = [base for base, _ in verb_forms(word)]
    if any(after in verbs().selected.get(base, ()) for base in bases):
        return True
    if not any(base in verbs().often_nouns for base in bases):
        return True
    return (_ends(after) or after in word_list("spatial") or is_adverb(after)) and (
        not opening or word in word_list("deeds")
    )


def tells_deed(nouns: Nouns, index: int, opening: bool) -> bool:
    """ "Turn left": a verb with a direction or object after it, though it may be a noun."""
    phrase = nouns.at(index, "subject")
    bare = phrase is not None and phrase.kind == "thing" and not phrase.determined
    return bare and "b" in nouns.tags(index) and is_verb_first(nouns, index, opening)


def is_call(nouns: Nouns, index: int) -> bool:
    """ "Lucia, open it": somebody is told to do something."""
    phrase = nouns.at(index)
    if phrase is None or phrase.kind != "name" or nouns.word(phrase.end) != ",":
        return False
    after = nouns.skip_adverbs(phrase.end + 1)
    told = "b" in nouns.tags(after) and nouns.word(after) not in word_list("auxiliaries")
    return told and find_subject(nouns, after) is None


def skip_opening(nouns: Nouns, index: int) -> int:
    """The first token that is not "and then", "um" or the like."""
    while index < nouns.count:
        word = nouns.word(index)
        if word in ("right", "well", "first"):  # "right, …" but "right hand"
            skip = not nouns.is_noun(index + 1)
        elif word in ("left", "like", "once", "since", "before"):
            skip = False
        else:
            skip = word in PUNCTUATION or word in CONJUNCTIONS or is_adverb(word)
            skip = skip or word in word_list("interjections")
        if not skip:
            return index
        index += 1
    return index


def opens_with_verb(nouns: Nouns) -> bool:
    """Whether a sentence starts with a verb rather than with whose deed it is."""
    start = skip_opening(nouns, 0)
    word = nouns.word(start)
    if word == "let":
        return nouns.word(start + 1) == "me"
    if not word or word in lists("subordinators", "conditional") or is_call(nouns, start):
        return False
    if word in word_list("auxiliaries") and word != "have":
        return False
    if nouns.is_gerund(start):
        return True
    if find_subject(nouns, start) is not None and not tells_deed(nouns, start, True):
        return False
    return bool(nouns.tags(start)) and "g" not in nouns.tags(start) and is_verb_first(nouns, start, True)
