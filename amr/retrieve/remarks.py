"""What was said about something: the remarks of a conversation in which the words of the question are spread.

"How much is the fee Nora joked about for joining the club?" is answered by "Just ten euros a year.", which shares no
word with it; that the fee and the club were spoken of is told by the remarks around. A number is answered by a
remark with a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.language.lemmas import content_lemmas, verb_forms, verb_list
from amr.language.names import handle
from amr.records import WEARER, Node
from amr.retrieve import wording
from amr.retrieve.acts import around, same_verbs, verb_words
from amr.retrieve.calibration import calibration
from amr.retrieve.clauses import Clauses
from amr.retrieve.ranking import is_question
from amr.retrieve.relevance import speaks
from amr.retrieve.sequence import Reply
from amr.retrieve.words import bag_of

if TYPE_CHECKING:
    from amr.retrieve.query import Search

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

_TELLINGS = 2_000
_REACH_MS, _BEFORE_MS, _AFTER_MS = 30_000, 25_000, 35_000
"""How far apart the words of one conversation are, and how far its answer is from their middle."""
_ASKED_MS = 8_000
_SPOKEN = 0.8
_MOMENTS = 60
_QUOTES = 3
_ENOUGH, _ENOUGH_UNSAID = 0.6, 0.8
"""The share of the question's words, rare ones for more, that a conversation holds; more where no speaker is named."""
_ACCORDING = re.compile(r"\baccording to (?P<who>[A-Za-z][\w'-]*)")
_SPEAKER = re.compile(r"\b(?P<who>I|[A-Z][a-z]+) (?:just |also |once |ever |kept )?(?P<verb>[a-z]+)\b")
_NUMBER_ASKED = re.compile(
    r"\bhow (?:much|many|far|long|old|tall|big|late|early|heavy|fast|high)\b"
    r"|\b(?:what|which) (?:price|time|number|percent\w*|size|date|year|age|day|temperature|score|amount)\b"
    r"|\b(?:price|cost|fee|level|percentage)\b|^when\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty"
    r"|seventy|eighty|ninety|hundred|thousand|million|half|dozen|o'clock|noon|midnight|free)\b",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"\s*who (?:knew|answered|replied|told (?:me|us|him|her|them)) (?:where|what|when|how|why|which|who)\b",
    re.IGNORECASE,
)
_MONEY = re.compile(r"\b(?:yuan|rmb|bucks?|dollars?|euros?|pounds?|cents?|costs?|price)\b|[$€£¥]", re.IGNORECASE)
_PRICED = re.compile(
    r"\b(?:price|cost|fee|pay|paid|spend|spent|charge|worth|rent|buy|bought|sell|sold|money|expensive|cheap)",
    re.IGNORECASE,
)
_MEASURES = frozenset(
    ("price", "cost", "fee", "much", "many", "level", "number", "amount", "charge", "spend", "time", "percent", "size")
)  # fmt: skip
_LATER = frozenset(("tomorrow", "tonight", "weekend"))
_TELLING = verb_list("report") | frozenset(
    ("joke", "claim", "promise", "offer", "mention", "recommend", "suggest", "warn", "describe", "call", "according")
)


@dataclass(frozen=True)
class Topic:
    """What a conversation must be about: when each word was told (milliseconds, ascending), and how rare each is."""

    told: Mapping[str, Ids]
    rarity: Mapping[str, float]
    forms: Mapping[str, frozenset[str]]

    def share(self, at: Ids) -> Floats:
        """Of each moment [n] the share of the words told around it, from 0 to 1."""
        total = sum(self.rarity.values()) or 1.0
        found = np.zeros(len(at))
        for word, held in self.told.items():
            found += self.rarity[word] * _nearness(at, held)
        return found / total

    def own(self, node: Node) -> float:
        """The share of the words that a remark itself has."""
        total = sum(self.rarity.values()) or 1.0
        return sum(self.rarity[word] for word in self.forms if self.forms[word] & bag_of(node).words) / total


