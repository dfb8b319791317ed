"""Segmentations tile their turns, whatever makes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.types import Role, Utterance
from theanine_methods.segmentation.segments import (
    check_tiling,
    exchange_starts,
    fixed_length_spans,
    lengths_of,
    spans_between,
    spans_of,
    tiling_fault,
)

LENGTHS = st.lists(st.integers(1, 9), max_size=12)


@given(LENGTHS)
def test_lengths_and_spans_are_equivalent(lengths: list[int]) -> None:
    spans = spans_of(lengths)
    assert lengths_of(spans) == lengths
    assert tiling_fault(spans, sum(lengths)) is None
    assert spans_between([first for first, _ in spans[1:]], sum(lengths)) == spans


@given(LENGTHS.filter(len), st.data())
def test_a_missing_or_repeated_segment_is_a_fault(lengths: list[int], data: st.DataObject) -> None:
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
def test_segments_of_fixed_length(size: int, turns: int) -> None:
    lengths = lengths_of(check_tiling(fixed_length_spans(size, turns), turns))
    assert all(length == size for length in lengths[:-1])
    assert all(1 <= length <= size for length in lengths)


def test_a_segment_needs_a_turn() -> None:
    with pytest.raises(ValueError, match="at least one turn"):
        fixed_length_spans(0, 4)


def utterances(roles: str) -> list[Utterance]:
    names: dict[str, Role] = {"u": "user", "a": "assistant"}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [Utterance(text="so", speaker=names[r], role=names[r], at=at) for r in roles]


def test_with_an_assistant_segments_begin_with_the_user() -> None:
    starts = exchange_starts(utterances("uauuaau"))
    assert starts == [True, False, True, False, False, False, True]
    assert exchange_starts(utterances("auau")) == [True, True, False, True]
    assert exchange_starts([]) == []


def test_between_peers_a_segment_may_begin_with_any_turn() -> None:
    assert exchange_starts(utterances("uuu")) == [True] * 3
