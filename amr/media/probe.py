"""What a media file promises before it is decoded: its tracks, its zero of time and its length."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from amr.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from av.container import InputContainer

_LEAD_S = Fraction(1, 2)
"""Sound that starts at most this long before the first picture does not move the zero of time."""

_EXACT = ("mp4", "matroska")
"""Containers whose headers tell exact times; the length of others is guessed, so it has to be measured."""

_TEXT_CODECS = {"ass", "mov_text", "srt", "ssa", "subrip", "text", "webvtt"}


@dataclass(frozen=True)
class Track:
    """A stream of a file. `promised_ms` is where its header says it ends; None when it does not say."""

    index: int
    promised_ms: int | None


@dataclass(frozen=True)
class Media:
    """A file's chosen tracks. `origin` is the container time, in seconds, of the source's zero.

    `padding_ms` is how far sound may outlast the pictures and still be the audio codec's padding.
    `seekable` says that its container has exact times, so that decoding may begin in the middle.
    """

    path: Path
    origin: Fraction
    video: Track | None
    audio: Track | None
    subtitles: Track | None
    padding_ms: int
    seekable: bool
    duration_ms: int

    def clock_ms(self, ticks: int, time_base: Fraction) -> int:
        """The source time of a time stamp, rounded to the nearest millisecond."""
        return round_ms(ticks * time_base - self.origin)


def round_ms(seconds: Fraction) -> int:
    """Seconds as milliseconds, halves rounded up."""
    return (2000 * seconds.numerator + seconds.denominator) // (2 * seconds.denominator)


def open_container(path: Path) -> InputContainer:
    """Opens a media file, and nothing that the file may point to elsewhere. Raises BadInput."""
    import av

    try:
        options = {"protocol_whitelist": "file"}
        return av.open(str(path.absolute()), options=options, metadata_errors="replace")
    except (av.FFmpegError, OSError) as error:
        raise BadInput(
            f"{path} is not a video or sound file that can be read, or its index is missing "
            f"({getattr(error, 'strerror', None) or error}); record or copy it again."
        ) from error


def packets(container: InputContainer, stream: Any) -> Iterator[Any]:
    """The packets of one stream, up to where the container is damaged.

    The other streams are skipped, unread where the container allows it.
    """
    import av
    from av.stream import Discard

    for other in container.streams:
        if other.index != stream.index:
            other.discard = Discard.all
    with suppress(av.FFmpegError):
        yield from container.demux(stream)


def probe(path: Path) -> Media:
    """Reads a media file's headers. Raises BadInput when there is nothing to see or hear in it."""
    _check_readable(path)
    with open_container(path) as container:
        media = _describe(path, container)
    if media.video is None and media.audio is None:
        raise BadInput(f"{path} holds no pictures and no sound; give a video file.")
    return media if media.duration_ms > 0 else _measured(media)


def source_end(media: Media, video_ms: int | None, audio_ms: int | None) -> int:
    """Where a source ends, given where its tracks end (None for a track that it lacks).

    That is the later of the two, except that the padding of the last audio packet does not count.
    """
    if video_ms is None or audio_ms is None:
        return video_ms or audio_ms or 0
    return video_ms if 0 <= audio_ms - video_ms < media.padding_ms else max(video_ms, audio_ms)


def _check_readable(path: Path) -> None:
    if not path.exists():
        raise BadInput(f"{path} does not exist; check the path.")
    if not path.is_file():
        raise BadInput(f"{path} is not a file; give a video file.")
    if path.stat().st_size == 0:
        raise BadInput(f"{path} is empty; record or copy it again.")


