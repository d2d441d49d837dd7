"""Makes questions to a memory by template: about things that never occur in it, and about what its captions say.

    python scripts/make_questions.py --memory DIR --part check --seed 7 > questions.jsonl

Each line is {"question", "answerable", "kind", "node"}: `node` is the event that a question was made from, or
null. The parts `development` and `check` share no word, and ask with different templates.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from amr.language.lemmas import lemma, verb_forms, verbs, word_list
from amr.language.names import may_open_as_name
from amr.memory import Filters, Memory
from amr.records import Node
from amr.retrieve.calibration import calibration

WORDS = Path(__file__).with_name("question_words.toml")
PARTS = ("development", "check")


@dataclass(frozen=True)
class Made:
    """A question with whether the memory holds its answer, the kind of template, and the event it comes from."""

    question: str
    answerable: bool
    kind: str
    node: int | None = None


# --- what the memory knows --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """The words of a memory, its events, who speaks in it, about what, and what is done with which things."""

    words: frozenset[str]
    nodes: list[Node]
    speakers: list[str]
    things: list[str]
    verbs: list[str]
    topics: list[str]
    lemmas: list[frozenset[str]]

    def has_together(self, verb: str, thing: str) -> bool:
        """Whether the verb, or one much like it, and the thing come within five events of each other."""
        doing = {lemma(verb), *calibration().synonyms.get(lemma(verb), ())}
        alike = {lemma(thing), *calibration().synonyms.get(lemma(thing), ())}
        done = [bool(doing & words) for words in self.lemmas]
        return any(alike & words and any(done[max(0, i - 5) : i + 6]) for i, words in enumerate(self.lemmas))

    def has_said(self, speaker: str, topic: str) -> bool:
        """Whether the words about a topic are the speaker's, or stand near what the speaker says."""
        alike = {lemma(topic), *calibration().synonyms.get(lemma(topic), ())}
        own = [node.text.startswith(speaker) or speaker in node.text for node in self.nodes]
        return any(alike & words and any(own[max(0, i - 1) : i + 2]) for i, words in enumerate(self.lemmas))


def known_of(directory: Path, filters: Filters | None = None) -> Known:
    """Reads what the questions need from a memory."""
    nodes = [evidence.node for evidence in Memory(directory).timeline(filters or Filters())]
    surface = [frozenset(re.findall(r"\w+", node.text.lower())) for node in nodes]
    lemmas = [frozenset(map(lemma, words)) for words in surface]
    speech = [found for node in nodes if (found := _SPEECH.match(node.text)) and _is_named(found[1])]
    done = [found for node in nodes if (found := _DONE.match(node.text)) and _is_thing(found["thing"])]
    return Known(
        words=frozenset().union(*surface, *lemmas),
        nodes=nodes,
        speakers=sorted({found[1] for found in speech}),
        things=sorted({found["thing"] for found in done}),
        verbs=sorted({base for found in done if (base := _base(found["verb"])) is not None}),
        topics=sorted({word for found in speech for word in _topics(found[2])}),
        lemmas=lemmas,
    )


def is_absent(known: Known, phrase: str) -> bool:
    """Whether the memory has neither the words of a phrase (one missing is enough) nor other words for them."""
    words = phrase.lower().replace("-", " ").split()
    joined = "".join(words)
    if joined in known.words:
        return False
    return any(not ({word, lemma(word), *calibration().synonyms.get(lemma(word), ())} & known.words) for word in words)


# --- things that never occur --------------------------------------------------------------------------------

