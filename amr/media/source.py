"""From a path to sources: a video, a folder of clips, captions or narrations alone, or an events file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from amr.errors import BadInput
from amr.media import captions as caption_files
from amr.media import folder as folders
from amr.media.captions import CAPTION_SUFFIXES, EmbeddedCaptions, read_captions, sidecar, starting_in
from amr.media.clip_captions import CaptionedClips, is_clip_captions, read_clip_captions
from amr.media.egolife import FIRST_DAY_MS, hour_files, read_clip_name, read_hours
from amr.media.events import EventsSource, read_events
from amr.media.key import content_key, file_key, name_key
from amr.media.lines import inner_suffix
from amr.media.narrations import Narrated, read_narrations
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


TEXT_KINDS = frozenset(("captions", "clip_captions", "events"))
"""The kinds of source that have no film of their own."""


@dataclass
class Source:
    """Something to ingest. Its key identifies its content, without the scope; `uri` is its absolute path.

    `origin_wall_ms` is the wall clock of its zero, None without one; a followed folder that began empty has it
    with its first clip. What grows by clip files, a folder or clip-by-clip captions, may be given, before `clips`,
    the `origin_wall_ms` that it had when it was first ingested and, in `known`, the clip index that each file name
    got then: what arrived since is numbered after and timed by the same zero. `duration_ms` is exact once all clips
    were read. `captions_key` is the content key of captions kept apart from the media, or "". `wearer` holds the
    names of who wears the camera.
    """

    kind: Literal["video", "folder", "captions", "clip_captions", "events"]
    name: str
    key: str
    uri: str
    read: Callable[[Source, Set[int]], Iterator[Clip]] = field(repr=False)
    origin_wall_ms: int | None = None
    duration_ms: int | None = None
    has_captions: bool = False
    captions_key: str = ""
    wearer: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)

    def clips(self, done: Set[int]) -> Iterator[Clip]:
        """The clips in time order, lazily, except those whose index is in `done`."""
        for clip in self.read(self, done):
            clip.captioned = clip.captioned or self.has_captions
            clip.wearer = self.wearer
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
    """The sources at a path: a video or sound file, a folder of clips, captions, narrations, or an events JSONL.

    `captions` is a caption file or an events JSONL for them, `name` replaces the file's or folder's name.
    With `follow`, a folder's clips wait for more files until `stop()` is true or none came for `idle_seconds`.
    Raises BadInput.
    """
    path = path.absolute()
    if not path.exists():
        raise BadInput(f"{path} does not exist; check the path.")
    if captions is not None and not captions.is_file():
        raise BadInput(f"The captions {captions} do not exist; check the path given to --captions.")
    hours = hour_files(path) if path.is_dir() and captions is None and not follow else {}
    if hours and not folders.list_folder(path):
        return [_hours(path, settings, *camera, name) for camera in _chosen(path, hours, name)]
    if path.is_dir():
        return [_folder(path, settings, captions, name, (stop, idle_seconds) if follow else None)]
    if follow:
        raise BadInput(f"{path} is not a folder; only a folder can be followed as it grows.")
    suffix = inner_suffix(path)
    if captions is not None and suffix in (*CAPTION_SUFFIXES, ".jsonl", ".csv"):
        raise BadInput(f"{path} is itself text; captions can be given only for a video or a folder of clips.")
    if suffix in CAPTION_SUFFIXES:
        return [_captions(path, settings, name)]
    if suffix == ".csv":
        return [_narrations(path, settings, video, name) for video in _named(path, read_narrations(path), name)]
    if suffix == ".jsonl" and is_clip_captions(path):
        return [_clip_captions(path, camera, name) for camera in _named(path, read_clip_captions(path), name)]
    if suffix == ".json":
        raise BadInput(f"{path} holds no chats that amr knows, and no other format is .json; see amr schema.")
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

    read = _cells_of(path, settings, cues)
    source = Source("captions", name or path.name, content_key(path), str(path), read, has_captions=True)
    source.duration_ms = max(cue.end_ms for cue in cues)
    clock = read_clip_name(path.stem)
    if clock is not None:
        source.origin_wall_ms, source.wearer = clock.day_wall_ms + clock.clock_ms, _wearer_of(path)
    return source


def _cells_of(path: Path, settings: Settings, cues: list[Cue]) -> Callable[[Source, Set[int]], Iterator[Clip]]:
    """Reads cues in time order as clips on the grid of `clip_seconds`; cells in which none starts are left out."""

    def read(_: Source, done: Set[int]) -> Iterator[Clip]:
        cell = grid_ms(settings.clip_seconds)
        for index in dict.fromkeys(cue.start_ms // cell for cue in cues):
            if index not in done:
                start = index * cell
                told = starting_in(cues, start, start + cell)
                yield Clip(index, start, start + cell, cues=told, path=path, uri=str(path))

    return read


def _hours(path: Path, settings: Settings, camera: str, files: list[Path], name: str | None) -> Source:
    """What was told of a camera, hour by hour. Its zero is 00:00 of day 1, so other hours and days may come later."""
    told = read_hours(files)
    if not told:
        raise BadInput(f"The files of {camera} in {path} hold no caption; give some with at least one.")
    cues = [replace(cue, start_ms=cue.start_ms - FIRST_DAY_MS, end_ms=cue.end_ms - FIRST_DAY_MS) for cue in told]
    read = _cells_of(path, settings, cues)
    known_as = name or camera
    source = Source("captions", known_as, name_key("hours", known_as), str(path), read, has_captions=True)
    source.origin_wall_ms = FIRST_DAY_MS
    source.duration_ms = max(cue.end_ms for cue in cues)
    source.wearer = _wearer_of(files[0])
    return source


def _wearer_of(file: Path) -> tuple[str, ...]:
    """Who wears the camera, as the name of one of its files tells."""
    name = read_clip_name(file.stem)
    return (name.wearer,) if name is not None and name.wearer else ()


def _narrations(path: Path, settings: Settings, video: Narrated, name: str | None) -> Source:
    known_as = name or video.name
    read = _cells_of(path, settings, video.cues)
    source = Source("captions", known_as, name_key("narrations", known_as), str(path), read, has_captions=True)
    source.captions_key = video.content_key()
    source.duration_ms = max(cue.end_ms for cue in video.cues)
    source.warnings = video.warnings()
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


def _clip_captions(path: Path, camera: CaptionedClips, name: str | None) -> Source:
    def read(source: Source, done: Set[int]) -> Iterator[Clip]:
        zero = source.origin_wall_ms or 0
        wanted = [(index, line) for index, line in camera.numbered(source.known) if index not in done]
        for index, line, cues in camera.cues(wanted):
            told = [replace(cue, start_ms=cue.start_ms - zero, end_ms=cue.end_ms - zero) for cue in cues]
            yield Clip(index, line.start_ms - zero, line.end_ms - zero, cues=told, path=path, uri=line.file)

    known_as = name or camera.name
    source = Source("clip_captions", known_as, name_key("clip_captions", known_as), str(path), read, has_captions=True)
    source.origin_wall_ms = camera.first_day_ms
    source.duration_ms = camera.lines[-1].end_ms - camera.first_day_ms
    source.wearer = (camera.wearer,) if camera.wearer else ()
    source.warnings = camera.warnings()
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
    beside = [] if cues is not None else _beside(path, listed)

    def read(source: Source, done: Set[int]) -> Iterator[Clip]:
        numbered: Iterable[tuple[int, folders.Listed]]
        if waiting is not None:
            numbered = folders.follow(path, source.known, *waiting, source.warnings)
        else:
            numbered = folders.numbered(listed, source.known, source.warnings)
        timed = _with_origin(source, numbered)
        for clip in folders.folder_clips(timed, settings, done, lambda: source.origin_wall_ms):
            _tell(clip, cues, beside, source.origin_wall_ms or 0)
            yield clip

    known_as = name or path.name
    source = Source("folder", known_as, name_key("folder", known_as), str(path), read)
    source.origin_wall_ms = folders.first_day_ms(listed)
    source.has_captions = cues is not None or bool(beside) or any(sidecar(clip.path) for clip in listed)
    source.wearer = _wearer_of(listed[0].path) if listed else ()
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


def _beside(folder: Path, listed: list[folders.Listed]) -> list[Cue]:
    """What the captions and transcripts of hours tell of a folder's clips, on the wall clock."""
    name = read_clip_name(listed[0].path.stem) if listed else None
    return read_hours(hour_files(folder, name.camera).get(name.camera, [])) if name is not None else []


