"""Models over the wire, against a server that is as strict as the real ones."""

from __future__ import annotations

import io
import logging
import re
import threading
import time
import wave
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from amr.errors import ProviderError
from amr.models.budget import Budget, BudgetReached
from amr.models.calls import Calls, RecordedChat
from amr.models.capabilities import capabilities_of, highest_cost
from amr.models.chat import CallFailed, ChatRequest, Media, RequestTooLarge, Stopped
from amr.models.names import ModelName, Provider
from amr.models.refusals import scrubbed
from amr.models.remote import Patience, Remote
from amr.models.structured import strict_schema
from amr.models.transcripts import RecordedSpeech
from amr.models.wire import chat_body, media_parts
from tests.support.coded_sound import RATE, sound
from tests.support.coded_video import Film, Line
from tests.support.model_server import ModelServer
from tests.support.model_server_faults import CONTENT, Fault

KEY = "sk-or-v1-0123456789abcdef"
QUICK = Patience(total_s=1.0, answer_s=0.4, first_wait_s=0.02, tries=3)
ASK = ChatRequest("chat", "chat", "hash", "Say something as json.", max_tokens=50)


class Words(BaseModel):
    """Some words."""

    text: str


@contextmanager
def serving(mode: str = "openrouter", *faults: Fault, latency: float = 0.0) -> Iterator[ModelServer]:
    with ModelServer(mode=mode, key=KEY, faults=faults, latency=latency) as server:
        yield server


def remote(server: ModelServer, model: str = "openai/gpt-4o-mini", patience: Patience = QUICK, **more: Any) -> Remote:
    providers: dict[str, Provider] = {"openrouter": "openrouter", "openai": "openai", "local": "server"}
    name = ModelName(providers[server.mode], server.base_url, model)
    changed = more.pop("changed", {})
    capabilities = capabilities_of(name).model_copy(update=changed)
    return Remote(name, capabilities, api_key=more.pop("api_key", KEY), patience=patience, **more)


def asks(count: int) -> list[ChatRequest]:
    return [replace(ASK, text=f"Say something as json, {number}.") for number in range(count)]


# What is sent and what comes back


@pytest.mark.parametrize(
    ("mode", "model"),
    [
        ("openrouter", "openai/gpt-4o-mini"),
        ("openrouter", "openai/gpt-5"),
        ("openrouter", "google/gemini-2.5-pro"),
        ("openai", "gpt-4o-mini"),
        ("openai", "gpt-5"),
        ("local", "qwen2.5-vl"),
    ],
)
@pytest.mark.parametrize("schema", [None, strict_schema(Words)])
def test_each_provider_takes_what_it_is_sent(mode: str, model: str, schema: dict[str, Any] | None) -> None:
    with serving(mode) as server:
        reply = remote(server, model).complete(replace(ASK, schema=schema, reasoning_effort="low", system="Be brief."))
        (call,) = server.log.model_calls()
    assert reply.text == "This is a reply of the test server."
    assert reply.usage.prompt_tokens == call.prompt_tokens and call.max_tokens == 50
    assert reply.usage.cost_usd == pytest.approx(call.cost_usd)
    assert reply.latency_ms > 0 and not reply.cached


def test_openrouter_is_told_to_keep_footage_private_and_not_to_drop_the_schema() -> None:
    name = ModelName("openrouter", "https://openrouter.ai/api/v1", "google/gemini-2.5-pro")
    capabilities = capabilities_of(name)
    body = chat_body(replace(ASK, schema=strict_schema(Words), reasoning_effort="low"), name, capabilities)
    assert body["provider"] == {"data_collection": "deny", "require_parameters": True}
    assert body["response_format"]["json_schema"]["strict"] is True
    assert (body["temperature"], body["max_tokens"], body["reasoning_effort"]) == (0, 50, "low")
    assert chat_body(ASK, name, capabilities)["provider"] == {"data_collection": "deny"}


def test_openrouters_own_cost_is_what_counts() -> None:
    with serving() as server:
        wrong_price = remote(server, changed={"usd_per_million_input": 999.0})
        reply = wrong_price.complete(ASK)
        assert reply.usage.cost_usd == pytest.approx(server.log.cost_usd())


