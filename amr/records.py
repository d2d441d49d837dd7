"""The vocabulary every room shares: clips, what was perceived in them, nodes, edges, evidence, answers.

Times in a `ClipAnalysis` are seconds from the clip's start; everywhere else in the package times are
integer milliseconds from the source's start unless a name says `wall` (milliseconds since the epoch).
This module imports nothing from the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

WEARER = "wearer"
"""The id and the handle of the person who wears the camera."""

ASSISTANT = "assistant"
"""The role and the handle of a machine that somebody talks with."""

Modality = Literal["seen", "heard", "read", "told"]
"""How an event became known: in the picture, in the sound, as text in view, or from a caption about the clip."""


class _Report(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)  # a question validates none of these


class Character(_Report):
    """A person in a clip, by a name local to the clip."""

    local_character_id: str
    role: str = "other"
    name_or_description: str


class SpeakerTurn(_Report):
    """One utterance; `rough` marks words from a recogniser that is often wrong."""

    speaker_id: str
    utterance: str
    time_start: float
    time_end: float
    rough: bool = False


class ObjectReport(_Report):
    """An object of an event, with its place relative to other things from the actor's point of view."""

    name: str
    spatial_description: str = ""


class Action(_Report):
    """Who did what to what, and where: the tuple of AMR-Graph §3.2. `actor` is a character id or `wearer`."""

    actor: str
    verb: str
    object: str = ""
    spatial_relation: str = ""


class EventReport(_Report):
    """One thing that happened in a clip. `certain` is false for what was inferred and may be wrong.

    `ref` is the source's own name for it, such as the id of a narration.
    """

    local_event_id: str
    time_start: float
    time_end: float
    summary: str
    actors: list[str] = []
    objects: list[ObjectReport] = []
    dialogue: list[str] = []
    actions: list[Action] = []
    modality: Modality = "seen"
    certain: bool = True
    ref: str = ""


class TextInView(_Report):
    """Words read in a frame at `time` seconds of the clip, with the reader's score from 0 to 1."""

    text: str
    time: float
    score: float


class ClipAnalysis(_Report):
    """What a perceiver reports for one clip (AMR-Graph §2.2). Times are seconds from the clip's start.

    The fields after `events` are the embedded perceiver's own measurements; a model need not fill them.
    """

    clip_summary: str
    scene_type: str = ""
    characters: list[Character] = []
    speaker_turns: list[SpeakerTurn] = []
    events: list[EventReport] = []
    text_in_view: list[TextInView] = []
    scene_cuts: list[float] = []
    still: bool | None = None


class EventsRow(_Report):
    """One line of the events JSONL: a clip of a source with its ready-made analysis.

    `t_start` and `t_end` are seconds from the source's start, `time` the ISO wall clock of `t_start`.
    """

    source: str
    clip: int = Field(ge=0)
    t_start: float
    t_end: float
    time: str | None = None
    analysis: ClipAnalysis

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> EventsRow:
        if self.t_end < self.t_start:
            raise ValueError("t_end is before t_start")
        return self


class ClipsRow(_Report):
    """One row of clips.csv: a clip file with its boundaries, in seconds from the source's start.

    `time` is the ISO wall clock of `t_start`.
    """

    file: str
    t_start: float
    t_end: float
    time: str | None = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> ClipsRow:
        if self.t_end <= self.t_start:
            raise ValueError("t_end is not after t_start")
        return self


class ChatRow(_Report):
    """One line of the chat JSONL: what somebody said in a session.

    `scope` is the haystack, by default the file's name; `date` is ISO 8601, null when it is unknown, and that of a
    session's first line counts for all of it. `role` is `user` for the owner of the memory, `assistant` for a
    machine; between people there is none. `turn_id` is by default `<session>:<n>`.
    """

    scope: str | None = None
    session: str
    date: str | None
    speaker: str
    role: str | None = None
    text: str
    image_caption: str = ""
    turn_id: str | None = None


class CaptionLine(BaseModel):
    """One line of a clip's captions or transcript; times are numbers HHMMSS on the wall clock."""

    model_config = ConfigDict(defer_build=True)

    start: int
    end: int
    text: str
    type: Literal["caption", "transcript"]


class ClipCaptionsRow(BaseModel):
    """One line of a clip-by-clip caption JSONL: a clip file named by its wall clock, and what is told of it.

    The rows are EgoLife's own, so unlike in the package's formats other keys may be there.
    """

    model_config = ConfigDict(defer_build=True)

    video_file: str
    data: list[CaptionLine]


CueKind = Literal["speech", "narration"]


