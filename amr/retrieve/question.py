"""What a question asks for: its form, its type, the thing it is about, and every word that must be accounted for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from amr.language.lemmas import lemma, verb_forms, verbs, word_list
from amr.language.names import handle, is_name, may_open_as_name, normalise_object
from amr.records import WEARER
from amr.retrieve.calibration import calibration
from amr.retrieve.wanted import wanted
from amr.store.text import cjk_bigrams

Form = Literal["where", "when", "who", "said", "read", "count", "what"]
Kind = Literal["name", "noun", "attribute", "verb"]

_TOKEN = re.compile(r"[^\W_]+(?:[’'\-][^\W_]+)*|[,;.?!]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
_CJK_FUNCTION = re.compile(
    "什么时候|为什么|什么|怎么|哪里|哪儿|哪个|哪些|多少|我们|你们|他们|她们|它们|自己|这个|那个|有没有|是不是|刚才|现在|最后"
    "|[我你他她它的了吗呢吧啊把被在是有说谁哪几和跟给从到放拿这那个过着就都也还]"
)
_CJK_FORMS: tuple[tuple[str, Form], ...] = (
    ("什么时候|几点|何时|いつ", "when"),
    ("哪里|哪儿|在哪|何处|どこ|어디", "where"),
    ("谁|誰|누구", "who"),
    ("多少|几次|几个", "count"),
    ("说了什么|说什么|说过什么", "said"),
)
_SAYING = (
    "say|says|said|saying|tell|tells|told|telling|mention|mentions|mentioned|talk|talks|talked|talking|ask|asks|asked"
    "|asking|discuss|discussed|answer|answered|reply|replied|explain|explained|suggest|suggested"
)
_WRITTEN = (
    "sign|signs|note|label|poster|screen|text|banner|sticker|display|letter|page|board|whiteboard|blackboard|message"
    "|notice|paper|word|words|letters|writing"
)
_READ = re.compile(
    rf"\bwhat\b.*\b(?:{_WRITTEN})\b.*\b(?:say|says|said|read|reads|show|shows)\b"
    r"|\bwhat\b.*\b(?:written|printed|spelt|spelled)\b|\bwhat (?:text|words?|letters)\b"
)
_TO_WRITE = frozenset(["write", "print", "spell", "say", "read", "show"])
_SAYS = re.compile(rf"\b(?:{_WRITTEN})\b (?:that )?(?:says|said|saying|reads|reading)\b")
_SAID = re.compile(rf"\b(?:what|how|which)\b.*\b(?:{_SAYING})\b|^did .*\b(?:{_SAYING})\b")
_TOLD = re.compile(
    r"\b(?:when|where|why|how|what|which)\b.* did (?!i\b|we\b)[^,;?]+? (?:say|tell (?:me|us)) (?:that )?"
    r"(?:(?:it|he|she|they|we|you|i)\b|(?:the|my|his|her|their|our)\b.* (?:was|were|is|are|had|has|should|would|will"
    r"|can|could|needs?|must)\b)"
)
_WHERE = re.compile(r"\bwhere(?:'s|’s| did| do| does| is| are| was| were| have| has| can| could| should| would)\b")
_SEEKING = re.compile(
    r"\b(?:have you seen|last (?:saw|see|seen)|what (?:happened to|became of)|find my|i do with (?:my|our|the)"
    r"|do with [a-z]+['’]s|who(?: has| is holding|['’]s got| has got) (?:my|our|the|[a-z]+['’]s))\b"
)
_FIRST: tuple[tuple[str, Form], ...] = (
    (r"\bwhere\b|\b(?:in|on|at) (?:which|what) (?:room|place|shelf|drawer|pocket|table|bag|box)\b", "where"),
    (r"\bwhen\b|\bwhat time\b|\b(?:which|what) day\b|\bhow long ago\b", "when"),
    (r"\bwho(?:se|m|'s|’s)?\b", "who"),
    (r"\bhow (?:many|often|much)\b", "count"),
    (r"\bwhat\b|\bwhich\b|\bhow\b|\bwhy\b", "what"),
)
_AUXILIARIES = frozenset(
    [
        "did",
        "do",
        "does",
        "have",
        "has",
        "had",
        "was",
        "were",
        "is",
        "are",
        "am",
        "'s",
        "can",
        "could",
        "should",
        "would",
        "will",
    ]
)
_SUBJECTS = frozenset(["i", "we", "you", "he", "she", "they", "it"])
_ADVERBS = frozenset(
    ["last", "first", "just", "ever", "finally", "usually", "actually", "then", "also", "still", "recently", "again"]
)
_ASIDE = frozenset(["after", "before", "while", "when", "until", "since", "because", "that", "which", "whose"])
_PARTICLES = frozenset(["down", "away", "back", "up", "out", "off", "aside"])
_LIGHT = ("held", "located", "inside", "given")


@dataclass(frozen=True)
class Token:
    """A word of the question with its place among the words."""

    text: str
    low: str
    lemma: str


@dataclass(frozen=True)
class Term:
    """A word that the evidence must account for. `also` are other words for it; `pairs` joined spellings.

    `asked` is false for what only describes the thing or the time asked about ("…, before we went to the lake").
    """

    word: str
    lemma: str
    kind: Kind
    asked: bool = True
    also: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    bigrams: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question, read.

    `subject` is the handle of who acts or speaks, `target` the thing looked for in look-up form, `latest`
    whether the last such event is meant.
    """

    text: str
    form: Form
    question_type: str
    terms: tuple[Term, ...]
    subject: str | None
    target: str
    latest: bool = False
    persons: tuple[str, ...] = field(default=())


