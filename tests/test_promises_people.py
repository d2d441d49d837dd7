"""Who is who: a name joins a handle by a model's word, look-alikes wait for a person's, and neither is overwritten."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from amr.config import load_settings
from amr.errors import UsageError
from amr.memory import Filters, Memory
from tests.support.coded_video import Deed, Film, Happening, Thing
from tests.support.command import amr, assert_one_sentence, contents, ran, root
from tests.support.memories import events_jsonl
from tests.support.model_server import ModelServer
from tests.support.model_server_faults import Fault
from tests.support.models import settings

SEEN = (
    "girl in black hoodie",
    "girl in black hoodie named Alice",
    "young girl in black hoodie",
    "older man with glasses",
    "girl in black hoodie",
)
"""Who acts in each clip."""

GIRL, YOUNG = "girl_black_hoodie", "young_girl_black_hoodie"


@pytest.fixture(scope="module")
def script() -> Film:
    place = "on top of the fridge"
    things = ("phone", "mug", "book", "key", "lamp")
    happenings = [
        Happening(
            *(i * 10.0 + 1, i * 10.0 + 8, f"The {who} puts down the {thing} {place}.", (who,)),
            things=(Thing(thing, place),),
            deeds=(Deed(who, "put down", thing, place),),
        )
        for i, (who, thing) in enumerate(zip(SEEN, things, strict=True))
    ]
    return Film(7, 50.0, tuple(happenings))


@pytest.fixture
def memory(video: Path, server: ModelServer, tmp_path: Path) -> Memory:
    memory = Memory(tmp_path / "memory")
    memory.ingest(video, settings(server.base_url))
    return memory


def clips_with(memory: Memory, person: str, **filters: str) -> list[int | None]:
    return [piece.node.clip_first for piece in memory.timeline(Filters(**filters), person=person)]


def pairs(memory: Memory, **filters: str) -> list[tuple[str, str]]:
    return [pair.handles for pair in memory.look_alikes(Filters(**filters))]


def test_a_name_once_heard_stands_for_the_handle_everywhere(memory: Memory) -> None:
    assert clips_with(memory, "Alice") == clips_with(memory, GIRL) == [0, 1, 4]
    found = memory.query("Alice", load_settings()).evidence
    assert {0, 1, 4} <= {piece.node.clip_first for piece in found}


def test_a_name_is_not_known_before_it_is_heard(memory: Memory) -> None:
    assert clips_with(memory, "Alice", source="film.mp4", as_of="15") == []
    assert clips_with(memory, GIRL, source="film.mp4", as_of="15") == [0]
    assert clips_with(memory, "Alice", source="film.mp4", as_of="20") == [0, 1]


def test_look_alikes_are_proposed_and_not_joined(memory: Memory) -> None:
    assert pairs(memory) == [(GIRL, YOUNG)]
    assert clips_with(memory, YOUNG) == [2]
    assert pairs(memory, source="film.mp4", as_of="20") == []


def test_a_pair_that_is_settled_as_one_is_read_as_one(memory: Memory) -> None:
    memory.settle(YOUNG, GIRL, same=True)
    assert pairs(memory) == []
    for name in ("Alice", GIRL, YOUNG):
        assert clips_with(memory, name) == [0, 1, 2, 4]
    assert clips_with(memory, YOUNG, source="film.mp4", as_of="10") == [0]


def test_a_pair_that_is_settled_as_two_is_not_proposed_again(memory: Memory) -> None:
    memory.settle(GIRL, YOUNG, same=False)
    assert pairs(memory) == []
    assert clips_with(memory, YOUNG) == [2]


def test_a_persons_word_is_above_a_models(memory: Memory) -> None:
    memory.settle("alice", GIRL, same=False)
    assert clips_with(memory, "Alice") == [1]
    assert clips_with(memory, GIRL) == [0, 1, 4]


def test_a_decision_is_superseded_and_never_overwritten(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for year, same in ((2040, True), (2041, False)):
        with monkeypatch.context() as later:
            wall = (year - 1970) * 31_556_952_000_000_000
            later.setattr("amr.store.writer.time.time_ns", lambda wall=wall: wall)
            memory.settle(GIRL, YOUNG, same)
    assert clips_with(memory, YOUNG, known_at="2039-06-01") == [2]
    assert pairs(memory, known_at="2039-06-01") == [(GIRL, YOUNG)]
    assert clips_with(memory, YOUNG, known_at="2040-06-01") == [0, 1, 2, 4]
    assert clips_with(memory, YOUNG) == [2]
    before = root(memory.directory)
    memory.settle(GIRL, YOUNG, same=False)
    assert root(memory.directory) == before


def test_decisions_that_contradict_each_other_are_refused(memory: Memory) -> None:
    man = "older_man_glasses"
    memory.settle(GIRL, YOUNG, same=True)
    memory.settle(YOUNG, man, same=False)
    with pytest.raises(UsageError, match="cannot be one person"):
        memory.settle(GIRL, man, same=True)
    memory.settle(YOUNG, man, same=True)
    with pytest.raises(UsageError, match=f"through {YOUNG}"):
        memory.settle(GIRL, man, same=False)


@pytest.mark.parametrize("merge", ["off", "on"])
def test_names_and_proposals_do_not_depend_on_the_order_of_arrival(
    merge: str, video: Path, server: ModelServer, tmp_path: Path
) -> None:
    clean, parallel, spliced = (Memory(tmp_path / name) for name in ("clean", "parallel", "spliced"))
    clean.ingest(video, settings(server.base_url, merge=merge))
    parallel.ingest(video, settings(server.base_url, merge=merge, jobs=8))
    server.faults.set(Fault("not_json", role="perception", clip=1, times=None))
    spliced.ingest(video, settings(server.base_url, merge="off"))
    assert clips_with(spliced, "Alice") == []
    server.faults.clear()
    spliced.ingest(video, settings(server.base_url, merge="off"))
    assert contents(parallel.directory) == contents(clean.directory)
    if merge == "off":
        assert contents(spliced.directory) == contents(clean.directory)
    assert pairs(clean) == pairs(parallel) == pairs(spliced) == [(GIRL, YOUNG)]
    assert clips_with(spliced, "Alice", source="film.mp4", as_of="20") == [0, 1]


def test_what_is_known_of_persons_outlasts_a_rebuild(memory: Memory, server: ModelServer) -> None:
    memory.settle(GIRL, YOUNG, same=True)
    before = contents(memory.directory)
    memory.rebuild(settings(server.base_url))
    assert contents(memory.directory) == before
    assert clips_with(memory, "Alice") == [0, 1, 2, 4]


def test_two_that_are_seen_together_are_not_proposed(tmp_path: Path) -> None:
    from amr.records import Character, ClipAnalysis, EventReport

    def clip(*people: str) -> ClipAnalysis:
        characters = [
            Character(local_character_id=f"C{i}", name_or_description=text) for i, text in enumerate(people, 1)
        ]
        event = EventReport(
            local_event_id="E1",
            time_start=0,
            time_end=1,
            summary="They sit.",
            actors=[f"C{i + 1}" for i in range(len(people))],
        )
        return ClipAnalysis(clip_summary="They sit.", characters=characters, events=[event])

    waiting = [clip("man with a beard"), clip("bearded man"), clip("woman in a red coat")]
    for number, clips in enumerate((waiting, [*waiting, clip("man with a beard", "bearded man")])):
        memory = Memory(tmp_path / str(number))
        memory.ingest(events_jsonl(tmp_path / f"{number}.jsonl", list(enumerate(clips))), load_settings())
        assert pairs(memory) == ([("bearded_man", "man_beard")] if number == 0 else [])


def test_the_command_line_lists_and_settles(memory: Memory) -> None:
    where = ("--memory", memory.directory)
    (found,) = ran("people", "--proposals", *where, "--json").json["proposals"]
    assert found["persons"] == [GIRL, YOUNG]
    assert 0.8 < found["score"] <= 1
    assert GIRL in ran("people", "--proposals", *where).out
    assert ran("people", "--same", GIRL, YOUNG, *where, "--json").json == {"persons": [GIRL, YOUNG], "same": True}
    assert amr("people", "--proposals", *where).code == 1
    assert ran("timeline", "--person", YOUNG, *where, "--json").json["events"][0]["clip"].endswith(":0")
    ran("people", "--different", GIRL, YOUNG, *where)
    for arguments, part in (
        (("--same", GIRL, "nobody"), "nobody called nobody"),
        (("--same", GIRL, GIRL), "same name"),
    ):
        done = amr("people", *arguments, *where)
        assert (done.code, done.out) == (2, "")
        assert_one_sentence(done.err, part)


def test_look_alikes_do_not_depend_on_the_order_of_the_handles() -> None:
    from amr.retrieve.people import look_alikes

    handles = ["bearded_man", "man_beard", "waiter", "lucia", "lucya", "woman_red_coat", "boy_scarf", "alice", "maria"]
    found = look_alikes(handles)
    assert {pair.handles for pair in found} == {("bearded_man", "man_beard"), ("lucia", "lucya")}
    for seed in range(3):
        mixed = random.Random(seed).sample(handles, len(handles))
        assert look_alikes(mixed) == found
