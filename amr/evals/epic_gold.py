"""Questions and gold answers from the class columns of EPIC-KITCHENS-100, for any CSV of the same columns.

The tool under test reads `video_id`, the times and the words of `narration`, nothing else; the gold comes from
`verb_class`, `noun_class` and `all_noun_classes`. A question is about one video and is asked at its end.

**What a narration acts on.** Its nouns are looked for in its words. One that comes after a preposition of place and
another noun ("put plate *on* counter") is a place; the others are acted on ("take cup and spoon": both). Doubtful are

- a noun that the words do not have ("put back"), and the only noun where a preposition of place stands before it
  ("put in cupboard", but also "put on lid");
- a noun after "of", "with", "from", "for", "using" or a second verb ("open the lid *of* the bottle");
- every noun where the verb is no everyday one for its class ("move potatoes in pan", of the class insert);
- a line that has the noun's word for a thing of another class ("open dishwasher drawer", for the drawer).

`put` means the classes put and insert ("put knife in drawer"); `take` and `open` their own. No question is asked whose
answer would hang on a doubtful line.

**Which time is meant.** "the last time", "the first time" go by start time over all narrations of the verb that act
on the noun's class. "Right after putting down the X" without more means the last time. Things are named as in the
narration that is the gold, so that a reader of words and one of classes look for the same.

**The kinds.**

- `right_after` "What did I do right after putting down the X?": the narration that starts next after the last
  putting of X, or the first that starts when that has ended: people mean either. Left out where X was later
  inserted somewhere, and where nothing follows. Right: the answer's first claim rests on such a narration, and the
  answer has its words.
- `how_many` "How many times did I open the X?": their number. Left out where the class was opened under different
  names, for then it depends on whether these are one thing. Right: the first number in the answer, as digits or in
  words, clock times aside, is this number.
- `named_place` "Where did I last put the X?", where the last putting names a place: right when the answer names one
  of its places.
- `first_take` "When did I first take the X?" and `last_put` "When did I last put the X?": right when the first clock
  time in the answer is within two seconds of the narration's start.

Narrations that start at the same time are all accepted. **Paraphrased**: the same question with another name of the
noun's class from `configs/epic_names.toml`, the first that no narration of the video has; there is none for most
classes.
"""

from __future__ import annotations

import ast
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path

from amr.errors import BadInput
from amr.evals.files import read_rows
from amr.language.lemmas import lemma, singular, verb_forms
from amr.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

COLUMNS = (
    "narration_id", "video_id", "start_timestamp", "stop_timestamp", "narration", "verb_class", "noun_class",
    "all_nouns", "all_noun_classes",
)  # fmt: skip
KINDS = ("right_after", "how_many", "named_place", "first_take", "last_put")
_TAKE, _PUT, _OPEN, _INSERT = 0, 1, 3, 5
_SAID = {
    _TAKE: frozenset(["take", "pick", "get", "grab", "fetch", "collect", "retrieve"]),
    _PUT: frozenset(["put", "place", "lay", "set", "leave", "rest", "return", "replace", "store", "position"]),
    _OPEN: frozenset(["open"]),
    _INSERT: frozenset(["put", "place", "insert", "load", "pack", "fit"]),
}
"""The everyday verbs of the classes that are asked for."""
_PLACES = re.compile(
    "on|in|into|onto|inside|under|underneath|beneath|behind|beside|over|to|at|against|near|by|next|between|outside"
    "|around|above|below"
)
_ASIDE = frozenset(["of", "with", "from", "for", "using"])
_PER_VIDEO = 5
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)")


@dataclass(frozen=True)
class Noun:
    """A noun as the annotation writes it ("pan:frying") with the number of its class."""

    key: str
    number: int

    @property
    def name(self) -> str:
        """The noun as one says it: "frying pan"."""
        head, *rest = self.key.split(":")
        return " ".join([*rest, head])

    @property
    def head(self) -> str:
        """The noun's main word."""
        return self.key.split(":")[0]