def _describe(path: Path, container: InputContainer) -> Media:
    video = _first([s for s in container.streams.video if _is_film(s)])
    audio = _first([s for s in container.streams.audio if s.codec_context is not None])
    subtitles = _subtitles(container)
    origin = _origin(video, audio)
    exact = any(name in container.format.name for name in _EXACT)
    promised = [_track(stream, origin) for stream in (video, audio)]
    media = Media(
        path=path,
        origin=origin,
        video=promised[0],
        audio=promised[1],
        subtitles=Track(subtitles.index, None) if subtitles is not None else None,
        padding_ms=_padding_ms(audio) if audio is not None else 0,
        seekable=exact,
        duration_ms=0,
    )
    if not exact:
        return media
    ends = [track.promised_ms if track else None for track in promised]
    if ends == [None, None] and not container.streams.subtitles:
        return replace(media, duration_ms=(container.duration or 0) // 1000)
    return replace(media, duration_ms=source_end(media, ends[0], ends[1]))


def _is_film(stream: Any) -> bool:
    return stream.codec_context is not None and not _is(stream, "attached_pic")


def _is(stream: Any, disposition: str) -> bool:
    from av.stream import Disposition

    return bool(stream.disposition & Disposition[disposition])


def _first(streams: Sequence[Any]) -> Any:
    """The stream marked as default, else the first."""
    default = [stream for stream in streams if _is(stream, "default")]
    return next(iter(default or streams), None)


def _subtitles(container: InputContainer) -> Any:
    """The English text track, else the default one, else the first; a forced one only for lack of others."""

    def rank(stream: Any) -> tuple[bool, bool, bool, int]:
        tag = (stream.language or "").lower().split("-")[0]
        return _is(stream, "forced"), tag not in ("en", "eng"), not _is(stream, "default"), stream.index

    usable = [
        stream
        for stream in container.streams.subtitles
        if stream.codec_context is not None and stream.codec_context.name in _TEXT_CODECS
    ]
    return min(usable, key=rank, default=None)


def _origin(video: Any, audio: Any) -> Fraction:
    starts: list[Fraction | None] = [
        stream.start_time * stream.time_base if stream is not None and stream.start_time is not None else None
        for stream in (video, audio)
    ]
    if starts[0] is None or starts[1] is None:
        known = [start for start in starts if start is not None]
        return known[0] if known else Fraction(0)
    return starts[0] if starts[0] - starts[1] <= _LEAD_S else starts[1]


def _track(stream: Any, origin: Fraction) -> Track | None:
    if stream is None:
        return None
    if stream.duration:
        start = stream.start_time or 0
        return Track(stream.index, round_ms((start + stream.duration) * stream.time_base - origin))
    tagged = _tagged_seconds(stream)
    return Track(stream.index, None if tagged is None else round_ms(tagged - origin))


def _tagged_seconds(stream: Any) -> Fraction | None:
    """The end of a Matroska stream from its DURATION tag, `HH:MM:SS.nnnnnnnnn`."""
    text = next((value for name, value in stream.metadata.items() if name.upper() == "DURATION"), "")
    try:
        hours, minutes, seconds = text.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + Fraction(seconds)
    except ValueError:
        return None


def _padding_ms(stream: Any) -> int:
    context = stream.codec_context
    return 2 * int(1000 * (context.frame_size or 1024) / (context.sample_rate or 48000)) + 1


def _measured(media: Media) -> Media:
    """Finds the end of a file whose header does not say, by reading its packets without decoding them."""
    tracks = [
        Track(track.index, last_packet_ms(media, track)) if track is not None else None
        for track in (media.video, media.audio)
    ]
    ends = [track.promised_ms if track else None for track in tracks]
    duration_ms = source_end(media, ends[0], ends[1])
    if duration_ms <= 0:
        raise BadInput(f"{media.path} has a length of zero: there is nothing to see or hear in it.")
    return replace(media, video=tracks[0], audio=tracks[1], duration_ms=duration_ms)


def last_packet_ms(media: Media, track: Track, after_ms: int | None = None) -> int:
    """Where the packets of a track end; only those from about `after_ms` on are read, if that is given."""
    import av

    end = 0
    with open_container(media.path) as container:
        stream = container.streams[track.index]
        place = None
        if after_ms is not None and media.seekable:
            place = (after_ms / 1000 + media.origin) / stream.time_base
        try:
            if place is not None:
                container.seek(round(place), stream=stream)
            for packet in packets(container, stream):
                ticks = packet.pts if packet.pts is not None else packet.dts
                if packet.size and ticks is not None:
                    end = max(end, media.clock_ms(ticks + (packet.duration or 0), packet.time_base))
        except av.FFmpegError:
            return end
    return end
