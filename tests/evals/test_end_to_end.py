"""Benchmarks end to end with models: what faults, kills and resumes leave of a run, and what it cost."""

from __future__ import annotations

import hashlib
import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amr.config import load_settings
from amr.evals.evaluate import evaluate
from amr.evals.report import report_json
from amr.evals.run import Options
from amr.memory import Filters, Memory
from amr.models.budget import BudgetReached
from amr.resources import resource
from tests.support.command import amr, assert_one_sentence, ran, start, stopped
from tests.support.model_server import ModelServer
from tests.support.model_server_evals import shown_lines
from tests.support.model_server_faults import Fault
from tests.support.models import KEY

SESSIONS = {
    "1:56 pm on 8 May, 2023": [
        "Caroline: I adopted a beagle named Pixel from the shelter.",
        "Melanie: That is lovely! My pottery class starts on Monday.",
    ],
    "1:14 pm on 25 May, 2023": [
        "Melanie: I ran the charity race for mental health.",
        "Caroline: Congratulations! I painted a lake sunrise.",
    ],
    "6:55 pm on 9 June, 2023": [
        "Caroline: I repaired the kitchen window with Tom.",
        "Melanie: The violin lesson with Anna was hard.",
    ],
}
QUESTIONS = [
    ("What animal did Caroline adopt from the shelter?", "a beagle", 4, ["D1:1"]),
    ("What race did Melanie run?", "the charity race", 4, ["D2:1"]),
    ("When did Melanie run the charity race?", "2023-05-25", 2, ["D2:1"]),
    ("When did Caroline repair the kitchen window?", "2023-05-08", 2, ["D3:1"]),
    ("What did Caroline paint?", "a lake sunrise, a beagle", 1, ["D2:2", "D1:1"]),
    ("Would Melanie like the violin lesson?", "No; it was hard", 3, ["D3:2"]),
    ("Who repaired the kitchen window?", "Caroline with Tom", 4, ["D3:1"]),
    ("What submarine did Melanie sell?", "a yellow submarine", 5, ["D1:2"]),
]
JOBS = 3
AS_COMMANDS = '[speech]\nrecogniser = "none"\ndownload = "never"\n[text_in_view]\nenabled = false'
"""What the environment of a test's command says, so that a run may go from one to the other."""


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with pytest.MonkeyPatch.context() as patch, ModelServer(mode="local", key=KEY) as listening:
        patch.setenv("AMR_API_KEY", KEY)
        yield listening


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locomo")
    talk: dict[str, Any] = {"speaker_a": "Caroline", "speaker_b": "Melanie"}
    for number, (date, lines) in enumerate(SESSIONS.items(), start=1):
        talk[f"session_{number}_date_time"] = date
        talk[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text}
            for place, (speaker, _, text) in enumerate((line.partition(": ") for line in lines), start=1)
        ]
    qa = [
        {
            "question": text,
            ("adversarial_answer" if kind == 5 else "answer"): answer,
            "category": kind,
            "evidence": refs,
        }
        for text, answer, kind, refs in QUESTIONS
    ]
    (folder / "locomo.json").write_text(json.dumps([{"sample_id": "conv-1", "conversation": talk, "qa": qa}]))
    return folder / "locomo.json"


@pytest.fixture(scope="module")
def memory(data: Path) -> Path:
    """The conversation as a memory, for all runs."""
    ran("ingest", data, "--memory", data.parent / "memory")
    return data.parent / "memory"


@pytest.fixture(scope="module")
def config(data: Path, server: ModelServer) -> Path:
    file = data.parent / "models.toml"
    prices = "usd_per_million_input = 1.25\nusd_per_million_output = 10.0"
    file.write_text(
        f"jobs = {JOBS}\n{AS_COMMANDS}\n[patience]\nfirst_wait_s = 0.01\ntotal_s = 10.0\n"
        f'[models."{server.base_url}#text-only"]\n{prices}\n'
    )
    return file


