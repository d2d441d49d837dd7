"""Reads the frames of clips from a video's picture track, in one pass and with flat memory.

The packets of a clip are read before any is decoded. Their time stamps tell which pictures are wanted, so the
decoder can leave out the others that nothing refers to: the pictures wanted come out the same, sooner.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING, Any

from amr.media.frame import rgb_image
from amr.media.probe import open_container, packets
from amr.records import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from types import TracebackType

    from av.container import InputContainer

    from amr.media.probe import Media
    from amr.media.spans import Span

_JUMP_MS = 10_000
"""Seeking pays when at least this much can be left undecoded."""

_EARLIER_MS = (1, 2_000, 20_000)
"""How long before a time to aim a seek: containers seek by decoding time, which may come earlier or later."""

_MOST_REORDERED = 17
"""No picture comes more than 16 packets after one that is shown later, in any codec."""


class PictureReader:
    """The frames of one video file, clip after clip. A context manager.

    `end_ms` is where the track really ends, known once a clip beyond it was asked for. `lost` says that the
    last clip had pictures but none of them could be decoded.
    """

    _container: InputContainer
    _stream: Any
    _packets: Iterator[Any]
    _ahead: deque[Any]  # packets read and not yet decoded
    _pictures: deque[Any]  # pictures decoded and not yet looked at
    _known: list[int]  # time stamps of the pictures from the last clip's end on, and of the one before
    _recent: deque[int]  # time stamps of the last packets
    _keep: set[int]  # those of this clip that must not be left out
    _before: Any  # the last two pictures looked at
    _shown: Any
    _mode: str
    _timed: bool
    _ended: bool
    _flushed: bool
    _jumped: bool
    _taken_ms: int
    _skip_before: int
    _read_ms: int
    _end_ticks: int
    _default_duration: int

    def __init__(self, media: Media, frames_per_clip: int, frame_size: int, keyframes: bool) -> None:
        from av.video.reformatter import VideoReformatter

        if media.video is None:
            raise ValueError("the file has no picture track")
        self._media = media
        self._track = media.video
        self._per_clip = frames_per_clip
        self._frame_size = frame_size
        self._keyframes = keyframes
        self._reformatter = VideoReformatter()
        self.end_ms: int | None = None
        self.lost = False
        self._start()

    def __enter__(self) -> PictureReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._container.close()

    def take(self, span: Span) -> list[Frame]:
        """The frames of a clip: those nearest to evenly spread times, its last frame included, or its key frames.

        The picture on display when the clip starts counts as one of its own, at that time. Empty beyond the
        track's end.
        """
        far_ahead = self._media.seekable and span.start_ms - self._taken_ms > _JUMP_MS
        if span.start_ms < self._taken_ms or far_ahead:
            self._jump(span.start_ms)
        frames, exact = self._take(span)
        if not exact and self._jumped:
            self._restart()
            frames, _ = self._take(span)
        return frames

    def _take(self, span: Span) -> tuple[list[Frame], bool]:
        self._taken_ms = span.end_ms
        self._read_ahead(span.end_ms)
        wanted, inside = self._choose(span)
        self._keep = {*wanted, *inside[-1:]}
        self._skip_before = span.end_ms
        frames: list[Frame] = []
        exact = True
        for ticks in wanted:
            picture = self._nearest(ticks)
            exact = exact and picture is not None and _ticks(picture) == ticks
            if picture is not None and (_ticks(picture) == ticks or self._begins_in(picture, span)):
                self._append(frames, picture, span)
        self.lost = bool(wanted and not frames)
        return frames, exact

    def _begins_in(self, picture: Any, span: Span) -> bool:
        return span.start_ms <= self._clock_ms(_ticks(picture)) < span.end_ms

    def _append(self, frames: list[Frame], picture: Any, span: Span) -> None:
        time = max(self._clock_ms(_ticks(picture)), span.start_ms)
        if not frames or time > frames[-1].time_ms:
            frames.append(Frame(time, rgb_image(picture, self._frame_size, self._reformatter)))

    def _choose(self, span: Span) -> tuple[list[int], list[int]]:
        """The time stamps of the wanted pictures, and of all that begin in the span; both in order."""
        known = sorted(self._known)
        times = [self._clock_ms(ticks) for ticks in known]
        first, last = bisect_left(times, span.start_ms), bisect_left(times, span.end_ms)
        self._known = known[max(0, first - 1) :]
        inside = known[first:last]
        if self._is_on_display(times, first, span.start_ms):
            first -= 1
            times[first] = span.start_ms
        if first == last:
            return [], inside
        if last - first <= self._per_clip:
            return known[first:last], inside
        end = span.end_ms if self.end_ms is None else max(min(span.end_ms, self.end_ms), times[last - 1])
        # The last of the targets is the clip's end: what was being done is best seen when it is done.
        step = (end - span.start_ms) / self._per_clip
        targets = (span.start_ms + step * (part + 1) for part in range(self._per_clip))
        chosen = (_nearest_index(times, first, last, target) for target in targets)
        return [known[index] for index in dict.fromkeys(chosen)], inside

    def _is_on_display(self, times: list[int], first: int, start_ms: int) -> bool:
        """Whether the picture before the first of a span is still seen at the span's start."""
        begun = first > 0 and not self._keyframes and times[first : first + 1] != [start_ms]
        return begun and (self.end_ms is None or self.end_ms > start_ms)

    def _nearest(self, ticks: int) -> Any:
        """The decoded picture nearest to a time stamp: the very one, unless it could not be decoded."""
        while self._shown is None or _ticks(self._shown) < ticks:
            picture = self._next_picture()
            if picture is None:
                return self._shown
            self._before, self._shown = self._shown, picture
        if self._before is None or _ticks(self._shown) - ticks < ticks - _ticks(self._before):
            return self._shown
        return self._before

    def _next_picture(self) -> Any:
        while not self._pictures:
            if not self._ahead and not self._read_packet():
                if self._flushed:
                    return None
                self._flushed = True
                self._decode(None)
                continue
            if self._ahead:
                self._decode(self._ahead.popleft())
        return self._pictures.popleft()

    def _decode(self, packet: Any) -> None:
        import av

        if packet is not None and not self._keyframes:
            self._leave_out(packet)
        try:
            self._pictures.extend(self._stream.codec_context.decode(packet))
        except av.FFmpegError:
            return  # the packet is damaged: the nearest picture that can be decoded stands in for its own

    def _leave_out(self, packet: Any) -> None:
        """Tells the decoder whether it may leave this picture out if no other refers to it."""
        ticks = _ticks(packet)
        spare = self._timed and ticks not in self._keep and self._clock_ms(ticks) < self._skip_before
        mode = "NONREF" if spare else "DEFAULT"
        if mode != self._mode:
            self._stream.codec_context.skip_frame = self._mode = mode

    def _read_ahead(self, until_ms: int) -> None:
        while self._read_ms < until_ms and self._read_packet():
            pass

    def _read_packet(self) -> bool:
        """Takes one more packet from the file; False at its end."""
        if self._ended:
            return False
        packet = next(self._packets, None)
        if packet is None or packet.size == 0:
            self._ended = packet is None or packet.dts is None
            if self._ended:
                self.end_ms = self._clock_ms(self._end_ticks)
            return not self._ended
        if not packet.is_corrupt and _ticks(packet) is not None:
            self._note(packet)
        return True

    def _note(self, packet: Any) -> None:
        ticks = _ticks(packet)
        self._timed = self._timed and packet.pts is not None
        self._recent.append(ticks)
        if packet.dts is not None:
            self._read_ms = self._clock_ms(packet.dts)
        elif len(self._recent) == _MOST_REORDERED:
            self._read_ms = self._clock_ms(min(self._recent))
        if not packet.is_discard:
            self._end_ticks = max(self._end_ticks, ticks + (packet.duration or self._default_duration))
        if packet.is_keyframe or not self._keyframes:
            self._ahead.append(packet)
            if not packet.is_discard:
                self._known.append(ticks)

    def _start(self) -> None:
        """Opens the file at its beginning."""
        self._container = open_container(self._media.path)
        self._stream = self._container.streams[self._track.index]
        self._stream.thread_type = "AUTO"
        self._mode = "NONKEY" if self._keyframes else "DEFAULT"
        self._stream.codec_context.skip_frame = self._mode
        self._default_duration = _frame_ticks(self._stream)
        self._set_clock()
        self._packets = packets(self._container, self._stream)
        self._ahead = deque()
        self._pictures = deque()
        self._known = []
        self._recent = deque(maxlen=_MOST_REORDERED)
        self._keep = set()
        self._before = self._shown = None
        self._end_ticks = self._stream.start_time or 0
        self._taken_ms = self._skip_before = 0
        self._read_ms = -(1 << 62)
        self._ended = self._flushed = self._jumped = False
        self._timed = True

    def _restart(self) -> None:
        self._container.close()
        self._start()

    def _jump(self, time_ms: int) -> None:
        """Places the reader at the last key frame before a time, or at the file's beginning if it cannot."""
        import av

        for earlier in _EARLIER_MS if self._media.seekable else ():
            self._restart()
            if time_ms - earlier <= 0:
                return
            seconds = (time_ms - earlier) / 1000 + self._media.origin
            try:
                self._container.seek(round(seconds / self._stream.time_base), stream=self._stream)
            except av.FFmpegError:
                continue
            self._packets = packets(self._container, self._stream)
            while not self._ahead and self._read_packet():
                pass
            landed = self._ahead[0] if self._ahead else None
            if landed is None or (landed.is_keyframe and self._clock_ms(_ticks(landed)) < time_ms):
                self._jumped = True
                self._taken_ms = time_ms
                return
        self._restart()

    def _set_clock(self) -> None:
        """Prepares time stamp → milliseconds in whole numbers: it runs for every packet."""
        base, origin = self._stream.time_base, self._media.origin
        self._factor = 2000 * base.numerator * origin.denominator
        self._shift = base.denominator * origin.denominator - 2000 * origin.numerator * base.denominator
        self._divisor = 2 * base.denominator * origin.denominator

    def _clock_ms(self, ticks: int) -> int:
        milliseconds: int = (ticks * self._factor + self._shift) // self._divisor
        return milliseconds


def _ticks(timed: Any) -> Any:
    """The presentation time stamp of a packet or picture; its decoding time where the container has no other."""
    return timed.pts if timed.pts is not None else timed.dts


def _frame_ticks(stream: Any) -> int:
    rate: Fraction | None = stream.average_rate or stream.guessed_rate
    return round(1 / (rate * stream.time_base)) if rate else 0


def _nearest_index(times: list[int], first: int, last: int, target: float) -> int:
    """The index in times[first:last], sorted, nearest to a target; the earlier of two as near."""
    after = bisect_left(times, target, first, last)
    if after == first:
        return first
    return after if after < last and times[after] - target < target - times[after - 1] else after - 1
