"""Answers to a benchmark's questions, read and judged by models over a real wire, after each benchmark's rules."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from amr.config import Settings, load_settings
from amr.errors import ProviderError, UsageError
from amr.evals.answering import Answering, Outcome, answers_by_model, with_models
from amr.evals.costs import cost_table, payments, totals
from amr.evals.judging import PROMPTS, prompt_section
from amr.evals.questions import EvalQuestion
from amr.evals.reading import Shown, answers, asked_when, fitting, last_answer, sessions_of, shown_of
from amr.evals.scores import letter_of, many_answers_f1, order_scores, token_f1
from amr.models.budget import BudgetReached
from amr.models.prompts import render
from amr.resources import resource
from tests.support.model_server import ModelServer
from tests.support.model_server_evals import shown_lines
from tests.support.model_server_faults import Fault
from tests.support.models import KEY, USD_PER_MILLION

MAY_8, MAY_25 = 1_683_554_160_000, 1_685_020_560_000
SAID = [
    Shown("D1:1", MAY_8, 1, "Caroline: I adopted a beagle named Pixel."),
    Shown("D2:3", MAY_25, 9, "Melanie: I ran the charity race for mental health."),
    Shown("D2:4", MAY_25, 10, "Caroline: The race took 18 days of training."),
]


@pytest.fixture(scope="module")
def listening() -> Iterator[ModelServer]:
    with ModelServer(mode="local", key=KEY) as server:
        yield server


@pytest.fixture
def server(listening: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    monkeypatch.setenv("AMR_API_KEY", KEY)
    listening.faults.clear()
    listening.log.clear()
    return listening


def settings(server: ModelServer, **more: Any) -> Settings:
    name = f"{server.base_url}#text-only"
    patience = {"first_wait_s": 0.01, "total_s": 5.0}
    plain = load_settings(None, models={name: USD_PER_MILLION}, patience=patience, **more)
    return with_models(plain, name, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "calls"


def question(text: str, answer: str, category: str, number: str = "1", **known: Any) -> EvalQuestion:
    return EvalQuestion(number, text, category, "scope", {}, answer=answer, known=known)


def outcome(server: ModelServer, folder: Path, benchmark: str, asked: EvalQuestion) -> Outcome:
    return Answering(settings(server), folder, benchmark).ask(asked, SAID)


def hits(server: ModelServer, folder: Path, benchmark: str, asked: EvalQuestion) -> dict[str, Any]:
    found = outcome(server, folder, benchmark, asked).line
    assert "failed" not in found, found
    return dict(found["hits"])


# --- reading ------------------------------------------------------------------------------------------------


def test_only_what_follows_the_last_answer_is_the_answer() -> None:
    assert last_answer("Answer: blue? No.\nSo: Answer: red\nand green") == "red\nand green"
    assert last_answer("It was red.") == "It was red."
    assert last_answer("thinking\n**Answer:** red") == "red"
    assert not answers("I think that") and not answers("So the answer:") and answers("ANSWER : x")


def test_evidence_is_shown_in_order_of_time_with_its_day_of_the_week() -> None:
    assert sessions_of(fitting([SAID[2], SAID[0], SAID[1]], 1000)) == [
        {"when": "2023-05-08 13:56:00 (Monday)", "lines": [SAID[0].text]},
        {"when": "2023-05-25 13:16:00 (Thursday)", "lines": [SAID[1].text, SAID[2].text]},
    ]


def test_evidence_keeps_to_the_budget_of_tokens_the_best_first() -> None:
    long = Shown("long", MAY_8, 0, "word " * 400)
    assert [piece.ref for piece in fitting([SAID[1], long, SAID[0]], 60)] == ["D1:1", "D2:3"]
    (cut,) = fitting([long, SAID[0]], 100)
    assert cut.text.endswith("…") and len(cut.text) < 400


def test_evidence_is_read_from_a_reply_of_the_memory() -> None:
    piece = {"node_id": 7, "ref": "D1:1", "time": "2023-05-08T13:56:00", "text": SAID[0].text}
    assert shown_of([piece]) == [Shown("D1:1", MAY_8, 7, SAID[0].text)]
    assert shown_of([{**piece, "ref": None, "time": None}]) == [Shown("7", None, 7, SAID[0].text)]
    assert sessions_of(shown_of([{**piece, "time": None}]))[0]["when"] == "no date"


def test_the_date_of_a_question_is_told_as_far_as_it_is_one() -> None:
    assert asked_when("2023-05-30T01:13:00") == "2023-05-30 01:13:00 (Tuesday)"
    assert asked_when("DAY2 21:14:30") == "DAY2 21:14:30"
    assert asked_when(None) == ""


def test_the_reader_sees_the_question_its_date_and_the_evidence_and_nothing_else(
    server: ModelServer, folder: Path
) -> None:
    asked = EvalQuestion("1", "What did Melanie run?", "single-hop", "s", {}, "the race", "2023-06-01T10:00:00")
    line = outcome(server, folder, "locomo", asked).line
    assert line["answer"] == "I ran the charity race for mental health."
    assert line["reply"].endswith(f"Answer: {line['answer']}")
    assert line["shown"] == ["D1:1", "D2:3", "D2:4"]
    text = render(
        "eval_answer", question=asked.question, asked_at="x", sessions=sessions_of(SAID), choices={}, brief=True
    ).text
    assert shown_lines(text) == [piece.text for piece in SAID]


# --- scores without a model ---------------------------------------------------------------------------------


def test_token_f1_forgives_case_articles_punctuation_and_endings() -> None:
    assert token_f1("Running, the Races!", "a race and run") == 1.0
    assert token_f1("mental health", "the mental") == pytest.approx(2 / 3)
    assert token_f1("", "mental") == 0.0


def test_of_several_answers_each_is_looked_for_in_the_best_part() -> None:
    assert many_answers_f1("pottery, a dog", "dogs, painting") == pytest.approx(0.5)
    assert many_answers_f1("Sweden", "Sweden") == 1.0


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        *(("B", "B"), ("(b)", "B"), ("B. Lucia", "B"), ("**C**", "C"), ("Option A", "A"), ("lucia", "B")),
        *(
            ("A cup on the table", ""),
            ("I cannot tell", ""),
            ("", ""),
            ("E", ""),
            ("Error: timeout", ""),
            ("A Me", "A"),
        ),
    ],
)
def test_a_letter_is_read_from_an_answer_and_never_guessed(answer: str, letter: str) -> None:
    assert letter_of(answer, {"A": "Me", "B": "Lucia", "C": "Tasha", "D": "Shure"}) == letter


def test_the_order_of_events_is_kendalls_tau_and_what_is_missing_counts() -> None:
    events = ["a", "b", "c"]
    assert order_scores(events, events) == (1.0, 1.0)
    assert order_scores(events, ["c", "b", "a"]) == (0.0, 1.0)
    assert order_scores(events, []) == (0.0, 0.0)
    order, f1 = order_scores(events, ["a", "c"])
    assert 0.5 < order < 1.0 and f1 == pytest.approx(0.8)
    # By scipy.stats.kendalltau(variant="b") over the ranks [1, 2, 3, 5] and [1, 3, 5, 2]: 1/3.
    assert order_scores(events, ["a", "x", "b"])[0] == pytest.approx((1 / 3 + 1) / 2)


# --- LongMemEval --------------------------------------------------------------------------------------------


def test_an_answer_that_holds_the_gold_one_is_right_and_counts_for_its_type(server: ModelServer, folder: Path) -> None:
    asked = question("What is the beagle that was adopted named?", "Pixel", "single-session-user")
    found = hits(server, folder, "longmemeval", asked)
    assert found == {"accuracy": True, "accuracy.single-session-user": True}
    wrong = question("What is the beagle that was adopted named?", "Rex", "multi-session")
    assert hits(server, folder, "longmemeval", wrong)["accuracy"] is False


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        *((kind, "asks for.\n\nQ") for kind in ("single-session-user", "single-session-assistant", "multi-session")),
        ("temporal-reasoning", "off by one is still correct"),
        ("knowledge-update", "as long as the updated"),
        ("single-session-preference", "Rubric: Caroline"),
    ],
)
def test_the_judge_has_ten_tokens_and_the_prompt_of_the_type(
    kind: str, rule: str, server: ModelServer, folder: Path
) -> None:
    server.faults.set(Fault("not_json", role="judge", contains=rule, times=None))
    line = outcome(server, folder, "longmemeval", question("Who adopted a beagle?", "Caroline", kind)).line
    assert "failed" in line, "the prompt of another type was sent"
    assert {call.max_tokens for call in server.log.calls("judge")} == {10}


def prompt_text(name: str) -> str:
    return (resource("prompts") / f"{name}.md").read_text(encoding="utf-8")


def test_a_number_that_is_off_by_one_is_right_for_times_alone(server: ModelServer, folder: Path) -> None:
    text = "How many days of training did the race take?"
    assert hits(server, folder, "longmemeval", question(text, "19 days", "temporal-reasoning"))["accuracy"] is True
    assert hits(server, folder, "longmemeval", question(text, "20 days", "temporal-reasoning"))["accuracy"] is False
    assert hits(server, folder, "longmemeval", question(text, "19 days", "multi-session"))["accuracy"] is False


def test_of_what_cannot_be_answered_to_say_so_is_right(server: ModelServer, folder: Path) -> None:
    asked = question("Where is the green bicycle pump?", "There is no pump.", "multi-session", "q1_abs")
    found = hits(server, folder, "longmemeval", asked)
    assert found == {"accuracy": True, "accuracy.multi-session": True, "accuracy.abstention": True}
    made_up = question("Who adopted a beagle?", "Nobody did.", "multi-session", "q2_abs")
    assert hits(server, folder, "longmemeval", made_up)["accuracy.abstention"] is False


# --- LoCoMo -------------------------------------------------------------------------------------------------


def test_a_lenient_and_a_strict_judge_and_f1_stand_side_by_side(server: ModelServer, folder: Path) -> None:
    asked = question("What race did Melanie run?", "a charity race for wildlife", "single-hop")
    found = hits(server, folder, "locomo", asked)
    assert (found["judge_lenient"], found["judge_strict"]) == (True, False)
    assert 0 < found["f1"] < 1
    assert set(found) == {
        f"{name}{part}" for name in ("judge_lenient", "judge_strict", "f1") for part in ("", ".single-hop")
    }


def test_where_gold_answers_were_audited_figures_are_also_without_those_known_to_be_wrong(
    server: ModelServer, folder: Path
) -> None:
    asked = question("What race did Melanie run?", "a marathon", "single-hop")
    assert "judge_strict.sound_gold" not in hits(server, folder, "locomo", asked), "nobody looked at it"
    sound, wrong, miscited = (
        replace(asked, groups=("sound_evidence",)),
        replace(asked, groups=("sound_evidence",), known={"gold_error": "HALLUCINATION"}),
        replace(asked, known={"citation_error": "WRONG_CITATION"}),
    )
    found = ["judge_strict.sound_gold" in hits(server, folder, "locomo", one) for one in (sound, wrong, miscited)]
    assert found == [True, False, True]


def test_dates_come_from_the_sessions(server: ModelServer, folder: Path) -> None:
    asked = question("When did Melanie run the race?", "2023-05-25", "temporal")
    assert hits(server, folder, "locomo", asked)["judge_strict"] is True


def test_adversarial_questions_are_judged_by_whether_the_answer_abstains(server: ModelServer, folder: Path) -> None:
    known = question("What piano did Melanie sell?", "a grand piano", "adversarial")
    assert hits(server, folder, "locomo", known) == {"abstained.adversarial": True}
    fooled = question("What race did Melanie run?", "the charity race", "adversarial")
    assert hits(server, folder, "locomo", fooled) == {"abstained.adversarial": False}


def test_f1_of_multi_hop_is_over_the_parts_and_of_open_domain_over_the_first(server: ModelServer, folder: Path) -> None:
    answer = "I ran the charity race for mental health."
    for category, gold, wanted in (
        ("multi-hop", "mental health, pottery", (token_f1(answer, "mental health") + 0.0) / 2),
        ("open-domain", "mental health; she said so", token_f1(answer, "mental health")),
        ("single-hop", "mental health; she said so", token_f1(answer, "mental health; she said so")),
    ):
        asked = question("What did Melanie run the charity race for?", gold, category)
        assert hits(server, folder, "locomo", asked)["f1"] == pytest.approx(wanted, abs=1e-3)


# --- BEAM and EgoLifeQA -------------------------------------------------------------------------------------


def test_a_rubric_is_the_mean_of_its_items_each_none_half_or_all(server: ModelServer, folder: Path) -> None:
    rubric = ["LLM response should state: charity race", "LLM response should state: mental health clinic", "pottery"]
    asked = question("What did Melanie run?", "", "information_extraction", rubric=rubric)
    found = outcome(server, folder, "beam", asked).line
    assert found["verdicts"] == {"rubric": [1.0, 0.5, 0.0]}
    assert found["hits"]["score"] == found["hits"]["score.information_extraction"] == 0.5
    assert found["hits"]["score_halves_as_zero"] == pytest.approx(1 / 3)


def test_the_order_of_events_is_scored_over_the_lines_of_the_answer(server: ModelServer, folder: Path) -> None:
    asked = question("Caroline adopted what?", "", "event_ordering", rubric=["a beagle named Pixel", "the race"])
    found = outcome(server, folder, "beam", asked).line
    assert found["verdicts"]["order_f1"] == pytest.approx(0.6667)
    assert found["hits"]["score"] == found["hits"]["score.event_ordering"] == pytest.approx(found["verdicts"]["order"])
    assert found["hits"]["rubric.event_ordering"] == 0.5


@pytest.mark.parametrize(
    ("benchmark", "asked", "why"),
    [
        ("beam", question("What did Melanie run?", "", "summarization", rubric=[]), "no rubric"),
        ("longmemeval", question("What did Melanie run?", "a race", "riddle"), "of the type riddle"),
        ("locomo", question("What did Melanie run?", "", "temporal"), "no gold answer"),
        (
            "egolife",
            question("What did Melanie run?", "E", "EntityLog", choices={"A": "a race"}),
            "none of the question",
        ),
    ],
)
def test_what_cannot_be_judged_is_not_asked_and_neither_right_nor_wrong(
    benchmark: str, asked: EvalQuestion, why: str, server: ModelServer, folder: Path
) -> None:
    line = outcome(server, folder, benchmark, asked).line
    assert why in line["failed"] and "hits" not in line
    assert not server.log.calls()


def test_letters_need_no_judge_and_no_letter_is_wrong_and_told_apart(server: ModelServer, folder: Path) -> None:
    choices = {"A": "the charity race", "B": "a marathon"}
    asked = question("What did Melanie run for mental health?", "A", "EventRecall", choices=choices)
    found = hits(server, folder, "egolife", asked)
    assert found == {"letter_accuracy": True, "letter_accuracy.EventRecall": True, "no_letter": False}
    lost = question(
        "What did Melanie run for mental health?", "A", "HabitInsight", choices={"A": "a swim", "B": "a walk"}
    )
    found = hits(server, folder, "egolife", lost)
    assert (found["letter_accuracy"], found["no_letter"]) == (False, True)
    assert not server.log.calls("judge")


# --- faults, costs, models ----------------------------------------------------------------------------------


ASKED = question("What race did Melanie run?", "charity race", "single-hop")


def test_a_judge_that_replies_neither_yes_nor_no_is_asked_once_more(server: ModelServer, folder: Path) -> None:
    server.faults.set(Fault("not_json", role="judge", nth=1))
    line = outcome(server, folder, "locomo", ASKED).line
    assert "failed" not in line
    assert [call.fault for call in server.log.calls("judge")] == ["not_json", "", ""]
    assert line["usage"]["calls"] == 4


def test_and_if_it_does_so_again_the_question_has_failed_and_can_be_asked_again(
    server: ModelServer, folder: Path
) -> None:
    server.faults.set(Fault("not_json", role="judge", times=None))
    lost = outcome(server, folder, "locomo", ASKED)
    assert "none of yes, no" in lost.line["failed"] and "hits" not in lost.line and lost.provider_error is None
    server.faults.clear()
    again = Answering(settings(server), folder, "locomo").ask(ASKED, SAID, lost.line).line
    assert again["hits"]["judge_strict"] is True
    assert len(server.log.calls("eval_answer")) == 1
    assert again["usage"]["prompt_tokens"] == sum(call.prompt_tokens for call in server.log.calls())


def test_a_reply_that_is_cut_off_is_asked_for_with_twice_the_room(server: ModelServer, folder: Path) -> None:
    server.faults.set(Fault("length", role="eval_answer", nth=1))
    assert outcome(server, folder, "locomo", ASKED).line["hits"]["judge_strict"] is True
    first, second = server.log.calls("eval_answer")
    assert (first.max_tokens, second.max_tokens) == (1024, 2048)


def test_faults_that_pass_change_nothing(server: ModelServer, folder: Path, tmp_path: Path) -> None:
    plain = outcome(server, tmp_path / "plain", "locomo", ASKED).line
    server.log.clear()
    kinds = ("429", "500", "reset", "cut_body")
    server.faults.set(
        *(Fault(kind, role=role, nth=n) for role in ("eval_answer", "judge") for n, kind in enumerate(kinds, 1))
    )
    line = outcome(server, folder, "locomo", ASKED).line
    assert (line["answer"], line["hits"]) == (plain["answer"], plain["hits"])
    assert len([call for call in server.log.calls() if call.fault]) == 2 * len(kinds)


def test_a_request_that_is_refused_fails_its_question_alone(server: ModelServer, folder: Path) -> None:
    short = settings(server, eval={"context_tokens": 30_000})
    name = f"{server.base_url}#short-context"
    line = Answering(with_models(short, name, None), folder, "locomo").ask(
        ASKED, [Shown("x", MAY_8, 0, "word " * 20_000)]
    )
    assert "too large" in line.line["failed"]
    assert line.provider_error is None


def test_a_provider_that_refuses_the_key_is_at_fault_itself(
    server: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMR_API_KEY", "wrong")
    lost = outcome(server, folder, "locomo", ASKED)
    assert "key" in lost.line["failed"]
    assert isinstance(lost.provider_error, ProviderError)


def test_what_may_be_spent_ends_the_run_and_not_the_question(server: ModelServer, folder: Path) -> None:
    with pytest.raises(BudgetReached):
        Answering(settings(server), folder, "locomo", max_cost=0.0001).ask(ASKED, SAID)
    assert not server.log.calls()


def test_each_call_is_paid_once_and_told_with_its_price_also_when_it_comes_from_disk(
    server: ModelServer, folder: Path
) -> None:
    first = outcome(server, folder, "locomo", ASKED).line
    again = outcome(server, folder, "locomo", ASKED).line
    assert len(server.log.calls()) == 3
    assert first["usage"] == again["usage"]
    paid = payments([{"systems": {"amr": line}} for line in (first, again)])
    whole = totals(paid)[-1]
    assert whole["calls"] == 3
    assert whole["prompt_tokens"] == sum(call.prompt_tokens for call in server.log.calls())
    dollars = sum(call.prompt_tokens * 1.25 + call.completion_tokens * 10 for call in server.log.calls()) / 1e6
    assert whole["cost_usd"] == pytest.approx(dollars, abs=1e-9)
    assert [row["role"] for row in totals(paid)] == ["answer", "judge", "all"]
    assert len(cost_table(totals(paid))) == 5


def test_a_price_that_is_not_known_is_not_taken_for_nothing() -> None:
    row = {"key": "k", "at": 1, "role": "answer", "model": "m", "prompt_tokens": 1, "completion_tokens": 1}
    (part, whole) = totals([{**row, "cost_usd": None}])
    assert part["cost_usd"] is None and whole["cost_usd"] is None
    assert "not known" in cost_table([whole])[-1]


def test_many_threads_ask_the_same_models(server: ModelServer, folder: Path) -> None:
    answering = Answering(settings(server), folder, "locomo")
    questions = [question(f"What race did Melanie run, {n}?", "charity race", "multi-hop", str(n)) for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        lines = [done.line for done in pool.map(lambda one: answering.ask(one, SAID), questions)]
    assert not [line for line in lines if "failed" in line]
    assert len(server.log.calls()) == totals(payments([{"systems": {"amr": line}} for line in lines]))[-1]["calls"]


def test_another_model_can_judge_and_by_default_the_one_that_answers_does(server: ModelServer, folder: Path) -> None:
    name, other = f"{server.base_url}#text-only", f"{server.base_url}#without-schema"
    assert not answers_by_model(load_settings())
    assert Answering(settings(server), folder, "locomo").config()["judge_model"] == name
    chosen = with_models(settings(server), None, other)
    assert Answering(chosen, folder, "locomo").config()["judge_model"] == other
    with pytest.raises(UsageError):
        with_models(chosen, "no model at all", None)


def test_a_judge_that_thinks_first_has_the_room_to_do_so(folder: Path) -> None:
    thinking = with_models(load_settings(), "http://127.0.0.1:9/v1#m", "openai:gpt-5-mini")
    thinking.roles["judge"].api_key = "k"
    assert Answering(thinking, folder, "locomo").config()["judge_max_tokens"] == 1024


# --- prompts ------------------------------------------------------------------------------------------------


RULES = {
    "eval_answer": ("invent nothing", "Not mentioned", "counts from the time above its line", "list each thing once"),
    "judge_longmemeval_general": ("only a part", "yes or no only"),
    "judge_longmemeval_temporal": ("off by one is still correct", "yes or no only"),
    "judge_longmemeval_update": ("as long as the updated answer is what it answers with", "yes or no only"),
    "judge_longmemeval_preference": ("need not have every point", "yes or no only"),
    "judge_longmemeval_abstention": ("missing or incomplete", "yes or no only"),
    "judge_locomo_lenient": ("Be generous", "touches on the same topic", "same date or period", "yes or no only"),
    "judge_locomo_strict": (
        "every fact of the gold answer",
        "does not know or cannot tell",
        "hedges",
        "yes or no only",
    ),
    "judge_locomo_abstention": ("is not mentioned, not known or not so", "yes or no only"),
    "judge_beam_rubric": ("1, 0.5 or 0 only", "by meaning"),
    "judge_beam_same_event": ("the same event or fact", "yes or no only"),
    "judge_again": ("is not one of the replies allowed",),
}


@pytest.mark.parametrize("name", RULES)
def test_every_rule_stands_in_its_prompt(name: str) -> None:
    text = " ".join(prompt_text(name).split())
    assert all(rule in text for rule in RULES[name])
    with pytest.raises(UndefinedError):
        render(name)


def test_every_prompt_of_evaluations_is_looked_at_and_belongs_to_a_benchmark() -> None:
    files = {path.stem for path in resource("prompts").iterdir() if path.stem.startswith(("eval_", "judge_"))}
    assert files == set(RULES)
    assert files == {"eval_answer"}.union(*map(set, PROMPTS.values()))


def test_the_prompts_are_printed_with_their_hashes(server: ModelServer, folder: Path) -> None:
    told = Answering(settings(server), folder, "locomo").config()["prompts"]
    assert set(told) == {"eval_answer", *PROMPTS["locomo"]}
    section = prompt_section(told)
    for name in told:
        data = (resource("prompts") / f"{name}.md").read_bytes()
        assert hashlib.sha256(data).hexdigest() in section
        assert data.decode().strip() in section
