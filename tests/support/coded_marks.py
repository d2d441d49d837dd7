"""Machine codes in a picture: ArUco markers at fixed places that tell which film, when, and what is going on.

The picture is a grid of 4 × 3 cells. The first row is the clock: the film's number, the frame's number (two
markers) and a check. Each of the four places below is a slot for one event: its number and a check. A picture
that is turned, mirrored, cropped or of another film reads as something else, or as nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS, ROWS = 4, 3
SLOTS = 4
MOST_FRAMES = 1_000_000
MOST_EVENTS = 10_000
_CELL = 10  # modules of black or white along a cell's side
_SIDE = 7  # modules along a marker's side, its black border included
_MARGIN = 1
_SAMPLES = 4  # pixels along a module when reading
_LEAST_CONTRAST = 60


@dataclass(frozen=True)
class Marks:
    """What the codes of one picture say: film, number of the frame in it, numbers of the events in view."""

    film: int
    frame: int
    events: tuple[int, ...]


def picture(film: int, frame: int, slots: list[int | None], width: int = 160) -> NDArray[np.uint8]:
    """A grey picture [3/4 width, width] with the codes; `slots` holds the event's number in each slot, or None.

    `width` is a multiple of 40.
    """
    high, low = divmod(frame, 1000)
    ids: list[int | None] = [film, high, low, _clock_check(film, frame)]
    for event in slots:
        ids += [None, None] if event is None else [event % 1000, _event_check(event)]
    scale = width // (COLUMNS * _CELL)
    modules = np.full((ROWS * _CELL, COLUMNS * _CELL), 255, np.uint8)
    for place, code in enumerate(ids):
        if code is not None:
            modules[_area(place)] = _bits()[code]
    return np.repeat(np.repeat(modules, scale, 0), scale, 1)


def read_picture(image: NDArray[np.uint8]) -> Marks | None:
    """What the codes of a grey picture of any size say; None when its clock cannot be read."""
    import cv2

    size = (COLUMNS * _CELL * _SAMPLES, ROWS * _CELL * _SAMPLES)
    same = image if image.shape == size[::-1] else cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    grid = same.reshape(ROWS * _CELL, _SAMPLES, COLUMNS * _CELL, _SAMPLES)[:, 1:3, :, 1:3].mean(axis=(1, 3))
    dark, light = float(grid.min()), float(grid.max())
    if light - dark < _LEAST_CONTRAST:
        return None
    white = grid > (dark + light) / 2
    ids = [_code(white[_area(place)]) for place in range(COLUMNS * ROWS)]
    film, high, low, check = ids[:4]
    if film is None or high is None or low is None or check != _clock_check(film, high * 1000 + low):
        return None
    events = [_event(ids[place], ids[place + 1]) for place in range(4, COLUMNS * ROWS, 2)]
    return Marks(film, high * 1000 + low, tuple(event for event in events if event is not None))


def _area(place: int) -> tuple[slice, slice]:
    row, column = divmod(place, COLUMNS)
    top, left = row * _CELL + _MARGIN, column * _CELL + _MARGIN
    return slice(top, top + _SIDE), slice(left, left + _SIDE)


def _clock_check(film: int, frame: int) -> int:
    return (frame % 1000 + 3 * (frame // 1000) + 7 * film + 1) % 997


def _event_check(event: int) -> int:
    return 100 * (event // 1000) + event % 97


def _event(low: int | None, check: int | None) -> int | None:
    if low is None or check is None:
        return None
    event = 1000 * (check // 100) + low
    return event if _event_check(event) == check else None


@lru_cache(maxsize=1)
def _bits() -> NDArray[np.uint8]:
    """The pictures of all markers of the dictionary, [1000, 7, 7], black 0 and white 255."""
    import cv2

    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_5X5_1000)
    return np.stack([cv2.aruco.generateImageMarker(dictionary, code, _SIDE) for code in range(1000)])


@lru_cache(maxsize=1)
def _numbers() -> dict[bytes, int]:
    return {(bits > 127).tobytes(): code for code, bits in enumerate(_bits())}


def _code(white: NDArray[np.bool_]) -> int | None:
    return _numbers().get(np.ascontiguousarray(white).tobytes())
