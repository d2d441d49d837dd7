"""From a path to sources: a video, a folder of clips, captions alone, or an events file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amr.errors import BadInput
from amr.media import captions as caption_files
from amr.media import folder as folders
from amr.media.captions import CAPTION_SUFFIXES, EmbeddedCaptions, read_captions, sidecar, starting_in
from amr.media.events import EventsSource, read_events
from amr.media.key import content_key, file_key, name_key
from amr.media.probe import probe
from amr.media.spans import grid_ms, seconds_text
from amr.media.video import given_clips, grid_clips
from amr.records import Clip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Set
    from pathlib import Path
    from typing import Literal

    from amr.config import Settings
    from amr.media.probe import Media
    from amr.records import Cue


@dataclass
class Source:
    """Something to ingest. Its key identifies its content, without the scope; `uri` is its absolute path.

    `origin_wall_ms` is the wall clock of its zero, None without one; a followed folder that began empty has it
    with its first clip. A folder's caller may set it, before `clips`, to what it was when the folder was first
    ingested, and `known` to the clip index that each file name got then: what arrived since is numbered after
    and timed by the same zero. `duration_ms` is exact once all clips were read. `captions_key` is the content
    key of captions kept apart from the media, or "".
    """

    kind: Literal["video", "folder", "captions", "events"]
    name: str
    key: str
    uri: str
    read: Callable[[Source, Set[int]], Iterator[Clip]] = field(repr=False)
    origin_wall_ms: int | None = None
    duration_ms: int | None = None
    has_captions: bool = False
    captions_key: str = ""
    warnings: list[str] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)

    def clips(self, done: Set[int]) -> Iterator[Clip]:
        """The clips in time order, lazily, except those whose index is in `done`."""
        for clip in self.read(self, done):
            clip.captioned = clip.captioned or self.has_captions
            yield clip


def open_sources(
    path: Path,
    settings: Settings,
    captions: Path | None = None,
    name: str | None = None,
    *,
    follow: bool = False,
    idle_seconds: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Source]:
    """The sources at a path: a video or sound file, a folder of clips, a caption file, or an events JSONL.

    `captions` is a caption file or an events JSONL for them, `name` replaces the file's or folder's name.
    With `follow`, a folder's clips wait for more files until `stop()` is true or none came for `idle_seconds`.
    Raises BadInput.
    """
    path = path.absolute()
    if not path.exists():
        raise BadInput(f"{path} does not exist; check the path.")
    if captions is not None and not captions.is_file():
        raise BadInput(f"The captions {captions} do not exist; check the path given to --captions.")
    if path.is_dir():
        return [_folder(path, settings, captions, name, (stop, idle_seconds) if follow else None)]
    if follow:
        raise BadInput(f"{path} is not a folder; only a folder can be followed as it grows.")
    suffix = path.suffix.lower()
    if captions is not None and suffix in (*CAPTION_SUFFIXES, ".jsonl"):
        raise BadInput(f"{path} is itself text; captions can be given only for a video or a folder of clips.")
    if suffix in CAPTION_SUFFIXES:
        return [_captions(path, settings, name)]
    if suffix == ".jsonl":
        return [_events(path, events, name) for events in _named(path, read_events(path), name)]
    return [_video(path, settings, captions, name)]


def _video(path: Path, settings: Settings, captions: Path | None, name: str | None) -> Source:
    media = probe(path)
    source = Source("video", name or path.name, file_key(path), str(path), _no_clips)
    source.duration_ms = media.duration_ms
    if captions is not None and captions.suffix.lower() == ".jsonl":
        events = _matching(captions, source.name, path)
        source.origin_wall_ms = events.origin_wall_ms
        source.captions_key = content_key(captions)
        source.read = lambda _, done: given_clips(media, settings, events, done)
        return source
    beside = captions or sidecar(path)
    cues = read_captions(beside) if beside else None
    source.has_captions = cues is not None or media.subtitles is not None
    source.captions_key = content_key(beside) if beside else ""
    source.read = lambda source, done: _told_clips(source, media, settings, cues, done)
    return source


def _told_clips(
    source: Source, media: Media, settings: Settings, cues: list[Cue] | None, done: Set[int]
) -> Iterator[Clip]:
    """A video's clips with their captions; afterwards the source knows its length and what was left over."""
    embedded = EmbeddedCaptions(media) if cues is None and media.subtitles is not None else None
    end_ms = media.duration_ms
    for clip in grid_clips(media, settings, done):
        if clip.error is None:
            clip.cues = _cues_of(clip, cues, embedded)
        if clip.index > max(done, default=-1):
            end_ms = clip.end_ms
        yield clip
    source.duration_ms = end_ms
    after = Clip(0, end_ms, 1 << 62)
    late = len(_cues_of(after, cues, embedded))
    if late:
        source.warnings.append(
            f"{late} caption(s) start after the end of {source.name} ({seconds_text(end_ms)}) and were left out."
        )


