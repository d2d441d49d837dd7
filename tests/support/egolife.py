"""Turns EgoLife's annotations into caption files, as a person who has a week of them would."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

from amr.media.captions import read_captions
from tests.support.videos import srt

_HOUR_FILE = "Transcript/A1_JAKE/DAY1/A1_JAKE_DAY1_11000000.srt"


def aligned_events_to_srt(json_path: Path, video_name: str, out: Path) -> Path:
    """Writes the captions and the transcript of one of the aligned videos as an .srt on the video's clock."""
    events = json.loads(json_path.read_text(encoding="utf-8"))[video_name]
    cues = [(max(0.0, event["t0"]), max(0.0, event["t1"]), event["text"].strip()) for event in events]
    return _write(out, cues)


def day_to_srt(sync_clips: Path, day: int, out: Path) -> Path:
    """Writes one day of `A1_JAKE_sync_clips.jsonl.gz` as an .srt; times are the clock since 00:00 of that day.

    Lines whose end is before their start are left out.
    """
    cues: list[tuple[float, float, str]] = []
    with gzip.open(sync_clips, "rt", encoding="utf-8") as file:
        for line in file:
            clip = json.loads(line)
            if clip["video_file"].startswith(f"DAY{day}_"):
                cues += [
                    (clock_seconds(entry["start"]), clock_seconds(entry["end"]), entry["text"].strip())
                    for entry in clip["data"]
                ]
    return _write(out, cues)


def chinese_cues(transcripts: Path, out: Path) -> Path | None:
    """Writes Jake's bilingual cues of DAY1 11:22:30 to 11:24:30, the time of the exo9 video, from its zero.

    `transcripts` is `Transcript_all_six.tar.zst`. None when `tar` cannot unpack zstd here.
    """
    command = ["tar", "--zstd", "-xOf", str(transcripts), _HOUR_FILE]
    try:
        text = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    hour = out.with_suffix(".hour.srt")
    hour.write_bytes(text)
    first, last = (22 * 60 + 30) * 1000, (24 * 60 + 30) * 1000
    cues = [
        ((cue.start_ms - first) / 1000, (cue.end_ms - first) / 1000, cue.text)
        for cue in read_captions(hour)
        if first <= cue.start_ms < last
    ]
    hour.unlink()
    return _write(out, cues)


def clock_seconds(hhmmss: int) -> float:
    """EgoLife's HHMMSS number as seconds since midnight."""
    return float(hhmmss // 10_000 * 3600 + hhmmss // 100 % 100 * 60 + hhmmss % 100)


def _write(out: Path, cues: list[tuple[float, float, str]]) -> Path:
    good = sorted((cue for cue in cues if cue[1] >= cue[0] and cue[2]), key=lambda cue: cue[:2])
    out.write_text(srt(*good), encoding="utf-8")
    return out
