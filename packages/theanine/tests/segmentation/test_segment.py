"""Segmentations tile their turns, whatever draws them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from theanine.segmentation.segments import (
    check_tiling,
    exchange_starts,
    fixed_length_spans,
    lengths_of,
    spans_between,
    spans_of,
    tiling_fault,
)
from theanine.segmentation.texttiling import similarity_dips, text_tiling
from theanine.types import Role, Utterance

LENGTHS = st.lists(st.integers(1, 9), max_size=12)
TEXTS = st.lists(st.text(max_size=40), max_size=25)


@given(LENGTHS)
def test_lengths_and_spans_say_the_same(lengths: list[int]) -> None:
    spans = spans_of(lengths)
    assert lengths_of(spans) == lengths
    assert tiling_fault(spans, sum(lengths)) is None
    assert spans_between([first for first, _ in spans[1:]], sum(lengths)) == spans


@given(LENGTHS.filter(len), st.data())
def test_whatever_is_left_out_or_doubled_is_a_fault(
    lengths: list[int], data: st.DataObject
) -> None:
    spans, turns = spans_of(lengths), sum(lengths)
    at = data.draw(st.integers(0, len(spans) - 1))
    assert tiling_fault([*spans[:at], *spans[at + 1 :]], turns)
    assert tiling_fault([*spans[: at + 1], *spans[at:]], turns)
    assert tiling_fault(spans, turns + 1)
    assert tiling_fault(spans, turns - 1)
    if len(spans) > 1:
        assert tiling_fault(spans[::-1], turns)


@pytest.mark.parametrize(
    ("spans", "fault"),
    [
        ([(0, 2), (4, 5)], "turn 3 is in no segment"),
        ([(1, 5)], "turn 0 is in no segment"),
        ([(0, 3)], "turn 4 is in no segment"),
        ([], "turn 0 is in no segment"),
        ([(0, 3), (3, 5)], "the segment 3 to 5 takes up turn 3 again"),
        ([(0, 3), (2, 1), (4, 5)], "the segment 2 to 1 ends before it begins"),
        ([(0, 6)], "the segment 0 to 6 passes the last turn, 5"),
        ([(-1, 5)], "the segment -1 to 5 takes up turn -1 again"),
    ],
)
def test_the_fault_is_named(spans: list[tuple[int, int]], fault: str) -> None:
    assert tiling_fault(spans, 6) == fault
    with pytest.raises(ValueError, match=fault):
        check_tiling(spans, 6)


@given(st.integers(1, 9), st.integers(0, 60))
def test_every_n_turns(size: int, turns: int) -> None:
    lengths = lengths_of(check_tiling(fixed_length_spans(size, turns), turns))
    assert all(length == size for length in lengths[:-1])
    assert all(1 <= length <= size for length in lengths)


def test_a_segment_of_no_turns_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one turn"):
        fixed_length_spans(0, 4)


def said(roles: str) -> list[Utterance]:
    names: dict[str, Role] = dict(zip("ua", get_args(Role), strict=True))
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [Utterance(text="so", speaker=names[r], role=names[r], at=at) for r in roles]


def test_with_an_agent_segments_begin_where_the_user_speaks_up() -> None:
    starts = exchange_starts(said("uauuaau"))
    assert starts == [True, False, True, False, False, False, True]
    assert exchange_starts(said("auau")) == [True, True, False, True]
    assert exchange_starts([]) == []


def test_between_peers_a_segment_may_begin_with_any_turn() -> None:
    assert exchange_starts(said("uuu")) == [True] * 3


@given(TEXTS)
def test_text_tiling_tiles_anything_and_does_so_again(texts: list[str]) -> None:
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


def test_dips_part_what_points_elsewhere() -> None:
    assert lengths_of(similarity_dips(directions(5, 4, 6))) == [5, 4, 6]


def test_words_part_what_shares_none() -> None:
    boat = ["The boat needs sails.", "New sails for the boat?", "Sails make a boat go."]
    soup = ["Onion soup with bread.", "Bread in the soup!", "My soup lacks onion."]
    assert lengths_of(text_tiling([*boat, *soup])) == [3, 3]
    assert text_tiling([]) == []
    assert text_tiling(["Hello"]) == [(0, 0)]
