"""Checks of replies that pick from a numbered list."""

from __future__ import annotations

from collections.abc import Sequence


def find_pick_fault(numbers: Sequence[int], shown: int, limit: int, what: str) -> str | None:
    """Return what is wrong with the numbers picked of ``shown`` such things, or None."""
    if strange := sorted({number for number in numbers if not 1 <= number <= shown}):
        return f"there are no {what} {strange}, only 1 to {shown}"
    if doubled := sorted({number for number in numbers if numbers.count(number) > 1}):
        return f"{what} {doubled} are picked more than once"
    if len(numbers) > limit:
        return f"{len(numbers)} {what} are too many: pick the {limit} most useful"
    return None