def read_question(text: str, known_persons: frozenset[str] = frozenset()) -> Question:
    """Reads a question in English or Chinese by rules. `known_persons` are the handles of the memory's persons."""
    form = _form(text)
    tokens = [Token(word, _low(word), lemma(word)) for word in _TOKEN.findall(_CJK.sub(" ", text))]
    names = [_names(tokens, index, known_persons) for index in range(len(tokens))]
    verb_at = _verbs(tokens, names)
    subject = _subject(tokens, names, form)
    target = (wanted(text).name or _target(tokens, names, verb_at)) if form == "where" else ""
    terms = [*_terms(tokens, names, verb_at, form), *_cjk_terms(text)]
    persons = tuple(dict.fromkeys(handle(tokens[i].text) for i, named in enumerate(names) if named))
    return Question(
        text=text,
        form=form,
        question_type=_type(text, form, terms),
        terms=tuple(dict.fromkeys(terms)),
        subject=subject,
        target=target,
        latest=re.search(r"\b(?:last|latest|most recent|recently|just now)\b", text.lower()) is not None,
        persons=persons,
    )


def about_wearer(question: Question, wearer: frozenset[str]) -> Question:
    """The question as the wearer would put it, whose handles these are: "What did Jake say?" asks what I said."""
    if not wearer.intersection([*question.persons, question.subject or ""]):
        return question
    persons = tuple(person for person in question.persons if person not in wearer)
    terms = tuple(term for term in question.terms if term.kind != "name" or term.word not in wearer)
    subject = WEARER if question.subject in wearer else question.subject
    return replace(question, persons=persons, terms=terms, subject=subject)


def _low(word: str) -> str:
    low = word.lower().replace("’", "'")
    return low[:-2] if low.endswith("'s") else low


def _form(text: str) -> Form:
    low = text.lower()
    for pattern, form in _CJK_FORMS:
        if re.search(pattern, low):
            return form
    places = [(re.search(pattern, low), rank, form) for rank, (pattern, form) in enumerate(_FIRST)]
    first = min(((found.start(), rank, form) for found, rank, form in places if found), default=None)
    if _SEEKING.search(low) or (_WHERE.search(low) and (first is None or first[2] == "what")):
        return "where"
    if _TOLD.search(low):
        return "said"
    if first is not None and first[2] not in ("what", "count"):
        return first[2]
    if _READ.search(low):
        return "read"
    if _SAID.search(low):
        return "said"
    return "what" if first is None else first[2]


def _type(text: str, form: Form, terms: list[Term]) -> str:
    low = text.lower()
    if form == "where":
        return "Object_Tracking"
    if form in ("said", "read"):
        return "Cross_Modal"
    if form == "who" or (form == "what" and terms and all(term.kind == "name" for term in terms)):
        return "Person_Understanding"
    if form in ("when", "count") or re.search(r"\b(?:before|after|while|then|first|until)\b", low):
        return "Temporal_Multihop"
    return "General"


def _names(tokens: list[Token], index: int, known: frozenset[str]) -> bool:
    token = tokens[index]
    if token.low in _SUBJECTS or not token.text[0].isalpha():
        return False
    plain = token.low in word_list("stopwords") or token.low in calibration().asking or verb_forms(token.low)
    if token.low in known and not plain:
        return True
    if index == 0:
        return may_open_as_name(token.text) and token.low not in calibration().asking and not verb_forms(token.low)
    return is_name(token.text.removesuffix("'s")) and token.text[0].isupper()


def _is_determined(tokens: list[Token], index: int) -> bool:
    """Whether the word before makes this one part of the name of a thing."""
    if index == 0:
        return False
    before = tokens[index - 1]
    return (
        before.low in word_list("determiners")
        or before.low in calibration().attributes | calibration().loose
        or before.text.endswith(("'s", "’s"))
        or before.low in ("of", "with", "about", "in", "on", "at", "for", "from")
    )


