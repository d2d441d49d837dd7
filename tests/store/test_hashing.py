"""Hashes depend on content alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.store.hashing import EMPTY_SUM, add_to_sum, canonical_json, edge_hash, node_hash, world_hash

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=5))
def test_key_order_does_not_matter(value: dict[str, object]) -> None:
    backwards = dict(reversed(list(value.items())))
    assert canonical_json(value) == canonical_json(backwards)


def test_composed_and_decomposed_letters_are_the_same_text() -> None:
    assert canonical_json("café") == canonical_json("cafe\u0301")


def test_floats_are_refused_because_they_differ_by_machine() -> None:
    with pytest.raises(TypeError):
        canonical_json({"score": 0.5})


def test_every_hashed_field_of_a_node_counts() -> None:
    base = ("event", "default", "key", 0, 10, "text", {"a": 1})
    hashes = {node_hash(*base)}
    for position, other in enumerate(("turn", "life", "other", 1, 11, "Text", {"a": 2})):
        changed = list(base)
        changed[position] = other
        hashes.add(node_hash(*changed))
    assert len(hashes) == 8


def test_an_edge_names_its_ends_by_content() -> None:
    assert edge_hash("temporal", "a", "b", {}) != edge_hash("temporal", "b", "a", {})


@given(st.lists(st.integers(min_value=0, max_value=2**256 - 1), max_size=8), st.randoms())
def test_a_world_sum_is_independent_of_order_and_can_be_undone(values: list[int], random: object) -> None:
    total = EMPTY_SUM
    for value in values:
        total = add_to_sum(total, value)
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    other = EMPTY_SUM
    for value in shuffled:
        other = add_to_sum(other, value)
    assert total == other
    for value in values:
        total = add_to_sum(total, -value)
    assert total == EMPTY_SUM


def test_a_world_hash_changes_with_its_sum() -> None:
    assert world_hash("memory", EMPTY_SUM) != world_hash("memory", add_to_sum(EMPTY_SUM, 1))
