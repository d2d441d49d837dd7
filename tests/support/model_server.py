"""A model provider on loopback for tests: it speaks the wire of OpenAI, OpenRouter or a local server, and sees.

In the test's process::

    with ModelServer(films=[film], mode="openrouter") as server:
        ...                                  # server.base_url, server.key
        server.faults.set(Fault("429", probability=0.3, seconds=0.1))
        server.log.calls("perception")       # records of the requests

In a process of its own, which outlives a killed client (and which a test may kill)::

    python -m tests.support.model_server --state-dir DIR --film film.json [--port N] [--mode openrouter] …

It prints its address and writes it to DIR/address; DIR/log.jsonl has each request. GET /_log, POST /_faults (a
list), POST /_settings and POST /_reset do over HTTP what `log`, `faults`, the attributes and `log.clear` do here.

What the models see is what the codes of `coded_video` say; what they read of the prompts is in
`model_server_reading`, what they answer in `model_server_replies`.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.coded_sound import RATE
from tests.support.coded_video import Film, load_film
from tests.support.model_server_answers import LIES, misled
from tests.support.model_server_batches import Batches
from tests.support.model_server_eyes import Seen, decode_sound, look
from tests.support.model_server_faults import Asked, Fault, Faults, Spoil, spoilt_text
from tests.support.model_server_http import Handler
from tests.support.model_server_log import Call, Log, body_key
from tests.support.model_server_models import Model, find, text_tokens
from tests.support.model_server_reading import frame_times, task_of
from tests.support.model_server_replies import context_of, embedding, reply_text, transcription
from tests.support.model_server_rules import Part, Refused, read_chat, read_embeddings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Reply = tuple[int, dict[str, Any]]

_SOUND_FILES = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")


class ModelServer:
    """The server; a context manager that listens while it is open.

    `mode` is "openai", "openrouter" or "local". `latency` is how long each reply takes, in seconds, or a dict by
    role. `key` is the one key it takes; None takes any, or none. `largest_body` and `largest_media` are in bytes.
    All may be changed while it runs. `state_dir` keeps the log and the batches on disk.
    """

    def __init__(
        self,
        films: Iterable[Film] = (),
        *,
        mode: str = "openrouter",
        key: str | None = "test-key",
        latency: float | Mapping[str, float] = 0.0,
        faults: Iterable[Fault] = (),
        port: int = 0,
        state_dir: Path | None = None,
        largest_body: int = 50_000_000,
        largest_media: int = 20_000_000,
    ) -> None:
        import cv2

        assert mode in ("openai", "openrouter", "local"), mode
        cv2.setNumThreads(1)
        self.films = {film.number: film for film in films}
        self.mode, self.key, self.latency = mode, key, latency
        self.largest_body, self.largest_media = largest_body, largest_media
        self.faults = Faults(faults)
        if state_dir is not None:
            state_dir.mkdir(parents=True, exist_ok=True)
        self.log = Log(state_dir / "log.jsonl" if state_dir else None)
        self.batches = Batches(self._answer_in_batch, state_dir)
        self.closing = threading.Event()
        self._port = port
        self._http: _Listener | None = None

    def __enter__(self) -> ModelServer:
        self._http = _Listener(("127.0.0.1", self._port), Handler)
        self._http.owner = self
        self._port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        assert self._http is not None
        self._http.shutdown()
        self._http.server_close()

    @property
    def port(self) -> int:
        return self._port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """What a client is given as its base URL."""
        return f"{self.address}/v1"

    def wait(self, seconds: float) -> None:
        """Sleeps, unless the server closes."""
        if seconds > 0:
            self.closing.wait(seconds)

    def latency_of(self, role: str) -> float:
        latency = self.latency
        return float(latency) if isinstance(latency, int | float) else float(latency.get(role, 0.0))

    def model(self, name: Any) -> Model:
        model = find(name, self.mode) if isinstance(name, str) else None
        if model is not None:
            return model
        if name is None:
            raise Refused(400, "you must provide a model parameter", None, "model")
        if self.mode == "openrouter":
            if "/" not in str(name):
                raise Refused(400, f"{name} is not a valid model ID")
            raise Refused(404, f"No endpoints found for {name}.")
        text = f"The model `{name}` does not exist or you do not have access to it."
        raise Refused(404, text, "model_not_found", "model")

    def chat(self, body: Any, call: Call) -> tuple[Reply, Spoil | None]:
        """Answers a chat request; raises Refused."""
        model = self.model(body.get("model") if isinstance(body, dict) else None)
        chat = read_chat(body, self.mode, model, self.largest_media)
        task = task_of(chat)
        call.role, call.model, call.max_tokens = task, model.name, chat.most_tokens
        call.text = "" if chat.media else "\n".join(chat.texts)
        seen = look(chat.media, frame_times(chat), self.films)
        _note_seen(call, seen)
        prompt = text_tokens(sum(map(len, chat.texts)))
        prompt += model.media_tokens(seen.images, seen.video_seconds, seen.audio_seconds)
        if prompt > model.context:
            text = f"This model's maximum context length is {model.context} tokens. However, your messages resulted in"
            raise Refused(400, f"{text} {prompt} tokens.", "context_length_exceeded", "messages")
        spoil = self._spoil(call, "\n".join(chat.texts))
        text, finish = reply_text(chat, task, seen), "stop"
        if spoil is not None and spoil.kind in LIES:
            text = misled(text, spoil.kind, context_of(chat))
        elif spoil is not None:
            text, finish = spoilt_text(text, spoil.kind), "length" if spoil.kind == "length" else "stop"
        most = min(chat.most_tokens or model.most_output, model.most_output)
        if text_tokens(len(text)) > most:
            text, finish = text[: 4 * most], "length"
        usage = self._usage(call, model, prompt, text_tokens(len(text)))
        return (200, self._completion(call, text, finish, usage, spoil)), spoil

    def _completion(
        self, call: Call, text: str, finish: str, usage: dict[str, Any], spoil: Spoil | None
    ) -> dict[str, Any]:
        kind = spoil.kind if spoil else ""
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if kind == "refusal":
            message |= {"content": None, "refusal": "I'm sorry, I can't help with that."}
        choice: dict[str, Any] = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        if kind == "error_in_choice":
            choice |= {"finish_reason": "error", "error": {"code": 502, "message": "Upstream provider failed"}}
            message["content"] = ""
        reply = {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": int(call.came),
            "model": call.model.removeprefix("openai/") if self.mode == "openai" else call.model,
            "choices": [] if kind == "empty_choices" else [choice],
            "usage": usage,
        }
        return reply | ({"provider": "Test"} if self.mode == "openrouter" else {})

    def embeddings(self, body: Any, call: Call) -> tuple[Reply, Spoil | None]:
        """Answers an embeddings request; raises Refused."""
        call.role = "embeddings"
        model = self.model(body.get("model") if isinstance(body, dict) else None)
        texts = read_embeddings(body, self.mode, model)
        call.model = model.name
        spoil = self._spoil(call, "\n".join(texts))
        dimensions = body.get("dimensions") or model.dimensions
        data = [
            {
                "object": "embedding",
                "index": number,
                "embedding": _wire(embedding(text, dimensions, model.dimensions), body),
            }
            for number, text in enumerate(texts)
        ]
        if spoil is not None and spoil.kind in ("empty_choices", "empty", "truncated"):
            data = data[: len(data) // 2] if spoil.kind == "truncated" else []
        usage = self._usage(call, model, sum(text_tokens(len(text)) for text in texts), 0)
        usage.pop("completion_tokens", None)
        return (200, {"object": "list", "data": data, "model": body["model"], "usage": usage}), spoil

    def transcribe(self, parts: dict[str, Any], call: Call) -> tuple[Reply, Spoil | None]:
        """Answers a transcription request, given its form's fields; raises Refused."""
        call.role = "transcription"
        known = {"file", "model", "language", "prompt", "response_format", "temperature", "timestamp_granularities[]"}
        unknown = sorted(set(parts) - known)
        if unknown:
            raise Refused(400, f"Unknown parameter: '{unknown[0]}'.", "unknown_parameter", unknown[0])
        model = self.model(parts.get("model"))
        if model.kind != "transcription":
            raise Refused(404, f"{model.name} is not a transcription model.")
        if not isinstance(parts.get("file"), tuple):
            raise Refused(400, "Missing required parameter: 'file'.", "missing_required_parameter", "file")
        name, data = parts["file"]
        if len(data) > min(self.largest_media, 26_214_400):
            raise Refused(413, f"Maximum content size limit (26214400) exceeded ({len(data)} bytes read)")
        if name.rpartition(".")[2].lower() not in (
            "flac",
            "m4a",
            "mp3",
            "mp4",
            "mpeg",
            "mpga",
            "oga",
            "ogg",
            "wav",
            "webm",
        ):
            raise Refused(400, f"Invalid file format: {name}.", None, "file")
        form = parts.get("response_format", "json")
        if form not in ("json", "text", "verbose_json") or (form == "verbose_json" and "gpt-4o" in model.name):
            raise Refused(
                400, f"response_format '{form}' is not compatible with model.", "unsupported_value", "response_format"
            )
        seconds = len(decode_sound(data)) / RATE
        seen = look([Part("audio", data, "audio/any")], None, self.films)
        call.model = model.name
        _note_seen(call, seen)
        spoil = self._spoil(call, str(parts.get("prompt", "")))
        full = transcription(seen, seconds)
        self._usage(call, model, model.media_tokens(0, 0, seconds), text_tokens(len(full["text"])))
        if form == "text":
            return (200, {"_text": full["text"] + "\n"}), spoil
        if form == "json":
            return (200, {"text": full["text"], "usage": {"type": "duration", "seconds": round(seconds)}}), spoil
        if "word" not in parts.get("timestamp_granularities[]", []):
            full.pop("words")
        return (200, full), spoil

    def _usage(self, call: Call, model: Model, prompt: int, completion: int) -> dict[str, Any]:
        call.prompt_tokens, call.completion_tokens = prompt, completion
        call.cost_usd = model.cost(prompt, completion)
        usage: dict[str, Any] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        if self.mode == "openrouter":
            usage |= {"cost": call.cost_usd, "is_byok": False, "cost_details": {"upstream_inference_cost": None}}
        return usage

    def _spoil(self, call: Call, text: str) -> Spoil | None:
        asked = Asked(call.role, call.key, text, call.clip_begin, call.number, self.log.nth_of_role(call))
        spoil = self.faults.take(asked)
        call.fault = spoil.kind if spoil else ""
        return spoil

    def _answer_in_batch(self, url: str, body: dict[str, Any]) -> Reply:
        """Answers one request of a batch; faults of the exchange become an error of status 500."""
        call = self.log.begin(url, batch=True)
        call.key = body_key(body)
        try:
            (status, reply), spoil = (self.chat if url.endswith("completions") else self.embeddings)(body, call)
            if spoil is not None and spoil.kind in ("429", "500", "502", "503", "hang", "reset", "slow", "cut_body"):
                raise Refused(500, "The server had an error while processing your request.", "server_error")
        except Refused as refusal:
            status, reply = refusal.status, self.error(refusal)
        call.status, call.replied = status, True
        self.log.end(call)
        return status, reply

    def error(self, refusal: Refused) -> dict[str, Any]:
        """The body of an error, as the mode's real server forms it."""
        if self.mode == "openrouter" and refusal.code != "context_length_exceeded":
            return {"error": {"message": refusal.message, "code": refusal.status}}
        kinds = {401: "invalid_request_error", 429: "rate_limit_exceeded"}
        kind = kinds.get(refusal.status, "server_error" if refusal.status >= 500 else "invalid_request_error")
        return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code}}

    def configure(self, settings: dict[str, Any]) -> None:
        """Sets attributes by name: latency, key, largest_body, largest_media."""
        for name, value in settings.items():
            assert name in ("latency", "key", "largest_body", "largest_media"), name
            setattr(self, name, value)


