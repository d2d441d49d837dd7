"""The week that EgoLifeQA asks about: its clips, and the clips in which the answers were to be seen.

The data set publishes captions and transcripts by the hour; for those, clips are slots of 30 s on the wall clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.egolife_qa_gold import SCOPE
from amr.evals.egolife_qa_scoring import Clips
from amr.evals.questions import EvalQuestion
from amr.media.chats import Haystack, Session, Turn
from amr.media.clip_captions import CaptionedClips
from amr.media.egolife import DAY_MS, FIRST_DAY_MS, read_clip_name, read_hours
from amr.records import Cue

_CAMERA = "A1_JAKE"
_CLIP_MS = 30_000


class Week:
    """The clips of the file that is asked about."""

    def __init__(self, cameras: Sequence[CaptionedClips]) -> None:
        self._cameras = cameras
        lines = sorted((line.start_ms, line.end_ms, line.file) for camera in cameras for line in camera.lines)
        self._files = [file for _, _, file in lines]
        self.clips = Clips([start for start, _, _ in lines], [end for _, end, _ in lines])

    def with_clips(self, question: EvalQuestion) -> EvalQuestion:
        """A question with the clips of its targets, as the sessions that hold its evidence."""
        places = [self.clips.at(target) for target in question.known["target_ms"]] if self._files else []
        files = dict.fromkeys(self._files[place] for place in places)
        return replace(question, gold={**question.gold, "session": tuple(files)})

    def haystack(self, questions: Sequence[EvalQuestion]) -> Haystack:
        """The clips that hold the evidence of the questions, with what was told and said in each as its turns."""
        wanted = {file for question in questions for file in question.gold["session"]}
        sessions = [
            Session(line.file, line.start_ms, tuple(_turn(camera, line.file, n, cue) for n, cue in enumerate(cues)))
            for camera in self._cameras
            for _, line, cues in camera.cues([pair for pair in camera.numbered({}) if pair[1].file in wanted])
        ]
        return Haystack(SCOPE, tuple(sessions))


def _turn(camera: CaptionedClips, file: str, number: int, cue: Cue) -> Turn:
    speaker, _, words = cue.text.partition(": ")
    if cue.kind == "speech" and words:
        return Turn(speaker, words, f"{file}:{number}")
    return Turn(camera.wearer or "camera", cue.text, f"{file}:{number}")


# --- captions and transcripts of hours ----------------------------------------------------------------------


def write_clips(folder: Path, path: Path) -> Path:
    """Writes what is told of Jake's camera, hour by hour, in a folder, as clips of 30 s. Raises BadInput."""
    names = [(file, read_clip_name(file.stem)) for file in sorted(folder.rglob("*.srt"))]
    hours = [file for file, name in names if name is not None and name.camera == _CAMERA]
    if not hours:
        raise BadInput(f"{folder} holds no captions or transcripts of {_CAMERA} (.srt); give EgoLife's EgoLifeCap.")
    slots: dict[int, list[Cue]] = {}
    for cue in read_hours(hours):
        slots.setdefault(cue.start_ms // _CLIP_MS, []).append(cue)
    with path.open("w", encoding="utf-8") as file:
        for slot, cues in sorted(slots.items()):
            row = {"video_file": _file_name(slot * _CLIP_MS), "data": list(map(_line, cues))}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def _file_name(wall_ms: int) -> str:
    return f"DAY{(wall_ms - FIRST_DAY_MS) // DAY_MS + 1}_{_CAMERA}_{_digits(wall_ms):06d}00.mp4"


def _line(cue: Cue) -> dict[str, Any]:
    kind = "caption" if cue.kind == "narration" else "transcript"
    text = " ".join(cue.text.split())
    return {"start": _digits(cue.start_ms), "end": _digits(cue.end_ms), "text": text, "type": kind}


def _digits(wall_ms: int) -> int:
    """The time of day as the number HHMMSS."""
    seconds = wall_ms % DAY_MS // 1000
    return seconds // 3600 * 10_000 + seconds // 60 % 60 * 100 + seconds % 60
