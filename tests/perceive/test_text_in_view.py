from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as run_with
from hypothesis import strategies as st

from amr.perceive.motion import frames_to_read, thumbnail
from amr.perceive.text_in_view import Line, Text, blocks, is_believable, read_lines, read_text, reading_order
from amr.records import Clip, Frame
from tests.perceive.clips import drawn_clip, noise_picture, picture, settings, video_clips
from tests.support.data import ROOT, test_data

SETTINGS = settings().text_in_view


def read(clip: Clip) -> list[Text]:
    thumbnails = [thumbnail(frame) for frame in clip.frames]
    return read_text(frames_to_read(clip.frames, thumbnails), SETTINGS)


def words(clip: Clip) -> list[str]:
    return [text.text for text in read(clip)]


def line(text: str, left: float = 0, top: float = 0, score: float = 0.95) -> Line:
    return Line(text, score, left, top, left + 20 * len(text), top + 30)


def test_a_note_on_paper_is_read() -> None:
    [note] = read(drawn_clip([picture(("DENTIST FRIDAY 15:30", 120, 180))]))
    assert note.text == "DENTIST FRIDAY 15:30"
    assert note.score > 0.9


@pytest.mark.parametrize("size", [10, 60])
def test_small_and_large_letters_are_read(size: int) -> None:
    assert words(drawn_clip([picture(("Milk and bread", 60, 180), size=size)])) == ["Milk and bread"]


def test_lines_of_a_block_are_one_text_and_far_apart_ones_are_two() -> None:
    sheet = picture(("SHOPPING LIST", 60, 60), ("eggs and milk", 60, 105), ("Exit to street", 420, 360))
    assert words(drawn_clip([sheet])) == ["SHOPPING LIST eggs and milk", "Exit to street"]


def test_a_text_that_stays_is_one_text_at_its_last_reading() -> None:
    moved = picture(("DENTIST FRIDAY", 400, 300))
    [note] = read(drawn_clip([picture(("DENTIST FRIDAY", 120, 60)), moved]))
    assert (note.text, note.time_ms) == ("DENTIST FRIDAY", 5000)


def test_texts_that_differ_by_a_digit_are_two() -> None:
    clip = drawn_clip([picture(("ROOM 214 LEFT", 120, 60)), picture(("ROOM 218 LEFT", 400, 300))])
    assert words(clip) == ["ROOM 214 LEFT", "ROOM 218 LEFT"]


def test_a_text_half_out_of_the_picture_is_the_text_seen_whole() -> None:
    clip = drawn_clip([picture(("WIFI PASSWORD: maple4821", 60, 60)), picture(("WIFI PASSWORD: maple4821", 480, 300))])
    assert words(clip) == ["WIFI PASSWORD: maple4821"]


def test_two_signs_that_say_the_same_are_one_text() -> None:
    assert words(drawn_clip([picture(("EXIT", 60, 60), ("EXIT", 500, 300))])) == ["EXIT"]


def test_the_notes_in_the_sample_film_are_read() -> None:
    clips = video_clips(ROOT / "data" / "sample.mp4")
    read_there = {text for clip in clips for text in words(clip)}
    assert {"FLAT 214", "DENTIST FRIDAY 15:30", "WIFI PASSWORD: maple4821", "LIBRARY BOOKS DUE 12 MAY"} == read_there


def test_nothing_is_read_on_noise_or_on_an_empty_sheet() -> None:
    assert words(drawn_clip([noise_picture(1), noise_picture(2)])) == []
    assert words(drawn_clip([picture()])) == []


@pytest.mark.parametrize("name", ["sam2_coffee", "clevr_collision", "nasa_narration_2tracks"])
def test_no_letters_are_invented_in_a_film_without_any(name: str) -> None:
    assert not [text for clip in video_clips(test_data(f"videos/{name}.mp4")) for text in words(clip)]


def test_of_a_street_only_what_stands_there_is_read() -> None:
    clips = video_clips(test_data("videos/pe_phone_train.mp4"))
    assert {text for clip in clips for text in words(clip)} <= {"12-10", "ONE WAY"}


def test_each_line_cut_short_is_the_text_seen_whole() -> None:
    whole = picture(("LIBRARY BOOKS", 60, 60), ("DUE 12 MAY", 60, 105))
    cut = picture(("LIBRARY", 540, 260), ("DUE 1", 540, 305))
    assert words(drawn_clip([cut, whole])) == ["LIBRARY BOOKS DUE 12 MAY"]


def test_a_frame_counter_burnt_into_the_picture_is_not_text_to_remember() -> None:
    clips = video_clips(test_data("videos/egolife_jake_day1_132039.mp4"))
    assert not [text for clip in clips[3:6] for text in words(clip)]


def test_toy_blocks_spell_what_they_spell_at_the_end() -> None:
    import av

    with av.open(str(test_data("videos/sam2_blocks.mp4"))) as container:
        pictures = list(container.decode(video=0))
    image = pictures[-1].reformat(width=768, height=432, format="rgb24").to_ndarray()
    [text] = read_text([Frame(9700, image)], SETTINGS)
    assert text.text == "SAM TWO"


def test_a_sign_and_a_running_clock_are_one_text_at_its_last_reading() -> None:
    clip = video_clips(test_data("videos/egolife_exo9_day1_112230_audio.mp4"))[2]
    [text] = read(clip)
    assert text.text.startswith("DAY1, L1 egolife 11:22:5")


def test_reading_twice_or_side_by_side_gives_the_same() -> None:
    images = [picture((f"GATE {number} OPEN", 100, 100)) for number in range(4)]
    alone = [read_lines(image) for image in images]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(read_lines, images)) == alone


def test_what_is_doubtful_short_or_a_bar_code_is_not_believed() -> None:
    believed = [
        text
        for text, score in [
            ("OPEN", 0.95),
            ("OPEN", 0.7),
            ("TW", 0.99),
            ("回", 0.99),
            ("出口", 0.95),
            ("15:30", 0.95),
            ("+49 171 2345678", 0.95),
            ("28889660821550", 0.99),
            ("28920S10815425", 0.95),
        ]
        if is_believable(line(text, score=score), SETTINGS)
    ]
    assert believed == ["OPEN", "出口", "15:30", "+49 171 2345678"]


def test_words_side_by_side_read_left_to_right_even_if_one_sits_higher() -> None:
    assert [[part.text for part in block] for block in blocks([line("TWO", 90, 6), line("SAM", 0, 10)])] == [
        ["SAM", "TWO"]
    ]


@run_with(deadline=None)
@given(
    st.lists(st.builds(line, st.sampled_from(["ab", "cde", "f"]), st.integers(0, 700), st.integers(0, 400)), max_size=8)
)
def test_grouping_loses_and_repeats_no_line(lines: list[Line]) -> None:
    grouped = [part for block in blocks(lines) for part in block]
    assert sorted(map(repr, grouped)) == sorted(map(repr, lines))
    assert sorted(map(repr, reading_order(lines))) == sorted(map(repr, lines))


def test_a_page_becomes_texts_short_enough_for_a_sentence() -> None:
    rows = [(f"line {number} of this page tells us more", 40, 20 + 34 * number) for number in range(10)]
    texts = words(drawn_clip([picture(*rows, size=26)]))
    assert len(texts) > 1
    assert all(len(text.split()) <= 20 for text in texts)
    assert np.all([f"line {number} of" in " ".join(texts) for number in range(10)])
