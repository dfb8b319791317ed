"""Keep what is given back within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from theanine.models.bundled import count_tokens

T = TypeVar("T")


def within(ranked: Sequence[tuple[T, str]], budget: int | None, *, gaps: bool = True) -> list[T]:
    """The items, best first, whose texts together fit the budget.

    Tokens are the bundled tokenizer's, counted over the texts as they are joined by line breaks.
    One that doesn't fit is passed over; without ``gaps`` it ends the list.
    """
    if budget is None:
        return [item for item, _ in ranked]
    kept: list[T] = []
    left = budget
    for item, text in ranked:
        cost = count_tokens(f"{text}\n")
        if cost <= left:
            kept.append(item)
            left -= cost
        elif not gaps:
            break
    return kept