def _verbs(tokens: list[Token], names: list[bool]) -> frozenset[int]:
    """The places of the words that are verbs rather than things."""
    often = verbs().often_nouns
    found: set[int] = set()
    for index, token in enumerate(tokens):
        if not verb_forms(token.low) or token.low in _AUXILIARIES or _is_determined(tokens, index):
            continue
        before = tokens[index - 1] if index else None
        follows = before is not None and (before.low in _SUBJECTS | _ADVERBS | {"who", "to"} or names[index - 1])
        inflected = any(set(tags) & set("png") for _, tags in verb_forms(token.low))
        if follows or (inflected and token.low not in often):
            found.add(index)
    if not found and tokens and any(token.low in ("did", "does", "do") for token in tokens):
        found |= _bare_verb(tokens, often)
    return frozenset(found)


def _bare_verb(tokens: list[Token], often: frozenset[str]) -> set[int]:
    """The verb of "did the man drop the spoon": the first sure one, else the last that may be one."""
    start = next(i for i, token in enumerate(tokens) if token.low in ("did", "does", "do"))
    may = [
        i
        for i in range(start + 1, len(tokens))
        if any("b" in tags for _, tags in verb_forms(tokens[i].low)) and not _is_determined(tokens, i)
    ]
    sure = [i for i in may if tokens[i].low not in often]
    return {sure[0]} if sure else set(may[-1:])


def _subject(tokens: list[Token], names: list[bool], form: Form) -> str | None:
    for index, token in enumerate(tokens):
        if token.low in _AUXILIARIES and index + 1 < len(tokens):
            after = tokens[index + 1]
            if after.low in ("i", "we"):
                return WEARER
            if names[index + 1] and not after.text.endswith(("'s", "’s")):
                return handle(after.text)
            return None
    if form == "said":
        return next((handle(tokens[i].text) for i, named in enumerate(names) if named), None)
    return None


def _target(tokens: list[Token], names: list[bool], verb_at: frozenset[int]) -> str:
    """The thing that a "where" question looks for, in look-up form; empty if it looks for no thing."""
    name = _thing_after(tokens, _target_start(tokens, names, verb_at), verb_at)
    low = [token.low for token in tokens]
    if not name and "to" in low:  # "what happened to the plate, where did I leave it?"
        name = _thing_after(tokens, low.index("to") + 1, verb_at)
    return name


def _thing_after(tokens: list[Token], start: int, verb_at: frozenset[int]) -> str:
    phrase: list[str] = []
    for index in range(start, len(tokens)):
        token = tokens[index]
        if not token.text[0].isalnum() or _ends_phrase(tokens, index, verb_at):
            if phrase:
                break
            continue
        phrase.append(token.text)
    while phrase and phrase[-1].lower() in calibration().asking | _PARTICLES:
        phrase.pop()
    name = normalise_object(" ".join(phrase)) if phrase else ""
    return "" if name in word_list("stopwords") else name


def _target_start(tokens: list[Token], names: list[bool], verb_at: frozenset[int]) -> int:
    low = [token.low for token in tokens]
    start = low.index("where") + 1 if "where" in low else 0
    if "where" not in low:
        for index, word in enumerate(low):
            if word in ("seen", "saw", "see", "to", "of", "find"):
                return index + 1
    while start < len(tokens) and low[start] in _AUXILIARIES:
        start += 1
    verb = next((i for i in sorted(verb_at) if i >= start), None)
    has_subject = start < len(tokens) and (low[start] in _SUBJECTS or names[start])
    if verb is not None and (has_subject or not any(word in ("is", "are", "was", "were") for word in low[:start])):
        start = verb + 1
    while start < len(tokens) and low[start] in _PARTICLES | _ADVERBS:
        start += 1
    return start


def _ends_phrase(tokens: list[Token], index: int, verb_at: frozenset[int]) -> bool:
    low = tokens[index].low
    if index in verb_at or low in _SUBJECTS or low in ("that", "which", "who", "when", "and", "or", "to", "as", "so"):
        return True
    return low != "of" and low in word_list("spatial") | word_list("other_prepositions") | {"now", "before", "after"}


