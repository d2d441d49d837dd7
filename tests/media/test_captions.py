"""Caption files become cues."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.errors import BadInput
from amr.media.captions import read_captions
from amr.records import Cue
from tests.support.data import test_data
from tests.support.egolife import aligned_events_to_srt, chinese_cues, day_to_srt
from tests.support.videos import srt


def _read(folder: Path, text: str | bytes, name: str = "captions.srt") -> list[Cue]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_captions(path)


def test_cues_keep_their_times_and_text(tmp_path: Path) -> None:
    cues = _read(tmp_path, srt((1.5, 3.25, "I pick up the phone."), (4, 5, "Shure: Hey.")))
    assert cues == [Cue(1500, 3250, "I pick up the phone."), Cue(4000, 5000, "Shure: Hey.")]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    text = srt((1, 2, "one"), (3, 4, "two")).replace("\n", "\r\n")
    assert _read(tmp_path, b"\xef\xbb\xbf" + text.encode()) == [Cue(1000, 2000, "one"), Cue(3000, 4000, "two")]


def test_utf_16(tmp_path: Path) -> None:
    assert _read(tmp_path, srt((1, 2, "好 one")).encode("utf-16"))[0].text == "好 one"


def test_hours_beyond_99(tmp_path: Path) -> None:
    [cue] = _read(tmp_path, "1\n123:00:00,000 --> 123:00:01,500\nlate\n")
    assert (cue.start_ms, cue.end_ms) == (123 * 3_600_000, 123 * 3_600_000 + 1500)


def test_both_lines_of_a_bilingual_cue_stay(tmp_path: Path) -> None:
    [cue] = _read(tmp_path, "1\n00:00:01,000 --> 00:00:02,000\nJake: 好\nJake: Okay\n")
    assert cue.text == "Jake: 好\nJake: Okay"


def test_tags_and_styling_go(tmp_path: Path) -> None:
    [cue] = _read(tmp_path, srt((0, 1, r"{\an8}<i>I</i> see <font color=red>red &amp; blue</font><br>a < b")))
    assert cue.text == "I see red & blue\na < b"


def test_cues_are_sorted_by_time(tmp_path: Path) -> None:
    assert [cue.text for cue in _read(tmp_path, srt((5, 6, "b"), (1, 2, "a")))] == ["a", "b"]


def test_a_gap_in_the_text_and_a_missing_blank_line_are_no_harm(tmp_path: Path) -> None:
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\nfirst\n\nstill first\n"
        "2\n00:00:03,000 --> 00:00:04,000\nsecond\n3\n00:00:05,000 --> 00:00:06,000\nthird"
    )
    assert [cue.text for cue in _read(tmp_path, text)] == ["first\nstill first", "second", "third"]


def test_webvtt(tmp_path: Path) -> None:
    text = (
        "WEBVTT Kind: captions\nLanguage: en\n\nNOTE not a cue\n\nSTYLE\n::cue { color: lime }\n\n"
        "intro\n00:01.000 --> 00:02.500 align:start position:0%\n<v Jake>Where is <c.red>it</c>?\n\n"
        "01:00:00.000 --> 01:00:01.000\n- <00:00:00.500>here\n"
    )
    cues = _read(tmp_path, text, "captions.vtt")
    assert cues == [Cue(1000, 2500, "Jake: Where is it?"), Cue(3_600_000, 3_601_000, "- here")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hello\nworld\n", 2),
        ("1\n00:00:01,000 --> 00:00:02,000\na\n\n2\n00:00:03 -> 00:00:04\nb\n", 6),
        ("1\n00:00:01,000 --> soon\na\n", 2),
        ("1\n00:00:02,000 --> 00:00:01,000\na\n", 2),
    ],
)
def test_malformed_files_name_the_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(BadInput, match=f"line {line}:"):
        _read(tmp_path, text)


@pytest.mark.parametrize("data", [b"1\n00:00:01,000 --> 00:00:02,000\n\xff\xfa\n", b"\0\0\0\x18ftypmp42"])
def test_what_is_not_text_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadInput, match=r"captions\.srt"):
        _read(tmp_path, data)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_captions(tmp_path / "none.srt")


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**6),
            st.integers(0, 10**5),
            st.from_regex(r"[A-Za-z一-龥][a-z一-龥 .:,]{0,20}", fullmatch=True),
        )
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, cues: list[tuple[int, int, str]]) -> None:
    folder = tmp_path_factory.mktemp("cues")
    text = srt(*((start / 1000, (start + length) / 1000, words) for start, length, words in cues))
    expected = sorted(
        (Cue(start, start + length, words.strip()) for start, length, words in cues),
        key=lambda cue: (cue.start_ms, cue.end_ms),
    )
    assert _read(folder, text) == expected


def test_real_aligned_events(tmp_path: Path) -> None:
    path = test_data("videos/egolife_aligned_events.json")
    cues = read_captions(aligned_events_to_srt(path, "egolife_jake_day1_132039.mp4", tmp_path / "a.srt"))
    assert len(cues) == 67
    assert cues[0] == Cue(0, 500, "I'm sitting and using my phone.")
    assert any(cue.text.startswith("Shure: Hey, where did we put that coffee") for cue in cues)


def test_a_real_day(tmp_path: Path) -> None:
    cues = read_captions(day_to_srt(test_data("egolife/A1_JAKE_sync_clips.jsonl.gz"), 1, tmp_path / "day1.srt"))
    assert len(cues) > 5000
    assert cues[0].start_ms == (11 * 3600 + 9 * 60 + 43) * 1000


def test_real_bilingual_cues(tmp_path: Path) -> None:
    out = chinese_cues(test_data("egolife/Transcript_all_six.tar.zst"), tmp_path / "zh.srt")
    if out is None:
        pytest.skip("tar cannot unpack zstd here")
    cues = read_captions(out)
    assert len(cues) > 20
    assert all(0 <= cue.start_ms < 120_000 for cue in cues)
    assert any("\n" in cue.text for cue in cues)
