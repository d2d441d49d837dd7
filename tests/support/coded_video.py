"""Test films whose picture and sound say, in machine codes, what happens when; and the truth about them.

A `Film` is a script: happenings with a start and an end, and spoken lines. `make_coded_video` draws, in every
frame, the film's number, the frame's number and the number of each happening under way; each line sounds as a
run of tones. `expected` is the analysis that a perfect perceiver gives for a clip of the film; a reader of codes
gets there through `report`, from the happenings and lines it found.
"""

from __future__ import annotations

import json
import random
import subprocess
import wave
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import imageio_ffmpeg

from amr.records import Action, Character, ClipAnalysis, EventReport, ObjectReport, SpeakerTurn
from tests.support.coded_marks import MOST_EVENTS, SLOTS, picture
from tests.support.coded_sound import CODE_SECONDS, RATE, sound

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Thing:
    """An object of a happening and where it is."""

    name: str
    place: str = ""


@dataclass(frozen=True)
class Deed:
    """Who (a person's description) does what to what, and where."""

    actor: str
    verb: str
    object: str = ""
    relation: str = ""


@dataclass(frozen=True)
class Happening:
    """Something in view from `start` up to, not including, `end`, in seconds of the film."""

    start: float
    end: float
    summary: str
    actors: tuple[str, ...]
    things: tuple[Thing, ...] = ()
    deeds: tuple[Deed, ...] = ()


@dataclass(frozen=True)
class Line:
    """Words that sound from `start` to `end`, said during a happening (its index in the film), or during none.

    A speaker who is not among the actors of any happening is only a voice.
    """

    start: float
    end: float
    speaker: str
    utterance: str
    happening: int | None = None


@dataclass(frozen=True)
class Film:
    """A script. `scenes` are (start, kind of place) in time order; `rate` is in frames per second."""

    number: int
    seconds: float
    happenings: tuple[Happening, ...]
    lines: tuple[Line, ...] = ()
    scenes: tuple[tuple[float, str], ...] = ((0.0, "kitchen"),)
    rate: int = 5

    def scene_at(self, time: float) -> str:
        return [name for start, name in self.scenes if start <= time + 1e-6 or start == self.scenes[0][0]][-1]


def report(
    seen: Iterable[tuple[Happening, float]],
    heard: Iterable[tuple[Line, float]],
    scene: str,
    length: float | None = None,
) -> ClipAnalysis:
    """The analysis of a clip in which the happenings were seen and the lines heard.

    Each comes with the film's time at which the clip begins, as far as its sighting tells; `length` is the
    clip's, if known, in seconds.
    """
    happenings = sorted(seen, key=lambda pair: (pair[0].start, pair[0].end, pair[0].summary))
    lines = sorted(heard, key=lambda pair: (pair[0].start, pair[0].utterance))
    people = list(dict.fromkeys(actor for happening, _ in happenings for actor in happening.actors))
    names = {person: f"C{number}" for number, person in enumerate(people, 1)}
    voices = list(dict.fromkeys(line.speaker for line, _ in lines if line.speaker not in names))
    speakers = names | {voice: f"S{number}" for number, voice in enumerate(voices, 1)}

    def within(time: float, begin: float) -> float:
        return round(min(max(time - begin, 0.0), length if length is not None else time), 3)

    speaking = {line.speaker for line, _ in lines}
    return ClipAnalysis(
        clip_summary=_clip_summary([happening for happening, _ in happenings], scene),
        scene_type=scene,
        characters=[
            Character(
                local_character_id=name, role="speaker" if person in speaking else "other", name_or_description=person
            )
            for person, name in names.items()
        ],
        speaker_turns=[
            SpeakerTurn(
                speaker_id=speakers[line.speaker],
                utterance=line.utterance,
                time_start=within(line.start, begin),
                time_end=within(line.end, begin),
            )
            for line, begin in lines
        ],
        events=[
            EventReport(
                local_event_id=f"E{number}",
                time_start=within(happening.start, begin),
                time_end=within(happening.end, begin),
                summary=happening.summary,
                actors=[names[actor] for actor in happening.actors],
                objects=[ObjectReport(name=thing.name, spatial_description=thing.place) for thing in happening.things],
                dialogue=[line.utterance for line, _ in lines if _said_during(line, happening)],
                actions=[
                    Action(
                        actor=names.get(deed.actor, deed.actor),
                        verb=deed.verb,
                        object=deed.object,
                        spatial_relation=deed.relation,
                    )
                    for deed in happening.deeds
                ],
            )
            for number, (happening, begin) in enumerate(happenings, 1)
        ],
    )


