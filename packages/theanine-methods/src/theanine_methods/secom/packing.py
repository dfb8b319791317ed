"""Select the best turns of segments within a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from theanine.text.formatting import day_label, group_by_day
from theanine.types import Memory, Turn
from theanine_methods.secom.turn_rerank import RerankedSegment, line_cost

_MIN_LINE_TOKENS = 4

_cached_line_cost = lru_cache(maxsize=1_000)(line_cost)


def best_turns(
    segments: Sequence[RerankedSegment], budget: int
) -> list[tuple[Memory, float, list[Turn]]]:
    """Return the best turns of all segments whose text fits the budget.

    They come as segments with their scores and those of their turns, in order. A turn that doesn't
    fit is skipped. Each heading of a day is counted once in a segment.
    """
    ranked = sorted(
        (
            (score, position, index)
            for position, segment in enumerate(segments)
            for index, score in enumerate(segment.turn_scores)
        ),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    days = [_day_numbers(segment.turns) for segment in segments]
    paid_days: set[tuple[int, int]] = set()
    kept: set[tuple[int, int]] = set()
    remaining = budget
    for _, position, index in ranked:
        if remaining < _MIN_LINE_TOKENS:
            break
        day = (position, days[position][index])
        cost = segments[position].costs[index]
        if day not in paid_days:
            cost += _day_cost(segments[position].turns[index])
        if cost <= remaining:
            remaining -= cost
            paid_days.add(day)
            kept.add((position, index))
    selected = [
        (
            segment.memory,
            segment.score,
            [turn for index, turn in enumerate(segment.turns) if (position, index) in kept],
        )
        for position, segment in enumerate(segments)
    ]
    return [(memory, score, turns) for memory, score, turns in selected if turns]


def _day_numbers(turns: Sequence[Turn]) -> list[int]:
    """Return for each turn how often the day has changed before it."""
    days = [day_label(turn.at, turn.dated) for turn in turns]
    numbers = [0]
    for before, today in pairwise(days):
        numbers.append(numbers[-1] + (before != today))
    return numbers


def _day_cost(turn: Turn) -> int:
    """Return the tokens of a day's heading and of the line break between two segments."""
    heading = group_by_day([(day_label(turn.at, turn.dated), "")])
    return _cached_line_cost(heading.rstrip()) + 1