def _cues_of(clip: Clip, cues: list[Cue] | None, embedded: EmbeddedCaptions | None) -> list[Cue]:
    if cues is not None:
        return starting_in(cues, clip.start_ms, clip.end_ms)
    return embedded.starting_in(clip.start_ms, clip.end_ms) if embedded is not None else []


def _captions(path: Path, settings: Settings, name: str | None) -> Source:
    cues = read_captions(path)
    if not cues:
        raise BadInput(f"{path} holds no caption; give a file with at least one.")

    def read(_: Source, done: Set[int]) -> Iterator[Clip]:
        cell = grid_ms(settings.clip_seconds)
        for index in dict.fromkeys(cue.start_ms // cell for cue in cues):
            if index not in done:
                start = index * cell
                told = starting_in(cues, start, start + cell)
                yield Clip(index, start, start + cell, cues=told, path=path, uri=str(path))

    source = Source("captions", name or path.name, content_key(path), str(path), read, has_captions=True)
    source.duration_ms = max(cue.end_ms for cue in cues)
    return source


def _events(path: Path, events: EventsSource, name: str | None) -> Source:
    def read(_: Source, done: Set[int]) -> Iterator[Clip]:
        lines = [line for line in events.lines if line.clip not in done]
        for line, analysis in events.analyses(lines):
            yield Clip(line.clip, line.start_ms, line.end_ms, analysis=analysis, path=path, uri=str(path))

    known_as = name or events.name
    source = Source("events", known_as, name_key("events", known_as), str(path), read)
    source.origin_wall_ms = events.origin_wall_ms
    source.duration_ms = max(line.end_ms for line in events.lines)
    return source


def _folder(
    path: Path,
    settings: Settings,
    captions: Path | None,
    name: str | None,
    waiting: tuple[Callable[[], bool], float | None] | None,
) -> Source:
    listed = folders.list_folder(path)
    if not listed and waiting is None:
        raise BadInput(f"The folder {path} holds no video; put clips such as .mp4 or .mkv files in it.")
    if captions is not None and captions.suffix.lower() == ".jsonl":
        raise BadInput(f"{captions} has clips of its own; ingest it by itself, or give a .srt or .vtt file.")
    cues = read_captions(captions) if captions else None

    def read(source: Source, done: Set[int]) -> Iterator[Clip]:
        numbered: Iterable[tuple[int, folders.Listed]]
        if waiting is not None:
            numbered = folders.follow(path, source.known, *waiting, source.warnings)
        else:
            numbered = folders.numbered(listed, source.known, source.warnings)
        timed = _with_origin(source, numbered)
        for clip in folders.folder_clips(timed, settings, done, lambda: source.origin_wall_ms):
            _tell(clip, cues)
            yield clip

    known_as = name or path.name
    source = Source("folder", known_as, name_key("folder", known_as), str(path), read)
    source.origin_wall_ms = folders.first_day_ms(listed)
    source.has_captions = cues is not None or any(sidecar(clip.path) for clip in listed)
    source.captions_key = content_key(captions) if captions else ""
    return source


def _with_origin(
    source: Source, numbered: Iterable[tuple[int, folders.Listed]]
) -> Iterator[tuple[int, folders.Listed]]:
    """Passes a folder's files on; the first to tell the time sets the zero of a folder that began empty."""
    for index, listed in numbered:
        if source.origin_wall_ms is None:
            source.origin_wall_ms = listed.origin_wall_ms
        yield index, listed


def _tell(clip: Clip, cues: list[Cue] | None) -> None:
    """Gives a clip of a folder its captions: the folder's, else those beside or inside its own file."""
    if clip.error is not None or clip.path is None:
        return
    if cues is not None:
        clip.cues = starting_in(cues, clip.start_ms, clip.end_ms)
        return
    try:
        own = caption_files.captions_of_file(clip.path, clip.end_ms - clip.start_ms)
    except BadInput as error:
        clip.error = str(error)
        return
    if own is not None:
        clip.captioned = True
        clip.cues = [type(cue)(cue.start_ms + clip.start_ms, cue.end_ms + clip.start_ms, cue.text) for cue in own]


def _named(path: Path, sources: list[EventsSource], name: str | None) -> list[EventsSource]:
    """All sources of an events file, or the one that a name asks for."""
    if name is None or len(sources) == 1:
        return sources
    chosen = [source for source in sources if source.name == name]
    if not chosen:
        names = ", ".join(source.name for source in sources[:10])
        raise BadInput(f"{path} has no source named {name!r}; it has {names}.")
    return chosen


def _matching(captions: Path, name: str, video: Path) -> EventsSource:
    """The source of an events file that is about a video."""
    sources = read_events(captions)
    if len(sources) == 1:
        return sources[0]
    found = [source for source in sources if source.name in (name, video.name, video.stem)]
    if not found:
        raise BadInput(f"{captions} has several sources and none is named {name!r}; correct their names.")
    return found[0]


def _no_clips(_: Source, __: Set[int]) -> Iterator[Clip]:
    return iter(())
