"""Writes one day of the EgoLife captions and transcript as an .srt file: its zero is midnight.

python scripts/egolife_captions.py A1_JAKE_sync_clips.jsonl.gz DAY1 day1.srt
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path


def day_to_srt(source: Path, day: str, target: Path) -> int:
    """Writes the lines of a day, in time order, as cues; returns how many."""
    cues: list[tuple[int, int, str]] = []
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        for line in lines:
            clip = json.loads(line)
            if clip["video_file"].startswith(f"{day}_"):
                cues += [(_seconds(row["start"]), _seconds(row["end"]), row["text"]) for row in clip["data"]]
    ordered = sorted(dict.fromkeys(cues), key=lambda cue: cue[0])
    blocks = [
        f"{number}\n{_stamp(start)} --> {_stamp(max(end, start + 1))}\n{text.strip()}\n"
        for number, (start, end, text) in enumerate(ordered, 1)
        if text.strip()
    ]
    target.write_text("\n".join(blocks), encoding="utf-8")
    return len(blocks)


def _seconds(clock: int) -> int:
    """Seconds since midnight of HHMMSS written as one number."""
    return clock // 10_000 * 3600 + clock // 100 % 100 * 60 + clock % 100


def _stamp(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},000"


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(day_to_srt(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