def test_media_go_after_the_text_each_in_its_form() -> None:
    name = ModelName("openrouter", "https://openrouter.ai/api/v1", "google/gemini-2.5-pro")
    media = (
        Media("image", b"\xff\xd8\xff", "image/jpeg"),
        Media("video", b"clip", "video/mp4", 10.0),
        Media("audio", b"RIFF", "audio/wav", 10.0),
    )
    body = chat_body(replace(ASK, media=media), name, capabilities_of(name))
    text, image, video, audio = body["messages"][0]["content"]
    assert text == {"type": "text", "text": ASK.text}
    assert image == {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/"}}
    assert video == {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,Y2xpcA=="}}
    assert audio == {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}


def test_media_that_a_model_does_not_take_or_that_are_too_large_are_not_sent() -> None:
    name = ModelName("openai", "https://api.openai.com/v1", "gpt-4o-mini")
    capabilities = capabilities_of(name)
    with pytest.raises(ProviderError, match="does not take video"):
        media_parts([Media("video", b"v", "video/mp4", 1.0)], capabilities, name)
    image = Media("image", b"i" * 11, "image/jpeg")
    for limit in ({"max_media_bytes": 10}, {"max_images": 1}, {"max_request_bytes": 20}):
        with pytest.raises(RequestTooLarge):
            media_parts([image, image], capabilities.model_copy(update=limit), name)


def test_a_model_that_refuses_a_schema_is_asked_for_json_in_a_weaker_way() -> None:
    with serving("local") as server:
        model = remote(server, "without-schema")
        model.complete(replace(ASK, schema=strict_schema(Words)))
        model.complete(replace(ASK, schema=strict_schema(Words), text="More json."))
        assert [call.status for call in server.log.model_calls()] == [400, 200, 200]
    with serving() as server:
        model = remote(server, "openai/gpt-3.5-turbo")
        assert model.complete(replace(ASK, schema=strict_schema(Words))).text
        assert [call.status for call in server.log.model_calls()] == [404, 200]


def test_a_provider_that_lists_prices_tells_them() -> None:
    with serving() as server:
        assert remote(server, "google/gemini-2.5-pro").listed_prices() == pytest.approx((1.25, 10.0))
    with serving("local") as server:
        assert remote(server, "qwen2.5-vl").listed_prices() is None


# Who is asked, and with which key


def test_the_environment_changes_neither_the_server_nor_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-someone-else")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-of-someone-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-someone-else")
    with serving() as server:
        assert remote(server).complete(ASK).text
        headers = remote(server)._client.default_headers
    assert not isinstance(headers.get("OpenAI-Organization"), str)


def test_no_key_is_an_error_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with serving() as server:
        with pytest.raises(ProviderError, match="OPENROUTER_API_KEY"):
            remote(server, api_key=None)
        assert server.log.calls() == []


# Refusals that end the run


@pytest.mark.parametrize(
    ("mode", "model", "media", "says"),
    [
        ("openrouter", "no/such-model", (), "no model no/such-model"),
        ("openrouter", "unknown", (), "no model unknown"),
        ("openai", "gpt-99", (), "no model gpt-99"),
        ("local", "text-only", (Media("image", b"\xff\xd8\xff", "image/jpeg"),), "a model that sees"),
        ("openai", "gpt-3.5-turbo", (Media("image", b"\xff\xd8\xff", "image/jpeg"),), "a model that sees"),
        ("openrouter", "openai/gpt-3.5-turbo", (Media("image", b"\xff\xd8\xff", "image/jpeg"),), "a model that sees"),
    ],
)
def test_what_no_call_could_succeed_with_ends_the_run_at_once(
    mode: str, model: str, media: tuple[Media, ...], says: str
) -> None:
    with serving(mode) as server:
        with pytest.raises(ProviderError, match=says) as caught:
            remote(server, model, changed={"images": True}).complete(replace(ASK, media=media))
        assert not isinstance(caught.value, CallFailed) and caught.value.exit_code == 4
        assert len(server.log.model_calls()) == 1


def test_a_wrong_key_ends_the_run_and_is_not_repeated() -> None:
    with serving() as server, pytest.raises(ProviderError, match="refused the key") as caught:
        remote(server, api_key="sk-wrong-key-123456").complete(ASK)
    assert not isinstance(caught.value, CallFailed)
    assert "sk-wrong" not in str(caught.value)


def test_a_server_that_is_not_there_ends_the_run_after_a_while() -> None:
    with serving("local") as server:
        gone = remote(server, "qwen2.5-vl", replace(QUICK, total_s=0.3))
    with pytest.raises(ProviderError, match="has not answered for a while") as caught:
        gone.complete(ASK)
    assert not isinstance(caught.value, CallFailed)


def test_a_provider_that_is_down_for_long_ends_the_run_and_one_that_comes_back_does_not() -> None:
    with serving("openrouter", Fault("503", times=None)) as server:
        model = remote(server)
        with pytest.raises(ProviderError, match="503"):
            for request in asks(5):
                with suppress(CallFailed):
                    model.complete(request)
        server.faults.set(Fault("503", times=3))
        assert model.complete(ASK).text


# Refusals of one request


def test_what_is_too_long_for_the_model_fails_this_request_only() -> None:
    with serving("local") as server:
        with pytest.raises(RequestTooLarge, match="context"):
            remote(server, "short-context").complete(replace(ASK, text="long " * 3000))
        server.largest_body = 2000
        with pytest.raises(RequestTooLarge, match="413"):
            remote(server, "short-context").complete(replace(ASK, text="long " * 1000))


@pytest.mark.parametrize("kind", ["500", "502", "503", "429", "hang", "reset", "cut_body", "empty_choices", "empty"])
def test_a_fault_that_passes_is_not_noticed(kind: str) -> None:
    with serving("openrouter", Fault(kind, times=2, seconds=0.5 if kind == "hang" else 0.02)) as server:
        assert remote(server).complete(ASK).text == "This is a reply of the test server."
        assert len(server.log.model_calls()) == 3


def test_a_slow_first_byte_is_waited_for() -> None:
    with serving("openrouter", Fault("slow", seconds=0.2)) as server:
        assert remote(server).complete(ASK).latency_ms >= 200
        assert len(server.log.model_calls()) == 1


@pytest.mark.parametrize("kind", ["500", "hang", "reset", "cut_body", "empty_choices", "error_in_choice", "429"])
def test_a_fault_of_one_request_that_stays_fails_it_alone(kind: str) -> None:
    fault = Fault(kind, times=None, contains="bad", seconds=0.5 if kind == "hang" else 0.05)
    with serving("openrouter", fault) as server:
        model = remote(server)
        model.complete(ASK)
        with pytest.raises(CallFailed, match="failed this request"):
            model.complete(replace(ASK, text="A bad request for json."))
        assert model.complete(replace(ASK, text="Another one for json.")).text


def test_a_reply_that_was_cut_off_says_so() -> None:
    with serving("openrouter", Fault("length")) as server:
        assert remote(server).complete(ASK).finish_reason == "length"


def test_a_refusal_is_passed_on_as_text() -> None:
    with serving("openrouter", Fault("refusal")) as server:
        assert "can't help" in remote(server).complete(ASK).text


# Storms, stops and budgets


def test_a_storm_slows_the_run_and_fails_nothing() -> None:
    storm = Fault("429", times=2, probability=0.6, seconds=0.05)
    with serving("openrouter", storm) as server:
        model = remote(server)
        with ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(model.complete, asks(80)))
        assert len(replies) == 80 and all(reply.text for reply in replies)
        assert any(call.status == 429 for call in server.log.model_calls())


