"""Learns the constants of configs/channels.toml on development questions: what a walk weighs, how evidence is ordered.

    python scripts/fit_channels.py --memory DIR --questions authored_qa_dev.json [--days 1 2 3 4] [--write]

DIR is a memory of the week of EgoLife (`amr ingest A1_JAKE_sync_clips.jsonl.gz`); only questions asked on the days
named are learnt from, the others are reported. One constant after another is moved up and down by steps, and kept
where the questions' supporting lines come clearly earlier: the score of a question falls from 1 for support in the
first place to 0 beyond the twentieth. First what the other words of a question count for in the windows around events,
by asking everything anew; then the order of evidence, those windows in it, on what is found without it; then the walk,
whose every step is asked anew.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from amr.config import Settings, load_settings
from amr.evals.week_scoring import moment, supports_of
from amr.memory import Filters, Memory
from amr.resources import resource
from amr.retrieve import anchors, constants, query
from amr.retrieve.ranking import in_order
from amr.retrieve.relevance import Candidate

_PLACES = 20
_GAIN = 0.002
"""A constant moves only for more than this, so that chance decides less."""
_STEPS = (0.0, 0.5, 0.75, 1.33, 2.0)
_OTHERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_DEEP = 200
_LONGEST_MS = 35_000
_SLACK_MS = 2_000
_EPOCH = datetime(1970, 1, 1)

Asked = tuple[dict[str, Any], list[Candidate]]


def asked_on(file: Path, days: Sequence[int]) -> list[dict[str, Any]]:
    """The questions with support that are asked on these days."""
    questions = json.loads(file.read_text(encoding="utf-8"))
    wanted = {f"DAY{day}" for day in days}
    return [one for one in questions if one.get("support") and one["query_time"]["date"] in wanted]


def found_for(memory: Memory, question: Mapping[str, Any], settings: Settings) -> list[Candidate]:
    """The candidates for one question at the time when it is asked."""
    when = question["query_time"]
    clock = moment(when["date"], when["time"])
    filters = Filters(as_of=f"{when['date']} {clock:%H:%M:%S}")
    return memory._read(
        filters,
        lambda snapshot, view: query.Search(snapshot, question["question"], view, settings).candidates(),
    )


def score(question: Mapping[str, Any], ordered: Sequence[Candidate]) -> tuple[float, bool]:
    """From 1 to 0 by the place of the first supporting piece of evidence, and whether that is among ten."""
    supports = [(when - _EPOCH) // timedelta(milliseconds=1) for when in supports_of(question)]
    for place, candidate in enumerate(ordered[:_PLACES]):
        node = candidate.node
        span = (node.t_end_ms or 0) - (node.t_start_ms or 0)
        if node.time_ms is None or span > _LONGEST_MS:
            continue
        first, last = node.time_ms - _SLACK_MS, node.time_ms + span + _SLACK_MS
        if any(first <= support <= last for support in supports):
            return 1 - place / _PLACES, place < 10
    return 0.0, False


def _mean(asked: Sequence[Asked], weights: Mapping[str, float]) -> float:
    return sum(score(question, in_order(found, weights))[0] for question, found in asked) / len(asked)


def climb(
    values: dict[str, float], names: Sequence[str], steps: Sequence[float], worth: Callable[[dict[str, float]], float]
) -> dict[str, float]:
    """The values after each named one was moved to where it is worth most, as long as that gains anything."""
    best, moved = worth(values), True
    while moved:
        moved = False
        for name in names:
            for step in steps:
                tried = {**values, name: round(values[name] * step, 4)}
                gained = worth(tried)
                if gained > best + _GAIN:
                    values, best, moved = tried, gained, True
        print(f"  {best:.4f}  {values}", flush=True)
    return values


def fit_ranking(asked: Sequence[Asked], weights: dict[str, float]) -> dict[str, float]:
    """The weights of the merits; that of relevance stays, since only their proportions count."""
    names = [name for name in weights if name != "relevance"]
    return climb(weights, names, _STEPS, lambda tried: _mean(asked, tried))


def fit_other_words(ask: Callable[[constants.Ranking], float], ranking: constants.Ranking) -> constants.Ranking:
    """What the words count for that a question is asked with, by asking everything at each step."""
    best = ask(ranking)
    for others in _OTHERS:
        tried = replace(ranking, other_words=others)
        gained = ask(tried)
        print(f"  {gained:.4f}  other words {others:g}", flush=True)
        if gained > best + _GAIN:
            ranking, best = tried, gained
    return ranking


def use(ranking: constants.Ranking) -> None:
    """Has questions asked with these constants."""
    query.ranking = anchors.ranking = lambda: ranking  # type: ignore[attr-defined, assignment]


def fit_walk(ask: Callable[[constants.Walk], float], walk: constants.Walk) -> constants.Walk:
    """The decay and the weight of each channel for each type of question, by asking everything at each step."""
    names = {f"{kind}.{channel}": weight for kind, held in walk.channels.items() for channel, weight in held.items()}

    def walk_of(values: Mapping[str, float]) -> constants.Walk:
        channels = {kind: {name: values[f"{kind}.{name}"] for name in held} for kind, held in walk.channels.items()}
        return replace(walk, decay=min(1.0, values["decay"]), channels=channels)

    values = {"decay": walk.decay, **names}
    return walk_of(climb(values, list(values), (0.7, 1.4), lambda tried: ask(walk_of(tried))))


def write(ranking: constants.Ranking, walk: constants.Walk) -> None:
    """Puts the constants into configs/channels.toml."""
    file = resource("configs/channels.toml")
    text = file.read_text(encoding="utf-8")
    for section, name, value in _lines(ranking, walk):
        part = re.compile(rf"(?ms)(^\[{re.escape(section)}\]\n(?:(?!^\[).)*?^{name} = )-?[\d.]+")
        text = part.sub(lambda found, value=value: f"{found[1]}{value:g}", text)  # type: ignore[misc]
    file.write_text(text, encoding="utf-8")


def _lines(ranking: constants.Ranking, walk: constants.Walk) -> Iterator[tuple[str, str, float]]:
    yield from (("ranking", name, value) for name, value in ranking.weights.items())
    yield "words", "others", ranking.other_words
    yield "walk", "decay", walk.decay
    for kind, held in walk.channels.items():
        yield from ((f"channels.{kind}", name, value) for name, value in held.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--days", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--only", choices=("ranking", "walk"), help="learn only one of the two")
    parser.add_argument("--write", action="store_true", help="put the constants into configs/channels.toml")
    chosen = parser.parse_args()
    memory, learnt_from = Memory(chosen.memory), asked_on(chosen.questions, chosen.days)
    others = asked_on(chosen.questions, [day for day in range(1, 8) if day not in chosen.days])
    settings = load_settings()
    deep = settings.model_copy(update={"retrieve": settings.retrieve.model_copy(update={"judged": _DEEP})})
    ranking, walk = constants.ranking(), constants.walk()

    def ask() -> float:
        return sum(score(one, found_for(memory, one, settings))[0] for one in learnt_from) / len(learnt_from)

    def ask_by(tried: constants.Ranking) -> float:
        use(tried)
        return ask()

    def ask_on(tried: constants.Walk) -> float:
        query.walk = lambda: tried  # type: ignore[attr-defined, assignment]
        return ask()

    if chosen.only != "walk":
        ranking = fit_other_words(ask_by, ranking)
        use(ranking)
        found = [(one, found_for(memory, one, deep)) for one in learnt_from]
        ranking = replace(ranking, weights=fit_ranking(found, dict(ranking.weights)))
    use(ranking)
    if chosen.only != "ranking":
        walk = fit_walk(ask_on, walk)
    query.walk = lambda: walk  # type: ignore[attr-defined, assignment]
    for name, questions in (("learnt from", learnt_from), ("others", others)):
        hits = [score(one, found_for(memory, one, settings))[1] for one in questions]
        print(f"{name}: support in the first ten for {sum(hits)} of {len(hits)}")
    if chosen.write:
        write(ranking, walk)


if __name__ == "__main__":
    main()