class _Listener(ThreadingHTTPServer):
    owner: ModelServer
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    allow_reuse_address = True

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().server_bind()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to tell; anything else is a fault of the server."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _note_seen(call: Call, seen: Seen) -> None:
    call.images, call.clip_begin = seen.images, seen.begin
    call.video_seconds, call.audio_seconds = round(seen.video_seconds, 3), round(seen.audio_seconds, 3)
    rate = seen.film.rate if seen.film else 1
    call.clocks = [round(look.marks.frame / rate, 3) if look.marks else -1.0 for look in seen.looks]


def _wire(vector: Any, body: dict[str, Any]) -> Any:
    import base64

    if body.get("encoding_format") == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return [float(value) for value in vector]


@contextmanager
def separate_server(state_dir: Path, films: Iterable[Path], *options: str) -> Iterator[str]:
    """A server in a process of its own, with films as `save_film` wrote them; gives its base URL."""
    command = [sys.executable, "-m", "tests.support.model_server", "--state-dir", str(state_dir), *options]
    command += ["--parent", str(os.getpid())]
    command += [part for film in films for part in ("--film", str(film))]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http"), "the model server did not start"
            yield f"{address}/v1"
        finally:
            process.kill()


def over_http(base_url: str, path: str, data: Any = None) -> Any:
    """GET (or, with data, POST) of /_log, /_faults, /_settings or /_reset of a server."""
    address = base_url.removesuffix("/v1") + path
    content = None if data is None else json.dumps(data).encode()
    with urllib.request.urlopen(urllib.request.Request(address, content), timeout=30) as reply:
        return json.load(reply)


def main() -> None:
    """Runs the server until it is killed, or its parent ends."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state-dir", type=Path)
    parser.add_argument("--film", type=Path, action="append", default=[])
    parser.add_argument("--mode", choices=("openai", "openrouter", "local"), default="openrouter")
    parser.add_argument("--key", default="test-key")
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--faults", type=Path, help="a JSON list of faults")
    parser.add_argument("--parent", type=int, help="end when the process of this id is no longer the parent")
    given = parser.parse_args()
    faults = [Fault.from_json(item) for item in json.loads(given.faults.read_text())] if given.faults else []
    films = [load_film(path) for path in given.film]
    server = ModelServer(
        films,
        mode=given.mode,
        key=given.key,
        latency=given.latency,
        faults=faults,
        port=given.port,
        state_dir=given.state_dir,
    )
    with server:
        if given.state_dir is not None:
            (given.state_dir / "address").write_text(server.address)
        print(server.address, flush=True)
        while given.parent in (None, os.getppid()):
            time.sleep(1)


if __name__ == "__main__":
    main()
