"""The test server's HTTP: paths, keys, bodies, and faults of the exchange."""

from __future__ import annotations

import email.parser
import email.policy
import hashlib
import json
import socket
import struct
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from tests.support.model_server_faults import Fault, Spoil
from tests.support.model_server_log import body_key
from tests.support.model_server_models import listed
from tests.support.model_server_rules import Refused

if TYPE_CHECKING:
    from tests.support.model_server import ModelServer
    from tests.support.model_server_log import Call

_HANG_SECONDS = 3600.0


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def owner(self) -> ModelServer:
        return self.server.owner  # type: ignore[attr-defined,no-any-return]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def _serve(self, method: str) -> None:
        path = self.path.partition("?")[0].removeprefix("/api")
        if path.startswith("/_"):
            self._send(200, self._control(path))
            return
        owner = self.owner
        call = owner.log.begin(path)
        spoil: Spoil | None = None
        headers: dict[str, str] = {}
        try:
            body = self._body(call)
            self._check_key()
            (status, reply), spoil = self._answer(method, path, body, call)
        except Refused as refusal:
            status, reply, headers = refusal.status, owner.error(refusal), refusal.headers
            call.message = refusal.message
        except Exception as error:  # a fault of the test server itself must be seen, not retried for ever
            status, reply = 400, {"error": {"message": f"test server: {error!r}", "type": "bug", "code": "bug"}}
            call.message = repr(error)
        owner.log.note(call)
        try:
            owner.wait(owner.latency_of(call.role) - (time.time() - call.came))
            self._exchange(call, status, reply, headers, spoil)
        except ConnectionError:
            call.replied, self.close_connection = False, True
        finally:
            owner.log.end(call)

    def _exchange(self, call: Call, status: int, reply: Any, headers: dict[str, str], spoil: Spoil | None) -> None:
        kind = spoil.kind if spoil else ""
        seconds = spoil.seconds if spoil else None
        if kind == "slow":
            self.owner.wait(5.0 if seconds is None else seconds)
        elif kind == "hang":
            self._unbilled(call)
            self.owner.wait(_HANG_SECONDS if seconds is None else seconds)
            self.close_connection = True
            return
        elif kind == "reset":
            self._unbilled(call)
            self._reset()
            return
        elif kind in ("401", "429", "500", "502", "503"):
            self._unbilled(call)
            status, reply, headers = self._failure(int(kind), seconds)
        call.status, call.replied = status, kind != "cut_body"
        # Before the reply, so that whoever reads it finds the call ended, and its next one is not counted beside it.
        self.owner.log.end(call)
        self._send(status, reply, headers, cut=kind == "cut_body")

    def _unbilled(self, call: Call) -> None:
        call.prompt_tokens, call.completion_tokens, call.cost_usd = 0, 0, 0.0

    def _failure(self, status: int, seconds: float | None) -> tuple[int, Any, dict[str, str]]:
        texts = {
            401: "Incorrect API key provided.",
            429: "Rate limit reached for requests.",
            500: "The server had an error while processing your request.",
            502: "Bad gateway: the provider could not be reached.",
            503: "The engine is currently overloaded, please try again later.",
        }
        wait = {"Retry-After": f"{seconds:g}"} if seconds is not None and status in (429, 503) else {}
        code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
        return status, self.owner.error(Refused(status, texts[status], code)), wait

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _send(self, status: int, reply: Any, headers: dict[str, str] | None = None, *, cut: bool = False) -> None:
        if isinstance(reply, bytes):
            content, kind = reply, "application/octet-stream"
        elif isinstance(reply, dict) and "_text" in reply:
            content, kind = reply["_text"].encode(), "text/plain; charset=utf-8"
        else:
            content, kind = json.dumps(reply, ensure_ascii=False).encode(), "application/json"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if cut:
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        else:
            self.wfile.write(content)

    def _body(self, call: Call) -> bytes:
        call.body_bytes = int(self.headers.get("Content-Length") or 0)
        if call.body_bytes > self.owner.largest_body:
            self._swallow(call.body_bytes)
            text = f"Request too large: {call.body_bytes} bytes; at most {self.owner.largest_body} are allowed."
            raise Refused(413, text, "request_too_large")
        if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            raise Refused(411, "This server needs a Content-Length.")
        return self.rfile.read(call.body_bytes)

    def _swallow(self, size: int) -> None:
        while size > 0:
            size -= len(self.rfile.read(min(size, 1 << 20)) or b" " * size)

    def _check_key(self) -> None:
        key, sent = self.owner.key, self.headers.get("Authorization") or ""
        if key is None or sent == f"Bearer {key}":
            return
        if not sent:
            router = self.owner.mode == "openrouter"
            raise Refused(401, "No auth credentials found" if router else "You didn't provide an API key.")
        wrong = "User not found." if self.owner.mode == "openrouter" else "Incorrect API key provided: ****."
        raise Refused(401, wrong, "invalid_api_key")

    def _answer(self, method: str, path: str, body: bytes, call: Call) -> tuple[tuple[int, Any], Spoil | None]:
        owner = self.owner
        steps = path.strip("/").split("/")[1:]
        if (method, path) == ("POST", "/v1/chat/completions"):
            return owner.chat(self._json(body, call), call)
        if (method, path) == ("POST", "/v1/embeddings"):
            return owner.embeddings(self._json(body, call), call)
        if (method, path) == ("POST", "/v1/audio/transcriptions"):
            return owner.transcribe(self._form(body, call), call)
        if steps[:1] == ["models"] and method == "GET":
            call.role = "models"
            return (200, self._models("/".join(steps[1:]))), None
        if steps[:1] in (["files"], ["batches"]) and owner.mode != "openrouter":
            call.role = steps[0]
            return (200, self._stored(method, steps, body, call)), None
        raise Refused(404, f"Invalid URL ({method} {self.path})")

    def _models(self, name: str) -> Any:
        models = listed(self.owner.mode)
        if not name:
            return {"object": "list", "data": models}
        found = next((model for model in models if model["id"] == name), None)
        if found is None:
            raise Refused(404, f"The model '{name}' does not exist", "model_not_found", "model")
        return found

    def _stored(self, method: str, steps: list[str], body: bytes, call: Call) -> Any:
        batches = self.owner.batches
        kind, identity, more = [*steps, "", ""][:3]
        if kind == "files":
            if method == "POST" and not identity:
                form = self._form(body, call)
                if not isinstance(form.get("file"), tuple):
                    raise Refused(400, "Missing required parameter: 'file'.", "missing_required_parameter", "file")
                name, content = form["file"]
                return batches.upload(name, content, form.get("purpose", ""))
            if method == "DELETE":
                return batches.delete(identity)
            return batches.content(identity) if more == "content" else batches.file(identity)
        if method == "POST" and not identity:
            return batches.create(self._json(body, call))
        if method == "POST" and more == "cancel":
            return batches.cancel(identity)
        return batches.poll(identity) if identity else batches.listed()

    def _json(self, body: bytes, call: Call) -> Any:
        if not (self.headers.get("Content-Type") or "").startswith("application/json"):
            raise Refused(415, "Unsupported content type; send application/json.")
        try:
            value = json.loads(body)
        except ValueError:
            raise Refused(400, "We could not parse the JSON body of your request.") from None
        call.key = body_key(value)
        return value

    def _form(self, body: bytes, call: Call) -> dict[str, Any]:
        """The fields of a multipart form: texts, lists for names ending in [], (name, bytes) for a file."""
        kind = self.headers.get("Content-Type") or ""
        if not kind.startswith("multipart/form-data"):
            raise Refused(415, "Unsupported content type; send multipart/form-data.")
        parser = email.parser.BytesParser(policy=email.policy.HTTP)
        message = parser.parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
        form: dict[str, Any] = {}
        digest = hashlib.blake2b(digest_size=16)
        for part in message.iter_parts():
            name = str(part.get_param("name", header="content-disposition"))
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            digest.update(name.encode() + b"\0" + content + b"\0")
            filename = part.get_filename()
            if filename is not None:
                form[name] = (filename, content)
            elif name.endswith("[]"):
                form.setdefault(name, []).append(content.decode())
            else:
                form[name] = content.decode()
        call.key = digest.hexdigest()
        return form

    def _control(self, path: str) -> Any:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = json.loads(body) if body else None
        if path == "/_faults":
            self.owner.faults.set(*(Fault.from_json(item) for item in data or []))
        elif path == "/_settings":
            self.owner.configure(data or {})
        elif path == "/_reset":
            self.owner.log.clear()
        return self.owner.log.to_json() if path == "/_log" else {}
