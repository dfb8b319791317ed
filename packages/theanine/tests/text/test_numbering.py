"""Turns as numbered lines, in windows: nothing lost, nothing doubled, nothing too long."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.answering import turn
from theanine.text.formatting import estimate_tokens, one_line
from theanine.text.numbering import WINDOW_TOKENS, format_numbered, split_windows


def test_a_session_is_formatted_under_its_days_with_numbers_names_and_roles() -> None:
    turns = [
        turn(7, "I sail."),
        turn(8, "You told me.", "Tea", role="assistant", recalled=(1,)),
        turn(9, "Look", shared="a boat"),
    ]
    (window,) = split_windows(turns)
    assert format_numbered(window).splitlines() == [
        "-- Monday, 8 May 2023",
        "[1] Ana (user): I sail.",
        "[2] Tea (agent, recalled): You told me.",
        "[3] Ana (user): Look [shares a boat]",
    ]
    (undated,) = split_windows([turn(7, "I sail.", dated=False)])
    assert format_numbered(undated) == "-- dates unknown\n[1] Ana (user): I sail."
    assert split_windows([]) == []


SIZES = st.sampled_from([0, 1, 40, 3_000, 13_000, 40_000])


@settings(max_examples=60, deadline=None)
@given(st.lists(SIZES, max_size=6), st.sampled_from(["ab ", "船が", "🛶"]))
def test_windows_have_all_text_in_order_within_their_size(sizes: list[int], words: str) -> None:
    turns = [turn(i, words * (size // 3)) for i, size in enumerate(sizes, 1)]
    windows = split_windows(turns)
    lines = [line for window in windows for line in window]
    for number, logged in enumerate(turns, 1):
        pieces = [line.text for line in lines if line.number == number]
        assert "".join(pieces) == one_line(logged.full_text)
    assert [line.number for line in lines] == sorted(line.number for line in lines)
    for window in windows:
        assert sum(estimate_tokens(line.text) for line in window) <= WINDOW_TOKENS
