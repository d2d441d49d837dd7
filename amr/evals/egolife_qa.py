"""`egolife`: EgoLifeQA, questions with four choices to a week of one person's life, each asked as of its time.

Measured is whether what is retrieved was seen at the moments that the question names as its target, with no model
(`egolife_qa_scoring`): by the memory, which is cut at the question's time, and by plain search over the captions and
transcript lines that had ended by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.asking import Asked
from amr.evals.baselines import Baselines, Unit
from amr.evals.chat_run import ChatRun
from amr.evals.egolife_qa_gold import SCOPE, read_questions
from amr.evals.egolife_qa_scoring import CUTS, Clips, Piece, hits_of, piece_of
from amr.evals.egolife_qa_week import Week, write_clips
from amr.evals.files import find_data, required
from amr.evals.questions import EvalQuestion, listed
from amr.evals.report import Report
from amr.evals.retrieval import Pieces, Ranker
from amr.evals.run import Options, Run
from amr.evals.tally import Hit
from amr.evals.week import read_week
from amr.media.clip_captions import read_clip_captions
from amr.media.lines import inner_suffix
from amr.retrieve.json_out import evidence_json
from amr.retrieve.times import iso_time, show_moment

URL = "https://huggingface.co/datasets/lmms-lab/EgoLife"
TAKES = frozenset({"questions", "retrieval_only", "oracle", "model", "judge", "max_cost"})
HEADLINE = (
    *("target_recall@5.any", "target_recall@10.any", "target_recall@50.any", "target_recall@10.within_3min.any"),
    *("letter_accuracy", "no_letter"),
)
_CLIPS, _QUESTIONS = "*_sync_clips.jsonl*", "EgoLifeQA_*.json*"
_HOURS = "EgoLifeCap"
_UNIT = "turn"


def check(options: Options) -> Options:
    """The options with both files; --data may be a folder that holds both. Raises BadInput when one is missing."""
    what = "EgoLife's captions and transcripts: clip by clip (.jsonl), or a folder with its EgoLifeCap"
    given = find_data(options.data, "egolife", [_QUESTIONS], what, URL)
    if options.data is None:
        given = given.parent
    folder = given if given.is_dir() else given.absolute().parent
    questions = options.questions or _only(folder, _QUESTIONS, "--questions")
    required(questions, "--questions", "EgoLifeQA (.json)", f"EgoLifeQA_A1_JAKE.json is at {URL}")
    return replace(options, data=_told_in(given) if given.is_dir() else given, questions=questions)


def _told_in(folder: Path) -> Path:
    """The file of clips in a folder, else the folder with the captions and transcripts of hours."""
    if any(folder.glob(_CLIPS)):
        return _only(folder, _CLIPS, "--data")
    return folder / _HOURS if (folder / _HOURS).is_dir() else folder


def _only(folder: Path, pattern: str, option: str) -> Path:
    found = [file for file in sorted(folder.glob(pattern)) if inner_suffix(file) in (".json", ".jsonl")]
    if len(found) != 1:
        raise BadInput(f"{folder} has {len(found)} files {pattern}; give one with {option}; it is at {URL}.")
    return found[0]


def run(run: Run) -> Report:
    """Ingests the week, asks the questions and reports."""
    data, file = run.options.data, run.options.questions
    assert data is not None and file is not None
    found = read_questions(file)
    clips = write_clips(data, run.folder.path / "clips.jsonl") if data.is_dir() else data
    week = Week(read_clip_captions(clips))
    questions = [week.with_clips(one) for one in run.limited(found.questions)]
    run.config(cuts=CUTS)
    run.notes += listed(found.problems)
    run.ingest(clips)
    retrieved = Retrieved(week.clips)
    plain = run.baselines(read_week(clips), "week")
    systems = {
        "amr": retrieved.by(_memory(run)),
        "bm25": retrieved.by(_plain(plain, plain.bm25)),
        "dense": retrieved.by(_plain(plain, plain.dense)),
    }
    haystacks = {SCOPE: week.haystack(questions)} if run.options.oracle else {}
    ChatRun(run, haystacks, systems, (_UNIT,), retrieved.score).ask(questions)
    return run.report(data, HEADLINE)


# --- systems ------------------------------------------------------------------------------------------------


@dataclass
class Retrieved:
    """What was retrieved, by the ref under which a line names it: its clip, and from when to when it lasts."""

    clips: Clips
    pieces: dict[str, Piece] = field(default_factory=dict)

    def by(self, search: Ranker) -> Ranker:
        """A system whose pieces are remembered."""

        def rank(question: EvalQuestion, unit: str, k: int) -> Pieces:
            return [{**evidence, "ref": self._named(evidence)} for evidence in search(question, unit, k)]

        return rank

    def score(self, question: EvalQuestion, unit: str, refs: Sequence[str]) -> Mapping[str, Hit]:
        """The metrics of one question."""
        return hits_of(question, [self.pieces.get(ref) for ref in refs], self.clips)

    def _named(self, evidence: Mapping[str, Any]) -> str:
        piece = piece_of(evidence)
        if piece is None:
            return str(evidence.get("ref") or evidence.get("node_id"))
        name = f"{piece.ref} {show_moment(piece.start_ms, None)} – {show_moment(piece.end_ms, None)}"
        self.pieces[name] = piece
        return name


def _memory(run: Run) -> Ranker:
    """The memory under test, cut at the question's time, with no model on the read path."""
    from amr.memory import Filters

    def rank(question: EvalQuestion, unit: str, k: int) -> Pieces:
        filters = Filters(scope=question.scope, as_of=question.asked_at, without=run.options.without)
        found = run.memory.query(question.question, run.plain_settings, filters, k)
        return [evidence_json(piece) for piece in found.evidence]

    return rank


def _plain(plain: Baselines, search: Callable[[Asked, int], list[int]]) -> Ranker:
    """A search over the lines that had ended when the question was asked."""

    def rank(question: EvalQuestion, unit: str, k: int) -> Pieces:
        asked = Asked(question.question, question.asked_at, question.known["asked_ms"])
        return [_evidence(plain.units[place]) for place in search(asked, k)]

    return rank


def _evidence(line: Unit) -> dict[str, Any]:
    return {
        "ref": line.ref,
        "time": iso_time(line.start_ms),
        "t_start": line.start_ms / 1000,
        "t_end": line.end_ms / 1000,
        "text": line.text,
    }