def _tell(clip: Clip, cues: list[Cue] | None, beside: list[Cue], origin_wall_ms: int) -> None:
    """Gives a clip of a folder its captions: the folder's, else those beside or inside its own file, else its hour's.

    The hour's are on the wall clock.
    """
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
        clip.cues = [
            replace(cue, start_ms=cue.start_ms + clip.start_ms, end_ms=cue.end_ms + clip.start_ms) for cue in own
        ]
    else:
        told = starting_in(beside, clip.start_ms + origin_wall_ms, clip.end_ms + origin_wall_ms)
        clip.cues = [
            replace(cue, start_ms=cue.start_ms - origin_wall_ms, end_ms=cue.end_ms - origin_wall_ms) for cue in told
        ]


_Part = TypeVar("_Part", EventsSource, CaptionedClips, Narrated)


def _chosen(path: Path, hours: dict[str, list[Path]], name: str | None) -> list[tuple[str, list[Path]]]:
    """The cameras of a folder with their files, or the one that a name asks for."""
    if name is None or len(hours) == 1:
        return list(hours.items())
    if name not in hours:
        raise BadInput(f"{path} has no camera named {name!r}; it has {', '.join(hours)}.")
    return [(name, hours[name])]


def _named(path: Path, sources: list[_Part], name: str | None) -> list[_Part]:
    """All sources of a file, or the one that a name asks for."""
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