_ABSENT: dict[str, dict[str, list[str]]] = {
    "development": {
        "thing": [
            "Where did I put the {x}?",
            "Where is my {x}?",
            "When did I use the {x}?",
            "Who had the {x}?",
            "What did I do with the {x}?",
        ],
        "topic": ["Who talked about the {x}?", "What was said about the {x}?"],
        "place": ["When did we go to the {x}?", "Who was at the {x}?"],
        "person": ["What did {n} say?", "Where is {n}?", "When did I talk to {n}?"],
        "person_thing": ["What did {n} say about the {x}?", "Did {n} mention the {x}?"],
        "like": ["Where is the {a} {x}?", "Where did I leave my {a} {x}?"],
        "part": ["Where did I put the {x} {t}?"],
        "known_person": ["What did {k} say about the {x}?", "When did {k} buy the {x}?"],
        "known_thing": ["Did {n} take the {t}?", "When did I give the {t} to {n}?"],
        "verb": ["When did I {v} the {t}?"],
        "never_done": ["When did I {d} the {t}?", "What time did I {d} the {t}?"],
        "never_said": ["What did {k} say about the {s}?"],
        "two": ["When did I put the {x} on the {t}?", "Where did I put the {t} after I used the {x}?"],
        "unlike": ["Where did I put the {c} {t}?", "When did I pick up the {c} {t}?"],
        "scattered": ["Where did I leave the {t} {u}?", "When did I use the {t} {u}?"],
        "apart": ["When did I put the {t} on the {u}?", "Who put the {t} into the {u}?"],
    },
    "check": {
        "thing": [
            "Where did I leave the {x}?",
            "Where's the {x}?",
            "When did I pick up the {x}?",
            "Who gave me the {x}?",
            "Have you seen my {x}?",
            "When did I feed the {x}?",
        ],
        "topic": ["Who mentioned the {x}?", "What did they say about the {x}?"],
        "place": ["What did I buy at the {x}?", "When did I visit the {x}?"],
        "person": ["What did {n} tell me?", "Who was talking to {n}?", "When did {n} arrive?"],
        "person_thing": ["What did {n} say about the {x}?", "When did {n} show me the {x}?"],
        "like": ["Where is the {a} {x}?", "When did I wash the {a} {x}?"],
        "part": ["Where is my {x} {t}?"],
        "known_person": ["What did {k} ask about the {x}?", "Where did {k} put the {x}?"],
        "known_thing": ["What did {n} do with the {t}?", "Who handed the {t} to {n}?"],
        "verb": ["When did I {v} the {t}?", "Who did {v} the {t}?"],
        "never_done": ["When did I {d} the {t}?", "At what time did I {d} my {t}?"],
        "never_said": ["What did {k} say about {s}?", "What did {k} mention about the {s}?"],
        "two": ["Did I put the {t} next to the {x}?", "Where did I put the {t} before I lost the {x}?"],
        "unlike": ["Where is the {c} {t}?", "When did I wash the {c} {t}?"],
        "scattered": ["Where is my {t} {u}?", "Who gave me the {t} {u}?"],
        "apart": ["When did I cut the {t} with the {u}?", "Did I leave the {t} under the {u}?"],
    },
}  # fmt: skip
_SHARES = {
    "thing": 10, "topic": 2, "place": 2, "person": 2, "person_thing": 2, "like": 3, "part": 1, "known_person": 3,
    "known_thing": 2, "verb": 2, "never_done": 2, "never_said": 2, "two": 2,
    "unlike": 5, "scattered": 2, "apart": 1,
}  # fmt: skip
_NEEDS = {
    **dict.fromkeys(("part", "known_thing", "verb", "two", "unlike", "scattered", "apart"), "things"),
    "known_person": "speakers",
    "never_done": "verbs",
    "never_said": "topics",
}
_PRESENT_LIKE = ("black", "white", "red", "blue", "green", "yellow", "small", "big", "old", "plastic")


