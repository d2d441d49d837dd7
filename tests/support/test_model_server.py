"""The test server sees what it is sent, refuses what the real ones refuse, and fails as it is told to."""

from __future__ import annotations

import base64
import io
import itertools
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from amr.config import load_settings
from amr.media.source import open_sources
from amr.records import Clip, ClipAnalysis, Frame
from tests.support.coded_video import (
    Film,
    Happening,
    Line,
    Thing,
    expected,
    expected_clips,
    load_film,
    make_coded_video,
    random_film,
    save_film,
)
from tests.support.model_server import ModelServer, over_http, separate_server
from tests.support.model_server_faults import Fault
from tests.support.videos import ffmpeg

FILM = random_film(3, 4)
SEE = "google/gemini-2.5-flash"
_SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {"handles": {"type": "array", "items": {"type": "string"}}},
    "required": ["handles"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_coded_video(FILM, tmp_path_factory.mktemp("coded") / "film.mp4")


@pytest.fixture(scope="module")
def clips(video: Path) -> list[Clip]:
    (source,) = open_sources(video, load_settings())
    return list(source.clips(set()))


@pytest.fixture
def server() -> Any:
    with ModelServer([FILM]) as server:
        yield server


def client(server: ModelServer, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key=server.key, base_url=server.base_url, **{"max_retries": 0, "timeout": 20} | options)


def jpeg(clip: Clip, number: int) -> dict[str, Any]:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(clip.frames[number].image).save(file, "JPEG", quality=85)
    return {"type": "image_url", "image_url": {"url": data_url("image/jpeg", file.getvalue())}}


def data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def wav(clip: Clip) -> bytes:
    import wave

    assert clip.audio is not None
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes((clip.audio * 32767).astype(np.int16).tobytes())
    return file.getvalue()


def frames_request(clip: Clip, times: list[float] | None = None, **more: Any) -> dict[str, Any]:
    """A request about the frames and the sound of a clip."""
    told = times or [round((frame.time_ms - clip.start_ms) / 1000, 3) for frame in clip.frames]
    data = {"clip_seconds": (clip.end_ms - clip.start_ms) / 1000, "frame_times": told}
    text = {"type": "text", "text": f"task: perception\nAnswer in JSON.\n```json\n{json.dumps(data)}\n```"}
    images = [jpeg(clip, number) for number in range(len(clip.frames))]
    audio = {
        "type": "input_audio",
        "input_audio": {"data": base64.b64encode(wav(clip)).decode(), "format": "wav"},
    }
    messages = [{"role": "user", "content": [text, *images, audio]}]
    return {"model": SEE, "messages": messages, "max_tokens": 4000, "temperature": 0, **more}


def video_request(path: Path) -> dict[str, Any]:
    parts = [
        {"type": "text", "text": "Analyse the clip."},
        {"type": "video_url", "video_url": {"url": data_url("video/mp4", path.read_bytes())}},
    ]
    return {"model": SEE, "messages": [{"role": "user", "content": parts}], "max_tokens": 4000}


def text_request(task: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    text = f"task: {task}\nAnswer in JSON.\n```json\n{json.dumps(data)}\n```"
    return {"model": "openai/gpt-4o-mini", "messages": [{"role": "user", "content": text}], **more}


def ask(server: ModelServer, request: dict[str, Any], **options: Any) -> Any:
    reply = client(server, **options).chat.completions.create(**request)
    return json.loads(reply.choices[0].message.content or "")


def seen(server: ModelServer, request: dict[str, Any]) -> ClipAnalysis:
    return ClipAnalysis.model_validate(ask(server, request))


def test_the_frames_and_sound_of_every_clip_give_the_truth(server: ModelServer, clips: list[Clip]) -> None:
    assert [seen(server, frames_request(clip)) for clip in clips] == expected_clips(FILM)
    assert [call.clip_begin for call in server.log.calls("perception")] == [0, 10, 20, 30]


@pytest.mark.parametrize("form", [["-c:v", "libx264", "-c:a", "aac"], ["-vf", "scale=120:-2", "-crf", "30"]])
def test_a_clip_cut_out_as_video_gives_the_truth(
    server: ModelServer, video: Path, tmp_path: Path, form: list[str]
) -> None:
    for number, truth in enumerate(expected_clips(FILM)):
        clip = tmp_path / f"{number}.mp4"
        ffmpeg("-ss", number * 10, "-i", video, "-t", 10, *form, clip)
        assert seen(server, video_request(clip)) == truth


def test_without_sound_no_words_are_heard_but_those_of_a_transcript(server: ModelServer, clips: list[Clip]) -> None:
    number = FILM.lines[0].happening
    assert number is not None
    index = int(FILM.happenings[number].start // 10)
    request = frames_request(clips[index])
    request["messages"][0]["content"].pop()
    assert seen(server, request) == expected(FILM, 10.0 * index, 10.0 * index + 10, sound=False)
    told = {"type": "text", "text": "\n".join(line.utterance for line in FILM.lines)}
    request["messages"][0]["content"].append(told)
    assert seen(server, request) == expected(FILM, 10.0 * index, 10.0 * index + 10)


def test_wrong_frames_times_or_sound_give_a_wrong_memory(server: ModelServer, clips: list[Clip]) -> None:
    truth = expected_clips(FILM)
    first, second = clips[0], clips[1]
    times = [round(frame.time_ms / 1000, 3) for frame in first.frames]
    assert seen(server, frames_request(second)) != truth[0]
    assert seen(server, frames_request(first, [time + 1 for time in times])) != truth[0]
    assert seen(server, frames_request(first, times[::-1])) != truth[0]
    one_wrong = Clip(0, 0, 10_000, frames=[*first.frames[:4], second.frames[4], *first.frames[5:]], audio=first.audio)
    assert seen(server, frames_request(one_wrong, times)) != truth[0]
    heard = next(number for number, clip in enumerate(truth) if clip.speaker_turns)
    swapped = Clip(0, 0, 10_000, frames=clips[heard].frames, audio=clips[heard - 1].audio)
    told = [round(time, 3) for time in times]
    assert seen(server, frames_request(swapped, told)) != truth[heard]
    sideways = [Frame(frame.time_ms, np.ascontiguousarray(np.rot90(frame.image))) for frame in first.frames]
    turned = Clip(0, 0, 10_000, frames=sideways, audio=first.audio)
    assert not seen(server, frames_request(turned, times)).events


def test_what_crosses_a_clips_edge_is_cut_there_and_a_voice_is_no_character(tmp_path: Path) -> None:
    film = Film(
        9,
        20,
        (Happening(8.0, 12.6, "A cat crosses the yard.", ("cat",), (Thing("ball"),)),),
        (Line(14.0, 15.5, "someone unseen", "Come in!"),),
        rate=10,
    )
    path = make_coded_video(film, tmp_path / "cat.mp4", width=320)
    with ModelServer([film]) as server:
        (source,) = open_sources(path, load_settings())
        got = [seen(server, frames_request(clip)) for clip in source.clips(set())]
    assert got == expected_clips(film)
    assert [(event.time_start, event.time_end) for clip in got for event in clip.events] == [(8.0, 10.0), (0.0, 2.6)]
    assert [(turn.speaker_id, turn.time_start) for turn in got[1].speaker_turns] == [("S1", 4.0)]


def test_a_reply_keeps_to_the_schema_it_was_asked_for(server: ModelServer, clips: list[Clip]) -> None:
    schema = {
        "type": "object",
        "properties": {"clip_summary": {"type": "string"}, "certain": {"type": "boolean"}},
        "required": ["clip_summary", "certain"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "perceive", "strict": True, "schema": schema}}
    reply = ask(server, frames_request(clips[0], response_format=wanted))
    assert list(reply) == ["clip_summary", "certain"]


def test_small_tasks_are_answered_from_their_fields(server: ModelServer) -> None:
    handles = text_request("handles", {"descriptors": ["girl in black hoodie", "older man with glasses"]})
    got = ask(server, handles)["handles"]
    assert [item["handle"] for item in got] == ["girl_black_hoodie", "older_man_glasses"]
    deed = {"actor": "girl", "verb": "pick up", "object": "phone", "spatial_relation": "from the table"}
    events = [{"local_event_id": "E1", "summary": "x", "actions": [deed], "dialogue": ["I am leaving."]}]
    (summary,) = ask(server, text_request("summaries", {"events": events, "scene_type": "kitchen"}))["summaries"]
    assert summary["id"] == "E1"
    assert summary["summary"] == "Girl pick up phone from the table, in the kitchen, saying “I am leaving.”."
    merged = ask(server, text_request("merged_summary", {"summaries": ["She cooks.", "She eats."]}))
    assert merged["summary"] == "She cooks, and then she eats."
    asked = {"question": "Where is the phone?"}
    assert ask(server, text_request("question_type", asked))["question_type"] == "Object_Tracking"
    groups = [{"id": 1, "events": ["the phone lies there"]}, {"id": 2, "events": ["rain"]}]
    scores = ask(server, text_request("verification", {**asked, "groups": groups}))["scores"]
    assert [(item["id"], item["score"]) for item in scores] == [(1, 1.0), (2, 0.0)]
    context = [{"id": 7, "text": "The phone is on the shelf."}, {"id": 8, "text": "Rain."}]
    answer = ask(server, text_request("answer", {**asked, "context": context}))
    assert (answer["answer"], answer["evidence"]) == ("The phone is on the shelf.", [7])


def test_similar_texts_have_near_embeddings(server: ModelServer) -> None:
    texts = ["the girl picks up the red phone", "the girl puts down the red phone", "heavy rain at night"]
    for dimensions in (3072, 256):
        reply = client(server).embeddings.create(
            model="openai/text-embedding-3-large", input=texts, dimensions=dimensions
        )
        rows = np.array([row.embedding for row in reply.data])
        assert rows.shape == (3, dimensions)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        assert rows[0] @ rows[1] > 0.5 > rows[0] @ rows[2]


def test_speech_is_transcribed_with_its_times(clips: list[Clip]) -> None:
    with ModelServer([FILM], mode="openai") as server:
        for clip, truth in zip(clips, expected_clips(FILM), strict=True):
            reply = client(server).audio.transcriptions.create(
                model="whisper-1", file=("clip.wav", wav(clip)), response_format="verbose_json"
            )
            got = [(part.text.strip(), round(part.start, 2)) for part in reply.segments or []]
            assert got == [(turn.utterance, turn.time_start) for turn in truth.speaker_turns]


def test_tokens_and_dollars_are_counted(server: ModelServer, clips: list[Clip]) -> None:
    usage = client(server).chat.completions.create(**frames_request(clips[0])).usage
    assert usage is not None
    call = server.log.calls("perception")[-1]
    assert usage.prompt_tokens == call.prompt_tokens > 8 * 258 + 320
    assert usage.model_dump()["cost"] == pytest.approx(
        (usage.prompt_tokens * 0.3 + usage.completion_tokens * 2.5) / 1e6
    )
    listed = client(server).models.list().data
    prices = {model.id: model.model_dump()["pricing"]["prompt"] for model in listed}
    assert float(prices[SEE]) == pytest.approx(0.3e-6)


def _with(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**request, **more}


def _schema(schema: dict[str, Any], name: str = "handles") -> dict[str, Any]:
    wanted = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
    return text_request("handles", {"descriptors": ["a cat"]}, response_format=wanted)


def _image(url: str, kind: str = "image_url") -> dict[str, Any]:
    parts = [{"type": "text", "text": "x"}, {"type": kind, kind: {"url": url}}]
    return {"model": "openai/gpt-4o-mini", "messages": [{"role": "user", "content": parts}]}


PLAIN = text_request("handles", {"descriptors": ["a cat"]})
REFUSED = {
    "unknown field": ("openrouter", _with(PLAIN, colour="red"), 400),
    "a router's field at OpenAI": ("openai", _with(PLAIN, model="gpt-4o-mini", provider={"zdr": True}), 400),
    "unknown preference": ("openrouter", _with(PLAIN, provider={"colour": 1}), 400),
    "temperature": ("openrouter", _with(PLAIN, temperature=3), 400),
    "max_tokens": ("openai", _with(PLAIN, model="gpt-5", max_tokens=5), 400),
    "temperature of a reasoner": ("openai", _with(PLAIN, model="gpt-5", temperature=0), 400),
    "effort without reasoning": ("openai", _with(PLAIN, model="gpt-4o-mini", reasoning_effort="low"), 400),
    "unknown model": ("openai", _with(PLAIN, model="gpt-99"), 404),
    "unknown model of a router": ("openrouter", _with(PLAIN, model="openai/gpt-99"), 404),
    "optional property": ("openrouter", _schema({**_SHAPE, "required": []}), 400),
    "open object": ("openrouter", _schema({**_SHAPE, "additionalProperties": True}), 400),
    "unsupported keyword": ("openrouter", _schema({**_SHAPE, "minProperties": 1}), 400),
    "schema's name": ("openrouter", _schema(_SHAPE, "two words"), 400),
    "parameters required": (
        "openrouter",
        _with(PLAIN, reasoning_effort="low", provider={"require_parameters": True}),
        404,
    ),
    "not base64": ("openrouter", _image("data:image/jpeg;base64,@@@"), 400),
    "not a picture": ("openrouter", _image(data_url("image/jpeg", b"no picture")), 400),
    "media type": ("openrouter", _image(data_url("image/bmp", b"BM")), 400),
    "not a data URL": ("openrouter", _image("frame.jpg"), 400),
    "video at OpenAI": ("openai", _with(_image(data_url("video/mp4", b"x"), "video_url"), model="gpt-4o"), 400),
    "model without video": ("openrouter", _image(data_url("video/mp4", b"x"), "video_url"), 404),
    "model without vision": ("local", _with(_image(data_url("image/jpeg", b"x")), model="text-only"), 400),
    "context": ("local", _with(PLAIN, model="short-context", messages=[{"role": "user", "content": "x" * 9000}]), 400),
    "json_object without the word": (
        "openai",
        {"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_object"}},
        400,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_real_servers_refuse_is_refused(name: str) -> None:
    mode, request, status = REFUSED[name]
    with ModelServer(mode=mode) as server, pytest.raises(openai.APIStatusError) as refused:
        client(server).post("/chat/completions", body=request, cast_to=object)
    assert refused.value.status_code == status
    assert refused.value.body["message"]  # type: ignore[index]


def test_keys_and_sizes_are_checked(server: ModelServer, clips: list[Clip]) -> None:
    with pytest.raises(openai.AuthenticationError):
        client(server).with_options(api_key="wrong").models.list()
    server.key = None
    for name in ("largest_body", "largest_media"):
        setattr(server, name, 1000)
        with pytest.raises(openai.APIStatusError) as refused:
            openai.OpenAI(api_key="any", base_url=server.base_url, max_retries=0).chat.completions.create(
                **frames_request(clips[0])
            )
        assert refused.value.status_code == 413


def test_a_transient_fault_passes_and_a_permanent_one_stays(server: ModelServer) -> None:
    server.faults.set(Fault(("429", "500", "503"), seconds=0.01))
    assert ask(server, PLAIN, max_retries=1)["handles"]
    assert [call.status for call in server.log.calls()][1:] == [200]
    server.faults.set(Fault("500", times=None, contains="a cat"))
    with pytest.raises(openai.InternalServerError):
        ask(server, PLAIN, max_retries=1)
    assert ask(server, text_request("handles", {"descriptors": ["a dog"]}))


def test_a_fault_can_be_of_one_clip_one_role_or_one_arrival(server: ModelServer, clips: list[Clip]) -> None:
    server.faults.set(Fault("not_json", clip=2, times=None), Fault("empty_choices", role="handles", nth=2))
    for number, clip in enumerate(clips):
        request = frames_request(clip)
        if number == 2:
            with pytest.raises(ValueError, match="Expecting value"):
                ask(server, request)
        else:
            assert ask(server, request)["events"]
    assert ask(server, PLAIN)
    assert client(server).chat.completions.create(**PLAIN).choices == []


def test_a_share_of_the_requests_fails_whatever_their_order(server: ModelServer) -> None:
    server.faults.set(Fault("500", probability=0.3, seed=1))
    requests = [text_request("handles", {"descriptors": [f"person {number}"]}) for number in range(60)]

    def failing(order: list[dict[str, Any]]) -> set[str]:
        server.faults.set(Fault("500", probability=0.3, seed=1))
        server.log.clear()
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda request: ask(server, request, max_retries=2), order))
        return {call.key for call in server.log.calls() if call.status == 500}

    first = failing(requests)
    assert first == failing(requests[::-1])
    assert 8 <= len(first) <= 28
    assert server.log.repeated() == {}
    ask(server, requests[0])
    assert list(server.log.repeated().values()) == [1]


TEXTS: dict[str, Callable[[str], bool]] = {
    "truncated": lambda text: text.startswith('{"handles"') and not text.endswith("}"),
    "fenced": lambda text: text.startswith("```json\n{"),
    "prose": lambda text: '{"handles"' in text and not text.startswith("{"),
    "not_json": lambda text: "{" not in text,
    "empty": lambda text: text == "",
    "wrong_types": lambda text: json.loads(text)["handles"][0]["index"] == "a while",
    "missing_keys": lambda text: json.loads(text) == {},
    "extra_keys": lambda text: "note" in json.loads(text),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_reply_can_be_spoilt(server: ModelServer, kind: str) -> None:
    server.faults.set(Fault(kind))
    reply = client(server).chat.completions.create(**PLAIN).choices[0]
    assert TEXTS[kind](reply.message.content)
    assert reply.finish_reason == "stop"


def test_a_reply_can_be_cut_off_by_its_limit_or_by_a_fault(server: ModelServer) -> None:
    short = client(server).chat.completions.create(**PLAIN, max_tokens=5)
    assert (short.choices[0].finish_reason, short.usage and short.usage.completion_tokens) == ("length", 5)
    server.faults.set(Fault("length"))
    assert client(server).chat.completions.create(**PLAIN).choices[0].finish_reason == "length"


@pytest.mark.parametrize("kind", ["reset", "hang", "cut_body"])
def test_a_connection_can_break(server: ModelServer, kind: str) -> None:
    server.faults.set(Fault(kind))
    with pytest.raises((openai.APIConnectionError, Exception)):
        client(server, timeout=0.5).chat.completions.create(**PLAIN)
    assert ask(server, PLAIN)
    assert [call.replied for call in server.log.calls()] == [False, True]


def test_the_first_byte_can_be_slow(server: ModelServer) -> None:
    server.faults.set(Fault("slow", seconds=0.3))
    began = time.monotonic()
    ask(server, PLAIN)
    assert time.monotonic() - began >= 0.3


def test_sixteen_at_once_are_served_at_once_and_counted(server: ModelServer, clips: list[Clip]) -> None:
    server.latency = {"handles": 1.0}
    gate = threading.Barrier(16)

    def one(number: int) -> Any:
        gate.wait()
        return ask(server, text_request("handles", {"descriptors": [f"person {number}"]}))

    ask(server, frames_request(clips[0]))
    began = time.monotonic()
    with ThreadPoolExecutor(16) as threads:
        assert len(list(threads.map(one, range(16)))) == 16
    assert time.monotonic() - began < 8
    assert server.log.max_in_flight == 16


def test_a_batch_is_worked_off_as_it_is_polled(clips: list[Clip], tmp_path: Path) -> None:
    bodies = [_with(text_request("handles", {"descriptors": [f"person {n}"]}), model="gpt-4o-mini") for n in range(5)]
    rows = [
        {"custom_id": f"call-{n}", "method": "POST", "url": "/v1/chat/completions", "body": body}
        for n, body in enumerate([*bodies, {**bodies[0], "colour": "red"}])
    ]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    with ModelServer(mode="openai", state_dir=tmp_path) as server:
        file = client(server).files.create(file=("calls.jsonl", content), purpose="batch")
        batch = client(server).batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"run": "1"}
        )
        states = [batch.status, client(server).batches.retrieve(batch.id).status]
    with ModelServer(mode="openai", state_dir=tmp_path) as server:  # another process may go on with it
        for _ in range(2):
            batch = client(server).batches.retrieve(batch.id)
            states.append(batch.status)
        assert [name for name, _ in itertools.groupby(states)] == [
            "validating",
            "in_progress",
            "finalizing",
            "completed",
        ]
        assert (batch.request_counts and batch.request_counts.completed, batch.metadata) == (5, {"run": "1"})
        output = client(server).files.content(batch.output_file_id or "").text
        errors = json.loads(client(server).files.content(batch.error_file_id or "").text)
        assert len(server.log.model_calls()) == 6
    replies = {row["custom_id"]: row["response"]["body"] for row in map(json.loads, output.splitlines())}
    for number in range(5):
        text = replies[f"call-{number}"]["choices"][0]["message"]["content"]
        assert json.loads(text)["handles"][0]["handle"] == f"person_{number}"
    assert (errors["custom_id"], errors["response"]["status_code"]) == ("call-5", 400)


def test_a_batch_with_a_wrong_input_file_fails() -> None:
    with ModelServer(mode="openai") as server:
        file = client(server).files.create(file=("calls.jsonl", b'{"custom_id": 1}\nno json\n'), purpose="batch")
        made = client(server).batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        batch = client(server).batches.retrieve(made.id)
        assert batch.status == "failed"
        assert [error.line for error in (batch.errors and batch.errors.data) or []] == [1, 2]


def test_a_server_of_its_own_process_is_asked_over_http(tmp_path: Path, clips: list[Clip]) -> None:
    path = save_film(FILM, tmp_path / "film.json")
    assert load_film(path) == FILM
    with separate_server(tmp_path / "state", [path]) as base_url:
        remote = openai.OpenAI(api_key="test-key", base_url=base_url, max_retries=0)
        over_http(base_url, "/_faults", [Fault("429", seconds=0).to_json()])
        with pytest.raises(openai.RateLimitError) as limited:
            remote.chat.completions.create(**frames_request(clips[1]))
        assert limited.value.response.headers["retry-after"] == "0"
        reply = remote.chat.completions.create(**frames_request(clips[1]))
        assert ClipAnalysis.model_validate_json(reply.choices[0].message.content or "") == expected_clips(FILM)[1]
        calls = over_http(base_url, "/_log")["calls"]
        assert [(call["role"], call["status"]) for call in calls] == [("perception", 429), ("perception", 200)]
        assert calls[0]["key"] == calls[1]["key"]
    lines = [json.loads(line) for line in (tmp_path / "state" / "log.jsonl").read_text().splitlines()]
    assert [(line["number"], line["status"]) for line in lines] == [(1, 0), (1, 429), (2, 0), (2, 200)]
