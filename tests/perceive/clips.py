"""Clips for these tests: of real videos, of drawn pictures, of real sound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from amr.config import Settings, load_settings
from amr.media.source import open_sources
from amr.records import Clip, Frame

SIZE = (768, 432)


def settings(**flags: object) -> Settings:
    """The shipped settings, never asking a network for weights."""
    speech = {"recogniser": "none", "model": "base", "download": "never"}
    return load_settings(**{"speech": speech, **flags})


def video_clips(path: Path, **flags: object) -> list[Clip]:
    """All clips of a video."""
    return list(open_sources(path, settings(**flags))[0].clips(set()))


def sound(path: Path) -> NDArray[np.float32]:
    """All of a file's sound, 16 kHz mono."""
    resampler = av.AudioResampler("flt", "mono", 16_000)
    with av.open(str(path)) as container:
        decoded = list(container.decode(audio=0))
    parts = [part.to_ndarray()[0] for frame in [*decoded, None] for part in resampler.resample(frame)]
    return np.concatenate(parts)


def picture(*texts: tuple[str, int, int], size: int = 36, paper: int = 225) -> NDArray[np.uint8]:
    """A frame with words drawn at the given places, as on a sheet of paper."""
    image = Image.new("RGB", SIZE, (paper, paper, paper))
    drawing = ImageDraw.Draw(image)
    for words, left, top in texts:
        drawing.text((left, top), words, fill=(20, 20, 40), font=ImageFont.load_default(size=size))
    return np.asarray(image)


def noise_picture(seed: int) -> NDArray[np.uint8]:
    """A frame full of random specks."""
    return np.random.default_rng(seed).integers(0, 255, (SIZE[1], SIZE[0], 3), dtype=np.uint8)


def drawn_clip(images: Sequence[NDArray[np.uint8]], start_ms: int = 0) -> Clip:
    """A clip of ten seconds that shows the images one after the other."""
    step = 10_000 // len(images)
    frames = [Frame(start_ms + number * step, image) for number, image in enumerate(images)]
    return Clip(start_ms // 10_000, start_ms, start_ms + 10_000, frames=frames)
