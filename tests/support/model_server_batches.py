"""Files and batches of the test server, kept in memory and, with a folder, over a restart."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import TYPE_CHECKING, Any

from tests.support.model_server_rules import Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ENDPOINTS = ("/v1/chat/completions", "/v1/embeddings")
_LINE_KEYS = {"custom_id", "method", "url", "body"}
_MOST_LINES = 50_000


class Batches:
    """Uploaded files, and batches that go on by one step each time they are polled.

    validating → in_progress → finalizing → completed, or → failed when the input file is not right.
    """

    def __init__(self, run: Callable[[str, dict[str, Any]], tuple[int, dict[str, Any]]], folder: Path | None) -> None:
        self._run = run
        self._folder = folder / "batches" if folder else None
        self._lock = threading.RLock()
        self._files: dict[str, dict[str, Any]] = {}
        self._contents: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._load(self._folder)

    def upload(self, name: str, content: bytes, purpose: str) -> dict[str, Any]:
        """Keeps a file."""
        if purpose not in ("batch", "batch_output", "user_data", "assistants", "fine-tune", "vision", "evals"):
            raise Refused(400, f"{purpose!r} is not one of the purposes of a file.", "invalid_value", "purpose")
        with self._lock:
            last = max((int(name[5:]) for name in self._files), default=0)
            identity = f"file-{last + 1:06d}"
            self._files[identity] = {
                "id": identity,
                "object": "file",
                "bytes": len(content),
                "created_at": int(time.time()),
                "filename": name,
                "purpose": purpose,
                "status": "processed",
            }
            self._contents[identity] = content
            self._save()
            return self._files[identity]

    def file(self, identity: str) -> dict[str, Any]:
        with self._lock:
            if identity not in self._files:
                raise Refused(404, f"No such File object: {identity}", None, "id")
            return self._files[identity]

    def content(self, identity: str) -> bytes:
        self.file(identity)
        return self._contents[identity]

    def delete(self, identity: str) -> dict[str, Any]:
        self.file(identity)
        with self._lock:
            del self._files[identity], self._contents[identity]
            self._save()
        return {"id": identity, "object": "file", "deleted": True}

    def create(self, body: Any) -> dict[str, Any]:
        """Begins a batch."""
        known = {"input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after"}
        unknown = sorted(set(body) - known) if isinstance(body, dict) else ["body"]
        if unknown:
            raise Refused(400, f"Unknown parameter: '{unknown[0]}'.", "unknown_parameter", unknown[0])
        if body.get("endpoint") not in _ENDPOINTS:
            raise Refused(400, f"Invalid value: {body.get('endpoint')!r}.", "invalid_value", "endpoint")
        if body.get("completion_window") != "24h":
            raise Refused(400, "Invalid value for 'completion_window': '24h'.", "invalid_value", "completion_window")
        if self.file(body.get("input_file_id", ""))["purpose"] != "batch":
            raise Refused(400, "The input file's purpose must be 'batch'.", "invalid_value", "input_file_id")
        metadata = body.get("metadata") or {}
        if len(metadata) > 16 or any(not isinstance(v, str) or len(v) > 512 for v in metadata.values()):
            raise Refused(400, "Invalid 'metadata': at most 16 texts of 512 characters.", "invalid_value", "metadata")
        with self._lock:
            now = int(time.time())
            identity = f"batch_{len(self._batches) + 1:06d}"
            self._batches[identity] = {
                "id": identity,
                "object": "batch",
                "endpoint": body["endpoint"],
                "errors": None,
                "input_file_id": body["input_file_id"],
                "completion_window": "24h",
                "status": "validating",
                "output_file_id": None,
                "error_file_id": None,
                "created_at": now,
                "expires_at": now + 86_400,
                "request_counts": {"total": 0, "completed": 0, "failed": 0},
                "metadata": metadata,
            }
            self._save()
            return _shown(self._batches[identity])

    def poll(self, identity: str) -> dict[str, Any]:
        """The batch, one step further on."""
        with self._lock:
            batch = self._batch(identity)
            step = {"validating": self._validate, "in_progress": self._work, "finalizing": self._finish}
            if batch["status"] in step:
                step[batch["status"]](batch)
                self._save()
            return _shown(batch)

    def cancel(self, identity: str) -> dict[str, Any]:
        with self._lock:
            batch = self._batch(identity)
            if batch["status"] not in ("completed", "failed", "cancelled"):
                batch["status"] = "cancelled"
                self._save()
            return _shown(batch)

    def listed(self) -> dict[str, Any]:
        with self._lock:
            batches = [_shown(batch) for batch in reversed(self._batches.values())]
        ends = [batches[0]["id"], batches[-1]["id"]] if batches else [None, None]
        return {"object": "list", "data": batches, "first_id": ends[0], "last_id": ends[1], "has_more": False}

    def _batch(self, identity: str) -> dict[str, Any]:
        if identity not in self._batches:
            raise Refused(404, f"No batch found with id '{identity}'.", None, "id")
        return self._batches[identity]

    def _validate(self, batch: dict[str, Any]) -> None:
        lines, errors = _lines(self._contents.get(batch["input_file_id"], b""), batch["endpoint"])
        batch["request_counts"]["total"] = len(lines)
        if errors:
            batch["status"], batch["failed_at"] = "failed", int(time.time())
            batch["errors"] = {"object": "list", "data": errors}
        else:
            batch["status"], batch["in_progress_at"] = "in_progress", int(time.time())

    def _work(self, batch: dict[str, Any]) -> None:
        """Answers all requests; the results are in an order of their own, as the real ones may be."""
        lines, _ = _lines(self._contents[batch["input_file_id"]], batch["endpoint"])
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for number, line in enumerate(lines, 1):
            status, reply = self._run(line["url"], line["body"])
            response = {"status_code": status, "request_id": f"req_{batch['id']}_{number}", "body": reply}
            row = {"id": f"batch_req_{number}", "custom_id": line["custom_id"], "response": response, "error": None}
            (good if status == 200 else bad).append(row)
        dice = random.Random(batch["id"])
        for rows, name in ((good, "output_file_id"), (bad, "error_file_id")):
            if rows:
                dice.shuffle(rows)
                text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                file = self.upload(f"{batch['id']}_{name.partition('_')[0]}.jsonl", text.encode(), "batch_output")
                batch["_" + name] = file["id"]
        batch["request_counts"] |= {"completed": len(good), "failed": len(bad)}
        batch["status"], batch["finalizing_at"] = "finalizing", int(time.time())

    def _finish(self, batch: dict[str, Any]) -> None:
        for name in ("output_file_id", "error_file_id"):
            batch[name] = batch.pop("_" + name, None)
        batch["status"], batch["completed_at"] = "completed", int(time.time())

    def _save(self) -> None:
        if self._folder is None:
            return
        for identity, content in self._contents.items():
            if not (self._folder / identity).exists():
                (self._folder / identity).write_bytes(content)
        state = json.dumps({"files": self._files, "batches": self._batches})
        (self._folder / "state.json.new").write_text(state, encoding="utf-8")
        (self._folder / "state.json.new").replace(self._folder / "state.json")

    def _load(self, folder: Path) -> None:
        if (folder / "state.json").exists():
            state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
            self._files, self._batches = state["files"], state["batches"]
            self._contents = {identity: (folder / identity).read_bytes() for identity in self._files}


def _shown(batch: dict[str, Any]) -> dict[str, Any]:
    """A batch as its owner sees it: what is not finished is not shown."""
    return {key: value for key, value in batch.items() if not key.startswith("_")}


def _lines(content: bytes, endpoint: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The requests of an input file, and what is wrong with it."""
    lines: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    seen: set[str] = set()
    models: set[str] = set()

    def wrong(code: str, message: str, number: int) -> None:
        errors.append({"code": code, "message": message, "param": None, "line": number})

    for number, text in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        try:
            line = json.loads(text)
        except ValueError:
            wrong("invalid_json_line", "This line is not parseable as valid JSON.", number)
            continue
        if not isinstance(line, dict) or set(line) != _LINE_KEYS or not isinstance(line["body"], dict):
            wrong("invalid_request", f"A line has exactly the keys {sorted(_LINE_KEYS)}.", number)
            continue
        if line["method"] != "POST" or line["url"] != endpoint:
            wrong("mismatched_endpoint", f"The url must be {endpoint} and the method POST.", number)
        if line["custom_id"] in seen or not isinstance(line["custom_id"], str):
            wrong("duplicate_custom_id", f"The custom_id {line['custom_id']!r} is not a text of its own.", number)
        seen.add(line["custom_id"])
        models.add(str(line["body"].get("model")))
        lines.append(line)
    if not lines and not errors:
        wrong("empty_file", "The input file holds no request.", 1)
    if len(models) > 1:
        wrong("mismatched_model", "All requests of a batch must name the same model.", 1)
    if len(lines) > _MOST_LINES:
        wrong("too_many_tasks", f"At most {_MOST_LINES} requests.", _MOST_LINES + 1)
    return lines, errors