def _terms(tokens: list[Token], names: list[bool], verb_at: frozenset[int], form: Form) -> list[Term]:
    skipped = word_list("stopwords") | calibration().asking | _AUXILIARIES
    reads = form == "read" or _SAYS.search(" ".join(token.low for token in tokens))
    written = frozenset(_WRITTEN.split("|")) if reads else frozenset()
    kinds: list[tuple[int, Kind]] = []
    for index, token in enumerate(tokens):
        low = token.low
        if names[index]:
            kinds.append((index, "name"))
        elif not token.text[0].isalnum() or low in skipped or low in _PARTICLES or low in written:
            continue
        elif index in verb_at:
            light = form == "where" and _is_light(token.lemma)
            if not (light or (form == "read" and token.lemma in _TO_WRITE)):
                kinds.append((index, "verb"))
        elif low in calibration().loose and _describes(tokens, index, skipped):
            continue
        elif low in calibration().attributes and _describes(tokens, index, skipped):
            kinds.append((index, "attribute"))
        else:
            kinds.append((index, "noun"))
    if all(kind == "name" for _, kind in kinds):
        kinds += [(i, "noun") for i, token in enumerate(tokens) if _may_be_meant(tokens, i, bool(kinds))]
    nouns = {index for index, kind in kinds if kind in ("noun", "attribute")}
    terms = [_term(tokens, index, kind, nouns) for index, kind in kinds]
    aside = _aside(tokens, verb_at)
    asked = [index not in aside for index, _ in kinds]
    if not any(is_asked and term.kind != "attribute" for is_asked, term in zip(asked, terms, strict=True)):
        return terms
    return [replace(term, asked=is_asked) for is_asked, term in zip(asked, terms, strict=True)]


def _may_be_meant(tokens: list[Token], index: int, is_named: bool) -> bool:
    """Whether a word that questions are made of may be what one asks about: "what did she say about the evening?"."""
    low = tokens[index].low
    if not low[0].isalnum() or low in word_list("stopwords") or low in ("time", "times", "place", "moment", "thing"):
        return False
    about = any(token.low == "about" for token in tokens[max(0, index - 2) : index])
    return about or (not is_named and _is_determined(tokens, index))


def _aside(tokens: list[Token], verb_at: frozenset[int]) -> frozenset[int]:
    """The places of the words in a clause that only says which one, or when."""
    main = next((i for i in sorted(verb_at) if i > 0), None)
    seeks = tokens[0].low == "where" if tokens else False
    copula = seeks and (tokens[0].text.endswith(("'s", "’s")) or tokens[min(1, len(tokens) - 1)].low in ("is", "are"))
    for index, token in enumerate(tokens):
        if index < 2:
            continue
        before = tokens[index - 1].low
        relative = token.low in ("i", "we", "you") and (main != index + 1 or copula)
        relative = relative and before not in _AUXILIARIES and before not in word_list("question_words")
        purpose = (
            token.low == "to"
            and tokens[index - 1].lemma not in word_list("with_infinitive")
            and any("b" in tags for t in tokens[index + 1 : index + 2] for _, tags in verb_forms(t.low))
        )
        origin = seeks and token.low == "from"  # "the box from the hall": which one, not where it is
        if token.low in _ASIDE or purpose or origin or (relative and tokens[index - 1].text[0].isalpha()):
            return frozenset(range(index, len(tokens)))
    return frozenset()


def _describes(tokens: list[Token], index: int, skipped: frozenset[str]) -> bool:
    if index + 1 >= len(tokens):
        return False
    after = tokens[index + 1]
    return after.text[0].isalpha() and after.low not in skipped and after.low not in word_list("spatial")


def _is_light(verb: str) -> bool:
    from amr.language.states import state_classes

    return bool(state_classes(verb) & set(_LIGHT))


def _term(tokens: list[Token], index: int, kind: Kind, nouns: set[int]) -> Term:
    token = tokens[index]
    joined: set[str] = set()
    if index + 1 in nouns and kind != "name":
        joined.add(lemma(token.low + tokens[index + 1].low))
    if index - 1 in nouns and kind != "name":
        joined.add(lemma(tokens[index - 1].low + token.low))
    also = _other_names(tokens, index, nouns) if kind != "name" else frozenset[str]()
    base = token.low if kind == "name" else lemma(token.low)
    return Term(word=token.low, lemma=base, kind=kind, also=also, pairs=frozenset(joined))


def _other_names(tokens: list[Token], index: int, nouns: set[int]) -> frozenset[str]:
    """Other words for a word and for the two that it makes a name with; those of two words also as one."""
    synonyms = calibration().synonyms
    found = set(synonyms.get(tokens[index].lemma, ()))
    for first in (index - 1, index):
        if nouns >= {first, first + 1}:
            found |= synonyms.get(f"{tokens[first].low}_{tokens[first + 1].lemma}", frozenset())
    return frozenset(found | {name.replace("_", "") for name in found})


def _cjk_terms(text: str) -> list[Term]:
    runs = [part for run in _CJK.findall(text) for part in _CJK_FUNCTION.split(run) if part]
    runs = [run for run in runs if len(run) > 1] or runs  # a lone sign is mostly a verb, and part of many words
    return [Term(word=run, lemma=run, kind="noun", bigrams=tuple(cjk_bigrams(run))) for run in runs]
