from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from amr.perceive.perceiver import Perceiver, load_perceiver
from amr.perceive.perception import Perceived
from amr.records import Clip, ClipAnalysis, Cue
from tests.perceive.clips import drawn_clip, picture, settings, sound, video_clips
from tests.support.data import test_data


def perceiver(**flags: object) -> Perceiver:
    return load_perceiver(settings(**flags))


def rough_hearing() -> Perceiver:
    pytest.importorskip("pocketsphinx", reason="pocketsphinx is not installed")
    return perceiver(speech={"recogniser": "pocketsphinx", "model": "base", "download": "never"})


NOTE = picture(("DENTIST FRIDAY 15:30", 120, 180))


def test_a_note_and_a_remark_become_events_in_order() -> None:
    clip = replace(drawn_clip([NOTE, NOTE]), captioned=True, cues=[Cue(6000, 7000, "Shure: Where is the pen?")])
    seen = perceiver().perceive(clip).analysis
    assert [(event.local_event_id, event.modality, event.summary) for event in seen.events] == [
        ("e1", "read", 'The text "DENTIST FRIDAY 15:30" is in view.'),
        ("e2", "heard", 'Shure says: "Where is the pen?"'),
    ]
    assert seen.text_in_view[0].text == "DENTIST FRIDAY 15:30"
    assert seen.clip_summary == '1 remark, text in view: "DENTIST FRIDAY 15:30".'
    assert seen.still is True


def test_an_empty_clip_says_that_nothing_was_recognised() -> None:
    seen = perceiver().perceive(Clip(0, 0, 10_000)).analysis
    assert (seen.clip_summary, seen.events, seen.still) == ("Nothing was recognised.", [], None)


def test_speech_without_a_recogniser_is_heard_and_not_quoted() -> None:
    seen = perceiver().perceive(Clip(0, 0, 11_000, audio=sound(test_data("audio/jfk.flac")))).analysis
    assert {event.summary for event in seen.events} == {"Someone speaks."}
    assert seen.speaker_turns == []
    assert seen.clip_summary == "Speech without words."


def test_rough_words_are_marked_as_rough_and_uncertain() -> None:
    audio = sound(test_data("videos/nasa_narration_2tracks.mp4"))[:160_000]
    seen = rough_hearing().perceive(Clip(0, 0, 10_000, audio=audio)).analysis
    [event], [turn] = seen.events, seen.speaker_turns
    assert "telescope" in turn.utterance
    assert turn.rough
    assert not event.certain
    assert event.summary == f'Someone says something like: "{turn.utterance}"'
    assert seen.characters == []


def test_a_captioned_source_is_never_given_to_the_recogniser() -> None:
    clip = Clip(0, 0, 11_000, audio=sound(test_data("audio/jfk.flac")), captioned=True)
    assert perceiver().perceive(clip).analysis.events == []


def test_a_given_analysis_is_returned_as_it_is() -> None:
    given = ClipAnalysis(clip_summary="Given.")
    clip = Clip(0, 0, 10_000, analysis=given)
    for name in ("embedded", "null"):
        assert perceiver(perceiver=name).perceive(clip).analysis is given


def test_rules_have_nothing_to_tell_but_the_analysis() -> None:
    seen = perceiver().perceive(replace(drawn_clip([NOTE]), captioned=True))
    assert seen == Perceived(seen.analysis)


def test_the_null_perceiver_says_only_that_there_is_video() -> None:
    seen = perceiver(perceiver="null").perceive(Clip(7, 70_000, 80_000)).analysis
    [event] = seen.events
    assert event.summary == "Video from 00:01:10 to 00:01:20."
    assert (event.time_start, event.time_end, event.modality, event.certain) == (0.0, 10.0, "seen", True)


def test_clips_perceived_in_any_order_or_side_by_side_are_perceived_alike() -> None:
    clips = video_clips(test_data("videos/nasa_narration_2tracks.mp4"))
    clips += [drawn_clip([NOTE, picture(("GATE 4", 300, 300))])]
    hears = rough_hearing()
    alone = [hears.perceive(clip).analysis.model_dump_json() for clip in clips]
    assert [hears.perceive(clip).analysis.model_dump_json() for clip in reversed(clips)] == alone[::-1]
    with ThreadPoolExecutor(3) as pool:
        assert [seen.analysis.model_dump_json() for seen in pool.map(hears.perceive, clips)] == alone


def test_the_hash_changes_with_what_changes_the_output_and_with_nothing_else() -> None:
    assert perceiver().settings_hash(False) == perceiver().settings_hash(False)
    different = [
        perceiver(),
        perceiver(frame_size=512),
        perceiver(captions_kind="speech"),
        perceiver(text_in_view={"enabled": False, "min_score": 0.8, "min_letters": 3}),
        rough_hearing(),
        perceiver(perceiver="null"),
    ]
    assert len({one.settings_hash(False) for one in different}) == len(different)
    same = perceiver(retrieve={"anchors": 3, "lane_depth": 9, "rrf_constant": 60})
    assert same.settings_hash(False) == perceiver().settings_hash(False)


def test_the_notice_says_what_is_and_what_is_not_perceived() -> None:
    assert perceiver().notice(False) == (
        "Embedded perceiver: reads text in view; speech: heard, but not turned into words. It does not see "
        "people, objects or actions in the picture: give --captions FILE, or fetch speech with "
        "`amr doctor --fetch speech`."
    )
    assert "reads captions and text in view" in perceiver().notice(True)
    assert "\n" not in perceiver().notice(True)


def test_reading_text_can_be_switched_off() -> None:
    blind = perceiver(text_in_view={"enabled": False, "min_score": 0.8, "min_letters": 3})
    assert blind.perceive(drawn_clip([NOTE])).analysis.events == []
    assert blind.models["text_in_view"] == "none"


def test_a_silent_film_without_text_gives_no_events() -> None:
    clips = video_clips(test_data("videos/sam2_coffee.mp4"))
    assert clips[0].audio is not None
    assert not np.any(clips[0].audio)
    assert [event for clip in clips for event in perceiver().perceive(clip).analysis.events] == []
