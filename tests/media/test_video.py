"""A video file becomes clips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from amr.config import Settings, load_settings
from amr.errors import BadInput
from amr.media.source import Source, open_sources
from amr.records import Clip
from tests.support.data import test_data
from tests.support.videos import SILENCE, TONE, cut_off, ffmpeg, make_video, remake, srt, with_texts

REAL_VIDEOS = {
    "clevr_collision.mp4": 5120,
    "egolife_exo9_day1_112230_audio.mp4": 120_100,
    "egolife_jake_day1_132039.mp4": 71_100,
    "nasa_narration_2tracks.mp4": 13_000,
    "pe_phone_train.mp4": 14_056,
    "sam2_blocks.mp4": 9743,
    "sam2_coffee.mp4": 9576,
}


def _open(path: Path, settings: Settings) -> Source:
    [source] = open_sources(path, settings)
    return source


def _clips(path: Path, settings: Settings, done: frozenset[int] = frozenset()) -> list[Clip]:
    return list(_open(path, settings).clips(done))


def _spans(clips: list[Clip]) -> list[tuple[int, int, int]]:
    return [(clip.index, clip.start_ms, clip.end_ms) for clip in clips]


def _assert_same(one: list[Clip], other: list[Clip]) -> None:
    assert _spans(one) == _spans(other)
    for left, right in zip(one, other, strict=True):
        assert [frame.time_ms for frame in left.frames] == [frame.time_ms for frame in right.frames]
        for a, b in zip(left.frames, right.frames, strict=True):
            assert np.array_equal(a.image, b.image)
        assert (left.audio is None) == (right.audio is None)
        if left.audio is not None and right.audio is not None:
            assert np.array_equal(left.audio, right.audio)


def test_clips_lie_on_the_grid_and_the_last_is_shorter(film: Path, settings: Settings) -> None:
    source = _open(film, settings)
    clips = list(source.clips(set()))
    assert _spans(clips) == [(0, 0, 10_000), (1, 10_000, 20_000), (2, 20_000, 25_000)]
    assert (source.kind, source.name, source.duration_ms) == ("video", "film.mp4", 25_000)
    assert all(clip.error is None and clip.uri == str(film) == source.uri for clip in clips)


def test_frames_are_spread_evenly_to_the_last_of_the_clip(film: Path, settings: Settings) -> None:
    clips = _clips(film, settings)
    assert [frame.time_ms for frame in clips[1].frames] == [
        11_200, 12_500, 13_700, 15_000, 16_200, 17_500, 18_700, 19_900
    ]  # fmt: skip
    assert [len(clip.frames) for clip in clips] == [8, 8, 8]
    assert all(20_000 <= frame.time_ms < 25_000 for frame in clips[2].frames)


def test_sound_is_16_khz_mono_and_never_padded(film: Path, settings: Settings) -> None:
    first, _, last = _clips(film, settings)
    assert first.audio is not None and last.audio is not None
    assert first.audio.dtype == np.float32
    assert (len(first.audio), len(last.audio)) == (160_000, 80_000)
    assert int(np.argmax(np.abs(np.fft.rfft(first.audio[16_000:32_000])))) == 440


@pytest.mark.parametrize("frames", ["uniform", "keyframes"])
@pytest.mark.parametrize("name", ["film.mp4", "film.mkv", "film.ts", "film.avi"])
def test_a_run_that_continues_gives_the_same_clips(film: Path, tmp_path: Path, name: str, frames: str) -> None:
    settings = load_settings(clip_seconds=2.7, frames=frames)
    path = remake(film, tmp_path / name) if name != "film.mp4" else film
    clips = _clips(path, settings)
    for done in ({0}, set(range(7)), {0, 1, 4, 5}, set(range(9)) - {3, 8}):
        _assert_same(_clips(path, settings, frozenset(done)), [c for c in clips if c.index not in done])


CODECS = {
    "h264": (),
    "h264 with open groups": ("-x264-params", "open-gop=1:bframes=3"),
    "h264 without key frames": ("-x264-params", "intra-refresh=1"),
    "h265 with open groups": ("-c:v", "libx265", "-x265-params", "log-level=error:keyint=20"),
    "mpeg4": ("-c:v", "mpeg4", "-bf", 2),
    "vp9": ("-c:v", "libvpx-vp9", "-cpu-used", 8, "-deadline", "realtime"),
}


@pytest.mark.parametrize("codec", CODECS)
def test_pictures_are_the_same_wherever_reading_begins_and_whatever_is_left_out(tmp_path: Path, codec: str) -> None:
    """The decoder may begin late and leave out pictures that are not wanted; no picture may change by that."""
    path = make_video(tmp_path / "film.mp4", 40, extra=CODECS[codec])
    settings = load_settings(clip_seconds=4)
    clips = _clips(path, settings)
    _assert_same(_clips(path, settings, frozenset(range(6))), clips[6:])
    every = _clips(path, load_settings(clip_seconds=2, frames_per_clip=64))
    images = {frame.time_ms: frame.image for clip in every for frame in clip.frames}
    assert len(images) == 400
    assert all(np.array_equal(images[frame.time_ms], frame.image) for clip in clips for frame in clip.frames)


def test_nothing_is_left_when_all_is_done(film: Path, settings: Settings) -> None:
    assert _clips(film, settings, frozenset({0, 1, 2})) == []


def test_key_frames_only(film: Path) -> None:
    clips = _clips(film, load_settings(frames="keyframes"))
    assert [frame.time_ms for frame in clips[0].frames] == [0, 2000, 4000, 6000, 8000]


def test_a_start_time_other_than_zero_does_not_count(film: Path, tmp_path: Path, settings: Settings) -> None:
    late = remake(film, tmp_path / "late.ts", "-output_ts_offset", 100)
    plain, shifted = _clips(film, settings), _clips(late, settings)
    assert [f.time_ms for c in shifted for f in c.frames] == [f.time_ms for c in plain for f in c.frames]


def test_frames_are_never_upscaled_and_odd_sizes_work(tmp_path: Path) -> None:
    path = make_video(tmp_path / "odd.mkv", 3, extra=("-vf", "scale=99:57", "-pix_fmt", "yuv444p"))
    assert _clips(path, load_settings())[0].frames[0].image.shape == (57, 99, 3)
    assert _clips(path, load_settings(frame_size=64))[0].frames[0].image.shape == (37, 64, 3)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotation_is_applied_as_ffmpeg_applies_it(tmp_path: Path, settings: Settings, degrees: int) -> None:
    plain = make_video(tmp_path / "plain.mp4", 1, size="160x96", sound=None)
    turned = remake(plain, tmp_path / "turned.mp4", before=("-display_rotation", degrees))
    raw = tmp_path / "upright.rgb"
    ffmpeg("-i", turned, "-frames:v", 1, "-f", "rawvideo", "-pix_fmt", "rgb24", raw)
    image = _clips(turned, load_settings(frames_per_clip=10))[0].frames[0].image
    assert image.shape == ((160, 96, 3) if degrees != 180 else (96, 160, 3))
    upright = np.frombuffer(raw.read_bytes(), np.uint8).reshape(image.shape)
    assert np.abs(image.astype(int) - upright.astype(int)).mean() < 2


def test_without_sound(tmp_path: Path, settings: Settings) -> None:
    [clip] = _clips(make_video(tmp_path / "mute.mp4", 3, sound=None), settings)
    assert clip.audio is None and len(clip.frames) == 8


def test_digital_silence_is_sound(tmp_path: Path, settings: Settings) -> None:
    [clip] = _clips(make_video(tmp_path / "silent.mp4", 3, sound=SILENCE), settings)
    assert clip.audio is not None and len(clip.audio) == 48_000 and not clip.audio.any()


def test_sound_only(tmp_path: Path, settings: Settings) -> None:
    clips = _clips(make_video(tmp_path / "sound.m4a", 12, picture=False), settings)
    assert [(clip.frames, clip.error) for clip in clips] == [([], None)] * 2
    assert all(clip.audio is not None and clip.audio.any() for clip in clips)


def test_sound_shorter_than_the_picture_is_empty_after_its_end(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "short.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x64:rate=5:duration=25", "-f", "lavfi", "-t", 8, "-i", TONE, path)
    clips = _clips(path, settings)
    assert [0 if clip.audio is None else len(clip.audio) for clip in clips][1:] == [0, 0]
    assert [len(clip.frames) for clip in clips] == [8, 8, 8]
    assert all(clip.audio is not None and clip.error is None for clip in clips)


def test_sound_that_starts_late_is_in_its_place(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "late.mkv"
    picture = ("-f", "lavfi", "-i", "testsrc2=size=64x64:rate=5:duration=5")
    ffmpeg(*picture, "-itsoffset", 2, "-f", "lavfi", "-t", 3, "-i", TONE, "-c:a", "pcm_s16le", path)
    [clip] = _clips(path, settings)
    assert clip.audio is not None
    assert not clip.audio[: 2 * 16_000 - 400].any()
    assert clip.audio[2 * 16_000 + 400 :].any()


def test_a_picture_stays_on_display_until_the_next(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "slides.mkv"
    cards = "select='eq(n,0)+eq(n,50)+eq(n,350)+eq(n,399)'"
    source = "testsrc2=size=64x64:rate=10:duration=40"
    ffmpeg("-f", "lavfi", "-i", source, "-vf", cards, "-fps_mode", "vfr", path)
    clips = _clips(path, settings)
    times = [[frame.time_ms for frame in clip.frames] for clip in clips]
    assert times == [[0, 5000], [10_000], [20_000], [30_000, 35_000, 39_900]]
    assert np.array_equal(clips[1].frames[0].image, clips[0].frames[1].image)
    _assert_same(_clips(path, settings, frozenset({0, 1})), clips[2:])


def test_the_default_tracks_are_taken(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "many.mkv"
    red, blue = (f"color={name}:size=64x64:rate=5:duration=3" for name in ("red", "blue"))
    low, high = (f"sine=frequency={pitch}:duration=3" for pitch in (300, 900))
    inputs = [part for source in (red, blue, low, high) for part in ("-f", "lavfi", "-i", source)]
    maps = [part for number in range(4) for part in ("-map", number)]
    ffmpeg(*inputs, *maps, "-disposition:v:0", 0, "-disposition:v:1", "default", "-disposition:a:0", 0,
           "-disposition:a:1", "default", path)  # fmt: skip
    [clip] = _clips(path, settings)
    assert clip.frames[0].image[32, 32].argmax() == 2
    assert clip.audio is not None
    assert int(np.argmax(np.abs(np.fft.rfft(clip.audio[16_000:32_000])))) == 900


def test_a_cover_picture_is_not_a_film(tmp_path: Path, settings: Settings) -> None:
    sound = make_video(tmp_path / "sound.m4a", 3, picture=False)
    cover = tmp_path / "cover.png"
    ffmpeg("-f", "lavfi", "-i", "color=red:size=64x64:duration=1", "-frames:v", 1, cover)
    song = tmp_path / "song.m4a"
    ffmpeg("-i", sound, "-i", cover, "-map", 0, "-map", 1, "-c", "copy", "-disposition:v", "attached_pic", song)
    [clip] = _clips(song, settings)
    assert clip.frames == [] and clip.error is None and clip.audio is not None


def test_a_cut_off_file_gives_its_good_clips_and_says_where_it_ends(
    film: Path, tmp_path: Path, settings: Settings
) -> None:
    source = _open(cut_off(film, tmp_path / "cut.mp4", 0.6), settings)
    clips = list(source.clips(set()))
    assert _spans(clips) == [(0, 0, 10_000), (1, 10_000, 20_000), (2, 20_000, 25_000)]
    assert [clip.error is None for clip in clips] == [True, False, False]
    assert "of cut.mp4 ends at 1" in str(clips[1].error) and "promises 25.0 s" in str(clips[1].error)
    assert clips[1].frames == [] and clips[1].audio is None
    whole = _clips(film, settings)
    _assert_same(clips[:1], whole[:1])
    again = list(_open(tmp_path / "cut.mp4", settings).clips({0}))
    assert [clip.error for clip in again] == [clip.error for clip in clips[1:]]


def test_a_matroska_file_that_is_cut_off(film: Path, tmp_path: Path, settings: Settings) -> None:
    data = remake(film, tmp_path / "whole.mkv").read_bytes()
    (tmp_path / "cut.mkv").write_bytes(data[: len(data) * 6 // 10])
    clips = _clips(tmp_path / "cut.mkv", settings)
    assert [(clip.index, clip.error is None) for clip in clips] == [(0, True), (1, False), (2, False)]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("live.mkv", ("-f", "matroska", "-live", 1)),
        ("live.webm.mp4", ("-movflags", "frag_keyframe+empty_moov")),
        ("film.ts", ()),
        ("film.avi", ()),
        ("film.mpg", ("-c:v", "mpeg2video", "-c:a", "mp2")),
        ("film.flv", ()),
    ],
)
def test_recordings_whose_header_does_not_tell_the_length(
    film: Path, tmp_path: Path, settings: Settings, name: str, options: tuple[object, ...]
) -> None:
    path = tmp_path / name
    ffmpeg("-i", film, "-c", "copy", *options, path)
    source = _open(path, settings)
    assert abs((source.duration_ms or 0) - 25_000) < 100
    clips = list(source.clips(set()))
    assert [clip.index for clip in clips] == [0, 1, 2] and clips[-1].end_ms == source.duration_ms
    # AVI does not tell when a picture is shown, so two targets may find the same one.
    assert all(clip.error is None and len(clip.frames) >= 7 for clip in clips)


def test_the_length_of_a_compressed_sound_file_is_not_guessed(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "sound.mp3"
    noise = "aevalsrc='if(lt(t,5),random(0)*0.5,0)':s=44100:d=25"
    ffmpeg("-f", "lavfi", "-i", noise, "-q:a", 4, "-write_xing", 0, path)
    clips = _clips(path, settings)
    assert [clip.index for clip in clips] == [0, 1, 2] and all(clip.error is None for clip in clips)


def test_decoding_errors_in_the_middle_do_not_stop_it(film: Path, tmp_path: Path, settings: Settings) -> None:
    data = bytearray(remake(film, tmp_path / "whole.ts").read_bytes())
    middle = len(data) // 2
    rng = np.random.default_rng(7)
    for packet in range(middle // 188 * 188, middle + 60_000, 188):
        data[packet + 40 : packet + 150] = rng.bytes(110)
    (tmp_path / "hurt.ts").write_bytes(data)
    clips = _clips(tmp_path / "hurt.ts", settings)
    assert [clip.start_ms for clip in clips] == [0, 10_000, 20_000]
    _assert_same(clips[:1], _clips(tmp_path / "whole.ts", settings)[:1])


def test_a_clip_with_no_picture_that_can_be_decoded_has_an_error(tmp_path: Path) -> None:
    path = make_video(tmp_path / "film.mp4", 12, extra=("-movflags", "+faststart"), sound=None)
    data = bytearray(path.read_bytes())
    start = data.index(b"mdat") + 4
    data[start + (len(data) - start) // 2 :] = bytes(len(data) - start - (len(data) - start) // 2)
    path.write_bytes(data)
    clips = _clips(path, load_settings(clip_seconds=2))
    assert [clip.index for clip in clips] == list(range(6))
    assert clips[0].error is None
    assert "can be decoded" in str(clips[-1].error)


def _no_file(path: Path) -> None:
    pass


def _empty_file(path: Path) -> None:
    path.touch()


def _text_file(path: Path) -> None:
    path.write_text("This is not a film.\n" * 50)


def _no_index(path: Path) -> None:
    make_video(path, 3)
    path.write_bytes(path.read_bytes()[:4000])


def _no_length(path: Path) -> None:
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x64:rate=5:duration=1", "-frames:v", 0, "-c:v", "libx264", path)


def _text_only(path: Path) -> None:
    subtitles = path.with_suffix(".txt.srt")
    subtitles.write_text(srt((0, 1, "hello")))
    ffmpeg("-i", subtitles, "-c:s", "mov_text", path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_no_file, "does not exist"),
        (_empty_file, "is empty"),
        (_text_file, "is not a video"),
        (_no_index, "index is missing"),
        (_no_length, "length of zero|no pictures|is not a video"),
        (_text_only, "no pictures and no sound"),
    ],
)
def test_what_is_no_video_is_refused_in_a_sentence(
    tmp_path: Path, settings: Settings, make: object, words: str
) -> None:
    assert callable(make)
    make(tmp_path / "bad.mp4")
    with pytest.raises(BadInput, match=words):
        _open(tmp_path / "bad.mp4", settings)


@pytest.mark.parametrize("name", REAL_VIDEOS)
def test_real_videos_give_whole_clips_to_their_end(settings: Settings, name: str) -> None:
    source = _open(test_data(f"videos/{name}"), settings)
    clips = list(source.clips(set()))
    assert clips and all(clip.error is None and clip.frames for clip in clips)
    assert clips[-1].end_ms == source.duration_ms == REAL_VIDEOS[name]
    assert source.warnings == []


def test_captions_inside_the_video(film: Path, tmp_path: Path, settings: Settings) -> None:
    german, english = srt((1, 2, "eins")), srt((1, 2, "<i>one</i>\nuno"), (9.9, 12, "two"), (20, 21, "three"))
    for name in ("told.mp4", "told.mkv"):
        source = _open(with_texts(film, tmp_path / name, [("ger", german), ("eng", english)]), settings)
        assert source.has_captions and source.captions_key == ""
        clips = list(source.clips(set()))
        assert [[cue.text for cue in clip.cues] for clip in clips] == [["one\nuno", "two"], [], ["three"]]
        assert clips[0].cues[1].start_ms == 9900 and clips[0].cues[1].end_ms == 12_000
        assert all(clip.captioned for clip in clips)


def test_captions_beside_the_video_and_given_ones(film: Path, tmp_path: Path, settings: Settings) -> None:
    told = with_texts(film, tmp_path / "told.mp4", [("eng", srt((1, 2, "inside")))])
    told.with_suffix(".srt").write_text(srt((1, 2, "beside"), (40, 41, "too late")))
    given = tmp_path / "given.vtt"
    given.write_text("WEBVTT\n\n00:01.000 --> 00:02.000\ngiven\n")
    beside = _open(told, settings)
    [by_hand] = open_sources(told, settings, captions=given)
    assert [clip.cues[0].text for clip in beside.clips({1, 2})] == ["beside"]
    assert [clip.cues[0].text for clip in by_hand.clips({1, 2})] == ["given"]
    assert beside.key == by_hand.key
    assert len({"", beside.captions_key, by_hand.captions_key}) == 3
    assert "1 caption(s) start after the end" in beside.warnings[0]
