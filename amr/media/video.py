"""Cuts one video or sound file into clips: frames and sound, in one pass."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

from amr.media.pictures import PictureReader
from amr.media.probe import last_packet_ms, source_end
from amr.media.sound import SAMPLE_RATE, SoundReader
from amr.media.spans import Span, grid, seconds_text
from amr.records import Clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Set
    from types import TracebackType

    from amr.config import Settings
    from amr.media.events import EventsSource
    from amr.media.probe import Media

_SHORT_MS = 500
"""A track that ends this much before its header says has lost its end; less is rounding."""


class ClipReader:
    """The clips of one file, asked for in time order. A context manager."""

    def __init__(self, media: Media, settings: Settings) -> None:
        self._media = media
        self._settings = settings
        self._open = ExitStack()
        self._beside = self._open.enter_context(ThreadPoolExecutor(1))  # sound is decoded beside the pictures
        self._pictures: PictureReader | None = None
        self._sound: SoundReader | None = None
        self._begun = False

    def __enter__(self) -> ClipReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def end_ms(self) -> int | None:
        """Where the file really ends, once both its tracks were read to their end."""
        video = self._pictures.end_ms if self._pictures else None
        audio = self._sound.end_ms if self._sound else None
        if not self._begun or (self._pictures and video is None) or (self._sound and audio is None):
            return None
        return source_end(self._media, video, audio)

    def clip(self, span: Span) -> Clip | None:
        """One clip, cut short where the file ends; None when the file ends before it begins.

        A clip whose data is missing or cannot be decoded has `error` set and nothing else.
        """
        if not self._begun and not self._reaches(span.start_ms):
            return None
        self._begin()
        heard = self._beside.submit(self._sound.take, span) if self._sound else None
        frames = self._pictures.take(span) if self._pictures else []
        audio = heard.result() if heard else None
        broken = self._broken_ms()
        if broken is not None and span.end_ms > broken:
            return self._missing(span, broken)
        end = span.end_ms if self.end_ms is None else min(span.end_ms, self.end_ms)
        if end <= span.start_ms:
            return None
        if self._pictures and self._pictures.lost:
            return self._failed(span, end, "holds no picture that can be decoded; record or copy it again.")
        clip = Clip(span.index, span.start_ms, end, frames=frames, path=self._media.path, file_start_ms=span.start_ms)
        clip.uri = str(self._media.path)
        if audio is not None:
            clip.audio = audio[: (end - max(0, span.start_ms)) * SAMPLE_RATE // 1000]
        return clip

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        settings = self._settings
        if self._media.video is not None:
            self._pictures = self._open.enter_context(
                PictureReader(
                    self._media, settings.frames_per_clip, settings.frame_size, settings.frames == "keyframes"
                )
            )
        if self._media.audio is not None:
            self._sound = self._open.enter_context(SoundReader(self._media))

    def _reaches(self, time_ms: int) -> bool:
        """Whether there is anything after a time, found out without decoding."""
        if time_ms < self._media.duration_ms:
            return True
        tracks = (self._media.video, self._media.audio)
        ends = [last_packet_ms(self._media, track, time_ms) if track else None for track in tracks]
        return source_end(self._media, *ends) > time_ms

    def _broken_ms(self) -> int | None:
        """Where the file's data stops short of what its header promises; None while it keeps its promise."""
        media = self._media
        tracks = [(media.video, self._pictures), (media.audio, self._sound)]
        promises = [
            (track.promised_ms, reader.end_ms)
            for track, reader in tracks
            if track is not None and track.promised_ms is not None and reader is not None
        ]
        pairs = promises or [(media.duration_ms, self.end_ms)]
        broken = [end for promised, end in pairs if end is not None and promised - end > _SHORT_MS]
        return min(broken, default=None)

    def _missing(self, span: Span, broken: int) -> Clip | None:
        promised = self._media.duration_ms
        if span.start_ms >= promised:
            return None
        return self._failed(
            span,
            min(span.end_ms, promised),
            f"cannot be read: the data of {self._media.path.name} ends at {seconds_text(broken)} although its "
            f"header promises {seconds_text(promised)}; copy the file again.",
        )

    def _failed(self, span: Span, end_ms: int, fault: str) -> Clip:
        place = f"The clip from {seconds_text(span.start_ms)} to {seconds_text(end_ms)}"
        path = self._media.path
        return Clip(span.index, span.start_ms, end_ms, path=path, uri=str(path), error=f"{place} {fault}")


def grid_clips(media: Media, settings: Settings, done: Set[int]) -> Iterator[Clip]:
    """The clips of a file on the grid of `clip_seconds`, except those in `done`."""
    with ClipReader(media, settings) as reader:
        for span in grid(settings.clip_seconds):
            if span.index in done:
                continue
            clip = reader.clip(span)
            if clip is None:
                return
            yield clip


def given_clips(media: Media, settings: Settings, events: EventsSource, done: Set[int]) -> Iterator[Clip]:
    """The clips of a file as an events file gives them: its boundaries and its analyses."""
    lines = [line for line in events.lines if line.clip not in done]
    with ClipReader(media, settings) as reader:
        for line, analysis in events.analyses(lines):
            span = Span(line.clip, line.start_ms, line.end_ms)
            clip = reader.clip(span) or _empty(media, span)
            clip.end_ms, clip.analysis, clip.error = line.end_ms, analysis, None
            yield clip


def whole_clip(media: Media, settings: Settings, span: Span) -> Clip:
    """A file that is one clip of a source: its beginning is `span.start_ms` on the source's clock."""
    length = span.end_ms - span.start_ms
    with ClipReader(media, settings) as reader:
        clip = reader.clip(Span(span.index, 0, length)) or _empty(media, Span(span.index, 0, length))
    for frame in clip.frames:
        frame.time_ms += span.start_ms
    clip.start_ms, clip.end_ms, clip.uri = span.start_ms, span.end_ms, str(media.path)
    return clip


def _empty(media: Media, span: Span) -> Clip:
    return Clip(span.index, span.start_ms, span.end_ms, path=media.path, uri=str(media.path))