@dataclass(frozen=True)
class Narration:
    """One row of the CSV; times in milliseconds from the video's start."""

    id: str
    video: str
    start_ms: int
    end_ms: int
    text: str
    verb: int
    objects: tuple[Noun, ...] = ()
    places: tuple[Noun, ...] = ()
    doubtful: tuple[Noun, ...] = ()

    def may_act_on(self, noun: int, heads: frozenset[str]) -> bool:
        """Whether it acts, for sure or not, on a thing of a noun class, whose main words are `heads`."""
        if any(one.number == noun for one in (*self.objects, *self.doubtful)):
            return True
        if any(one.number == noun for one in self.places):
            return False
        return any(_position(_words(self.text), head) is not None for head in heads)

    def surely(self, noun: int) -> Noun | None:
        """The thing of a noun class that it acts on without doubt."""
        return next((one for one in self.objects if one.number == noun), None)


@dataclass(frozen=True)
class Question:
    """A question on one video. What of the gold counts depends on its kind."""

    kind: str
    video: str
    text: str
    verbs: tuple[int, ...]
    noun: Noun
    gold: tuple[Narration, ...]
    count: int = 0
    paraphrased: bool = False


def read_narrations(path: Path) -> list[Narration]:
    """The narrations of a CSV, by video and start. Raises BadInput naming the row that cannot be read."""
    found = []
    for number, row in enumerate(read_rows(path, COLUMNS), start=2):
        try:
            found.append(_narration(row))
        except (ValueError, SyntaxError, TypeError) as error:
            raise BadInput(f"{path}, row {number}: it cannot be read ({error}); correct or remove it.") from error
    return sorted(found, key=lambda one: (one.video, one.start_ms, one.end_ms, one.id))


def make_questions(narrations: Sequence[Narration]) -> list[Question]:
    """The questions of all videos; of each kind at most five of a video, chosen by a checksum of video and noun."""
    found = []
    for _, group in groupby(narrations, key=lambda one: one.video):
        told = list(group)
        words = frozenset(word for one in told for word in _words(one.text))
        for kind in KINDS:
            made = sorted(_MAKERS[kind](told), key=_draw)
            others = [other for one in made if (other := _paraphrase(one, words)) is not None]
            found += [*made[:_PER_VIDEO], *others[:_PER_VIDEO]]
    return found


# --- reading ------------------------------------------------------------------------------------------------


def _narration(row: Mapping[str, str]) -> Narration:
    numbers = _list(row["all_noun_classes"])
    nouns = [Noun(str(key), int(str(number))) for key, number in zip(_list(row["all_nouns"]), numbers, strict=True)]
    start, end = milliseconds(row["start_timestamp"]), milliseconds(row["stop_timestamp"])
    text, verb = row["narration"].strip(), int(row["verb_class"])
    objects, places, doubtful = _roles(_words(text), nouns)
    if verb in _SAID and not _SAID[verb] & {lemma(word) for word in _words(text)}:
        objects, doubtful = [], [*objects, *doubtful]
    return Narration(
        row["narration_id"], row["video_id"], start, end, text, verb, tuple(objects), tuple(places), tuple(doubtful)
    )


def _list(text: str) -> list[object]:
    value = ast.literal_eval(text)
    if not isinstance(value, list):
        raise ValueError(f"{text[:40]!r} is no list")
    return value


def milliseconds(clock: str) -> int:
    """A time HH:MM:SS.ss in milliseconds. Raises ValueError."""
    found = _CLOCK.fullmatch(clock.strip())
    if not found:
        raise ValueError(f"{clock!r} is no time such as 00:01:02.50")
    return (int(found[1]) * 3600 + int(found[2]) * 60) * 1000 + round(float(found[3]) * 1000)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _roles(words: Sequence[str], nouns: Sequence[Noun]) -> tuple[list[Noun], list[Noun], list[Noun]]:
    """The nouns acted on, those that name a place, and those of which it is doubtful."""
    at = {noun: place for noun in nouns if (place := _position(words, noun.head)) is not None}
    objects: list[Noun] = []
    places: list[Noun] = []
    first = min(at.values(), default=0)
    turns = [i for i, word in enumerate(words) if _PLACES.fullmatch(word)]
    others = [i for i, word in enumerate(words) if i > first and (word in _ASIDE or _second_verb(words, i))]
    end = next((i for i in others if i not in at.values()), len(words))
    for noun, place in at.items():
        if place >= end:
            continue
        if any(first < turn < place for turn in turns):
            places.append(noun)
        elif not any(turn < place for turn in turns):
            objects.append(noun)
    return objects, places, [noun for noun in nouns if noun not in (*objects, *places)]


def _second_verb(words: Sequence[str], place: int) -> bool:
    return words[place - 1] == "and" and bool(verb_forms(words[place]))


