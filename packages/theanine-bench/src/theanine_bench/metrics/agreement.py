"""How far raters agree, people and judging models alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain
from typing import TypeVar

Label = TypeVar("Label", bound=Hashable)


def majority(labels: Sequence[Label]) -> Label | None:
    """What more than half of the raters said, such as two of three; None where there is no such.

    Raises ValueError where nobody said anything.
    """
    if not labels:
        raise ValueError("nobody rated it, so there is no majority")
    label, votes = Counter(labels).most_common(1)[0]
    return label if 2 * votes > len(labels) else None


def observed_agreement(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """The share of items that two raters gave the same label, 0 to 1.

    Raises ValueError where they rated nothing or not the same number of items.
    """
    pairs = list(zip(one, other, strict=True))
    if not pairs:
        raise ValueError("two raters of nothing neither agree nor disagree")
    return sum(a == b for a, b in pairs) / len(pairs)


def cohen_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    """Agreement of two raters beyond chance: 1 is full, 0 is what chance gives, at worst -1.

    None where both gave everything the same single label: chance alone agrees fully then.
    Raises as :func:`agreement` does. Source: Cohen (1960).
    """
    observed, items = observed_agreement(one, other), len(one)
    first, second = Counter(one), Counter(other)
    chance = sum(number * second[label] for label, number in first.items()) / items**2
    return _beyond(observed, chance)


def fleiss_kappa(ratings: Sequence[Sequence[Hashable]]) -> float | None:
    """Agreement beyond chance of any number of raters, not always the same ones.

    ``ratings`` has the labels of each item, equally many for all and at least two. None where
    there is a single label in all. Raises ValueError for anything else. Source: Fleiss (1971).
    """
    raters = _raters(ratings)
    counts = [Counter(labels) for labels in ratings]
    same = sum(number * (number - 1) for one in counts for number in one.values())
    observed = same / (len(ratings) * raters * (raters - 1))
    totals = Counter(chain.from_iterable(ratings))
    chance = sum((number / totals.total()) ** 2 for number in totals.values())
    return _beyond(observed, chance)


def _raters(ratings: Sequence[Sequence[Hashable]]) -> int:
    numbers = {len(labels) for labels in ratings}
    if len(numbers) != 1 or min(numbers) < 2:
        raise ValueError(
            "Fleiss' kappa needs items that were all rated by the same number of raters, two or "
            f"more; there are items with {', '.join(map(str, sorted(numbers))) or 'none'}"
        )
    return numbers.pop()


def _beyond(observed: float, chance: float) -> float | None:
    return None if chance >= 1 else (observed - chance) / (1 - chance)
