"""Fit segments into a token budget: whole, or with those of their turns that fit best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from theanine.methods.secom.close_look import Looked, line_cost
from theanine.text.formatting import day_label, group_by_day
from theanine.types import Memory, Turn

_SMALLEST = 4
"""Tokens that no line with anything in it goes below."""


def best_turns(looked: Sequence[Looked], budget: int) -> list[tuple[Memory, float, list[Turn]]]:
    """The turns that fit best, whatever segment they are of, whose text fits the budget.

    Each segment with any such turn, its score and those turns in order. A day is paid for once in
    a segment. A turn that doesn't fit is passed over.
    """
    ranked = sorted(
        (
            (score, place, at)
            for place, one in enumerate(looked)
            for at, score in enumerate(one.scores)
        ),
        key=lambda found: (-found[0], found[1], found[2]),
    )
    runs = [_runs(one.turns) for one in looked]
    paid: set[tuple[int, int]] = set()
    kept: set[tuple[int, int]] = set()
    left = budget
    for _, place, at in ranked:
        if left < _SMALLEST:
            break
        turn, run = looked[place].turns[at], (place, runs[place][at])
        cost = looked[place].costs[at] + (0 if run in paid else _day_cost(turn))
        if cost <= left:
            left -= cost
            paid.add(run)
            kept.add((place, at))
    return [
        (one.memory, one.score, [t for at, t in enumerate(one.turns) if (place, at) in kept])
        for place, one in enumerate(looked)
        if any((place, at) in kept for at in range(len(one.turns)))
    ]


def _runs(turns: Sequence[Turn]) -> list[int]:
    """For each turn, how many times the day has changed before it."""
    days = [day_label(turn.at, turn.dated) for turn in turns]
    runs = [0]
    for before, today in pairwise(days):
        runs.append(runs[-1] + (before != today))
    return runs


def _day_cost(turn: Turn) -> int:
    """With what parts a segment from the next."""
    line = group_by_day([(day_label(turn.at, turn.dated), "")])
    return _line_cost(line.rstrip()) + 1


_line_cost = lru_cache(maxsize=1_000)(line_cost)
