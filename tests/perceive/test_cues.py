from __future__ import annotations

from hypothesis import given
from hypothesis import settings as run_with
from hypothesis import strategies as st

from amr.perceive.cues import Captioned, CaptionsKind, Remark, read_cues, remarks
from amr.records import Clip, Cue, EventReport


def captioned(*texts: str, kind: CaptionsKind = "auto", start_ms: int = 20_000) -> Captioned:
    cues = [Cue(start_ms + 1000 * n, start_ms + 1000 * n + 800, text) for n, text in enumerate(texts)]
    return read_cues(Clip(2, start_ms, start_ms + 10_000, cues=cues, captioned=True), kind)


def event(text: str, kind: CaptionsKind = "auto") -> EventReport:
    [found] = captioned(text, kind=kind).events
    return found


def test_a_named_cue_is_that_persons_speech() -> None:
    found = captioned("Shure: Where is the pen?")
    [said], [turn], [person] = found.events, found.turns, found.characters
    assert said.summary == 'Shure says: "Where is the pen?"'
    assert (said.modality, said.actors, said.dialogue) == ("heard", ["shure"], ["Where is the pen?"])
    assert (turn.speaker_id, turn.utterance, turn.rough) == ("shure", "Where is the pen?", False)
    assert (person.local_character_id, person.name_or_description) == ("shure", "Shure")
    assert said.actions == []


def test_an_unnamed_first_person_or_verb_first_cue_is_the_wearers_narration() -> None:
    for text in ("I put my phone on the table.", "Putting my phone on the table"):
        told = event(text)
        assert (told.modality, told.summary, told.actors) == ("told", text, ["wearer"])
        [action] = told.actions
        assert (action.actor, action.verb, action.object) == ("wearer", "put", "phone")
        assert action.spatial_relation == "on the table"
        assert told.certain
        assert "phone" in [thing.name for thing in told.objects]


def test_any_other_unnamed_cue_is_somebodys_speech() -> None:
    found = captioned("Where did we put that coffee?")
    assert found.events[0].summary == 'Someone says: "Where did we put that coffee?"'
    assert found.turns[0].speaker_id == "voice_unknown"
    assert found.characters == []


def test_the_kind_of_captions_can_be_said() -> None:
    assert event("I put my phone away.", "speech").summary == 'Someone says: "I put my phone away."'
    assert event("I put my phone away.", "speech").actors == ["voice_unknown"]
    told = event("Lucia opens the red box.", "narration")
    assert (told.modality, told.actors) == ("told", ["lucia"])
    assert event("Shure: I see.", "narration").modality == "heard"


def test_persons_named_in_a_narration_are_characters() -> None:
    found = captioned("Tasha and I carry the box upstairs.")
    assert [person.local_character_id for person in found.characters] == ["tasha"]
    assert found.events[0].actors == ["tasha", "wearer"]


def test_two_languages_of_one_speaker_are_one_remark_with_both_texts() -> None:
    assert remarks("Jake:对\nJake: Yes") == [Remark("Jake", "对 / Yes")]
    assert remarks("俢硕: 是的\nShure: That's right.") == [Remark("Shure", "是的 / That's right.")]
    found = captioned("Jake: 我把笔放在抽屉里了\nJake: I put the pen in the drawer.")
    assert len(found.turns) == len(found.events) == 1
    assert "我把笔" in found.events[0].summary
    assert found.events[0].actions[0].actor == "jake"


def test_wrapped_lines_are_one_sentence_and_dashes_are_two_people() -> None:
    assert remarks("Lucia: I put the pen in\nthe left drawer.") == [
        Remark("Lucia", "I put the pen in the left drawer.")
    ]
    assert remarks("- Hello?\n- Who is it?") == [Remark(None, "Hello?"), Remark(None, "Who is it?")]
    assert remarks("Lucia: Yes\nJake: Thanks") == [Remark("Lucia", "Yes"), Remark("Jake", "Thanks")]


def test_a_sound_is_nobodys_words() -> None:
    found = captioned("[door slams]", "♪")
    assert [heard.summary for heard in found.events] == ["Sound: door slams.", "Music plays."]
    assert found.turns == []


def test_times_are_seconds_from_the_clips_start_and_one_event_stands_for_each_cue() -> None:
    found = captioned("Jake: One.", "I sit down.", "Jake: Three.")
    assert [(said.local_event_id, said.time_start, said.time_end) for said in found.events] == [
        ("e1", 0.0, 0.8),
        ("e2", 1.0, 1.8),
        ("e3", 2.0, 2.8),
    ]


def test_a_cue_that_lasts_beyond_its_clip_keeps_its_end() -> None:
    clip = Clip(0, 0, 10_000, cues=[Cue(9_000, 12_500, "Jake: A long remark")], captioned=True)
    assert read_cues(clip, "auto").events[0].time_end == 12.5


def test_the_kind_that_a_cue_brings_goes_before_that_of_all_captions() -> None:
    told = [
        Cue(0, 1, "Nobody is here", "narration"),
        Cue(1, 2, "I put it down.", "speech"),
        Cue(2, 3, "Note: I sit.", "narration"),
    ]
    found = read_cues(Clip(0, 0, 10_000, cues=told, captioned=True), "speech")
    assert [event.modality for event in found.events] == ["told", "heard", "told"]
    assert (found.narrated, len(found.turns)) == (2, 1)


def test_the_names_of_the_wearer_are_the_wearer_and_the_words_stay() -> None:
    told = [
        Cue(0, 1, "Jake: I'm putting my phone on the table."),
        Cue(1, 2, "Alice: Thanks."),
        Cue(2, 3, "Jake sits down.", "narration"),
    ]
    found = read_cues(Clip(0, 0, 10_000, cues=told, captioned=True, wearer=("Jake",)), "auto")
    assert [event.actors for event in found.events] == [["wearer"], ["alice"], ["wearer"]]
    assert [turn.speaker_id for turn in found.turns] == ["wearer", "alice"]
    assert found.events[0].summary == 'Jake says: "I\'m putting my phone on the table."'
    assert [character.local_character_id for character in found.characters] == ["alice"]


def test_an_event_keeps_the_name_that_the_source_has_for_it() -> None:
    clip = Clip(0, 0, 10_000, cues=[Cue(0, 1, "take plate", "narration", "P01_1_0")], captioned=True)
    assert read_cues(clip, "auto").events[0].ref == "P01_1_0"


@run_with(deadline=None)
@given(st.lists(st.text(st.sampled_from("ab Jake: I put\n对,-[]♪"), max_size=40), max_size=4))
def test_no_word_of_a_caption_is_lost(texts: list[str]) -> None:
    kept = " ".join(said.summary for said in captioned(*texts).events)
    for text in texts:
        for remark in remarks(text):
            assert all(word.strip("[]♪#. ") in kept for word in remark.text.split())
