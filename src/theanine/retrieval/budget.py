"""Keep what is given back within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from theanine.models.bundled import count_tokens

T = TypeVar("T")

HEAD_START = 3
"""Places that the best item is ahead of the next: lengths decide little among the first few."""
LENGTH = 0.25
"""What length counts for: an item of sixteen times the tokens must stand twice as high."""


def within(ranked: Sequence[tuple[T, str]], budget: int | None, *, gaps: bool = True) -> list[T]:
    """The items, best first, whose texts together fit the budget.

    Tokens are the bundled tokenizer's, counted over the texts as they are joined by line breaks.
    Among items of like rank the shorter ones go first, as more of them fit; what doesn't fit, and
    what says the same words again, is passed over. Without ``gaps`` rank alone counts, and the
    first that doesn't fit ends the list.
    """
    if budget is None:
        return [item for item, _ in ranked]
    # Behind a line break a text may take a token more than at the beginning.
    costs = [count_tokens(f"\n{text}") for _, text in ranked]
    order = list(range(len(ranked)))
    if gaps:
        order.sort(key=lambda place: (place + HEAD_START) * costs[place] ** LENGTH)
    kept: list[int] = []
    said: set[str] = set()
    left = budget
    for place in order:
        words = " ".join(ranked[place][1].casefold().split())
        if costs[place] > left or (gaps and words in said):
            if gaps:
                continue
            break
        said.add(words)
        kept.append(place)
        left -= costs[place]
    return [ranked[place][0] for place in sorted(kept)]