def absent_questions(known: Known, part: str, rng: random.Random) -> Iterator[Made]:
    """Endless questions about things that never occur."""
    data = tomllib.loads(WORDS.read_text(encoding="utf-8"))

    def pool(*names: str) -> list[str]:
        words = [word for name in names for word in data[name].split()]
        mine = [word.replace("-", " ") for word in words if zlib.crc32(word.encode()) % 2 == PARTS.index(part)]
        return sorted({word for word in mine if is_absent(known, word)})

    things, topics, places = pool("things", "compounds"), pool("topics", "things"), pool("places")
    names, doing = pool("names"), pool("verbs")
    kinds = [kind for kind, share in _SHARES.items() for _ in range(share)]
    while True:
        kind = rng.choice(kinds)
        if _NEEDS.get(kind, "") and not getattr(known, _NEEDS[kind]):
            continue
        words = {
            "x": rng.choice({"topic": topics, "place": places}.get(kind, things)),
            "n": rng.choice(names),
            "a": rng.choice(_PRESENT_LIKE),
            "t": rng.choice(known.things or ["thing"]),
            "k": rng.choice(known.speakers or ["I"]),
            "v": rng.choice(doing),
            "d": rng.choice(known.verbs or ["do"]),
            "s": rng.choice(known.topics or ["thing"]),
            "c": rng.choice([*_PRESENT_LIKE[:7], *data["colours"].split()]),
            "u": rng.choice(known.things or ["thing"]).split()[-1],
        }
        other = {"never_done": "d", "unlike": "c", "scattered": "u", "apart": "u"}.get(kind)
        if other is not None and known.has_together(words[other], words["t"].split()[-1]):
            continue
        if kind == "never_said" and known.has_said(words["k"], words["s"]):
            continue
        yield Made(rng.choice(_ABSENT[part][kind]).format(**words), False, kind)


# --- what the captions say ------------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Z][a-z]+")
_SPEECH = re.compile(r'([^":]+?) says: "(.+)"$')
_ARTICLE = r"(?:the|my|a|an|his|her|this|that)"
_THING = r"(?P<thing>[a-z]+(?: [a-z]+)??)"
_VAGUE_THINGS = "thing things item object place side way time look others rest bit start haha hahaha head hahahaha"
_ENDS = (
    r"(?=[.,]|$| (?:on|in|into|onto|at|to|from|with|under|next|near|by|and|over|for|beside|against|behind|back|down"
    r"|up|off|out|again)\b)"
)
_DONE = re.compile(
    rf"(?P<who>I|[A-Z][a-z]+) (?P<verb>[a-z]+) (?:(?P<particle>up|down|out|off|away) )?{_ARTICLE} {_THING}{_ENDS}"
)
_AT = re.compile(r".*? (?P<prep>on|in|into|onto|from|under|to|with) (?:the|my) (?P<place>[a-z]+(?: [a-z]+)?)[.,]?$")
_PUT = re.compile(
    rf"(?:I )?(?:[Pp]ut|[Pp]laced|[Ss]et|[Ll]eft|[Hh]ung|[Dd]ropped|[Tt]hrew) (?:down )?{_ARTICLE} {_THING}"
    r" (?:back )?(?:down )?(?:on|in|into|onto|at|under|next to|beside|by|against|behind)\b"
)
_VAGUE = word_list("interjections") | word_list("adverbs") | word_list("directions") | word_list("determiners")
_VAGUE |= word_list("stopwords") | word_list("particles") | frozenset(_VAGUE_THINGS.split())

_ANSWERABLE: dict[str, dict[str, list[str]]] = {
    "development": {
        "where": ["Where did I put the {x}?", "Where's my {x}?"],
        "when": ["When did I {v} the {x}?", "What time did I {v} the {x}?"],
        "who": ["Who {past} the {x}?"],
        "when_other": ["When did {n} {v} the {x}?"],
        "said": ["What did {n} say about the {x}?"],
        "mentioned": ["Who said something about the {x}?"],
        "read": ["Where did I see the words {x}?"],
        "when_place": ["When did I {v} the {x} {p} the {y}?"],
        "after": ["What did I do after I {past} the {x}?"],
        "line": ["When did I {line}?"],
        "doing": ["When was I {doing}?"],
        "around": ["When did I {v} the {x} with the {y}?", "Where did I {v} the {x} before the {y}?"],
    },
    "check": {
        "where": ["Where did I leave the {x}?", "Where is the {x}?", "Where did I put my {x}?", "Seen the {x}?"],
        "when": ["When did I {v} the {x}?", "At what time did I {v} my {x}?"],
        "who": ["Who {past} the {x}?", "Who was it that {past} the {x}?"],
        "when_other": ["When did {n} {v} the {x}?", "What time did {n} {v} the {x}?"],
        "said": ["What did {n} say about {x}?", "What did {n} mention about the {x}?"],
        "mentioned": ["Who mentioned the {x}?", "Who talked about the {x}?"],
        "read": ["When did I see a sign that says {x}?", "What does the sign with {x} say?"],
        "when_place": ["What time did I {v} the {x} {p} the {y}?", "When was it that I {past} the {x} {p} the {y}?"],
        "after": ["What happened right after I {past} the {x}?"],
        "line": ["At what moment did I {line}?", "What time did I {line}?"],
        "doing": ["At what time was I {doing}?", "Was I ever {doing}?"],
        "around": ["When did I {v} the {x} for the {y}?", "What did I do with the {x} after the {y}?"],
    },
}  # fmt: skip


