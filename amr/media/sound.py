"""Reads the sound of clips from a file's sound track: 16 kHz mono, one pass, flat memory."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from amr.media.probe import open_container, packets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    import numpy as np
    from av.container import InputContainer
    from numpy.typing import NDArray

    from amr.media.probe import Media
    from amr.media.spans import Span

SAMPLE_RATE = 16_000
_PER_MS = SAMPLE_RATE // 1000
_HISTORY = 60 * SAMPLE_RATE
"""Samples kept behind the reader, for clips that overlap."""

_GAP_S = 0.1
"""A jump in the time stamps longer than this is silence, or sound to leave out; a shorter one is jitter."""


class SoundReader:
    """The sound of one file, clip after clip, decoded from its beginning so that samples never depend on where
    reading began. A context manager. `end_ms` is where the track really ends, once that is known.
    """

    _container: InputContainer
    _stream: Any
    _packets: Iterator[Any]
    _pieces: deque[NDArray[np.float32]]
    _kept_from: int  # the place of the first sample kept, and of the one after the last
    _written: int
    _surplus: int  # samples to leave out because they overlap what is there
    _expected: float  # seconds at which the next piece of sound should begin
    _shape: tuple[int, str, str] | None
    _waiting: Any  # sound decoded and not yet resampled: a second at once costs half as much as packets
    _resampler: Any
    _ended: bool

    def __init__(self, media: Media) -> None:
        if media.audio is None:
            raise ValueError("the file has no sound track")
        self._media = media
        self._track = media.audio
        self.end_ms: int | None = None
        self._start()

    def __enter__(self) -> SoundReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._container.close()

    def take(self, span: Span) -> NDArray[np.float32]:
        """The samples of a clip; fewer than its length, or none, where the track ends before the clip does."""
        import numpy as np

        first, last = max(0, span.start_ms) * _PER_MS, max(0, span.end_ms) * _PER_MS
        if first < self._kept_from:
            self._container.close()
            self._start()
        while self._written < last and self._read():
            self._forget(first - _HISTORY)
        self._forget(first - _HISTORY)
        parts = []
        position = self._kept_from
        for piece in self._pieces:
            parts.append(piece[max(0, first - position) : max(0, last - position)])
            position += len(piece)
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def _forget(self, before: int) -> None:
        while self._pieces and self._kept_from + len(self._pieces[0]) <= before:
            self._kept_from += len(self._pieces.popleft())

    def _read(self) -> bool:
        """Decodes one more packet; False at the end of the track."""
        if self._ended:
            return False
        packet = next(self._packets, None)
        if packet is None or (packet.size == 0 and packet.dts is None):
            self._decode(None)
            self._drain()
            self._ended = True
            self.end_ms = self._written // _PER_MS
            return False
        if not packet.is_corrupt:
            self._decode(packet)
        return True

    def _decode(self, packet: Any) -> None:
        import av

        try:
            pieces = self._stream.codec_context.decode(packet)
        except av.FFmpegError:
            return
        for piece in pieces:
            self._resample(piece)

    def _resample(self, piece: Any) -> None:
        shape = (piece.sample_rate, piece.format.name, piece.layout.name)
        start = self._seconds(piece)
        off_course = start is not None and abs(start - self._expected) > _GAP_S
        if shape != self._shape or off_course:
            self._drain()
            self._begin(shape, self._expected if start is None else start)
        self._expected += piece.samples / piece.sample_rate
        piece.pts = None
        self._waiting.write(piece)
        if self._waiting.samples >= piece.sample_rate:
            self._convert(self._waiting.read())

    def _convert(self, piece: Any) -> None:
        for sound in self._resampler.resample(piece):
            self._write(sound)

    def _begin(self, shape: tuple[int, str, str], start: float) -> None:
        """Starts a stretch of sound at a time: silence up to there, or its beginning left out if it overlaps."""
        import av
        import numpy as np

        self._waiting = av.AudioFifo()
        self._resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
        self._shape = shape
        self._expected = start
        place = round(start * SAMPLE_RATE)
        self._surplus = max(0, self._written - place)
        if place > self._written:
            self._pieces.append(np.zeros(place - self._written, np.float32))
            self._written = place

    def _drain(self) -> None:
        if self._resampler is not None:
            if self._waiting.samples:
                self._convert(self._waiting.read())
            self._convert(None)
        self._resampler = None

    def _write(self, sound: Any) -> None:
        samples = sound.to_ndarray().reshape(-1)
        left_out = min(self._surplus, len(samples))
        self._surplus -= left_out
        if left_out < len(samples):
            self._pieces.append(samples[left_out:])
            self._written += len(samples) - left_out

    def _seconds(self, piece: Any) -> float | None:
        if piece.pts is None:
            return None
        return float(piece.pts) * self._tick_s - self._origin_s

    def _start(self) -> None:
        self._container = open_container(self._media.path)
        self._stream = self._container.streams[self._track.index]
        self._packets = packets(self._container, self._stream)
        self._tick_s, self._origin_s = float(self._stream.time_base), float(self._media.origin)
        self._pieces = deque()
        self._kept_from = 0
        self._written = 0
        self._surplus = 0
        self._expected = 0.0
        self._shape = None
        self._waiting = self._resampler = None
        self._ended = False
