"""The test server's eyes and ears: from the media it was sent to the codes in them."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.coded_marks import read_picture
from tests.support.coded_sound import RATE, listen
from tests.support.model_server_rules import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tests.support.coded_marks import Marks
    from tests.support.coded_sound import Heard
    from tests.support.coded_video import Film, Happening, Line
    from tests.support.model_server_rules import Part

_LOOK_EVERY = 0.5  # seconds of a video between two pictures looked at
_SAME_CLIP = 0.15  # a sound's start is known this well, in seconds


@dataclass
class Look:
    """One picture: its time in the clip as the request tells it (None: it does not), and what its codes say."""

    time: float | None
    marks: Marks | None


@dataclass
class Seen:
    """What the media of a request hold. `begin` is the film's time at which the clip seems to begin."""

    looks: list[Look] = field(default_factory=list)
    sounds: list[Heard] = field(default_factory=list)
    happenings: list[tuple[Happening, float]] = field(default_factory=list)
    lines: list[tuple[Line, float]] = field(default_factory=list)
    film: Film | None = None
    begin: float | None = None
    images: int = 0
    video_seconds: float = 0.0
    audio_seconds: float = 0.0


def look(media: list[Part], times: list[float] | None, films: Mapping[int, Film]) -> Seen:
    """Decodes the media and finds what of the films is in them; `times` are those told of the images.

    Raises Refused for media that cannot be decoded.
    """
    seen = Seen()
    for part in media:
        if part.kind == "image":
            seen.looks.append(Look(times[seen.images] if times else None, read_picture(_image(part))))
            seen.images += 1
        elif part.kind == "video":
            _watch(part, seen)
        else:
            samples = decode_sound(part.data)
            seen.audio_seconds += len(samples) / RATE
            seen.sounds += listen(samples)
    _understand(seen, films)
    return seen


def _image(part: Part) -> NDArray[np.uint8]:
    import cv2

    starts = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG"}.get(part.media_type, b"")
    image = cv2.imdecode(np.frombuffer(part.data, np.uint8), cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None or not part.data.startswith(starts):
        text = f"The data of an {part.media_type} image do not represent a valid image."
        raise Refused(400, text, "invalid_image_format", "messages")
    return image.astype(np.uint8, copy=False)


def _watch(part: Part, seen: Seen) -> None:
    import av

    try:
        with av.open(io.BytesIO(part.data)) as container:
            next_look, end = 0.0, 0.0
            stream: Any = container.streams.video[0]
            for frame in container.decode(stream):
                time = float(frame.pts * stream.time_base) if frame.pts is not None else next_look
                end = max(end, time + float(1 / (stream.average_rate or 25)))
                if time >= next_look - 1e-3:
                    next_look = time + _LOOK_EVERY
                    seen.looks.append(Look(round(time, 4), read_picture(_luma(frame))))
            seen.video_seconds += end
            has_sound = bool(container.streams.audio)
    except (av.error.FFmpegError, IndexError) as error:
        raise Refused(400, f"The video cannot be decoded: {error}.", "invalid_value", "messages") from None
    if has_sound:
        samples = decode_sound(part.data)
        seen.audio_seconds += len(samples) / RATE
        seen.sounds += listen(samples)


def _luma(frame: Any) -> NDArray[np.uint8]:
    if frame.format.name not in ("yuv420p", "yuvj420p", "nv12", "gray"):
        frame = frame.reformat(format="gray")
    plane = frame.planes[0]
    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: frame.height, : frame.width]
    return np.ascontiguousarray(np.rot90(rows, round(frame.rotation / 90) % 4))


def decode_sound(data: bytes) -> NDArray[np.float32]:
    """The first sound track of a file as mono at 16 kHz, silence up to its first sample's time; raises Refused."""
    import av

    pieces: list[Any] = []
    try:
        with av.open(io.BytesIO(data)) as container:
            resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
            first: float | None = None
            for frame in container.decode(audio=0):
                first = float(frame.time or 0.0) if first is None else first
                pieces += [piece.to_ndarray().reshape(-1) for piece in resampler.resample(frame)]
            pieces += [piece.to_ndarray().reshape(-1) for piece in resampler.resample(None)]
    except (av.error.FFmpegError, IndexError) as error:
        raise Refused(400, f"The audio cannot be decoded: {error}.", "invalid_value", "messages") from None
    if not pieces:
        return np.zeros(0, np.float32)
    return np.concatenate([np.zeros(max(0, round((first or 0.0) * RATE)), np.float32), *pieces]).astype(np.float32)


def _understand(seen: Seen, films: Mapping[int, Film]) -> None:
    """From codes to happenings and lines, each with the film's time of the clip's begin that its sighting implies.

    Pictures whose time in the clip and clock agree on that begin, to less than a frame, count as one clip. One
    that disagrees, being a wrong frame or at a wrong time, moves what it shows.
    """
    begins = _begins(seen.looks, films)
    common = Counter(begin for begin in begins if begin is not None).most_common(1)
    seen.begin = common[0][0] if common else None
    sightings: dict[tuple[int, int, float], None] = {}
    for picture, begin in zip(seen.looks, begins, strict=True):
        if picture.marks is None or begin is None or seen.begin is None:
            continue
        film = _film(films, picture.marks.film)
        seen.film = seen.film or film
        if abs(begin - seen.begin) < 1 / film.rate - 1e-6:
            begin = seen.begin
        for event in picture.marks.events:
            sightings[(film.number, event, begin)] = None
    seen.happenings = [(_film(films, number).happenings[event], begin) for number, event, begin in sightings]
    for sound in seen.sounds:
        film = _film(films, sound.film)
        seen.film = seen.film or film
        line = film.lines[sound.line]
        begin = round(line.start - sound.seconds, 1)
        if seen.begin is not None and abs(line.start - sound.seconds - seen.begin) <= _SAME_CLIP:
            begin = seen.begin
        seen.lines.append((line, begin))
    if seen.begin is None and seen.lines:
        seen.begin = Counter(begin for _, begin in seen.lines).most_common(1)[0][0]


def _begins(looks: list[Look], films: Mapping[int, Film]) -> list[float | None]:
    """For each picture, its clock less its time in the clip; without told times, the first clock for all."""
    clocks = [
        look.marks.frame / _film(films, look.marks.film).rate if look.marks is not None else None for look in looks
    ]
    first = next((clock for clock in clocks if clock is not None), None)
    return [
        None if clock is None else first if look.time is None else round(clock - look.time, 3)
        for look, clock in zip(looks, clocks, strict=True)
    ]


def _film(films: Mapping[int, Film], number: int) -> Film:
    if number not in films:
        raise Refused(400, f"Film {number} is not known to the test server; register its script.", "unknown_film")
    return films[number]
