"""Results on stdout and nothing else there; `--json` is one documented object, whatever the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command import amr, ran
from tests.support.memories import events_jsonl, said

NUMBER = (int, float)
TEXT_OR_NONE = (str, type(None))
NUMBER_OR_NONE = (int, float, type(None))

INGEST = {
    **{"source_id": int, "source": str, "clips": int, "clips_skipped": int, "clips_failed": int},
    **{"nodes": int, "edges": int, "video_seconds": NUMBER, "seconds": NUMBER, "realtime": NUMBER_OR_NONE},
    **{"cost_usd": NUMBER, "models": dict, "warnings": list},
}
QUERY = {
    **{"question": str, "found": bool, "confidence": NUMBER, "question_type": str, "as_of": TEXT_OR_NONE},
    **{"evidence": list, "usage": dict, "seconds": NUMBER},
}
ASK = {**QUERY, "answer": str, "state": (dict, type(None)), "claims": list}
STATE = {
    **{"object": str, "state": TEXT_OR_NONE, "place": TEXT_OR_NONE, "holder": TEXT_OR_NONE},
    **{"since": NUMBER, "evidence": int},
}
CLAIM = {"text": str, "evidence": list, "supported": bool}
EVIDENCE = {
    **{"node_id": int, "kind": str, "source": str, "clip": str, "ref": TEXT_OR_NONE},
    **{"t_start": NUMBER, "t_end": NUMBER, "time": TEXT_OR_NONE, "text": str, "objects": list, "persons": list},
    **{"place": TEXT_OR_NONE, "frame": TEXT_OR_NONE, "score": NUMBER, "relevance": NUMBER, "path": list},
}
USAGE = {"calls": int, "prompt_tokens": int, "completion_tokens": int, "cost_usd": NUMBER}
STATUS = {
    **{"memory": str, "root_hash": str, "commits": int, "sources": list, "nodes": dict, "edges": dict},
    **{"embedder": str, "bytes": int, "cost_usd": NUMBER},
}


def check(value: dict[str, Any], documented: dict[str, Any]) -> None:
    """Every documented key is there with a value of its type; booleans are no numbers."""
    for key, kind in documented.items():
        assert key in value, f"{key} is missing"
        assert isinstance(value[key], kind), (key, value[key])
        assert isinstance(value[key], bool) == (kind is bool), (key, value[key])


def check_evidence(pieces: list[dict[str, Any]]) -> None:
    for piece in pieces:
        check(piece, EVIDENCE)
        assert 0 <= piece["relevance"] <= 1
        assert piece["frame"] is None or Path(piece["frame"]).is_file()


def test_ingest_prints_its_object_again_when_nothing_is_new(film: Path, tmp_path: Path) -> None:
    for clips, skipped in ((10, 0), (0, 10)):
        done = ran("ingest", film, "--clip-seconds", 2, "--json", "--memory", tmp_path / "memory")
        check(done.json, INGEST)
        assert (done.json["clips"], done.json["clips_skipped"]) == (clips, skipped)
        assert done.json["source"] == "walk.mp4"
        assert all(isinstance(name, str) for name in done.json["models"].values())
        assert done.err.count("\n") == 1


def test_quiet_is_silent_on_stderr(film: Path, tmp_path: Path) -> None:
    done = ran("ingest", film, "--quiet", "--memory", tmp_path / "memory")
    assert done.err == ""
    assert done.out.count("\n") == 1
    assert "walk.mp4" in done.out


def test_ask_prints_its_object_with_evidence_that_exists(memory: Path) -> None:
    answer = ran("ask", "where is my phone?", "--json", "--memory", memory).json
    check(answer, ASK)
    check(answer["state"], STATE)
    check(answer["usage"], USAGE)
    check_evidence(answer["evidence"])
    assert answer["state"]["place"] == "on the stairs"
    assert answer["claims"]
    nodes = {piece["node_id"]: piece for piece in answer["evidence"]}
    for claim in answer["claims"]:
        check(claim, CLAIM)
        assert set(claim["evidence"]) <= set(nodes)
    proof = nodes[answer["state"]["evidence"]]
    assert (proof["source"], proof["text"]) == ("walk.mp4", "I put my phone on the stairs.")
    assert proof["frame"] is not None


def test_ask_prints_its_object_when_the_answer_is_not_there(memory: Path) -> None:
    done = amr("ask", "who won the chess game against Magnus?", "--json", "--memory", memory)
    assert (done.code, done.err) == (1, "")
    check(done.json, ASK)
    assert not done.json["found"]
    assert (done.json["state"], done.json["claims"], done.json["evidence"]) == (None, [], [])


def test_as_of_answers_from_what_had_been_seen_by_then(memory: Path) -> None:
    answer = ran("ask", "where is my phone?", "--as-of", "6", "--json", "--memory", memory).json
    assert (answer["as_of"], answer["state"]["place"]) == ("6", "on the sofa")
    assert amr("ask", "where is my phone?", "--as-of", "1", "--memory", memory).code == 1


def test_query_prints_its_object_of_at_most_k_pieces(memory: Path) -> None:
    found = ran("query", "phone", "--k", 3, "--json", "--memory", memory).json
    check(found, QUERY)
    check(found["usage"], USAGE)
    check_evidence(found["evidence"])
    assert len(found["evidence"]) == 3
    assert not {"answer", "state", "claims"} & set(found)


def test_query_prints_its_object_when_nothing_is_found(memory: Path) -> None:
    done = amr("query", "phone", "--as-of", "0.5", "--json", "--memory", memory)
    assert (done.code, done.err) == (1, "")
    check(done.json, QUERY)
    assert (done.json["found"], done.json["evidence"]) == (False, [])


def test_status_prints_its_object(memory: Path) -> None:
    status = ran("status", "--json", "--memory", memory).json
    check(status, STATUS)
    assert (status["memory"], len(status["root_hash"])) == (str(memory), 64)
    assert status["nodes"] == {"event": 10, "scope": 1, "source": 1}
    assert status["edges"] == {"object_lifecycle": 9, "temporal": 9}
    assert [(source["source"], source["complete"], source["clips"]) for source in status["sources"]] == [
        ("walk.mp4", True, 10)
    ]


def test_a_person_reads_plain_text(memory: Path) -> None:
    done = ran("ask", "where is my phone?", "--memory", memory)
    assert "stairs" in done.out.splitlines()[0]
    assert "00:00:18" in done.out
    assert "root hash" in ran("status", "--memory", memory).out
    assert "stairs" in ran("query", "phone", "--memory", memory).out


def test_timeline_is_in_time_order_and_can_be_narrowed(tmp_path: Path) -> None:
    rows = [(i, said(f"I hold the {thing}.", obj=thing)) for i, thing in enumerate(["cup", "phone", "cup", "key"])]
    memory = tmp_path / "memory"
    ran("ingest", events_jsonl(tmp_path / "day.jsonl", rows), "--memory", memory)

    def starts(*options: object) -> list[float]:
        events = ran("timeline", *options, "--json", "--memory", memory).json["events"]
        check_evidence(events)
        return [event["t_start"] for event in events]

    assert starts() == [0.0, 10.0, 20.0, 30.0]
    assert starts("--object", "cups") == [0.0, 20.0]
    assert starts("--person", "me", "--object", "phone") == [10.0]
    assert starts("--from", "00:00:10", "--to", "25") == [10.0, 20.0]
    nobody = amr("timeline", "--person", "Katrina", "--json", "--memory", memory)
    assert (nobody.code, nobody.json) == (1, {"events": []})


def test_show_prints_a_node_with_its_edges(memory: Path) -> None:
    event = ran("timeline", "--json", "--memory", memory).json["events"][1]
    shown = ran("show", event["node_id"], "--json", "--memory", memory).json
    check(shown, EVIDENCE)
    assert (shown["text"], len(shown["hash"])) == (event["text"], 64)
    assert {edge["channel"] for edge in shown["edges"]} == {"object_lifecycle", "temporal"}
    assert {event["node_id"]} == {edge[end] for edge in shown["edges"] for end in ("from", "to")} & {event["node_id"]}
    assert event["text"] in ran("show", event["node_id"], "--memory", memory).out


def test_schema_lists_the_formats_and_prints_each_as_valid_json_schema() -> None:
    names = ran("schema").out.split()
    assert {"analysis", "clips", "events"} <= set(names)
    for name in names:
        schema = ran("schema", name).json
        assert schema["type"] == "object"
        # The rows of clip captions are another project's, which may say more than is read.
        assert (schema.get("additionalProperties") is False) == (name != "clip_captions")
        assert set(schema["required"]) <= set(schema["properties"])


def test_an_analysis_that_fits_the_schema_is_ingested(tmp_path: Path) -> None:
    schema = ran("schema", "events").json
    row = {"source": "film", "clip": 0, "t_start": 0.0, "t_end": 5.0, "analysis": {"clip_summary": "A walk."}}
    assert set(schema["required"]) == set(row)
    path = tmp_path / "day.jsonl"
    path.write_text(json.dumps(row))
    assert ran("ingest", path, "--json", "--memory", tmp_path / "memory").json["clips"] == 1


def test_doctor_says_what_there_is_and_prints_its_object(memory: Path) -> None:
    done = amr("doctor", "--json", "--memory", memory)
    assert done.code in (0, 1)
    assert done.json["ok"] == (done.code == 0)
    for finding in done.json["checks"]:
        check(finding, {"check": str, "ok": bool, "found": str})
    assert {"ffmpeg", "faiss", "embedder", "memory"} <= {finding["check"] for finding in done.json["checks"]}
    plain = amr("doctor", "--memory", memory)
    assert (plain.code, plain.err) == (done.code, "")


def test_doctor_names_a_damaged_memory_and_is_exit_1(tmp_path: Path) -> None:
    (tmp_path / "memory.duckdb").write_bytes(b"garbage " * 4000)
    done = amr("doctor", "--json", "--memory", tmp_path)
    assert done.code == 1
    assert [finding["check"] for finding in done.json["checks"] if not finding["ok"]] == ["memory"]


def test_version_and_help_are_results() -> None:
    version = ran("--version")
    assert version.out.startswith("amr ")
    for command in ((), ("ingest",), ("ask",)):
        done = ran(*command, "--help")
        assert "--help" in done.out
        assert done.err == ""


def test_an_answer_into_a_closed_pipe_is_no_traceback(memory: Path) -> None:
    from tests.support.command import start

    process = start("timeline", "--json", "--memory", memory)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait()
