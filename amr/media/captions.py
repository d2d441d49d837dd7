"""Readers for captions: `.srt` and `.vtt` files, and the text track inside a video."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from amr.errors import BadInput
from amr.media.probe import open_container, packets, probe
from amr.records import Cue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from amr.media.probe import Media

CAPTION_SUFFIXES = (".srt", ".vtt")

_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?$")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?(?:[bius]|font|c|v|lang|ruby|rt|span|em|strong)(?:[\s.][^<>]*)?>|<[\d:.]+>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_STYLE = re.compile(r"\{[\\=][^{}]*\}")
_VTT_BLOCK = re.compile(r"(WEBVTT|NOTE|STYLE|REGION|X-TIMESTAMP-MAP)\b")


def read_captions(path: Path) -> list[Cue]:
    """The cues of a `.srt` or `.vtt` file in time order, without tags and styling.

    Lines of one cue stay lines; WebVTT's `<v Name>` becomes `Name: `. Raises BadInput, with the line number
    where there is one, when the file is not what it should be.
    """
    lines = [line.rstrip() for line in _text(path).split("\n")]
    numbered: list[tuple[int, int, str]] = []
    for first, block in _blocks(lines):
        if _VTT_BLOCK.match(block[0]):
            continue
        _read_block(path, first, block, numbered)
    cues = [Cue(start, end, text) for start, end, raw in numbered if (text := plain_text(raw))]
    return sorted(cues, key=lambda cue: (cue.start_ms, cue.end_ms))


def plain_text(raw: str) -> str:
    """Caption text without tags, entities and empty lines."""
    text = _VOICE.sub(r"\1: ", raw)
    text = _STYLE.sub("", _TAG.sub("", _BREAK.sub("\n", text)))
    lines = (line.strip() for line in html.unescape(text).replace("\xa0", " ").split("\n"))
    return "\n".join(line for line in lines if line)


def starting_in(cues: Sequence[Cue], start_ms: int, end_ms: int) -> list[Cue]:
    """Those of the cues, sorted by start, that start in [start_ms, end_ms)."""
    first = bisect_left(cues, start_ms, key=lambda cue: cue.start_ms)
    last = bisect_left(cues, end_ms, key=lambda cue: cue.start_ms)
    return list(cues[first:last])


def sidecar(video: Path) -> Path | None:
    """The caption file beside a video that bears its name, if there is one."""
    beside = (video.with_suffix(suffix) for suffix in CAPTION_SUFFIXES)
    return next((path for path in beside if path.is_file()), None)


def captions_of_file(video: Path, length_ms: int) -> list[Cue] | None:
    """The captions beside or inside a video that start before its end; None when it has none. Raises BadInput."""
    beside = sidecar(video)
    if beside is not None:
        return starting_in(read_captions(beside), 0, length_ms)
    media = probe(video)
    return EmbeddedCaptions(media).starting_in(0, length_ms) if media.subtitles is not None else None


class EmbeddedCaptions:
    """The cues of a video's text track, read as far as they are asked for."""

    def __init__(self, media: Media) -> None:
        if media.subtitles is None:
            raise ValueError("the file has no text track")
        self._media = media
        self._container = open_container(media.path)
        self._stream: Any = self._container.streams[media.subtitles.index]
        self._packets: Iterator[Any] | None = packets(self._container, self._stream)
        self._cues: list[Cue] = []

    def starting_in(self, start_ms: int, end_ms: int) -> list[Cue]:
        """The cues that start in [start_ms, end_ms), in time order."""
        while self._packets is not None and (not self._cues or self._cues[-1].start_ms < end_ms):
            self._read()
        return starting_in(self._cues, start_ms, end_ms)

    def _read(self) -> None:
        import av

        try:
            packet = next(self._packets, None) if self._packets is not None else None
            shown = self._stream.codec_context.decode2(packet) if packet is not None and packet.size else None
        except av.FFmpegError:
            packet = shown = None
        if packet is None or (packet.size == 0 and packet.dts is None):
            self._packets = None
            self._container.close()
            return
        if shown is None or packet.pts is None:
            return
        text = plain_text("\n".join(_ass_text(rect) for rect in shown))
        if text:
            start = self._media.clock_ms(packet.pts, packet.time_base)
            end = self._media.clock_ms(packet.pts + (packet.duration or 0), packet.time_base)
            self._cues.append(Cue(start, end, text))
            self._cues.sort(key=lambda cue: (cue.start_ms, cue.end_ms))


def _ass_text(rect: Any) -> str:
    raw = getattr(rect, "dialogue", b"") or getattr(rect, "text", b"")
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    return text.replace("\\N", "\n").replace("\\n", "\n").replace("\\h", " ")


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"The captions {path} cannot be read: {error.strerror}; check the path.") from error
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}, line {line}: this is not UTF-8 text; save the captions as UTF-8.") from error
    if "\0" in text:
        raise BadInput(f"{path} is not a text file; give captions as .srt or .vtt.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines between blank ones, with the number of their first line."""
    block: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _read_block(path: Path, first: int, block: list[str], cues: list[tuple[int, int, str]]) -> None:
    """Adds the cues of a block. Text before its first time belongs to the cue before, whose text has a gap."""
    starts = [place for place, line in enumerate(block) if "-->" in line]
    if not starts and (not cues or block[0].strip().isdigit()):
        place = min(1, len(block) - 1)
        raise BadInput(
            f"{path}, line {first + place}: a time such as 00:00:01,000 --> 00:00:02,000 was expected here, "
            f"not {block[place][:40]!r}."
        )
    last = _before_label(path, block, starts[0]) if starts else len(block)
    if last and cues:
        start, end, text = cues[-1]
        cues[-1] = (start, end, "\n".join([text, *block[:last]]))
    for place, following in zip(starts, [*starts[1:], len(block)], strict=False):
        start, end = _timing(path, first + place, block[place])
        last = _before_label(path, block, following) if following < len(block) else following
        cues.append((start, end, "\n".join(block[place + 1 : last])))


def _before_label(path: Path, block: list[str], timing: int) -> int:
    """Where the text before a time ends: before the cue's number, or any label in WebVTT."""
    labelled = timing > 0 and (block[timing - 1].strip().isdigit() or (timing == 1 and path.suffix.lower() == ".vtt"))
    return timing - 1 if labelled else timing


def _timing(path: Path, number: int, line: str) -> tuple[int, int]:
    match = _TIMING.match(line)
    if not match:
        raise BadInput(
            f"{path}, line {number}: {line.strip()[:60]!r} is not a time such as "
            "00:00:01,000 --> 00:00:02,000; correct it."
        )
    start, end = _milliseconds(match.groups()[:4]), _milliseconds(match.groups()[4:])
    if end < start:
        raise BadInput(f"{path}, line {number}: this caption ends before it starts; correct its times.")
    return start, end


def _milliseconds(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds, fraction = parts
    whole = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    return whole * 1000 + int((fraction or "0").ljust(3, "0"))
