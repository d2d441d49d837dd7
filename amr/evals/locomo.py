"""`locomo`: ten long conversations between two friends, and questions with the ids of the turns that answer them.

Each conversation is a scope. Retrieval is measured for turns and for sessions, with no model: recall any, all and
fraction at 1, 3, 5, 10, 20 and 50, and NDCG@10; over categories 1 to 5 (no suffix), over 1 to 4 (`.1-4`), and for
each category. With a model every question is answered and judged too (`scores`).

Where the audit of the gold answers is given, each retrieval metric is also told without the questions whose evidence
it found wrong (`.sound_evidence`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from amr.evals.chat_run import ChatRun, model_notes
from amr.evals.files import find_data, required
from amr.evals.locomo_questions import CATEGORIES, SOUND, audit_beside, read_questions, with_audit
from amr.evals.questions import EvalQuestion, listed
from amr.evals.report import Report
from amr.evals.retrieval import PlainSearch, memory_ranker
from amr.evals.run import Options, Run
from amr.media.chats import read_chats

TAKES = frozenset({"audit", "retrieval_only", "oracle", "model", "judge", "max_cost"})
URL = "https://github.com/snap-research/locomo/blob/main/data/locomo10.json"
_NAMES = ("locomo10.json", "locomo10.json.gz", "locomo*.json", "locomo*.json.gz")
HEADLINE = (
    *(f"turn_recall@{k}.fraction" for k in (5, 10, 20)),
    *(f"turn_recall@10.{measure}" for measure in ("any", "all", "fraction.1-4", f"fraction.{SOUND}")),
    *(f"turn_recall@10.{measure}.{name}" for name in CATEGORIES.values() for measure in ("fraction", "all")),
    "turn_ndcg@10",
    *(f"session_recall@{k}.{measure}" for k in (5, 10) for measure in ("any", "all", "fraction")),
    *(f"{measure}{part}" for measure in ("judge_lenient", "judge_strict", "f1") for part in ("", ".sound_gold")),
    "abstained.adversarial",
)


def check(options: Options) -> Options:
    """The options with the files that they do not name. Raises BadInput when the data is missing."""
    data = find_data(options.data, "locomo", _NAMES, "LoCoMo's conversations (locomo10.json)", URL)
    if options.audit is not None:
        where = "errors.json of https://github.com/dial481/locomo-audit"
        required(options.audit, "--audit", "the audit of LoCoMo's gold answers", where)
    return replace(options, data=data, audit=options.audit or audit_beside(data))


def run(run: Run) -> Report:
    """Ingests the conversations, asks the questions and reports."""
    data = run.options.data
    assert data is not None
    conversations = list(read_chats(data))
    found = with_audit(read_questions(data, conversations), run.options.audit)
    haystacks = {one.name: one for one in conversations}
    asked = found.first(run.options.limit)
    run.config(conversations=len(conversations), questions_by_category=dict(Counter(one.category for one in asked)))
    unread = [problem for one in conversations for problem in one.problems]
    run.notes += [*model_notes(run), *_audit_notes(run, asked), *listed([*unread, *found.problems])]
    run.ingest(data)
    plain = PlainSearch(run, haystacks)
    systems = {"amr": memory_ranker(run), "bm25": plain.bm25, "dense": plain.dense}
    ChatRun(run, haystacks, systems, prepare=plain.prepare).ask(asked)
    return run.report(data, HEADLINE)


def _audit_notes(run: Run, asked: Sequence[EvalQuestion]) -> list[str]:
    if run.options.audit is None:
        return []
    cited = sum("citation_error" in one.known for one in asked)
    answers = sum("gold_error" in one.known for one in asked)
    told = (
        f"The audit {run.options.audit.name} finds the evidence of {cited} questions wrong: .{SOUND} is without them."
    )
    more = f"It finds the answer of {answers} wrong: .sound_gold is without them."
    return [f"{told} {more}" if run.model else told]