def _position(words: Sequence[str], head: str) -> int | None:
    """Where a noun stands, in whatever number."""
    return next((i for i, word in enumerate(words) if head in (word, singular(word), word.removesuffix("es"))), None)


# --- the kinds ----------------------------------------------------------------------------------------------


def _by_noun(told: Sequence[Narration], *verbs: int) -> Iterator[tuple[int, list[Narration]]]:
    """Each noun class that the verbs act on, with the narrations that do so or may do so, in time order."""
    acting = [one for one in told if one.verb in verbs]
    for noun in sorted({noun.number for one in acting for noun in one.objects}):
        heads = frozenset(thing.head for one in acting for thing in one.objects if thing.number == noun)
        yield noun, [one for one in acting if one.may_act_on(noun, heads)]


def _tied(narration: Narration, among: Iterable[Narration]) -> tuple[Narration, ...]:
    return tuple(one for one in among if one.start_ms == narration.start_ms)


def _right_after(told: Sequence[Narration]) -> Iterator[Question]:
    for number, putting in _by_noun(told, _PUT, _INSERT):
        last, noun = putting[-1], putting[-1].surely(number)
        starts = [one.start_ms for one in told if one.start_ms > last.start_ms]
        if last.verb == _PUT and noun is not None and starts:
            accepted = {min(starts), min((start for start in starts if start >= last.end_ms), default=min(starts))}
            text = f"What did I do right after putting down the {noun.name}?"
            gold = tuple(one for one in told if one.start_ms in accepted)
            yield Question("right_after", last.video, text, (_PUT,), noun, gold)


def _how_many(told: Sequence[Narration]) -> Iterator[Question]:
    for number, opening in _by_noun(told, _OPEN):
        names = {one.surely(number) for one in opening}
        noun = names.pop()
        if not names and noun is not None:
            text = f"How many times did I open the {noun.name}?"
            yield Question("how_many", opening[0].video, text, (_OPEN,), noun, tuple(opening), len(opening))


def _named_place(told: Sequence[Narration]) -> Iterator[Question]:
    for number, putting in _by_noun(told, _PUT, _INSERT):
        last, noun = putting[-1], putting[-1].surely(number)
        if last.places and noun is not None:
            text = f"Where did I last put the {noun.name}?"
            yield Question("named_place", last.video, text, (_PUT, _INSERT), noun, _tied(last, putting))


def _first_take(told: Sequence[Narration]) -> Iterator[Question]:
    for number, taking in _by_noun(told, _TAKE):
        noun = taking[0].surely(number)
        if noun is not None:
            text = f"When did I first take the {noun.name}?"
            yield Question("first_take", taking[0].video, text, (_TAKE,), noun, _tied(taking[0], taking))


def _last_put(told: Sequence[Narration]) -> Iterator[Question]:
    for number, putting in _by_noun(told, _PUT, _INSERT):
        last, noun = putting[-1], putting[-1].surely(number)
        if noun is not None:
            text = f"When did I last put the {noun.name}?"
            yield Question("last_put", last.video, text, (_PUT, _INSERT), noun, _tied(last, putting))


_MAKERS: dict[str, Callable[[Sequence[Narration]], Iterator[Question]]] = {
    "right_after": _right_after,
    "how_many": _how_many,
    "named_place": _named_place,
    "first_take": _first_take,
    "last_put": _last_put,
}


def _draw(question: Question) -> tuple[int, int]:
    return zlib.crc32(f"{question.video} {question.noun.number}".encode()), question.noun.number


@cache
def _other_names() -> dict[str, list[str]]:
    """The other names of each name, in the order of the table."""
    table = tomllib.loads(resource("configs/epic_names.toml").read_text(encoding="utf-8"))["names"]
    rows = [[name.replace("-", " ") for name in row.split()] for row in table.values()]
    return {name: [other for other in row if other != name] for row in rows for name in row}


def _paraphrase(question: Question, words: frozenset[str]) -> Question | None:
    """The question with another name for its thing; None where there is none that the video does not use itself."""
    known = {*words, *map(singular, words)}
    for other in _other_names().get(question.noun.name, []):
        if not set(other.split()) <= known:
            text = question.text.removesuffix(f"{question.noun.name}?") + f"{other}?"
            return replace(question, text=text, paraphrased=True)
    return None
