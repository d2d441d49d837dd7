"""scripts/download_datasets.sh against a server of its own: what it fetches, continues, refuses and leaves alone."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.data import ROOT

SCRIPT = ROOT / "scripts" / "download_datasets.sh"
BYTES = bytes(range(256)) * 400
SRT = b"1\n00:00:01,000 --> 00:00:02,000\nhello\n"


@dataclass
class Server:
    """Serves `files`. `cuts` is how often an answer breaks off half way; `ranges` are what was asked for."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cuts: int = 0
    continues: bool = True
    ranges: list[str | None] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.ranges.append(wanted)
        body = self.files.get(request.path.partition("?")[0])
        if body is None:
            request.send_error(404)
            return
        first = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.continues else 0
        request.send_response(206 if first else 200)
        if first:
            request.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        request.send_header("Content-Length", str(len(body) - first))
        request.end_headers()
        rest = body[first:]
        if self.cuts:
            self.cuts -= 1
            rest = rest[: len(rest) // 2]
        request.wfile.write(rest)
        request.wfile.flush()
        request.close_connection = True


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{http.server_port}"
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    yield served
    http.shutdown()
    http.server_close()


def sha(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def download(tmp_path: Path, table: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "table").write_text(f"# a comment\n{table}\n", encoding="utf-8")
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "AMR_DATASET_TABLE": str(tmp_path / "table")}
    command = [str(SCRIPT), "--to", str(tmp_path / "data"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def row(server: Server, checksum: str = "", size: object = len(BYTES)) -> str:
    server.files["/big.bin"] = BYTES
    return f"tiny tiny/big.bin {size} {checksum or sha(BYTES)} {server.url}/big.bin"


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "data").rglob("*") if path.is_file())


def test_a_file_arrives_is_named_and_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    table = row(server)
    done = download(tmp_path, table, "tiny")
    assert (done.returncode, done.stderr) == (0, "")
    assert str(tmp_path / "data" / "tiny" / "big.bin") in done.stdout
    assert (tmp_path / "data" / "tiny" / "big.bin").read_bytes() == BYTES
    asked = len(server.ranges)
    assert download(tmp_path, table, "all").returncode == 0
    assert len(server.ranges) == asked


def test_a_transfer_that_is_cut_goes_on_from_there(server: Server, tmp_path: Path) -> None:
    server.cuts = 1
    assert download(tmp_path, row(server), "tiny").returncode == 0
    assert server.ranges == [None, f"bytes={len(BYTES) // 2}-"]
    assert (tmp_path / "data" / "tiny" / "big.bin").read_bytes() == BYTES


def test_what_is_cut_again_and_again_keeps_no_final_name_and_is_continued_by_the_next_run(
    server: Server, tmp_path: Path
) -> None:
    server.cuts = 99
    table = row(server)
    done = download(tmp_path, table, "tiny")
    assert done.returncode == 1
    assert "run this again to continue" in done.stderr
    assert left(tmp_path) == ["big.bin.part"]
    have = (tmp_path / "data" / "tiny" / "big.bin.part").stat().st_size
    server.cuts, server.ranges = 0, []
    assert download(tmp_path, table, "tiny").returncode == 0
    assert server.ranges == [f"bytes={have}-"]
    assert left(tmp_path) == ["big.bin"]


def test_a_whole_part_of_a_killed_run_is_checked_and_named_without_asking(server: Server, tmp_path: Path) -> None:
    table = row(server)
    (tmp_path / "data" / "tiny").mkdir(parents=True)
    (tmp_path / "data" / "tiny" / "big.bin.part").write_bytes(BYTES)
    assert download(tmp_path, table, "tiny").returncode == 0
    assert (server.ranges, left(tmp_path)) == ([], ["big.bin"])


def test_a_server_that_cannot_continue_begins_again(server: Server, tmp_path: Path) -> None:
    server.cuts, server.continues = 1, False
    assert download(tmp_path, row(server), "tiny").returncode == 0
    assert (tmp_path / "data" / "tiny" / "big.bin").read_bytes() == BYTES


@pytest.mark.parametrize("size", [len(BYTES), "-"])
def test_other_bytes_than_known_are_refused_and_removed(server: Server, tmp_path: Path, size: object) -> None:
    done = download(tmp_path, row(server, sha(b"other"), size), "tiny")
    assert done.returncode == 1
    assert "other bytes than are known" in done.stderr
    assert left(tmp_path) == []


def test_a_file_that_is_there_and_not_the_known_one_is_never_touched(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data" / "tiny").mkdir(parents=True)
    (tmp_path / "data" / "tiny" / "big.bin").write_bytes(b"mine")
    done = download(tmp_path, row(server), "tiny")
    assert done.returncode == 1
    assert "move it away" in done.stderr
    assert (tmp_path / "data" / "tiny" / "big.bin").read_bytes() == b"mine"


def test_what_cannot_be_had_does_not_stop_the_rest(server: Server, tmp_path: Path) -> None:
    table = f"gone gone/a.json 3 {sha(b'abc')} {server.url}/nothing\n{row(server)}"
    done = download(tmp_path, table, "all")
    assert done.returncode == 1
    assert "/nothing did not arrive" in done.stderr
    assert left(tmp_path) == ["big.bin"]


def test_a_folder_is_fetched_as_it_is_listed_and_each_file_checked(server: Server, tmp_path: Path) -> None:
    within = "EgoLifeCap/Transcript/A1_JAKE"
    listed = [
        {"type": "directory", "oid": "0" * 40, "size": 0, "path": f"{within}/DAY1"},
        {"type": "file", "oid": blob(SRT), "size": len(SRT), "path": f"{within}/DAY1/a.srt"},
        {"type": "file", "oid": "1" * 40, "size": len(SRT), "path": f"{within}/DAY1/wrong.srt"},
        {
            "type": "file",
            "oid": "2" * 40,
            "size": len(BYTES),
            "path": f"{within}/big.bin",
            "lfs": {"oid": sha(BYTES).removeprefix("sha256:"), "size": len(BYTES)},
        },
    ]
    server.files[f"/api/datasets/lab/Life/tree/abc123/{within}"] = json.dumps(listed).encode()
    for name, body in (("DAY1/a.srt", SRT), ("DAY1/wrong.srt", SRT), ("big.bin", BYTES)):
        server.files[f"/datasets/lab/Life/resolve/abc123/{within}/{name}"] = body
    table = f"life life/{within} - tree {server.url}/api/datasets/lab/Life/tree/abc123/{within}"
    done = download(tmp_path, table, "life")
    assert done.returncode == 1
    assert "wrong.srt gave other bytes" in done.stderr
    assert left(tmp_path) == ["a.srt", "big.bin"]
    assert (tmp_path / "data" / "life" / within / "DAY1" / "a.srt").read_bytes() == SRT


def test_help_lists_what_there_is_and_an_unknown_name_is_told(tmp_path: Path) -> None:
    shown = subprocess.run([str(SCRIPT), "--help"], capture_output=True, text=True, check=True).stdout
    for name in ("longmemeval", "locomo", "beam", "egolife", "epic"):
        assert f"  {name} " in shown
    wrong = subprocess.run([str(SCRIPT), "imagenet"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "imagenet" in wrong.stderr
    assert "locomo" in wrong.stderr


def test_every_file_of_the_table_has_a_checksum_and_an_address_that_names_a_commit() -> None:
    lines = (ROOT / "scripts" / "dataset_checksums.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    for name, path, size, checksum, url in rows:
        assert path.startswith(f"{name.removesuffix('-m')}/"), path
        assert size == "-" or int(size) > 0
        assert checksum == "tree" or len(checksum.removeprefix("sha256:")) == 64
        assert any(len(part) == 40 for part in url.split("/")), url
