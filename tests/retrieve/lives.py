"""Small memories to ask: a morning with a phone, a pen and a mug, told by captions."""

from __future__ import annotations

from pathlib import Path

from amr.config import Settings, load_settings
from amr.memory import Memory

MORNING = [
    (2, "I walk into the kitchen."),
    (6, "I pour coffee into the blue mug."),
    (11, "I put my phone on the kitchen table next to the mug."),
    (16, "Shure: Where is the pen?"),
    (21, "Katrina: I saw the parcel by the front door."),
    (26, "I pick up the pen from the desk."),
    (31, "I put the pen in the drawer."),
    (36, "Did I put the phone on the shelf?"),
    (41, "I open the fridge."),
    (46, "I give the mug to Tasha."),
    (52, "Lucia: 你说子唐和谢炳珠去了图书馆。"),
    (58, "I walk out of the kitchen."),
]

QUIET = [
    (120, "Alice: The train leaves at nine."),
    (126, "I pick up my phone."),
    (133, "I sit down on the sofa."),
]


def stamp(seconds: float) -> str:
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d},{rest % 1000:03d}"


def captions(path: Path, cues: list[tuple[int, str]]) -> Path:
    """Writes cues of two seconds."""
    blocks = [f"{n}\n{stamp(at)} --> {stamp(at + 2)}\n{text}\n" for n, (at, text) in enumerate(cues, 1)]
    path.write_text("\n".join(blocks), encoding="utf-8")
    return path


def settings() -> Settings:
    return load_settings()


def live(directory: Path, cues: list[tuple[int, str]], name: str = "life.srt") -> Memory:
    """A memory of these cues."""
    directory.mkdir(parents=True, exist_ok=True)
    memory = Memory(directory / "memory")
    memory.ingest(captions(directory / name, cues), settings())
    return memory
