"""The perceiver that is a model, against a server that looks at what it is sent."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.errors import ProviderError
from amr.models.calls import Calls
from amr.models.capabilities import capabilities_of
from amr.models.chat import CallFailed, ReplyUnusable, RequestTooLarge
from amr.models.names import parse_model_name
from amr.models.open import Models
from amr.models.prompts import prompt_hash
from amr.perceive.clip_media import FULL, SMALLER, clip_media
from amr.perceive.multimodal import Report, nonsense, settle
from amr.perceive.perceiver import Perceiver, load_perceiver
from amr.perceive.perception import Perceived
from amr.records import Clip, ClipAnalysis, Cue, Frame
from tests.perceive.clips import settings, video_clips
from tests.support.coded_video import (
    Deed,
    Film,
    Happening,
    Thing,
    expected,
    expected_clips,
    make_coded_video,
    random_film,
)
from tests.support.model_server import ModelServer
from tests.support.model_server_faults import Fault
from tests.support.videos import ffmpeg

FILM = random_film(3, 4)
TRUTH = expected_clips(FILM)
VIDEO = {"video": True, "audio": True}
FRAMES = {"video": False, "audio": True}
PATIENCE = {"total_s": 2.0, "answer_s": 5.0, "first_wait_s": 0.02, "tries": 3}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Clip]:
    return video_clips(make_coded_video(FILM, tmp_path_factory.mktemp("coded") / "film.mp4"))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([FILM], mode="local", key=None) as server:
        yield server


def perceiver(
    server: ModelServer, folder: Path, takes: dict[str, Any] = VIDEO, model: str = "qwen2.5-omni", **flags: Any
) -> Perceiver:
    name = f"{server.base_url}#{model}"
    chosen = settings(perceiver=name, models={name: takes}, patience=PATIENCE, **flags)
    return load_perceiver(chosen, Models(chosen, Calls(folder / "calls", "test"), stop=threading.Event()))


@pytest.mark.parametrize("takes", [VIDEO, FRAMES], ids=["video", "frames"])
def test_a_clip_gives_the_truth_about_it(
    server: ModelServer, clips: list[Clip], tmp_path: Path, takes: dict[str, Any]
) -> None:
    seen = [perceiver(server, tmp_path, takes).perceive(clip) for clip in clips]
    assert [one.analysis for one in seen] == TRUTH
    assert [one.problems for one in seen] == [[]] * 4
    assert [one.salvages for one in seen] == [Counter()] * 4
    assert {one.prompt_hash for one in seen} == {prompt_hash("perceive")}
    for one in seen:
        assert one.raw is not None and ClipAnalysis.model_validate_json(one.raw) == one.analysis
        assert one.model == f"{server.base_url}#qwen2.5-omni"


def test_persons_get_handles_and_events_summaries(server: ModelServer, clips: list[Clip], tmp_path: Path) -> None:
    seen = perceiver(server, tmp_path).perceive(clips[0])
    for person in seen.analysis.characters:
        words = [word for word in person.name_or_description.split() if word not in ("in", "with")]
        assert seen.handles[person.name_or_description] == "_".join(words)
    assert seen.names == {}
    assert seen.summaries.keys() == {event.local_event_id for event in seen.analysis.events}
    first = seen.analysis.events[0]
    who = seen.analysis.characters[0].name_or_description
    assert seen.summaries[first.local_event_id].lower().startswith(f"{who} {first.actions[0].verb}")
    assert seen.analysis.scene_type in seen.summaries[first.local_event_id]


def test_a_clip_takes_three_calls_and_none_when_seen_again(
    server: ModelServer, clips: list[Clip], tmp_path: Path
) -> None:
    first = perceiver(server, tmp_path).perceive(clips[0])
    assert [call.role for call in server.log.calls()] == ["perception", "handles", "summaries"]
    assert [call.model for call in server.log.calls()] == ["qwen2.5-omni"] * 3
    assert perceiver(server, tmp_path).perceive(clips[0]) == first
    assert len(server.log.calls()) == 3


def test_clips_side_by_side_are_perceived_alike(server: ModelServer, clips: list[Clip], tmp_path: Path) -> None:
    one = perceiver(server, tmp_path / "one")
    alone = [one.perceive(clip) for clip in clips]
    many = perceiver(server, tmp_path / "many")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(many.perceive, reversed(clips))) == alone[::-1]


def test_a_model_that_takes_no_schema_is_told_of_it_in_words(
    server: ModelServer, clips: list[Clip], tmp_path: Path
) -> None:
    for number, way in enumerate(("object", "none", "schema")):
        using = perceiver(server, tmp_path / way, FRAMES | {"json_output": way}, model="without-schema")
        seen = using.perceive(clips[number])
        assert seen.analysis == TRUTH[number]
        assert seen.handles and len(seen.summaries) == len(seen.analysis.events)
        assert seen.salvages.keys() <= {"extra_keys"}


def test_a_model_that_does_not_hear_reads_captions(server: ModelServer, tmp_path: Path, clips: list[Clip]) -> None:
    number = next(number for number, clip in enumerate(TRUTH) if clip.speaker_turns)
    clip, deaf = clips[number], {"video": False, "audio": False}
    mute = perceiver(server, tmp_path, deaf, model="qwen2.5-vl")
    assert mute.perceive(clip).analysis == expected(FILM, clip.start_ms / 1000, clip.end_ms / 1000, sound=False)
    cues = [
        Cue(round(line.start * 1000), round(line.end * 1000), line.utterance)
        for line in FILM.lines
        if clip.start_ms <= line.start * 1000 < clip.end_ms
    ]
    told = Clip(clip.index, clip.start_ms, clip.end_ms, clip.frames, clip.audio, cues, captioned=True, path=clip.path)
    assert mute.perceive(told).analysis == TRUTH[number]


SALVAGED = {"fenced": {"fences": 1}, "prose": {"prose": 1}}
REASKED = ["truncated", "not_json", "wrong_types", "missing_keys", "length"]


@pytest.mark.parametrize("role", ["perception", "handles", "summaries"])
@pytest.mark.parametrize("kind", [*SALVAGED, "extra_keys", *REASKED])
def test_a_spoilt_reply_is_mended_or_asked_for_again_and_counted(
    server: ModelServer, clips: list[Clip], tmp_path: Path, role: str, kind: str
) -> None:
    clean = perceiver(server, tmp_path / "clean", FRAMES).perceive(clips[0])
    server.log.clear()
    server.faults.set(Fault(kind, role=role, nth=1))
    seen = perceiver(server, tmp_path / "spoilt", FRAMES).perceive(clips[0])
    assert (seen.analysis, seen.handles, seen.summaries) == (clean.analysis, clean.handles, clean.summaries)
    asked = Counter(call.role for call in server.log.calls())
    if kind in REASKED:
        assert seen.salvages == {"reasked": 1}
        assert asked[role] == 2
        assert seen.prompt_hash == prompt_hash("perceive_strict" if role == "perception" else "perceive")
    else:
        assert asked[role] == 1
        assert seen.salvages == SALVAGED.get(kind, seen.salvages)
        assert kind != "extra_keys" or seen.salvages["extra_keys"] > 0


def test_what_stays_spoilt_fails_the_clip_and_its_text_is_kept(
    server: ModelServer, clips: list[Clip], tmp_path: Path
) -> None:
    server.faults.set(Fault("not_json", clip=1, times=None))
    using = perceiver(server, tmp_path, FRAMES)
    with pytest.raises(ReplyUnusable) as failed:
        using.perceive(clips[1])
    assert failed.value.raw == "I am sorry, I can only see a kitchen."
    assert using.perceive(clips[0]).analysis == TRUTH[0]
    server.faults.clear()
    assert using.perceive(clips[1]).analysis == TRUTH[1]


def test_a_request_that_fails_for_good_fails_its_clip(server: ModelServer, clips: list[Clip], tmp_path: Path) -> None:
    server.faults.set(Fault("500", clip=2, times=None))
    using = perceiver(server, tmp_path)
    with pytest.raises(CallFailed):
        using.perceive(clips[2])
    assert using.perceive(clips[3]).analysis == TRUTH[3]


@pytest.mark.parametrize("takes", [VIDEO, {"video": False, "audio": False}], ids=["video", "frames"])
@pytest.mark.parametrize("who", ["we", "the provider"])
def test_a_clip_over_a_limit_is_sent_smaller_once(
    server: ModelServer, tmp_path: Path, takes: dict[str, Any], who: str
) -> None:
    film = random_film(5, 1)
    server.films = {1: film}
    plain, noisy = make_coded_video(film, tmp_path / "plain.mp4", width=320), tmp_path / "noisy.mp4"
    ffmpeg("-i", plain, "-vf", "noise=alls=30:allf=t", "-preset", "ultrafast", "-c:a", "copy", noisy)
    [clip] = video_clips(noisy)
    known = capabilities_of(parse_model_name(f"{server.base_url}#any")).model_copy(update=takes)
    full, small = (
        max(len(item.data) for item in clip_media(clip, known, 768, quality).media) for quality in (FULL, SMALLER)
    )
    between = (full + small) // 2

    def limited(most: int) -> Perceiver:
        server.largest_media = most if who == "the provider" else 10**9
        return perceiver(server, tmp_path / str(most), takes | ({"max_media_bytes": most} if who == "we" else {}))

    assert limited(between).perceive(clip).analysis == expected(film, 0, 10, sound=takes["audio"])
    server.log.clear()
    with pytest.raises(RequestTooLarge):
        limited(small - 1).perceive(clip)
    assert len(server.log.calls()) == (0 if who == "we" else 2)


def test_a_given_analysis_and_an_empty_clip_call_nobody(server: ModelServer, tmp_path: Path) -> None:
    using = perceiver(server, tmp_path)
    analysis = ClipAnalysis(clip_summary="Given.")
    assert using.perceive(Clip(0, 0, 10_000, analysis=analysis)) == Perceived(analysis)
    empty = using.perceive(Clip(0, 0, 10_000, captioned=True))
    assert (empty.analysis.events, empty.model) == ([], "")
    assert server.log.calls() == []


def test_a_clip_without_persons_or_events_takes_one_call(server: ModelServer, tmp_path: Path) -> None:
    film = Film(7, 10.0, ())
    server.films = {7: film}
    [clip] = video_clips(make_coded_video(film, tmp_path / "empty.mp4"))
    seen = perceiver(server, tmp_path).perceive(clip)
    assert (seen.analysis.events, seen.handles, seen.summaries) == ([], {}, {})
    assert [call.role for call in server.log.calls()] == ["perception"]


def test_a_name_that_was_heard_is_told(server: ModelServer, tmp_path: Path) -> None:
    who = "girl in black hoodie, called Lucia"
    film = Film(8, 10.0, (Happening(1.0, 6.0, "She waves.", (who,), (), (Deed(who, "wave"),)),))
    server.films = {8: film}
    [clip] = video_clips(make_coded_video(film, tmp_path / "named.mp4"))
    seen = perceiver(server, tmp_path).perceive(clip)
    assert seen.names == {who: "Lucia"}
    assert seen.handles == {who: "girl_black_hoodie"}


def test_missing_relations_are_completed_when_asked_for(server: ModelServer, tmp_path: Path) -> None:
    who, place = "girl in black hoodie", "on top of the fridge"
    deeds = (Deed(who, "take", "mug"), Deed(who, "hold", "phone", "in her left hand"), Deed(who, "wave"))
    film = Film(8, 10.0, (Happening(1.0, 6.0, "She takes the mug.", (who,), (Thing("mug", place),), deeds),))
    server.films = {8: film}
    [clip] = video_clips(make_coded_video(film, tmp_path / "mug.mp4"))
    plain = perceiver(server, tmp_path).perceive(clip)
    assert [action.spatial_relation for action in plain.analysis.events[0].actions] == ["", "in her left hand", ""]
    refined = perceiver(server, tmp_path, refine_actions=True).perceive(clip)
    assert [action.spatial_relation for action in refined.analysis.events[0].actions] == [place, "in her left hand", ""]
    assert place in refined.summaries["E1"]
    assert [call.role for call in server.log.calls()][3:] == ["actions", "summaries"]
    assert refined.raw == plain.raw


def test_a_model_that_does_not_see_is_refused(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="does not see"):
        perceiver(server, tmp_path, {"images": False})


def test_the_hash_changes_with_what_changes_the_output_and_with_nothing_else(
    server: ModelServer, tmp_path: Path
) -> None:
    roles = settings().model_dump()["roles"]
    longer = {**roles, "summaries": {**roles["summaries"], "max_tokens": 99}}
    other = {**roles, "handles": {**roles["handles"], "model": f"{server.base_url}#qwen2.5-vl"}}
    different = [
        perceiver(server, tmp_path),
        perceiver(server, tmp_path, FRAMES),
        perceiver(server, tmp_path, model="qwen2.5-vl"),
        perceiver(server, tmp_path, frame_size=512),
        perceiver(server, tmp_path, roles=longer),
        perceiver(server, tmp_path, roles=other),
        perceiver(server, tmp_path, refine_actions=True),
    ]
    assert len({one.settings_hash(False) for one in different}) == len(different)
    same = perceiver(server, tmp_path, VIDEO | {"usd_per_million_input": 3.0}, jobs=8)
    assert same.settings_hash(False) == different[0].settings_hash(False)


def test_the_notice_says_what_is_sent_where(server: ModelServer, tmp_path: Path) -> None:
    name = f"{server.base_url}#qwen2.5-omni"
    where = f"they are sent to the model server at {server.base_url}."
    assert (
        perceiver(server, tmp_path).notice(False) == f"{name} sees the video of each clip and hears its sound; {where}"
    )
    deaf = perceiver(server, tmp_path, {"video": False, "audio": False})
    assert deaf.notice(True) == f"{name} sees frames of each clip and reads its captions; {where}"


# What the model says of times and persons is checked


def report(**more: Any) -> Report:
    event = {
        "local_event_id": "E1",
        "time_start": 1.0,
        "time_end": 2.0,
        "summary": "Something happens.",
        "actors": ["C1"],
        "objects": [],
        "dialogue": [],
        "actions": [],
    } | more.pop("event", {})
    turns = [{"speaker_id": "C1", "utterance": "Hello.", "time_start": 1.0, "time_end": 2.0} | more.pop("turn", {})]
    people = [{"local_character_id": "C1", "role": "speaker", "name_or_description": "a man"}]
    base = {"clip_summary": "A clip.", "scene_type": "", "characters": people, "speaker_turns": turns}
    return Report.model_validate(base | {"events": [event]} | more)


CLIP = Clip(3, 30_000, 40_000, frames=[Frame(30_000, np.zeros((2, 2, 3), np.uint8))])


@pytest.mark.parametrize(
    ("times", "kept"),
    [((0.0, 10.0), (0.0, 10.0)), ((-0.4, 3.0), (0.0, 3.0)), ((9.0, 10.8), (9.0, 10.0)), ((10.5, 10.9), (10.0, 10.0))],
)
def test_times_a_little_outside_the_clip_are_cut_to_it_and_told(
    times: tuple[float, float], kept: tuple[float, float]
) -> None:
    said = report(event={"time_start": times[0], "time_end": times[1]})
    assert nonsense(said, 10.0) == []
    analysis, problems = settle(said, CLIP)
    assert (analysis.events[0].time_start, analysis.events[0].time_end) == kept
    assert len(problems) == (times != kept)
    assert all("E1" in problem for problem in problems)


@pytest.mark.parametrize("times", [(31.0, 33.0), (5.0, 3.0), (1000.0, 2000.0), (-5.0, 3.0), (2.0, 20.0)])
@pytest.mark.parametrize("where", ["event", "turn"])
def test_times_that_make_no_sense_are_asked_for_again(times: tuple[float, float], where: str) -> None:
    said = report(**{where: {"time_start": times[0], "time_end": times[1]}})
    (fault,) = nonsense(said, 10.0)
    assert ("events, E1" if where == "event" else "speaker_turns, C1") in fault
    assert "outside the clip, which is 10.0 long" in fault or "before time_start" in fault


@given(st.floats(-20, 30), st.floats(-20, 30))
def test_whatever_passes_ends_inside_the_clip(start: float, end: float) -> None:
    said = report(event={"time_start": start, "time_end": end})
    if not nonsense(said, 10.0):
        event = settle(said, CLIP)[0].events[0]
        assert 0 <= event.time_start <= event.time_end <= 10


def test_ids_that_stand_for_several_and_empty_texts_are_asked_for_again() -> None:
    person = report().characters[0].model_dump()
    event = report().events[0].model_dump()
    for bad in (
        {"characters": [person, person]},
        {"events": [event, event]},
        {"characters": [{**person, "name_or_description": " "}]},
        {"events": [{**event, "summary": ""}]},
        {"clip_summary": ""},
    ):
        assert len(nonsense(report(**bad), 10.0)) == 1


def test_actors_and_speakers_that_nobody_described_are_told() -> None:
    deed = {"actor": "C7", "verb": "wave", "object": "", "spatial_relation": ""}
    analysis, problems = settle(
        report(event={"actors": ["C1", "C9"], "actions": [deed]}, turn={"speaker_id": "C8"}), CLIP
    )
    assert problems == [
        'speaker: nobody has the id "C8"',
        'actor of E1: nobody has the id "C9"',
        'actor of E1: nobody has the id "C7"',
    ]
    assert analysis.events[0].actors == ["C1", "C9"]


def test_the_wearer_and_voices_need_no_description() -> None:
    people = [{"local_character_id": "wearer", "role": "other", "name_or_description": "person with the camera"}]
    said = report(event={"actors": ["wearer", "S1"]}, turn={"speaker_id": "S1"}, characters=people)
    analysis, problems = settle(said, CLIP)
    assert analysis.characters == []
    assert problems == ["the wearer was listed among the characters"]
    assert analysis.events[0].actors == ["wearer", "S1"]
    assert settle(report(event={"actors": ["wearer"]}), CLIP)[1] == []