def expected(film: Film, start: float, end: float, *, sound: bool = True) -> ClipAnalysis:
    """What a perfect perceiver reports of the film from `start` to `end`, with or without its sound."""
    end = min(end, film.seconds)
    seen = [(happening, start) for happening in film.happenings if happening.start < end and happening.end > start]
    heard = [(line, start) for line in film.lines if sound and start <= line.start and audible_by(line) <= end]
    return report(seen, heard, film.scene_at(start), end - start)


def expected_clips(film: Film, clip_seconds: float = 10.0, *, sound: bool = True) -> list[ClipAnalysis]:
    """The expected analysis of each clip of the film, in order."""
    count = -(-round(film.seconds * 1000) // round(clip_seconds * 1000))
    return [expected(film, n * clip_seconds, (n + 1) * clip_seconds, sound=sound) for n in range(count)]


def audible_by(line: Line) -> float:
    """The time of the film by which a line's code has sounded in whole."""
    return line.start + CODE_SECONDS + 0.06


def _said_during(line: Line, happening: Happening) -> bool:
    return line.happening is not None and happening.start <= line.start < happening.end


def _clip_summary(happenings: list[Happening], scene: str) -> str:
    if not happenings:
        return f"Nothing happens in the {scene}."
    deeds = [f"{deed.actor} and the {deed.object or 'room'}" for h in happenings for deed in h.deeds[:1]]
    return f"In the {scene}: {', then '.join(dict.fromkeys(deeds)) or happenings[0].summary}."


def make_coded_video(film: Film, path: Path, *, width: int = 160, sound_track: bool = True) -> Path:
    """Writes the film as a video of `width` × 3/4 `width` (a multiple of 40); about 100 times faster than it runs."""
    slots = _slots(film)
    inputs = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{width}x{width * 3 // 4}", "-r", str(film.rate), "-i", "-"]
    codecs = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "stillimage", "-crf", "26", "-pix_fmt", "yuv420p"]
    codecs += ["-g", str(4 * film.rate), "-sc_threshold", "0"]
    track = path.with_suffix(".codes.wav")
    if sound_track:
        _write_sound(film, track)
        inputs += ["-i", str(track)]
        codecs += ["-c:a", "aac", "-b:a", "48k"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", *inputs, *codecs, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for frame in range(round(film.seconds * film.rate)):
            process.stdin.write(picture(film.number, frame, slots[frame], width).tobytes())
        process.stdin.close()
        message = process.stderr.read().decode()
    track.unlink(missing_ok=True)
    assert process.returncode == 0, message
    return path


def _write_sound(film: Film, path: Path) -> None:
    samples = sound(film.number, ((n, line.start) for n, line in enumerate(film.lines)), film.seconds)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())


def _slots(film: Film) -> list[list[int | None]]:
    """Which happening is drawn in which slot, for each frame; a happening keeps its slot."""
    assert len(film.happenings) < MOST_EVENTS
    frames = round(film.seconds * film.rate)
    slots: list[list[int | None]] = [[None] * SLOTS for _ in range(frames)]
    for number, happening in enumerate(film.happenings):
        span = range(first_frame(happening.start, film.rate), min(frames, first_frame(happening.end, film.rate)))
        free = [slot for slot in range(SLOTS) if all(slots[frame][slot] is None for frame in span)]
        assert free, f"more than {SLOTS} happenings at once at {happening.start} s"
        for frame in span:
            slots[frame][free[0]] = number
    return slots


def first_frame(time: float, rate: int) -> int:
    """The first frame that begins at or after a time in seconds."""
    return -(-round(time * rate * 1000) // 1000)


def save_film(film: Film, path: Path) -> Path:
    """Writes the script as JSON, for a server in another process."""
    path.write_text(json.dumps(asdict(film)), encoding="utf-8")
    return path


def load_film(path: Path) -> Film:
    """Reads what `save_film` wrote."""
    data = json.loads(path.read_text(encoding="utf-8"))
    data["happenings"] = tuple(
        Happening(
            **{
                **item,
                "actors": tuple(item["actors"]),
                "things": tuple(Thing(**thing) for thing in item["things"]),
                "deeds": tuple(Deed(**deed) for deed in item["deeds"]),
            }
        )
        for item in data["happenings"]
    )
    data["lines"] = tuple(Line(**line) for line in data["lines"])
    data["scenes"] = tuple((start, name) for start, name in data["scenes"])
    return Film(**data)


PEOPLE = (
    "girl in black hoodie",
    "older man with glasses",
    "woman in red coat",
    "boy with striped scarf",
    "tall man in grey suit",
    "child in yellow raincoat",
)
OBJECTS = ("phone", "mug", "book", "key", "knife", "bottle", "umbrella", "lamp", "basket", "camera")
PLACES = (
    "to the left of the plate on the table",
    "inside the wooden drawer",
    "on top of the fridge",
    "behind the sofa",
    "next to the window",
    "underneath the bench",
    "in front of the mirror",
    "leaning against the door",
)
VERBS = (("pick up", "picks up"), ("put down", "puts down"), ("open", "opens"), ("wash", "washes"), ("hold", "holds"))
SCENES = ("kitchen", "living room", "garden", "office")
SAYINGS = (
    "I am leaving soon.",
    "Where did you put the {object}?",
    "Please give me the {object}.",
    "The {object} is broken again.",
    "Let us meet tomorrow at noon.",
)


def random_film(
    seed: int, clips: int, *, clip_seconds: float = 10.0, continuing: float = 0.25, number: int = 1, rate: int = 5
) -> Film:
    """A film with one to three happenings in every clip, each in view for 2 s or more, and some spoken lines.

    With the chance `continuing`, a clip goes on with the last happening of the clip before (same person, verb,
    object and place), so that merging has something to do. Times are on the frames' grid of 0.2 s.
    """
    dice = random.Random(seed)
    happenings: list[Happening] = []
    lines: list[Line] = []
    scenes: list[tuple[float, str]] = []
    for clip in range(clips):
        if clip % 12 == 0:
            scenes.append((clip * clip_seconds, SCENES[(clip // 12 + seed) % len(SCENES)]))
        cuts = dice.choice(([0, 10], [0, 5, 10], [0, 3, 6, 10]))
        for part, (left, right) in enumerate(pairwise(cuts)):
            begin = clip * clip_seconds + clip_seconds * left / 10 + dice.randrange(3) / 5
            end = clip * clip_seconds + clip_seconds * right / 10 - dice.randrange(2) / 5
            start, end = round(begin, 3), round(end, 3)
            if part == 0 and happenings and dice.random() < continuing:
                happenings.append(replace(happenings[-1], start=start, end=end))
            else:
                happenings.append(_random_happening(dice, start, end))
            if dice.random() < 0.4:
                lines.append(_random_line(dice, happenings[-1], len(happenings) - 1))
    seconds = clips * clip_seconds
    return Film(number, seconds, tuple(happenings), tuple(lines), tuple(scenes), rate)


def _random_happening(dice: random.Random, start: float, end: float) -> Happening:
    person, thing, place = dice.choice(PEOPLE), dice.choice(OBJECTS), dice.choice(PLACES)
    verb, verbs = dice.choice(VERBS)
    summary = f"The {person} {verbs} the {thing} {place}."
    return Happening(start, end, summary, (person,), (Thing(thing, place),), (Deed(person, verb, thing, place),))


def _random_line(dice: random.Random, happening: Happening, index: int) -> Line:
    start = round(happening.start + 0.4, 3)
    words = dice.choice(SAYINGS).format(object=happening.things[0].name)
    return Line(start, round(start + 1.2, 3), happening.actors[0], words, index)