def test_all_threads_heed_the_wait_that_one_was_told() -> None:
    with serving("openrouter", Fault("429", nth=1, seconds=0.5)) as server:
        model = remote(server)
        began = time.time()
        first = threading.Thread(target=model.complete, args=(asks(1)[0],))
        first.start()
        time.sleep(0.15)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(model.complete, asks(9)[1:]))
        first.join()
        later = [call.came for call in server.log.model_calls()][1:]
        assert min(later) >= began + 0.5


def test_a_wait_longer_than_the_patience_ends_the_run() -> None:
    endless = Fault("429", times=None, seconds=7200)
    with serving("openrouter", endless) as server, pytest.raises(ProviderError, match="wait 120 minutes"):
        remote(server).complete(ASK)


def test_a_stopped_run_sends_nothing_more_but_finishes_what_is_in_flight() -> None:
    stop = threading.Event()
    with serving(latency=0.3) as server:
        model = remote(server, stop=stop)
        with ThreadPoolExecutor(1) as pool:
            under_way = pool.submit(model.complete, ASK)
            time.sleep(0.1)
            stop.set()
            assert under_way.result().text
        with pytest.raises(Stopped):
            model.complete(ASK)
        assert len(server.log.model_calls()) == 1


def test_the_server_never_bills_more_than_the_budget() -> None:
    cap = 0.0004
    with serving("openrouter", Fault(("500", "hang", "reset"), probability=0.2, seconds=0.5), latency=0.02) as server:
        budget = Budget(cap)
        model = remote(server, budget=budget)

        def ask(request: ChatRequest) -> bool:
            try:
                return bool(model.complete(request).text)
            except BudgetReached:
                return False

        with ThreadPoolExecutor(16) as pool:
            answered = list(pool.map(ask, asks(60)))
        assert any(answered) and not all(answered)
        assert server.log.cost_usd() <= budget.spent_usd <= cap
        most = highest_cost(ASK, model.capabilities)
        assert most is not None and budget.spent_usd > cap - 2 * most