class Bench:
    """`amr eval locomo` over the conversation, with models of the server."""

    def __init__(self, server: ModelServer, data: Path, memory: Path, config: Path, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.model = f"{server.base_url}#text-only"
        self._data, self._memory, self._config = data, memory, config

    def run(self, out: str, config: Path | None = None, **more: Any) -> dict[str, Any]:
        """The report of a run in this process."""
        options = Options(**{"data": self._data, "memory": self._memory, "model": self.model, **more})
        report = evaluate("locomo", replace(options, out=self.folder / out), load_settings(config or self._config))
        return report_json(report)

    def command(self, out: str, *more: object) -> tuple[object, ...]:
        """The same as a command line."""
        files = ("--data", self._data, "--memory", self._memory, "--config", self._config, "--out", self.folder / out)
        return ("eval", "locomo", *files, "--model", self.model, *more)

    def killed(self, out: str, reached: Callable[[], bool], *more: object) -> bool:
        """Kills a command once something is reached; False when it was done by then."""
        with start(*self.command(out, *more), env={"AMR_API_KEY": KEY}) as process:
            done = stopped(process, reached, 0.0, signal.SIGKILL)
            process.communicate()
        return done

    def written(self, out: str) -> int:
        """How many questions have their line."""
        file = self.folder / out / "questions.jsonl"
        return file.read_text(encoding="utf-8").count("\n") if file.exists() else 0

    def lines(self, out: str) -> dict[str, dict[str, Any]]:
        text = (self.folder / out / "questions.jsonl").read_text(encoding="utf-8")
        return {line["question"]: line for line in map(json.loads, text.splitlines())}


@pytest.fixture
def bench(server: ModelServer, data: Path, memory: Path, config: Path, tmp_path: Path) -> Iterator[Bench]:
    server.faults.clear()
    server.log.clear()
    yield Bench(server, data, memory, config, tmp_path)
    server.latency = 0.0


@pytest.fixture(scope="module")
def undisturbed(
    server: ModelServer, data: Path, memory: Path, config: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    """The report of a run left alone, and its folder."""
    server.faults.clear()
    bench = Bench(server, data, memory, config, tmp_path_factory.mktemp("undisturbed"))
    return bench.run("run"), bench.folder / "run"


def told(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says, without where it is and how long it took."""
    plain = {name: value for name, value in report.items() if name not in ("out", "config")}
    for part in ("systems", "intervals"):
        plain[part] = {
            system: {name: value for name, value in figures.items() if not name.startswith("latency_ms")}
            for system, figures in report[part].items()
        }
    return plain


def read(folder: Path) -> str:
    """The report for people, without where it is and how long it took."""
    text = (folder / "report.md").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if "latency_ms" not in line).replace(str(folder), "")


def answered(line: Mapping[str, Any]) -> Any:
    entry = line["systems"]["amr"]
    return entry["answer"], entry["verdicts"], entry["hits"], entry["shown"], entry["reply"]


def successes(server: ModelServer) -> tuple[int, int]:
    """How many replies the server gave in full, and how many of them to a request it had answered so before."""
    by_key = Counter(call.key for call in server.log.calls() if call.status == 200 and call.replied)
    return sum(by_key.values()), sum(count - 1 for count in by_key.values())


def dollars(server: ModelServer) -> float:
    """What all the replies that were given in full cost, each request once."""
    once = {call.key: call for call in server.log.calls() if call.status == 200 and call.replied}
    return sum(call.prompt_tokens * 1.25 + call.completion_tokens * 10 for call in once.values()) / 1e6


def total(report: Mapping[str, Any]) -> dict[str, Any]:
    return dict(report["cost"][-1])


def test_every_question_is_answered_judged_and_paid_once(bench: Bench) -> None:
    report = bench.run("run")
    figures = report["systems"]["amr"]
    assert figures["failed"] == 0.0
    assert figures["judge_lenient"] >= figures["judge_strict"] > 0.4
    assert 0 < figures["f1"] < 1
    assert figures["abstained.adversarial"] == 1.0
    assert report["intervals"]["amr"]["judge_strict"][2] == 7
    lines = bench.lines("run")
    assert lines["When did Melanie run the charity race?"]["systems"]["amr"]["answer"] == "2023-05-25"
    assert lines["When did Caroline repair the kitchen window?"]["systems"]["amr"]["verdicts"]["judge_strict"] is False
    roles = Counter(call.role for call in bench.server.log.calls())
    assert roles == {"eval_answer": 8, "judge": 7 * 2 + 1}
    assert total(report)["calls"] == 23
    assert total(report)["cost_usd"] == pytest.approx(dollars(bench.server), abs=1e-8)
    assert [row["role"] for row in report["cost"]] == ["answer", "judge", "all"]


def test_questions_are_asked_side_by_side(bench: Bench) -> None:
    bench.server.latency = 0.05
    bench.server.log.max_in_flight = 0
    bench.run("run", limit=4)
    assert 1 < bench.server.log.max_in_flight <= JOBS


def test_the_prompts_are_known_by_their_hashes_and_printed(undisturbed: tuple[dict[str, Any], Path]) -> None:
    report, folder = undisturbed
    config = json.loads((folder / "config.json").read_text())
    assert {"eval_answer", "judge_locomo_lenient", "judge_locomo_strict"} <= set(config["prompts"])
    printed = (folder / "report.md").read_text(encoding="utf-8")
    for name, told_of in config["prompts"].items():
        data = (resource("prompts") / f"{name}.md").read_bytes()
        assert told_of["sha256"] == hashlib.sha256(data).hexdigest()
        assert told_of["sha256"] in printed and data.decode().strip() in printed
    assert config["answer_model"] == config["judge_model"]
    assert (config["k"], config["context_tokens"], config["judge_max_tokens"]) == (50, 8000, 10)
    assert f"{report['cost'][-1]['cost_usd']:.4f}" in printed
    assert not [file for file in folder.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]


def test_faults_that_pass_leave_the_same_report(bench: Bench, undisturbed: tuple[dict[str, Any], Path]) -> None:
    kinds = ("429", "500", "502", "503", "reset")
    bench.server.faults.set(Fault(kinds, probability=0.3, seed=3, seconds=0.02), Fault("500", probability=0.1, seed=5))
    report = bench.run("run")
    faults = Counter(call.fault for call in bench.server.log.calls())
    assert sum(count for kind, count in faults.items() if kind) >= 5
    assert told(report) == told(undisturbed[0])
    assert read(bench.folder / "run") == read(undisturbed[1])
    assert total(report)["cost_usd"] == pytest.approx(dollars(bench.server), abs=1e-8)


def test_replies_of_no_use_that_were_paid_for_are_in_the_cost(bench: Bench) -> None:
    bench.server.faults.set(
        Fault("empty_choices", role="eval_answer", nth=(1, 2)), Fault("not_json", role="judge", nth=1)
    )
    report = bench.run("run", limit=2)
    replied = [call for call in bench.server.log.calls() if call.status == 200 and call.replied]
    paid = sum(call.prompt_tokens * 1.25 + call.completion_tokens * 10 for call in replied) / 1e6
    assert total(report)["cost_usd"] == pytest.approx(paid, abs=1e-8)
    assert report["systems"]["amr"]["failed"] == 0.0


def test_a_run_that_is_killed_again_and_again_and_resumed_gives_the_same_report(
    bench: Bench, undisturbed: tuple[dict[str, Any], Path]
) -> None:
    bench.server.latency = 0.03
    assert bench.killed("run", lambda: len(bench.server.log.calls()) >= 2)
    assert bench.killed("run", lambda: bench.written("run") >= 1, "--resume")
    assert bench.killed("run", lambda: bench.written("run") >= 4, "--resume")
    kills = 3
    assert 4 <= bench.written("run") < len(QUESTIONS)
    report = ran(*bench.command("run", "--resume", "--json"), env={"AMR_API_KEY": KEY}).json
    assert told(report) == told(undisturbed[0])
    assert read(bench.folder / "run") == read(undisturbed[1])
    replies, again = successes(bench.server)
    assert again <= kills * JOBS, "only what was under way at a kill may be paid again"
    assert (total(report)["calls"], total(report)["cost_usd"]) == (
        replies - again,
        pytest.approx(dollars(bench.server), abs=1e-8),
    )
    first = json.loads(f"[{','.join((undisturbed[1] / 'questions.jsonl').read_text().splitlines())}]")
    lines = bench.lines("run")
    assert [answered(lines[line["question"]]) for line in first] == [answered(line) for line in first]


def test_a_reply_on_disk_is_not_paid_again_by_a_run_without_its_line(bench: Bench) -> None:
    report = bench.run("run")
    (bench.folder / "run" / "questions.jsonl").write_text('{"torn')
    before = len(bench.server.log.calls())
    assert told(bench.run("run", resume=True)) == told(report)
    assert len(bench.server.log.calls()) == before


def test_what_fails_for_good_is_a_column_of_its_own_and_can_be_asked_again_alone(
    bench: Bench, undisturbed: tuple[dict[str, Any], Path]
) -> None:
    bench.server.faults.set(
        Fault("500", role="eval_answer", contains="Question: What animal", times=None),
        Fault("not_json", role="judge", contains="Who repaired", times=None),
    )
    report = bench.run("run")
    figures = report["systems"]["amr"]
    assert (figures["failed"], report["intervals"]["amr"]["failed"][2]) == (2, 8)
    assert report["intervals"]["amr"]["judge_strict"][2] == 5
    assert any("2 questions failed" in note for note in report["notes"])
    lines = bench.lines("run")
    assert "5 times" in lines[QUESTIONS[0][0]]["systems"]["amr"]["failed"]
    assert "none of yes, no" in lines[QUESTIONS[6][0]]["systems"]["amr"]["failed"]
    bench.server.faults.clear()
    bench.server.log.clear()
    repaired = bench.run("run", only_failed=True)
    asked = [call.text for call in bench.server.log.calls()]
    assert asked and all(re.search("What animal|Who repaired", text) for text in asked)
    assert [call.role for call in bench.server.log.calls()].count("eval_answer") == 1
    plain = told(undisturbed[0])
    assert {**told(repaired), "cost": None} == {**plain, "cost": None}
    assert total(repaired)["cost_usd"] > total(undisturbed[0])["cost_usd"], "the replies of no use were paid for too"


def test_a_key_that_is_refused_ends_the_run_and_it_can_be_resumed(
    bench: Bench, undisturbed: tuple[dict[str, Any], Path]
) -> None:
    done = amr(*bench.command("run"), env={"AMR_API_KEY": "wrong"})
    assert done.code == 4
    assert_one_sentence(done.err.splitlines()[-1] + "\n", "key")
    assert not bench.lines("run")
    assert told(bench.run("run", resume=True)) == told(undisturbed[0])


def test_the_most_that_may_be_spent_ends_the_run_and_it_can_be_resumed(
    bench: Bench, undisturbed: tuple[dict[str, Any], Path]
) -> None:
    with pytest.raises(BudgetReached, match="--max-cost"):
        bench.run("run", max_cost=0.015)
    assert 0 < dollars(bench.server) <= 0.015
    assert bench.written("run") < len(QUESTIONS)
    assert told(bench.run("run", resume=True)) == told(undisturbed[0])


def test_what_the_runs_own_memory_was_paid_for_is_in_the_cost(bench: Bench, config: Path, tmp_path: Path) -> None:
    embeds = f"{bench.server.base_url}#local-embedder"
    own = tmp_path / "embedded.toml"
    prices = f'[models."{embeds}"]\nusd_per_million_input = 1.25\nusd_per_million_output = 10.0\n'
    own.write_text(f'embedder = "{embeds}"\nembedding_dimensions = 384\n{config.read_text()}{prices}')
    report = bench.run("run", memory=None, config=own, limit=3)
    assert {row["role"] for row in report["cost"]} == {"answer", "judge", "embed", "all"}
    assert total(report)["cost_usd"] == pytest.approx(dollars(bench.server), abs=1e-8)
    assert total(report)["calls"] == len(bench.server.log.calls())
    again = bench.run("run", memory=None, config=own, limit=3, resume=True)
    assert told(again) == told(report)
    assert total(report)["calls"] == len(bench.server.log.calls())


def test_with_oracle_the_model_sees_the_gold_evidence_and_nothing_else(bench: Bench) -> None:
    report = bench.run("run", oracle=True)
    texts = {ref: line for number, lines in enumerate(SESSIONS.values(), 1) for ref, line in _numbered(number, lines)}
    gold = {text: sorted(texts[ref] for ref in refs) for text, _, _, refs in QUESTIONS}
    calls = bench.server.log.calls("eval_answer")
    seen = {re.findall(r"(?m)^Question: (.*)$", call.text)[0]: sorted(shown_lines(call.text)) for call in calls}
    assert seen == gold
    assert set(report["systems"]) == {"amr"}
    assert not any("recall" in name for name in report["systems"]["amr"])


def _numbered(session: int, lines: list[str]) -> list[tuple[str, str]]:
    return [(f"D{session}:{place}", line) for place, line in enumerate(lines, start=1)]


def test_without_a_model_none_is_called(bench: Bench) -> None:
    report = bench.run("run", model="")
    assert not bench.server.log.calls()
    assert "cost" not in report and not any("judge" in name for name in report["systems"]["amr"])


def test_a_memory_may_be_asked_from_many_threads(memory: Path) -> None:
    settings, asked = load_settings(), [text for text, *_ in QUESTIONS] * 2

    def found(text: str) -> list[str | None]:
        filters = Filters(scope="conv-1", kinds=("turn",))
        return [piece.ref for piece in Memory(memory).query(text, settings, filters).evidence]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(found, asked)) == list(map(found, asked))