def answerable_questions(known: Known, part: str, rng: random.Random) -> Iterator[Made]:
    """Questions whose answer a caption gives, the kinds in turn, captions in random order; each question once."""
    other: dict[str, str] = tomllib.loads(WORDS.read_text(encoding="utf-8"))["other"]
    nodes = list(known.nodes)
    rng.shuffle(nodes)
    kinds: dict[str, list[Made]] = {kind: [] for kind in _ANSWERABLE[part]}
    seen: set[str] = set()
    for node in nodes:
        for maker in _MAKERS:
            made = maker(node, _ANSWERABLE[part], rng)
            if made is None:
                continue
            kind, question = made
            if rng.random() < 0.2:
                question = re.sub(r"[a-z]+", lambda word: other.get(word[0], word[0]), question)
            if question not in seen:
                seen.add(question)
                kinds[kind].append(Made(question, True, kind, node.node_id))
    kinds["around"] = list(_around(known, _ANSWERABLE[part]["around"], rng))
    while any(kinds.values()):
        for made_of_kind in kinds.values():
            if made_of_kind:
                yield made_of_kind.pop()


Maker = Callable[[Node, dict[str, list[str]], random.Random], "tuple[str, str] | None"]


def _where(node: Node, templates: dict[str, list[str]], rng: random.Random) -> tuple[str, str] | None:
    found = _PUT.match(node.text)
    if found is None or not _is_thing(found["thing"]):
        return None
    return "where", rng.choice(templates["where"]).format(x=found["thing"])


def _done(node: Node, templates: dict[str, list[str]], rng: random.Random) -> tuple[str, str] | None:
    found = _DONE.match(node.text)
    if found is None or not _is_thing(found["thing"]) or not (found["who"] == "I" or may_open_as_name(found["who"])):
        return None
    base = _base(found["verb"])
    if base is None:
        return None
    particle = f" {found['particle']}" if found["particle"] else ""
    words = {"v": base + particle, "past": found["verb"] + particle, "x": found["thing"], "n": found["who"]}
    at = _AT.match(node.text)
    if found["who"] == "I" and at is not None and _is_thing(at["place"]) and rng.random() < 0.7:
        return "when_place", rng.choice(templates["when_place"]).format(**words, p=at["prep"], y=at["place"])
    if found["who"] == "I" and rng.random() < 0.2:
        return "after", rng.choice(templates["after"]).format(**words)
    if found["who"] == "I":
        return "when", rng.choice(templates["when"]).format(v=base + particle, x=found["thing"])
    kind = rng.choice(["who", "when_other"])
    return kind, rng.choice(templates[kind]).format(**words)


def _said(node: Node, templates: dict[str, list[str]], rng: random.Random) -> tuple[str, str] | None:
    found = _SPEECH.match(node.text)
    if found is None or not found[2].isascii():
        return None
    words = _topics(found[2])
    if not words:
        return None
    kind = rng.choice(["said", "mentioned"]) if _is_named(found[1]) else "mentioned"
    return kind, rng.choice(templates[kind]).format(n=found[1], x=rng.choice(words))