def remarks(search: Search, asked: Clauses) -> Reply | None:
    """What somebody said about what a question names; None where it asks for no words, or none were said about it."""
    text = search.question.text
    speaker = None if search.question.form == "who" else _speaker(search, text)
    number = _NUMBER_ASKED.search(text) is not None
    who = search.question.form == "who" and asked.asks_actor and _tells(asked.main.split(" ", 2)[1:2])
    answered = search.question.form == "who" and _ANSWERED.match(text) is not None
    who = who or answered
    measure = number and search.question.form in ("what", "count") and not (asked.count and asked.acts)
    told = search.question.form == "said" or (speaker is not None and asked_for_words(text))
    if not (told or who or measure):
        return None
    topic = _topic(search, text, speaker)
    if not topic.rarity:
        return None
    best: tuple[float, list[Node]] = (0.0, [])
    for share, centre in _moments(search, topic, speaker):
        nodes = search.snapshot.nodes(around(search, centre, _BEFORE_MS, _AFTER_MS).tolist())
        said = [
            node
            for node in sorted(nodes.values(), key=lambda node: node.in_time)
            if node.payload.get("modality") == "heard" or not (told or who)
        ]
        if answered:
            said = _answers(said, topic, asked)
        elif who:
            asks = any(act.verb == "ask" for act in asked.acts)
            said = [node for node in said if is_question(node) == asks and topic.own(node) >= _ENOUGH]
        merits = _merits(said, centre, topic, speaker, _is_amount(text) if number else None)
        if merits and share + max(merits.values()) > best[0]:
            best = share + max(merits.values()), _chosen(said, merits, 1 if who else _QUOTES)
    if not best[1]:
        return None
    return Reply("; ".join(wording.quote(node) for node in sorted(best[1], key=lambda node: node.in_time)), best[1])


def _answers(said: Sequence[Node], topic: Topic, asked: Clauses) -> list[Node]:
    """The first remark of somebody else right after a question about the topic, but not of whoever asked."""
    asker = next((act.actor for act in asked.clause_acts), "")
    for place, node in enumerate(said):
        if is_question(node) and topic.own(node) and (not asker or speaks(node, asker)):
            rest = (one for one in said[place + 1 :] if _soon(node, one) and not _same_speaker(node, one))
            return [one for one in rest if topic.own(one) and not is_question(one)][:1]
    return []


def in_conversation(search: Search, asked: Clauses) -> Reply | None:
    """ "What did I say when she asked where the pen was?": the words of that conversation."""
    tells = any(act.verb in _TELLING for act in asked.acts)
    return remarks(search, asked) if search.question.form == "said" and tells and asked.order == "during" else None


def asked_for_words(text: str) -> bool:
    """Whether somebody's words are asked for: "according to Nora", "the price Nora named"."""
    if _ACCORDING.search(text):
        return True
    return any(_tells([found["verb"]]) for found in _SPEAKER.finditer(text[1:]))


def _tells(words: Sequence[str]) -> bool:
    """Whether the first of these words is a form of a verb of saying."""
    return any(base in _TELLING for word in words[:1] for base, _ in verb_forms(word))


def _speaker(search: Search, text: str) -> str | None:
    """The handle of whose words are asked for; None for anybody's."""
    according = _ACCORDING.search(text)
    if according is not None:
        who = according["who"]
        return WEARER if who == "me" else handle(who)
    for found in _SPEAKER.finditer(text, 1):
        if _tells([found["verb"]]) and (found["who"] == "I" or handle(found["who"]) in search.question.persons):
            return WEARER if found["who"] == "I" else handle(found["who"])
    return search.question.subject if search.question.form == "said" else None


def _topic(search: Search, text: str, speaker: str | None) -> Topic:
    skipped = (calibration().asking - _LATER) | _TELLING | {speaker or "", "everyone"}
    words = [word for word in dict.fromkeys(content_lemmas(text)) if word not in skipped and not word.endswith("ly")]
    beside = {term.lemma for term in search.question.terms if term.kind == "verb" and not term.asked}
    words = [word for word in words if word not in beside and word not in search.snapshot.wearer(search.view.scope)]
    told: dict[str, Ids] = {}
    rarity: dict[str, float] = {}
    known: dict[str, frozenset[str]] = {}
    for word in words:
        verbs_meant = same_verbs(word) if verb_forms(word) else []
        told_with = {one for verb in verbs_meant for one in verb_words(verb)}
        forms = {word, *calibration().synonyms.get(word, ()), *told_with}
        query = " ".join(form.replace("_", " ") for form in sorted(forms))
        ids = search.snapshot.latest_with(search.view.scope, query, search.visible, _TELLINGS)
        if word in _MEASURES and len(words) > 1:
            continue
        told[word] = np.sort(search.snapshot.moments(ids, search.view)) if len(ids) else np.zeros(0, np.int64)
        rarity[word] = float(np.log1p(len(search.visible) / max(1, len(ids))))
        known[word] = frozenset(forms)
    return Topic(told, rarity, known)


