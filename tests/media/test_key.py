"""What a source is known by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from amr.media.key import content_key, file_key, name_key


def test_a_copy_has_the_same_key_and_a_longer_file_another(tmp_path: Path) -> None:
    data = np.random.default_rng(1).bytes(5 << 20)
    for name, content in (("a", data), ("b", data), ("c", data + b"x")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (file_key(tmp_path / name) for name in "abc")
    assert a == b != c


@pytest.mark.parametrize("place", [0, (1 << 20) - 1, (5 << 20) - 1, ((5 << 20) - (1 << 16)) * 7 // 15])
def test_a_change_at_the_ends_or_in_a_sampled_block_changes_the_key(tmp_path: Path, place: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(5 << 20))
    before = file_key(path)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"x")
    assert file_key(path) != before


def test_small_and_empty_files_have_keys(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "empty").touch()
    assert file_key(tmp_path / "small") != file_key(tmp_path / "empty")


def test_every_byte_of_a_caption_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_bytes(bytes(5 << 20))
    before = content_key(path)
    path.write_bytes(bytes(2 << 20) + b"x" + bytes((3 << 20) - 1))
    assert content_key(path) != before


def test_names_of_different_kinds_do_not_meet() -> None:
    assert name_key("folder", "kitchen") != name_key("events", "kitchen")