def _base(verb: str) -> str | None:
    """The base of a verb in the past or the present; none for one that says little."""
    base = next((base for base, tags in verb_forms(verb) if "p" in tags or "b" in tags), None)
    return None if base in ("be", "have", "do", "start", "continue", "keep", "finish", "begin") else base


def _topics(words: str) -> list[str]:
    found = re.findall(r"(?:the|a|an|my|your|this|that|of) ([a-z]{4,})(?=[.,?!]|$)", words)
    return [word for word in found if _is_thing(word)]


def _read(node: Node, templates: dict[str, list[str]], rng: random.Random) -> tuple[str, str] | None:
    if node.payload.get("modality") != "read":
        return None
    found = re.search(r'"([^"]+)"', node.text)
    words = re.findall(r"[A-Za-z]{3,}", found[1]) if found else []
    return ("read", rng.choice(templates["read"]).format(x=" ".join(words[:3]))) if words else None


def _line(node: Node, templates: dict[str, list[str]], rng: random.Random) -> tuple[str, str] | None:
    """The caption itself, turned into a question."""
    doing = re.fullmatch(r"I(?:'m| am| was) ([a-z]+ing [^.,]{6,60})\.?", node.text)
    if doing is not None:
        return "doing", rng.choice(templates["doing"]).format(doing=doing[1])
    found = re.fullmatch(r"I ([a-z]+) ([^.,]{6,60})\.?", node.text)
    base = _base(found[1]) if found else None
    if found is None or base is None:
        return None
    return "line", rng.choice(templates["line"]).format(line=f"{base} {found[2]}")


_MAKERS: tuple[Maker, ...] = (_where, _done, _said, _read, _line)


def _around(known: Known, templates: list[str], rng: random.Random) -> Iterator[Made]:
    """Questions that join what happened with a thing of the event before or after."""
    found = [_DONE.match(node.text) for node in known.nodes]
    acted = {i: done for i, done in enumerate(found) if done and _is_thing(done["thing"])}
    places = [i for i, done in acted.items() if done["who"] == "I"]
    rng.shuffle(places)
    for i in places:
        beside = [acted[j]["thing"] for j in (i - 2, i - 1, i + 1, i + 2) if j in acted]
        things = [thing for thing in beside if thing != acted[i]["thing"]]
        base = _base(acted[i]["verb"])
        if things and base is not None:
            words = {"v": base, "x": acted[i]["thing"], "y": rng.choice(things)}
            yield Made(rng.choice(templates).format(**words), True, "around", known.nodes[i].node_id)


def _is_named(speaker: str) -> bool:
    return _NAME.fullmatch(speaker) is not None and speaker not in ("Someone", "Other", "Others", "Unknown", "Voice")


def _is_thing(phrase: str) -> bool:
    """Whether a phrase is a thing one may ask for: one or two words that are no grammar and no verb."""
    stop = word_list("stopwords") | word_list("adverbs") | word_list("determiners") | _VAGUE
    words = phrase.split()
    if any(word in stop or len(word) < 3 for word in words):
        return False
    last = words[-1]
    return not (verb_forms(last) and last not in verbs().often_nouns) and not (
        len(words) > 1 and last.endswith(("ly", "ed"))
    )


def make(known: Known, part: str, seed: int, absent: int, answerable: int) -> list[Made]:
    """So many questions of both sorts; fewer answerable ones where the captions give no more."""
    rng = random.Random(f"{part}-{seed}")
    found: dict[str, Made] = {}
    for made in absent_questions(known, part, rng):
        if len(found) == absent:
            break
        found.setdefault(made.question, made)
    taken = [made for _, made in zip(range(answerable), answerable_questions(known, part, rng), strict=False)]
    return [*found.values(), *taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", type=Path, required=True)
    parser.add_argument("--part", choices=PARTS, default="check")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--absent", type=int, default=200)
    parser.add_argument("--answerable", type=int, default=150)
    chosen = parser.parse_args()
    for made in make(known_of(chosen.memory), chosen.part, chosen.seed, chosen.absent, chosen.answerable):
        print(json.dumps(asdict(made), ensure_ascii=False))


if __name__ == "__main__":
    main()
