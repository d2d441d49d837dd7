"""The sample film is what `data/README.md` and the README's first commands say it is."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np

from tests.support.data import ROOT

SAMPLE = ROOT / "data" / "sample.mp4"
SIGNS = {"dentist", "15:30", "wifi", "password", "maple4821", "library", "214"}


def _cues(path: Path) -> list[tuple[float, str]]:
    with av.open(str(path)) as container:
        stream = container.streams.subtitles[0]
        packets = [packet for packet in container.demux(stream) if packet.size > 2]
        # A mov_text sample is its length in two bytes, then UTF-8.
        return [
            (float(packet.pts * stream.time_base), bytes(packet)[2:].split(b"\0")[0].decode()) for packet in packets
        ]


def test_it_is_small_and_ninety_seconds_long() -> None:
    assert SAMPLE.stat().st_size <= 3_000_000
    with av.open(str(SAMPLE)) as container:
        assert container.duration is not None
        assert abs(container.duration / av.time_base - 90) < 0.2


def test_it_has_picture_sound_and_english_subtitles() -> None:
    with av.open(str(SAMPLE)) as container:
        video, audio, subtitles = container.streams
        assert (video.codec_context.name, video.codec_context.width) == ("h264", 960)
        assert audio.codec_context.name == "aac"
        assert (subtitles.type, subtitles.language) == ("subtitle", "eng")


def test_the_voice_speaks_while_a_subtitle_is_shown() -> None:
    with av.open(str(SAMPLE)) as container:
        rate = container.streams.audio[0].sample_rate
        sound = np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])
    for start, _ in _cues(SAMPLE):
        spoken = sound[round(start * rate) : round((start + 1) * rate)]
        assert np.sqrt(np.mean(np.square(spoken))) > 0.01


def test_the_phone_is_put_down_in_three_places_and_left_in_the_last() -> None:
    phone = [text for _, text in _cues(SAMPLE) if "my phone" in text]
    assert [text.split()[1] for text in phone] == ["put", "take", "put", "take", "put"]
    assert "bookshelf" in phone[-1]


def test_no_subtitle_tells_what_the_signs_say() -> None:
    words = {word.strip(".,").lower() for _, text in _cues(SAMPLE) for word in text.split()}
    assert not words & SIGNS
