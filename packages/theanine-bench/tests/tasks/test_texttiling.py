"""The baseline segmenters tile their turns, and split where words or vectors differ."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from theanine_bench.targets.texttiling import STOP_WORDS, similarity_dips, text_tiling
from theanine_methods.segmentation import lengths_of, tiling_fault

SENTENCES = (
    "Sails make a boat go, and the mast of the boat carries them in a strong wind.",
    "Onion soup wants old bread, and good bread wants butter from the farm nearby.",
    "The violin teacher came on Monday and we played the second movement twice, slowly.",
    "Is that so? I had no idea, tell me more about what happened there afterwards.",
)
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


@given(st.lists(st.sampled_from(SENTENCES), min_size=12, max_size=40))
def test_text_tiling_is_nltks(texts: list[str]) -> None:
    tokenizer: Any = import_module("nltk.tokenize.texttiling").TextTilingTokenizer(
        w=10, k=6, stopwords=STOP_WORDS
    )
    tiles = [tile.strip() for tile in tokenizer.tokenize("\n\n".join(texts))]
    spans = text_tiling(texts)
    assert ["\n\n".join(texts[first : last + 1]) for first, last in spans] == tiles


def test_a_dialogue_too_short_for_nltk_is_one_segment() -> None:
    assert text_tiling([]) == []
    assert text_tiling(["Hello"]) == [(0, 0)]
    assert text_tiling(["Hello there.", "Hi!"]) == [(0, 1)]
