"""The object questions of A3_TASHA: snapshots of objects over a week, and questions with five choices.

All questions' snapshots are pooled as one stream, one for each clip and object, and ingested as one events file in
a scope of its own: the object with its location, its state and handling, and what the captions beside it say. The
choices and everything else about a question are never ingested. Each question is asked as of its query time, where
the clip of that time has been seen whole.

The letter is chosen by the words of the choices alone. A choice is told by a text as far as its content words
(English stems, without stopwords) are among the text's. The texts are the answer and then the evidence in the
order given: the first text that tells all of some choice decides, else the best told choice of all texts; ties go to
the choice that leaves less of the text unsaid. The same is done with the baselines' lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.asking import Asked, Reply, memory_system
from amr.evals.baselines import Unit
from amr.evals.files import check_keys, read_objects
from amr.evals.run import Run
from amr.evals.tally import Hits
from amr.language.lemmas import word_list
from amr.media.egolife import read_clip_name
from amr.records import ClipAnalysis, EventReport, EventsRow, ObjectReport
from amr.retrieve.times import iso_time, show_moment
from amr.store.text import english_stems

SCOPE = "a3-tasha-objects"
_CLIP_MS = 30_000
_KEYS = {
    "sample_id": str, "template_id": str, "object_name": str, "query": str, "query_time": str, "evidence_times": list,
    "choices": list, "correct_choice": str,
}  # fmt: skip
_SNAPSHOT = {"object_name": str, "status": list, "location": str, "interaction": str}


@dataclass(frozen=True)
class Snapshot:
    """What was seen of one object in one clip. `start_ms` is wall clock."""

    clip: str
    start_ms: int
    object: str
    location: str
    status: tuple[str, ...]
    interaction: str
    captions: tuple[str, ...]

    def text(self) -> str:
        """The snapshot in a sentence or two."""
        state = f" ({', '.join(self.status)})" if self.status else ""
        said = f"The {self.object}{state}: {self.location}. {self.interaction}".strip()
        return said if said.endswith(".") else f"{said}."


def ask(run: Run, path: Path) -> None:
    """Asks the questions of a file of every system and counts the letters."""
    entries = read_objects(path, _KEYS)
    snapshots = pooled(entries, path)
    stream = run.folder.path / "objects.jsonl"
    stream.write_text(events_lines(snapshots), encoding="utf-8")
    run.ingest(stream, SCOPE)
    under_test = memory_system(run.memory, run.settings, run.options.without, SCOPE)
    systems = {"amr": under_test, **run.baselines(_units(snapshots), "objects").systems()}
    questions = run.limited([(_known(entry), _asked(entry, path)) for entry in entries])
    run.ask_all(questions, systems, _score)


def pooled(entries: Sequence[Mapping[str, Any]], path: Path) -> list[Snapshot]:
    """The snapshots of all questions, each clip and object once, in time order. Raises BadInput."""
    found: dict[tuple[str, str], Snapshot] = {}
    for entry in entries:
        place = f"{path}, {entry['sample_id']}"
        for shown in entry["evidence_times"]:
            check_keys(shown, {"clip_id": str, "object_snapshot": dict}, place)
            seen = shown["object_snapshot"]
            check_keys(seen, _SNAPSHOT, place)
            snapshot = Snapshot(
                shown["clip_id"],
                _wall_ms(shown["clip_id"], place),
                seen["object_name"],
                seen["location"].strip().rstrip("."),
                tuple(str(state) for state in seen["status"]),
                seen["interaction"].strip(),
                tuple(str(line) for line in shown.get("dense_caption_context") or []),
            )
            found.setdefault((snapshot.clip, snapshot.object), snapshot)
    return sorted(found.values(), key=lambda one: (one.start_ms, one.object))


def events_lines(snapshots: Sequence[Snapshot]) -> str:
    """The snapshots as an events file, one line for each clip."""
    zero = snapshots[0].start_ms if snapshots else 0
    lines = []
    for index, start in enumerate(sorted({one.start_ms for one in snapshots})):
        seen = [one for one in snapshots if one.start_ms == start]
        row = EventsRow(
            source="a3-tasha-objects",
            clip=index,
            t_start=(start - zero) / 1000,
            t_end=(start - zero + _CLIP_MS) / 1000,
            time=f"{iso_time(start)}Z",
            analysis=_analysis(seen),
        )
        lines.append(json.dumps(row.model_dump(), ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _analysis(seen: Sequence[Snapshot]) -> ClipAnalysis:
    events = [
        EventReport(
            local_event_id=f"E{number}",
            time_start=0.0,
            time_end=_CLIP_MS / 1000,
            summary=one.text(),
            objects=[ObjectReport(name=one.object, spatial_description=one.location)],
        )
        for number, one in enumerate(seen, start=1)
    ]
    captions = dict.fromkeys(line for one in seen for line in one.captions)
    return ClipAnalysis(clip_summary=" ".join(captions) or events[0].summary, events=events)


def _wall_ms(clip: str, place: str) -> int:
    name = read_clip_name(clip)
    if name is None:
        raise BadInput(f"{place}: {clip!r} is no name of an EgoLife clip; correct it.")
    return name.day_wall_ms + name.clock_ms


def _units(snapshots: Sequence[Snapshot]) -> list[Unit]:
    return [Unit(one.text(), one.start_ms, one.start_ms + _CLIP_MS, SCOPE, one.clip, dated=True) for one in snapshots]


def _known(entry: Mapping[str, Any]) -> dict[str, Any]:
    choices = {choice["label"]: choice["text"] for choice in entry["choices"]}
    return {
        "set": "objects",
        "id": entry["sample_id"],
        "template": entry["template_id"],
        "choices": choices,
        "gold": entry["correct_choice"],
    }


def _asked(entry: Mapping[str, Any], path: Path) -> Asked:
    end = _wall_ms(entry["query_time"], f"{path}, {entry['sample_id']}") + _CLIP_MS
    at = -(-end // 1000) * 1000
    return Asked(entry["query"], show_moment(at, None), at)


def _score(question: Mapping[str, Any], reply: Reply, hits: Hits) -> dict[str, Any]:
    letter = choose(question["choices"], reply)
    right = letter == question["gold"]
    hits.add("letter_accuracy", right, [str(question["template"])])
    return {"right": right, "letter": letter}


def choose(choices: Mapping[str, str], reply: Reply) -> str | None:
    """The letter of the choice that a reply tells best, None when it tells none."""
    texts = [str(reply.get("answer") or ""), *(str(piece.get("text", "")) for piece in reply.get("evidence", []))]
    best: tuple[float, float] = (0.0, 0.0)
    letter = None
    for text in texts if reply.get("found") else []:
        for label, choice in choices.items():
            told = _told(choice, text)
            if told > best:
                best, letter = told, label
        if best[0] == 1.0:
            break
    return letter


def _told(choice: str, text: str) -> tuple[float, float]:
    """How much of a choice a text tells, and how much of the text the choice is."""
    wanted, given = _stems(choice), _stems(text)
    both = len(wanted & given)
    return both / max(1, len(wanted)), both / max(1, len(given))


def _stems(text: str) -> frozenset[str]:
    plain = text.replace("_", " ").replace("-", " ")
    stems = frozenset(english_stems(plain))
    return stems - frozenset(word_list("stopwords")) or stems
