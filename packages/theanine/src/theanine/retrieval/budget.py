"""Keep what is given back within a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from theanine.tokenizer import count_tokens

T = TypeVar("T")

HEAD_START = 3
"""Places that the best item is ahead of the next: lengths decide little among the first few."""
LENGTH = 0.25
"""What length counts for: an item of sixteen times the tokens must stand twice as high."""


def fit_budget(ranked: Sequence[tuple[T, str]], budget: int | None) -> list[T]:
    """The items, best first, whose texts together fit the budget.

    Tokens are the bundled tokenizer's, counted over the texts as they are joined by line breaks.
    Among items of like rank the shorter ones go first, as more of them fit; what doesn't fit, and
    what says the same words again, is passed over.
    """
    if budget is None:
        return [item for item, _ in ranked]
    costs = [_cost(text) for _, text in ranked]
    order = sorted(
        range(len(ranked)), key=lambda place: (place + HEAD_START) * costs[place] ** LENGTH
    )
    kept: list[int] = []
    said: set[str] = set()
    left = budget
    for place in order:
        words = " ".join(ranked[place][1].casefold().split())
        if costs[place] <= left and words not in said:
            said.add(words)
            kept.append(place)
            left -= costs[place]
    return [ranked[place][0] for place in sorted(kept)]


def fit_prefix(ranked: Iterable[tuple[T, str]], budget: int | None) -> list[T]:
    """The items, in order, until the first whose text no longer fits the budget.

    What comes after it is not looked at, however long the history. Tokens as for :func:`within`.
    """
    kept: list[T] = []
    left = budget
    for item, text in ranked:
        if left is not None:
            left -= _cost(text)
            if left < 0:
                break
        kept.append(item)
    return kept


def _cost(text: str) -> int:
    """Tokens of a text behind a line break, where it may take one more than at the beginning."""
    return count_tokens(f"\n{text}")