@dataclass(frozen=True)
class Cue:
    """A caption: text with its time in milliseconds from the source's start.

    `kind` says what it is where the source tells: somebody's words, or what the wearer tells of the clip.
    `ref` is the source's own name for it, if it has one.
    """

    start_ms: int
    end_ms: int
    text: str
    kind: CueKind | None = None
    ref: str = ""


@dataclass
class Frame:
    """A decoded frame: `image` is RGB uint8 [height, width, 3], upright, at `time_ms` of the source."""

    time_ms: int
    image: NDArray[np.uint8]


@dataclass
class Clip:
    """A slice of a source, with whatever its reader could get of it.

    `wearer` holds the names of who wears the camera, as speakers are named in cues.
    `audio` is 16 kHz mono float32 [samples], empty when the clip is silent for lack of samples and None when
    the source has no audio. `file_start_ms` is where the clip begins in the file `path`, on the clock of that
    file; None where there is nothing to cut out of it. `captioned` says that the source has captions, whether or
    not one starts in this clip. `analysis` is set when the source brings its own. `error` says why it is unreadable.
    """

    index: int
    start_ms: int
    end_ms: int
    frames: list[Frame] = field(default_factory=list)
    audio: NDArray[np.float32] | None = None
    cues: list[Cue] = field(default_factory=list)
    captioned: bool = False
    wearer: tuple[str, ...] = ()
    analysis: ClipAnalysis | None = None
    path: Path | None = None
    file_start_ms: int | None = None
    uri: str = ""
    error: str | None = None


NodeKind = Literal["event", "window", "turn", "session", "fact", "entity", "source", "scope"]


@dataclass
class Node:
    """One remembered thing. `hash` identifies its content; ids and commits are this memory's own."""

    node_id: int
    kind: NodeKind
    scope_id: str
    source_id: int | None
    pass_id: int | None
    parent_id: int | None
    clip_first: int | None
    clip_last: int | None
    t_start_ms: int | None
    t_end_ms: int | None
    time_ms: int | None
    text: str
    payload: dict[str, Any]
    hash: str
    valid_from: int | None = None
    valid_to: int | None = None
    learnt_at: int = 0
    retired_at: int | None = None

    @property
    def moment_ms(self) -> int:
        """When it begins: on the wall clock where its source has one, else from its source's start."""
        return (self.t_start_ms or 0) if self.time_ms is None else self.time_ms

    @property
    def in_time(self) -> tuple[int, int]:
        """Its place in time, to sort by; ties go by id."""
        return self.moment_ms, self.node_id


@dataclass
class Edge:
    """A typed link between two nodes; its type is its channel."""

    edge_id: int
    scope_id: str
    channel: str
    src: int
    dst: int
    payload: dict[str, Any]
    hash: str
    valid_from: int | None = None
    valid_to: int | None = None
    learnt_at: int = 0
    retired_at: int | None = None


@dataclass
class Mention:
    """A node names a person, object or place under a handle; `role` is `person`, `object` or `place`."""

    node_id: int
    scope_id: str
    handle: str
    role: str
    t_start_ms: int
    learnt_at: int


@dataclass
class Step:
    """One hop of the walk that reached a piece of evidence."""

    channel: str
    src: int
    dst: int


@dataclass
class Evidence:
    """A node that bears on a question, with where and when to see it."""

    node: Node
    source: str
    clip: str
    ref: str | None
    score: float
    relevance: float
    frame: str | None = None
    path: list[Step] = field(default_factory=list)


@dataclass
class ObjectState:
    """The last known state of an object: what happened to it, where it is, who holds it, since when."""

    object: str
    state: str | None
    place: str | None
    holder: str | None
    since_ms: int
    evidence: int


@dataclass
class Claim:
    """A sentence of an answer and the nodes it rests on."""

    text: str
    evidence: list[int]
    supported: bool


@dataclass(frozen=True)
class CallRow:
    """One row of the `calls` table. A paid call is one with its `key`, `wall_ms` and `cached = false`.

    After a kill the next command reports a paid call again when it finds the reply on disk: store it unless
    that row is already there. A cached call costs nothing; its tokens are those of the reply.
    """

    key: str
    role: str
    prompt: str
    prompt_hash: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: float
    cached: bool
    command: str
    wall_ms: int


@dataclass
class Usage:
    """What models were called for a question: nothing, unless one is configured."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0


@dataclass
class Answer:
    """The reply to a question. `found` is false when the evidence does not hold the answer.

    `warnings` are sentences on what models could not do, or said without evidence; `trace` is how the evidence was
    found, for `retrieve.explain`.
    """

    question: str
    answer: str
    found: bool
    confidence: float
    question_type: str
    as_of: str | None
    state: ObjectState | None
    claims: list[Claim]
    evidence: list[Evidence]
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)
    trace: object = field(default=None, repr=False, compare=False)
