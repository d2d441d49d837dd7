"""Machine codes in sound: a spoken line of a film is a run of tones that tells which line of which film it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

RATE = 16_000
CODE_SECONDS = 0.64
"""How long a code sounds: an opening tone, six digits of 16 tones each, a check."""

MOST_LINES = 10_000
_TONE = 1280  # samples of one tone
_WINDOW = 800  # samples looked at, in the middle of a tone
_HOP = 160
_OPENING = 16
_FREQUENCIES = [500 + 120 * tone for tone in range(16)] + [2600]
_LEAST = 0.02  # amplitude below which there is no tone


@dataclass(frozen=True)
class Heard:
    """A line of a film, heard `seconds` after the sound's beginning."""

    film: int
    line: int
    seconds: float


def sound(film: int, starts: Iterable[tuple[int, float]], seconds: float) -> NDArray[np.int16]:
    """Mono sound at 16 kHz in which line n sounds from its start on, for each (n, start)."""
    samples = np.zeros(round(seconds * RATE), np.int16)
    for line, start in starts:
        first = round(start * RATE)
        code = _tones(film, line)[: len(samples) - first]
        samples[first : first + len(code)] = code
    return samples


def listen(samples: NDArray[np.float32]) -> list[Heard]:
    """The lines that sound in whole in mono sound at 16 kHz (float, ±1), to about 10 ms."""
    tones = _tones_over_time(samples)
    per_tone = _TONE // _HOP
    heard: list[Heard] = []
    at = 0
    while at < len(tones) - 7 * per_tone:
        if tones[at] != _OPENING:
            at += 1
            continue
        run = 1
        while at + run < len(tones) and tones[at + run] == _OPENING:
            run += 1
        # The window lies within the opening tone at the middle of the run.
        middle = at + run // 2
        digits = [int(tones[middle + k * per_tone]) for k in range(1, 8) if middle + k * per_tone < len(tones)]
        found = _number(digits)
        if found is not None:
            start = (middle * _HOP - (_TONE - _WINDOW) / 2) / RATE
            heard.append(Heard(*found, max(0.0, round(start, 3))))
        at += run
    return heard


def _tones(film: int, line: int) -> NDArray[np.int16]:
    value = film * MOST_LINES + line
    digits = [(value >> (4 * place)) & 15 for place in reversed(range(6))]
    t = np.arange(_TONE) / RATE
    fade = np.minimum(1, np.minimum(np.arange(_TONE), np.arange(_TONE)[::-1]) / 80)
    order = [_OPENING, *digits, _check(digits)]
    return np.concatenate([9000 * fade * np.sin(2 * np.pi * _FREQUENCIES[tone] * t) for tone in order]).astype(np.int16)


def _check(digits: list[int]) -> int:
    return sum((place + 2) * digit for place, digit in enumerate(digits)) % 16


def _number(digits: list[int]) -> tuple[int, int] | None:
    """Film and line, or None when the digits do not pass their check."""
    if len(digits) != 7 or any(not 0 <= digit < 16 for digit in digits) or _check(digits[:6]) != digits[6]:
        return None
    value = 0
    for digit in digits[:6]:
        value = value * 16 + digit
    return divmod(value, MOST_LINES)


def _tones_over_time(samples: NDArray[np.float32]) -> NDArray[np.int64]:
    """Which tone sounds in the window that begins at each hop; -1 where none does."""
    if len(samples) < _WINDOW:
        return np.zeros(0, np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(samples, _WINDOW)[::_HOP]
    t = np.arange(_WINDOW) / RATE
    waves = np.exp(-2j * np.pi * np.outer(t, _FREQUENCIES)) * np.hanning(_WINDOW)[:, None]
    strength = np.abs(windows @ waves.astype(np.complex64)) * (4 / _WINDOW)
    tones: NDArray[np.int64] = strength.argmax(axis=1)
    tones[strength.max(axis=1) < _LEAST] = -1
    return tones
