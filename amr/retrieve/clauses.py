"""What a question says of time and number: "right after putting down X", "first", "how many times", "usually".

A question is turned back into statements, "did I open it" into "I opened it", and those are read by the reader that
also read the captions, so that a question and a memory name what is done in the same terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from amr.language.lemmas import verb_forms, verb_list, verbs, word_list
from amr.language.names import handle, is_name, may_open_as_name
from amr.language.reading import read_sentence
from amr.records import WEARER, Action

Order = Literal["", "after", "before", "during"]
Count = Literal["", "times", "people", "things", "rate"]

_MAX_LENGTH = 400
"""Longer questions are not taken apart: they hold more than one clause, or no question."""

_TOKEN = re.compile(r"[^\W_]+(?:[’'\-][^\W_]+)*(?:['’]s)?|[,;:]")
_WH = r"what|where|who|whom|which|when|how|did|do|does|was|were|is|have|had"
_OPENING = re.compile(
    rf"\s*(?:(?:and|so|then)\s+)?(?P<clause>(?:(?:right|just|immediately|shortly|soon)\s+)?"
    rf"(?:after|before|while|when(?!\s+(?:did|do|does|was|were|is|have|had)\b))\s.+?),\s*(?P<main>(?:{_WH})\b.+)",
    re.IGNORECASE | re.DOTALL,
)
_JOINT = re.compile(
    r"[\s,]+(?:(?P<close>right|just|immediately|directly|shortly|soon|straight|exactly)\s+)?"
    r"(?P<word>after|before|while|when|whilst|as soon as)\s+(?P<clause>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_ORDERS: dict[str, Order] = {
    "after": "after", "as soon as": "after", "before": "before",
    "while": "during", "whilst": "during", "when": "during",
}  # fmt: skip
_COUNTS: tuple[tuple[str, Count], ...] = (
    (r"\bhow many times\b|\bhow often\b.*\b(?:so far|in total|altogether)\b", "times"),
    (r"\bhow often\b|\bhow many times (?:a|per|each|every)\b", "rate"),
    (r"\bhow many (?:different |other )?(?:people|persons|friends|of us|of them|guests|colleagues|others)\b", "people"),
    (r"\bhow many\b", "things"),
)
_USUAL = re.compile(
    r"\b(?:usually|normally|typically|generally|always|habitually|tend to|mostly|habit)\b", re.IGNORECASE
)
_FIRST = re.compile(
    r"\b(?:for )?(?:the |my |our )?first(?: time| ever)?\b(?! (?:floor|aid|name|class|person))", re.IGNORECASE
)
_LAST = re.compile(
    r"\b(?:for )?(?:the |my |our )?(?:last|latest|final|most recent(?:ly)?)(?: time| ever)?\b"
    r"(?! (?:night|week|month|year|name|monday|tuesday|wednesday|thursday|friday|saturday|sunday))",
    re.IGNORECASE,
)
_NTH = re.compile(r"\b(?:for )?the (second|third|fourth|fifth) time\b", re.IGNORECASE)
_NUMBERS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5}
_FILLERS = re.compile(
    r"\b(?:ever|finally|eventually|actually|exactly|in total|altogether|so far|per day|a day|each day|every day"
    r"|on average|then|again|else)\b",
    re.IGNORECASE,
)
_DEGREES = re.compile(r"\b(?:really|very|quite|pretty|fully|completely|super|extremely)\s+(?=[a-z])", re.IGNORECASE)
_POINTING = re.compile(
    r"(?<!all )\b(?:that|this|those|these)\s+(?!(?:was|were|is|are|am|had|has|have|did|do|time|morning|afternoon"
    r"|evening|night|day|week|when|i|we|you|he|she|they|it|the|a|an|my|our|his|her|their|to|at|in|on|before|after|while)\b)(?=[a-z])"
)
_RELATIVE = re.compile(
    r"[\s,]+(?:(?:that|which|who)\s+(?:was|were|is|are|had|has|have|got|[Ii]|we|you|he|she|they|someone|[A-Z][a-z]+)\b"
    r"|(?:I|we|he|she|they|[A-Z][a-z]+)\s+(?:had |was |were |have |just |'d )?(?P<verb>[a-z]+)\b).*$"
)
_DO = frozenset(("did", "do", "does"))
_BE = frozenset(("was", "were", "is", "are", "am"))
_HAVE = frozenset(("have", "has", "had"))
_PRONOUNS = frozenset(("i", "we", "you", "he", "she", "they", "it"))
_ASKED = frozenset(("what", "which", "where", "when", "who", "whom", "whose", "how", "why"))
_ANYONE = frozenset(("someone", "somebody", "anyone", "anybody", "who", "they", "he", "she", "something"))
_GETTING = frozenset(("get", "get back", "arrive", "reach", "return", "get to"))
_OPEN = frozenset(("do", "happen", "be"))


@dataclass(frozen=True)
class Act:
    """What is said to be done: by whom (a handle, empty for anybody), which verb, what and where as said."""

    actor: str
    verb: str
    object: str
    place: str


@dataclass(frozen=True)
class Clauses:
    """The parts of a question. `acts` are those of the main clause, none for "what did I do".

    `order` is how the main clause stands to the `clause`, which does `clause_acts`; `close` for "right" and "just".
    `ordinal` is 1 for the first, -1 for the last, 0 where neither is said. `wanted` are the words between the
    question word and its verb: "eggs" of "how many eggs did I crack". `actor` is who acts in the main clause;
    `asks_actor` says that just that is asked: "who put it there".
    """

    main: str
    actor: str
    acts: tuple[Act, ...] = ()
    wanted: str = ""
    order: Order = ""
    close: bool = False
    clause: str = ""
    clause_acts: tuple[Act, ...] = ()
    clause_ordinal: int = 0
    ordinal: int = 0
    count: Count = ""
    usual: bool = False
    asks_actor: bool = False


@lru_cache(maxsize=64)
def read_clauses(text: str) -> Clauses:
    """The clauses of a question in English; nothing in them for other languages and very long texts."""
    asked = " ".join(text.split()).rstrip(" ?!.")
    if not asked or len(asked) > _MAX_LENGTH:
        return Clauses("", "")
    opening = _OPENING.fullmatch(asked)
    if opening is not None:
        asked = f"{opening['main']} {opening['clause']}"
    main, joint = _split(asked)
    count: Count = next((kind for pattern, kind in _COUNTS if re.search(pattern, main, re.IGNORECASE)), "")
    usual = _USUAL.search(asked) is not None
    ordinal, plain = _ordinal(_USUAL.sub(" ", main))
    wanted, statement = _statement(_plain(plain))
    acts = tuple(act for act in _acts(statement) if act.verb not in _OPEN)
    clause_ordinal, clause = _ordinal(joint["clause"]) if joint else (0, "")
    return Clauses(
        main=statement,
        actor=_actor(statement),
        acts=acts,
        wanted=wanted,
        order=_ORDERS[joint["word"].lower()] if joint else "",
        close=bool(joint and joint["close"]),
        clause=clause,
        clause_acts=_clause_acts(clause, _actor(statement)),
        clause_ordinal=clause_ordinal,
        ordinal=ordinal,
        count=count,
        usual=usual,
        asks_actor=statement.startswith("someone "),
    )


def _plain(main: str) -> str:
    """The main clause without what says nothing of the deed: fillers, and "that was on the table", "I bought"."""
    words = _POINTING.sub("the ", _DEGREES.sub("", _FILLERS.sub(" ", main)))
    for aside in _asides(words):
        before = words[: aside.start()]
        acts = _acts(_statement(before)[1])
        if acts and acts[0].verb not in _OPEN | verb_list("report") | {"have"}:
            return before
    return words


def _asides(main: str) -> Iterator[re.Match[str]]:
    """The clauses at the end of another that only say which thing is meant."""
    found = _RELATIVE.search(main)
    while found is not None:
        verb = found["verb"]
        if verb is None or any(set(tags) & set("psg") for _, tags in verb_forms(verb)) or verb in _BE | _HAVE:
            yield found
        found = _RELATIVE.search(main, found.start() + 1)


def _clause_acts(clause: str, actor: str) -> tuple[Act, ...]:
    """The deeds of a clause; "before leaving" and "before she left" are of whom the question is about."""
    acts = [act for act in _acts(clause) if act.verb != "do"]
    first = clause.split(" ", 1)[0].lower()
    same = first in ("he", "she", "they") or any("g" in tags for _, tags in verb_forms(first))
    if same and actor:
        acts = [replace(act, actor=actor) if act.actor in ("", WEARER) else act for act in acts]
    return tuple(acts)


def _split(asked: str) -> tuple[str, re.Match[str] | None]:
    """The main clause and the joint with the clause that it stands in time with, if any does."""
    start = 1
    while True:
        joint = _JOINT.search(asked, start)
        if joint is None:
            return asked, None
        if joint["clause"].strip():
            return asked[: joint.start()], joint
        start = joint.end()


def _ordinal(main: str) -> tuple[int, str]:
    nth = _NTH.search(main)
    if nth is not None:
        return _NUMBERS[nth[1].lower()], _NTH.sub(" ", main)
    for pattern, ordinal in ((_FIRST, 1), (_LAST, -1)):
        if pattern.search(main):
            return ordinal, pattern.sub(" ", main)
    return 0, main


def _statement(main: str) -> tuple[str, str]:
    """The words between question word and verb, and what is asked about as a statement: "I opened the fridge"."""
    words = _TOKEN.findall(main)
    low = [word.lower() for word in words]
    start = next((i for i, word in enumerate(low) if word in _ASKED), -1)
    helper = next((i for i in range(start + 1, len(low)) if low[i] in _DO | _BE | _HAVE), -1)
    if 0 <= start == helper - 1 and low[start] in ("who", "what") and low[helper] in _BE and _is_doing(low, helper + 1):
        return "", " ".join(["someone" if low[start] == "who" else "something", *words[helper:]])
    inverted = helper > 0 and low[helper] in _DO and low[start] not in ("who", "whose")  # "what time did I"
    subject_asked = start >= 0 and _is_verb(low, start + 1) and helper != start + 1 and not inverted
    if helper < 0 and start >= 0 and low[start] == "how":  # "how many people came": somebody did
        first = next((i for i in range(start + 2, len(low)) if _is_verb(low, i) and low[i - 1] != "many"), len(low))
        return "", " ".join(["someone", *words[first:]])
    if helper < 0 or subject_asked:
        rest = words[start + 1 :] if start >= 0 else words
        return "", " ".join(
            [*(["someone" if low[start] in ("who", "whose") else "something"] if start >= 0 else []), *rest]
        )
    wanted = " ".join(words[start + 1 : helper]) if start >= 0 else ""
    verb = _verb_after(low, helper)
    if verb < 0:
        return _thing(wanted), " ".join([*words[helper + 1 :]])
    subject, rest = words[helper + 1 : verb], words[verb + 1 :]
    if low[helper] in _DO:
        return _thing(wanted), " ".join([*subject, _past(low[verb]), *rest])
    return _thing(wanted), " ".join([*subject, words[helper], words[verb], *rest])


def _thing(wanted: str) -> str:
    """ "many eggs" is about eggs, "many times" and "time" about none."""
    words = [
        word for word in wanted.split() if word.lower() not in ("many", "often", "much", "different", "other", "long")
    ]
    return "" if words and words[-1].lower() in ("times", "time", "people", "persons", "day") else " ".join(words)


def _is_doing(low: list[str], index: int) -> bool:
    return index < len(low) and any("g" in tags for _, tags in verb_forms(low[index]))


def _is_verb(low: list[str], index: int) -> bool:
    return index < len(low) and any(set(tags) & set("psb") for _, tags in verb_forms(low[index]))


def _verb_after(low: list[str], helper: int) -> int:
    """The main verb behind a helper and its subject, -1 if there is none."""
    wanted = "b" if low[helper] in _DO else "gn"
    for index in range(helper + 2, len(low)):
        tags = "".join(found for _, found in verb_forms(low[index]))
        if low[index - 1] in word_list("determiners") and low[index - 1] not in ("all", "both"):
            continue
        if low[index] == "do" or any(tag in tags for tag in wanted):
            return index
    return -1


@cache
def _pasts() -> dict[str, str]:
    found: dict[str, str] = {}
    for form, forms in verbs().forms.items():
        for base, tags in forms:
            if "p" in tags:
                found.setdefault(base, form)
    return found


def _past(base: str) -> str:
    return "did" if base == "do" else _pasts().get(base, base)


def _acts(statement: str) -> list[Act]:
    if not statement:
        return []
    actions = read_sentence(_spoken(statement)).actions
    return [Act(_handle(a.actor), _verb(a), a.object, a.spatial_relation) for a in actions]


def _verb(action: Action) -> str:
    """ "We got home" and "we reached the station" are about going there."""
    return "go" if action.verb in _GETTING and not action.object and action.spatial_relation else action.verb


def _spoken(statement: str) -> str:
    """A clause as a narrator would begin it; lower-case, so that no verb is taken for a name."""
    first, _, rest = statement.strip().partition(" ")
    lower = first.lower() if verb_forms(first.lower()) else first
    return f"{lower} {rest}".strip()


def _handle(actor: str) -> str:
    name = handle(actor) if actor else ""
    return "" if name in _ANYONE else name


def _actor(statement: str) -> str:
    """The handle of the wearer or the person that a statement begins with, empty for anybody and for things."""
    first = statement.split(" ", 1)[0]
    if first.lower() in ("i", "we"):
        return WEARER
    named = is_name(first) and may_open_as_name(first) and first.lower() not in _PRONOUNS
    return _handle(first) if named else ""
