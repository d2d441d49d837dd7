"""What a source is known by, so that the same content twice is one source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blake3 import blake3

if TYPE_CHECKING:
    from pathlib import Path

_EDGE = 1 << 20
_BLOCK = 1 << 16
_BLOCKS = 16


def file_key(path: Path) -> str:
    """The key of a media file: BLAKE3 of its size, its first and last MiB and 16 evenly spaced 64 KiB blocks.

    Reads at most 3 MiB, whatever the size of the file.
    """
    size = path.stat().st_size
    hasher = blake3(size.to_bytes(8, "big"))
    with path.open("rb") as file:
        hasher.update(file.read(_EDGE))
        file.seek(max(0, size - _EDGE))
        hasher.update(file.read(_EDGE))
        for number in range(_BLOCKS):
            file.seek(max(0, size - _BLOCK) * number // (_BLOCKS - 1))
            hasher.update(file.read(_BLOCK))
    return hasher.hexdigest()


def content_key(path: Path) -> str:
    """The key of a file by every byte of it, for caption files."""
    hasher = blake3()
    with path.open("rb") as file:
        while block := file.read(_EDGE):
            hasher.update(block)
    return hasher.hexdigest()


def name_key(kind: str, name: str) -> str:
    """The key of what is known by name only: a folder that grows, a source of an events file."""
    return blake3(f"{kind}\0{name}".encode()).hexdigest()
