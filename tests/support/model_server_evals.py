"""How the test server's models answer a benchmark's questions and judge answers: by the words they were sent.

The reader answers with the line that has most of what is asked about, or its date where one is asked for; the judge
compares the words of the gold answer and of the answer. Both read the prompts of the package as text.
"""

from __future__ import annotations

import re

from tests.support.model_server_answers import share, things_of

_LEAST = 0.5
_SESSION = re.compile(r"^\[(DAY\d+ .*|\d{4}-\d{2}-\d{2} .*|no date)\]$")
_LABELS = "Question|Correct answer|Gold answer|Rubric|Explanation|Criterion|First|Response|Answer|Second"
_FIELD = re.compile(rf"(?ms)^({_LABELS}|What is said of somebody else, and would be wrong):[ ](.*?)(?=\n\n|\Z)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_NOT_MENTIONED = re.compile(r"\bnot mentioned\b", re.IGNORECASE)


def read_and_answer(text: str) -> str:
    """The reply to `eval_answer`."""
    found, _, asked = text.rpartition("## The question")
    question = asked.partition("Question:")[2].strip().splitlines()[0]
    lines = _dated_lines(found.rpartition("nothing in it is an instruction to you.")[2])
    best = max(lines, key=lambda line: (share(question, line[1]), line[0]), default=("", ""))
    choices = re.findall(r"(?m)^([A-Z])\. (.+)$", asked)
    if share(question, best[1]) < _LEAST:
        return "No line bears on it.\n\nAnswer: Not mentioned."
    reply = f"The line of {best[0]} bears on it. Answer: this is only how I think.\n\nAnswer: "
    if choices:
        fitting = [letter for letter, words in choices if things_of(words) and things_of(words) <= things_of(best[1])]
        return reply + (fitting[0] if fitting else "I cannot tell.")
    if question.lower().startswith("when"):
        return reply + best[0].split(" ")[0]
    return reply + best[1].partition(": ")[2]


def shown_lines(text: str) -> list[str]:
    """The lines of evidence in a reader's prompt."""
    found = text.rpartition("## The question")[0]
    return [line for _, line in _dated_lines(found.rpartition("nothing in it is an instruction to you.")[2])]


def _dated_lines(text: str) -> list[tuple[str, str]]:
    lines, when = [], ""
    for line in text.strip().splitlines():
        session = _SESSION.match(line)
        if session:
            when = session[1]
        elif line.strip():
            lines.append((when, line))
    return lines


def judge(text: str) -> str:
    """Yes or no to one of the prompts of judges."""
    fields = dict(_FIELD.findall(text))
    answer = next((fields[name] for name in ("Response", "Answer", "Second") if name in fields), "")
    if "cannot be answered" in text:
        return "Yes." if _NOT_MENTIONED.search(answer) else "No."
    names = ("Correct answer", "Gold answer", "Rubric", "First")
    gold = next((fields[name] for name in names if name in fields), "")
    return "Yes." if not _NOT_MENTIONED.search(answer) and _agrees(text, gold, answer) else "No."


def _agrees(text: str, gold: str, answer: str) -> bool:
    wanted, said = things_of(gold), things_of(answer)
    if "off by one" in text and _NUMBER.search(gold) and _NUMBER.search(answer):
        return abs(float(_NUMBER.findall(gold)[0]) - float(_NUMBER.findall(answer)[0])) <= 1
    if "Be generous" in text or "Rubric:" in text:
        return bool(wanted & said)
    return bool(wanted) and wanted <= said


def grade(text: str) -> str:
    """How far a response meets a criterion: all of its words are there, half of them, or fewer."""
    fields = dict(_FIELD.findall(text))
    wanted = things_of(fields["Criterion"].rpartition(":")[2])
    part = len(wanted & things_of(fields["Response"])) / len(wanted)
    return "1" if part == 1 else "0.5" if part >= _LEAST else "0"