def test_fruitless_attempts_are_part_of_what_a_reply_cost() -> None:
    with serving("openrouter", Fault("empty_choices", times=2)) as server:
        reply = remote(server).complete(ASK)
        assert reply.usage.cost_usd == pytest.approx(server.log.cost_usd())
        assert reply.usage.prompt_tokens == sum(call.prompt_tokens for call in server.log.model_calls())


# Keys


def test_the_key_is_in_no_file_no_log_and_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    with serving() as server:
        kinds = ("401", "500", "reset", "cut_body", *CONTENT)
        for number, kind in enumerate(kinds):
            server.faults.set(Fault(kind, times=None))
            model = RecordedChat(remote(server), Calls(tmp_path, "ingest"))
            try:
                said.append(repr(model.complete(asks(number + 1)[number])))
            except ProviderError as error:
                said += [str(error), repr(error), repr(error.__cause__)]
    written = [file.read_bytes().decode() for file in tmp_path.rglob("*") if file.is_file()]
    assert written and said
    for text in [*said, *written, caplog.text]:
        assert KEY not in text


def test_a_key_that_a_provider_repeats_is_taken_out() -> None:
    echo = f"Incorrect API key provided: {KEY}. Or sk-proj-ABCDEF***xyz1, with\nBearer abcdef123456."
    said = scrubbed(echo, KEY)
    assert not re.search(r"0123456789|ABCDEF|abcdef123456|\n", said)


# Sound


def test_sound_is_transcribed_with_times_and_paid_for_once(tmp_path: Path) -> None:
    film = kitchen_film()
    wav = film_sound(film)
    seconds = (len(wav) - 44) / 32000
    with ModelServer([film], key=KEY) as server:
        for _ in range(2):
            heard = RecordedSpeech(remote(server, "openai/whisper-1"), Calls(tmp_path, "ingest")).transcribe(
                wav, seconds
            )
        assert len(server.log.model_calls()) == 1
    assert [part.text for part in heard] == [line.utterance for line in film.lines]
    assert [part.start for part in heard] == pytest.approx([line.start for line in film.lines], abs=0.2)


def test_a_model_that_gives_no_times_gives_one_segment() -> None:
    film = kitchen_film()
    wav = film_sound(film)
    with ModelServer([film], mode="openai", key=KEY) as server:
        (part,) = remote(server, "gpt-4o-mini-transcribe").transcribe(wav, 30.0, "en").value
    assert (part.start, part.end) == (0.0, 30.0)
    assert film.lines[0].utterance in part.text


def kitchen_film() -> Film:
    lines = (Line(1.0, 3.0, "voice", "Where is my mug?"), Line(6.0, 8.0, "voice", "It is on the table."))
    return Film(1, 10.0, (), lines)


def film_sound(film: Film) -> bytes:
    """The film's sound as a WAV file of 16 kHz mono."""
    samples = sound(film.number, [(number, line.start) for number, line in enumerate(film.lines)], film.seconds)
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())
    return stream.getvalue()