def _nearness(at: Ids, held: Ids) -> Floats:
    """Of each moment how near the nearest of others is: 1 within some seconds, less up to the reach, then 0."""
    if not len(held):
        return np.zeros(len(at))
    after = np.minimum(np.searchsorted(held, at), len(held) - 1)
    apart = np.minimum(np.abs(held[after] - at), np.abs(at - held[np.maximum(after - 1, 0)]))
    return np.where(apart > _REACH_MS, 0.0, 1 - 0.3 * apart / _REACH_MS)


def _spoken(search: Search, person: str) -> Ids:
    """When somebody was there, in order."""
    ids = search.mentioning([person], "person")
    return np.sort(search.snapshot.moments(ids, search.view)) if len(ids) else ids


def _moments(search: Search, topic: Topic, speaker: str | None) -> list[tuple[float, Node]]:
    """The events around which most of the topic was told, best first, one of each conversation."""
    rows: list[Ids] = []
    for word in topic.told:
        query = " ".join(form.replace("_", " ") for form in sorted(topic.forms[word]))
        rows.append(search.snapshot.latest_with(search.view.scope, query, search.visible, _TELLINGS))
    ids = np.unique(np.concatenate(rows)) if rows else np.zeros(0, np.int64)
    if not len(ids):
        return []
    at = search.snapshot.moments(ids, search.view)
    share = topic.share(at)
    if speaker:
        share = np.where(_nearness(at, _spoken(search, speaker)) > _SPOKEN, share, 0.0)
    enough = _ENOUGH if search.question.subject else _ENOUGH_UNSAID
    order = np.lexsort((-at, -np.round(share, 3)))
    chosen: list[int] = []
    for place in order.tolist():
        if share[place] < enough or len(chosen) == _MOMENTS:
            break
        if all(abs(int(at[place] - at[other])) > _REACH_MS // 2 for other in chosen):
            chosen.append(place)
    nodes = search.snapshot.nodes([int(ids[place]) for place in chosen])
    return [(float(share[place]), nodes[int(ids[place])]) for place in chosen]


def _merits(
    said: Sequence[Node], centre: Node, topic: Topic, speaker: str | None, is_number: Callable[[str], bool] | None
) -> dict[int, float]:
    """How far each remark may be the answer, by its id: of whom it is asked for, and with a number where one is."""
    found: dict[int, float] = {}
    for place, node in enumerate(said):
        if (speaker and not speaks(node, speaker)) or (is_number and not is_number(_words(node))):
            continue
        own = topic.own(node)
        before = [other for other in said[max(0, place - 8) : place] if _soon(other, node)]
        if not own and (is_question(node) or not any(topic.own(other) for other in before)):
            continue
        asking = [topic.own(other) for other in before[-4:] if is_question(other) and not _same_speaker(other, node)]
        far = abs(node.moment_ms - centre.moment_ms) / _AFTER_MS
        found[node.node_id] = (
            0.5 * own + max((0.1 + 0.5 * share for share in asking), default=0.0) - 0.3 * is_question(node) - 0.3 * far
        )
    return found


def _is_amount(text: str) -> Callable[[str], bool]:
    """Whether words have a number of the sort that a question asks for: money only for a price."""
    priced = _PRICED.search(text) is not None

    def is_amount(words: str) -> bool:
        return _NUMBER.search(words) is not None and (priced or _MONEY.search(words) is None)

    return is_amount


def _soon(first: Node, second: Node) -> bool:
    return second.moment_ms - first.moment_ms <= _ASKED_MS


def _words(node: Node) -> str:
    """What is said, without who says it."""
    return node.text.split('"', 1)[-1]


def _same_speaker(first: Node, second: Node) -> bool:
    return bool(first.payload.get("persons", [])[:1] == second.payload.get("persons", [])[:1])


def _chosen(said: Sequence[Node], merits: Mapping[int, float], most: int) -> list[Node]:
    """The likeliest remarks, the likeliest first."""
    known = {node.node_id: node for node in said}
    return [known[node_id] for node_id in sorted(merits, key=lambda node_id: (-merits[node_id], node_id))[:most]]
