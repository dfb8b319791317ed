"""Select items within a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from theanine.tokenizer import count_tokens

T = TypeVar("T")

RANK_OFFSET = 3
"""Added to each rank, from 0: length matters little among the first few items."""
LENGTH_EXPONENT = 0.25
"""Weight of length: an item of sixteen times the tokens must rank twice as high."""


def fit_budget(ranked: Sequence[tuple[T, str]], budget: int | None) -> list[T]:
    """Select items, best first, whose texts together fit the budget.

    Tokens are counted by the bundled tokenizer, over the texts joined by line breaks. Among items
    of similar rank shorter ones go first, as more of them fit. Items that do not fit, and repeated
    texts, are skipped. The result keeps the order of ``ranked``.
    """
    if budget is None:
        return [item for item, _ in ranked]
    costs = [_cost(text) for _, text in ranked]
    by_value = sorted(
        range(len(ranked)), key=lambda rank: (rank + RANK_OFFSET) * costs[rank] ** LENGTH_EXPONENT
    )
    selected: list[int] = []
    seen: set[str] = set()
    remaining = budget
    for rank in by_value:
        text = " ".join(ranked[rank][1].casefold().split())
        if costs[rank] <= remaining and text not in seen:
            seen.add(text)
            selected.append(rank)
            remaining -= costs[rank]
    return [ranked[rank][0] for rank in sorted(selected)]


def fit_prefix(ranked: Iterable[tuple[T, str]], budget: int | None) -> list[T]:
    """Return the items before the first one whose text exceeds the budget.

    Later items are not read, however long the history. Tokens are counted as in
    :func:`fit_budget`.
    """
    selected: list[T] = []
    remaining = budget
    for item, text in ranked:
        if remaining is not None:
            remaining -= _cost(text)
            if remaining < 0:
                break
        selected.append(item)
    return selected


@lru_cache(maxsize=4_096)
def _cost(text: str) -> int:
    """Count a text's tokens after a line break, where it can take one more than at the start."""
    return count_tokens(f"\n{text}")
