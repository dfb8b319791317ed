"""The baseline segmenters tile their turns, and split where words or vectors differ."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from theanine.segmentation import lengths_of, tiling_fault
from theanine_bench.targets.texttiling import similarity_dips, text_tiling

TEXTS = st.lists(st.text(max_size=40), max_size=25)


@given(TEXTS)
def test_text_tiling_tiles_any_texts_deterministically(texts: list[str]) -> None:
    spans = text_tiling(texts)
    assert tiling_fault(spans, len(texts)) is None
    assert text_tiling(texts) == spans


@given(st.integers(0, 25), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_dips_tile_and_keep_their_distance(turns: int, seed: int, gap: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(turns, 8)).astype(np.float32)
    spans = similarity_dips(rows, gap=gap, strictness=-1.0)
    assert tiling_fault(spans, turns) is None
    assert all(length >= gap for length in lengths_of(spans)[1:-1])


def directions(*groups: int) -> NDArray[np.float32]:
    return np.repeat(np.eye(len(groups), dtype=np.float32), groups, axis=0)


def test_dips_separate_different_directions() -> None:
    assert lengths_of(similarity_dips(directions(5, 4, 6))) == [5, 4, 6]


def test_text_tiling_separates_texts_without_shared_words() -> None:
    boat = ["The boat needs sails.", "New sails for the boat?", "Sails make a boat go."]
    soup = ["Onion soup with bread.", "Bread in the soup!", "My soup lacks onion."]
    assert lengths_of(text_tiling([*boat, *soup])) == [3, 3]
    assert text_tiling([]) == []
    assert text_tiling(["Hello"]) == [(0, 0)]
