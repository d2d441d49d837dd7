"""Verb groups: "was about to pick", "have been holding", "tried to open" → the verb that matters and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amr.language.lemmas import verb_forms, verb_list, verbs, word_list
from amr.language.phrases import Nouns, is_adverb, lists

BE = frozenset({"am", "is", "are", "was", "were", "be", "been", "being", "'m", "'re"})
HAVE = frozenset({"have", "has", "had", "'ve", "having"})
_WILL = frozenset({"will", "'ll", "shall", "wo"})
_MODAL = frozenset({"would", "should", "may", "might", "must", "ca", "can", "could", "'d"})


@dataclass(frozen=True)
class Group:
    """A verb group: its main verb, the token after it, the forms that its own token may be, and what it implies.

    `certain` is false for what is only meant, `denied` true for what is not done, `wish` says why.
    """

    verb: str
    end: int
    tags: str
    certain: bool = True
    denied: bool = False
    passive: bool = False
    copula: bool = False
    wish: bool = False


def read_group(nouns: Nouns, index: int) -> Group | None:
    """The verb group that starts at a token: helpers, then the main verb; None if no verb follows."""
    certain, denied, wish, be, perfect = True, False, False, False, False
    while index < nouns.count:
        word, after = nouns.word(index), nouns.skip_adverbs(index + 1)
        if word in word_list("negations"):
            denied = True
        elif word in word_list("hedges") and word != "might":
            certain = False
        elif _is_be(nouns, index):
            be = True
            if nouns.word(after) in ("going", "about", "ready", "gonna") and _to_verb(nouns, after + 1):
                certain, be, index = False, False, after + 1
        elif _getting_ready(nouns, index):
            certain, index = False, _getting_ready(nouns, index)
        elif word in HAVE and (is_participle(nouns, after) or nouns.word(after) in ("been", "n't", "not", "never")):
            perfect = True
        elif (word in HAVE and nouns.word(after) == "to") or (word in _MODAL and not _can_perceive(nouns, index)):
            denied = wish = True
        elif word in _WILL:
            certain = False
        elif not _is_helper(nouns, index, after):
            break
        index += 1
    group = _main(nouns, index, be, perfect)
    if group is None:
        return None
    return replace(group, certain=group.certain and certain, denied=group.denied or denied, wish=group.wish or wish)


def _is_be(nouns: Nouns, index: int) -> bool:
    word = nouns.word(index)
    return word in BE or (word == "'s" and not nouns.is_possessive(index))


def _is_helper(nouns: Nouns, index: int, after: int) -> bool:
    """Whether a token before the main verb changes nothing: "do", "can" of seeing, adverbs."""
    word = nouns.word(index)
    if word in ("do", "does", "did"):
        return nouns.word(after) in word_list("negations") or nouns.is_base(after)
    return word in _MODAL or is_adverb(word) or word in ("both", "all", "each", "to")


def _to_verb(nouns: Nouns, index: int) -> bool:
    return nouns.word(index) == "to" and nouns.is_base(nouns.skip_adverbs(index + 1))


def _getting_ready(nouns: Nouns, index: int) -> int:
    """The token before the verb of "getting ready to go" or "going to go", or 0."""
    word, at = nouns.word(index), index + 1
    if word not in ("going", "getting", "about", "ready", "get", "got"):
        return 0
    if nouns.word(at) in ("ready", "prepared", "set"):
        at += 1
    elif word not in ("going", "about", "ready"):
        return 0
    return at if nouns.word(at) == "to" and nouns.is_base(at + 1) else 0


def _can_perceive(nouns: Nouns, index: int) -> bool:
    """ "I can see it" says that it is seen."""
    after = nouns.word(nouns.skip_adverbs(index + 1))
    seen = any(base in ("see", "hear", "feel", "smell") for base, _ in verb_forms(after))
    return nouns.word(index) in ("can", "could") and seen


def is_participle(nouns: Nouns, index: int) -> bool:
    """Whether a token is a past participle rather than a noun that looks like one."""
    word = nouns.word(index)
    noun = word in verbs().often_nouns and not nouns.is_argument(index + 1) and not word.endswith(("ed", "en"))
    return "n" in nouns.tags(index) and not noun


def _main(nouns: Nouns, index: int, be: bool, perfect: bool) -> Group | None:
    word = nouns.word(index)
    forms, tags = verb_forms(word), nouns.tags(index)
    if be and "g" not in tags and ("n" not in tags or word in word_list("states")):
        return Group("be", index, "b", copula=True)
    if not forms:
        return None
    want = "gn" if be else ("n" if perfect else "psbg")
    verb = next((base for tag in want for base, found in forms if tag in found), forms[0][0])
    if verb == "get" and not be and is_participle(nouns, index + 1) and "b" not in nouns.tags(index + 1):
        return _main(nouns, index + 1, True, perfect)  # "got stuck"
    return _chain(nouns, Group(verb, index + 1, tags, passive=be and "g" not in tags))


def _chain(nouns: Nouns, group: Group) -> Group:
    """Follow "start to", "keep", "try to" to the verb that matters."""
    at = nouns.skip_adverbs(group.end)
    if nouns.word(at) in ("hard", "out", "up", "on") and group.verb in ("try", "end", "keep", "start", "go"):
        follows = nouns.is_gerund(at + 1) or nouns.word(at + 1) == "to"
        at = nouns.skip_adverbs(at + 1) if follows else at
    infinitive, gerund = _to_verb(nouns, at), nouns.is_gerund(at)
    if infinitive and group.verb == "use" and "p" in group.tags and at == group.end:
        return replace(group, denied=True, wish=True)  # "used to go" is no longer so
    if infinitive or gerund:
        followed = _follow(nouns, group, nouns.skip_adverbs(at + 1) if infinitive else at, gerund)
        if followed is not None:
            return followed
    if group.verb in verb_list("aspect"):
        joined = nouns.word(at) == "and" and group.verb in ("go", "come") and "b" in group.tags
        plain = at + 1 if joined else at
        if _is_plain_verb(nouns, plain) and ("b" in group.tags or group.verb == "help"):
            return _next(nouns, group, plain)
    if group.verb in verb_list("stative") and not group.passive:
        return replace(group, denied=True, wish=group.verb in ("want", "need", "wish"))
    return group


def _follow(nouns: Nouns, group: Group, target: int, gerund: bool) -> Group | None:
    """What a verb before "to do" or "doing" makes of that: done, meant, or not said to happen."""
    verb = group.verb
    if (verb in verb_list("aspect") and verb not in ("come", "go")) or (gerund and verb in ("go", "enjoy", "quit")):
        return _next(nouns, group, target)
    if verb in verb_list("intent"):
        return replace(_next(nouns, group, target), certain=False)
    if verb == "stop":
        return group
    if verb in verb_list("wish"):
        return replace(group, denied=True, wish=True)
    return None


def _is_plain_verb(nouns: Nouns, index: int) -> bool:
    """ "go get": a bare verb, and neither a noun nor a word of direction."""
    word = nouns.word(index)
    noun = word in verbs().often_nouns and not nouns.is_argument(index + 1)
    direction = word in lists("particles", "directions", "spatial")
    return nouns.is_base(index) and not nouns.is_argument(index) and not direction and not noun


def _next(nouns: Nouns, group: Group, target: int) -> Group:
    following = _main(nouns, target, False, False)
    if following is None:
        return group
    return replace(following, tags=following.tags if "g" in following.tags else group.tags)
