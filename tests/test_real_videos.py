"""Real first-person video: questions that captions, speech or text in view answer, at the right second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.command import amr, ran
from tests.support.data import test_data
from tests.support.egolife import aligned_events_to_srt, chinese_cues

EYES = {"AMR_TEXT_IN_VIEW__ENABLED": "true"}

PHONE_WALK = [
    # question, the seconds of the lines that answer it, words of the answer
    ("Who asked where we put that coffee?", (3.5, 6.5), "shure"),
    ("When did I go down the stairs?", (45.5, 51.5), "going down the stairs"),
    ("What did Alice say?", (58.5, 59.5), "exhausted"),
    ("Where did I rest both hands?", (57.5, 59.5), "table"),
    ("When did I turn on my phone to take photos?", (67.5, 69.5), "take photos"),
]


@pytest.fixture(scope="module")
def phone_walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    video = test_data("videos/egolife_jake_day1_132039.mp4")
    folder = tmp_path_factory.mktemp("walk")
    captions = folder / "walk.srt"
    aligned_events_to_srt(test_data("videos/egolife_aligned_events.json"), video.name, captions)
    ran("ingest", video, "--captions", captions, "--memory", folder / "memory", env=EYES)
    return folder / "memory"


def asked(memory: Path, question: str) -> dict[str, Any]:
    done = amr("ask", question, "--memory", memory, "--json")
    assert done.code == 0, (question, done.out)
    return done.json


@pytest.mark.parametrize(("question", "seconds", "words"), PHONE_WALK)
def test_a_captioned_walk_is_answered_at_the_right_second_with_a_real_frame(
    phone_walk: Path, question: str, seconds: tuple[float, float], words: str
) -> None:
    answer = asked(phone_walk, question)
    assert words in answer["answer"].lower()
    cited = {node for claim in answer["claims"] for node in claim["evidence"]}
    pieces = [piece for piece in answer["evidence"] if piece["node_id"] in cited]
    assert pieces and all(seconds[0] - 1 <= piece["t_start"] <= seconds[1] + 1 for piece in pieces)
    for piece in pieces:
        with Image.open(piece["frame"]) as frame:
            assert frame.size == (720, 720)


def test_what_the_captions_never_mention_is_not_found(phone_walk: Path) -> None:
    for question in ("Where is my umbrella?", "What did Priya say about the invoice?", "When did I feed the parrot?"):
        assert amr("ask", question, "--memory", phone_walk).code == 1, question


def test_what_a_narrator_says_is_found_with_its_time(tmp_path: Path) -> None:
    ran("ingest", test_data("videos/nasa_narration_2tracks.mp4"), "--memory", tmp_path, env=EYES)
    answer = asked(tmp_path, "What did they say about the Goddard Space Flight Center?")
    assert "Greenbelt, Maryland" in answer["answer"]
    assert 7.3 <= answer["evidence"][0]["t_start"] <= 9.3


def test_words_spelt_with_toy_blocks_are_found(tmp_path: Path) -> None:
    ran("ingest", test_data("videos/sam2_blocks.mp4"), "--memory", tmp_path, env=EYES)
    answer = asked(tmp_path, "What do the letters SAM say?")
    assert "SAM TWO" in answer["answer"]
    assert answer["evidence"][0]["t_start"] >= 9.0


def test_a_chinese_question_finds_its_line(tmp_path: Path) -> None:
    captions = chinese_cues(test_data("egolife/Transcript_all_six.tar.zst"), tmp_path / "talk.srt")
    if captions is None:
        pytest.skip("tar cannot unpack zstd here")
    video = test_data("videos/egolife_exo9_day1_112230_audio.mp4")
    ran("ingest", video, "--captions", captions, "--memory", tmp_path / "memory")
    answer = asked(tmp_path / "memory", "笔在哪里?")
    assert "笔呢" in answer["answer"]
    assert all(105 <= piece["t_start"] <= 120 for piece in answer["evidence"][:1])


@pytest.mark.parametrize("name", ["clevr_collision", "pe_phone_train", "sam2_coffee", "egolife_jake_day1_132039"])
def test_every_other_video_has_clips_and_none_fails(tmp_path: Path, name: str) -> None:
    done = amr("ingest", test_data(f"videos/{name}.mp4"), "--memory", tmp_path, "--json")
    assert done.code == 0 and done.json["clips"] >= 1 and done.json["clips_failed"] == 0
