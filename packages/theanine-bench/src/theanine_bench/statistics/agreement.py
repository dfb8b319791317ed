"""Inter-rater agreement, for people and judging models alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import chain, permutations, product
from typing import TypeVar

Label = TypeVar("Label", bound=Hashable)


def majority(labels: Sequence[Label]) -> Label | None:
    """Return the label that more than half of the raters chose, or None.

    Raises ValueError without labels.
    """
    if not labels:
        raise ValueError("nobody rated it, so there is no majority")
    label, votes = Counter(labels).most_common(1)[0]
    return label if 2 * votes > len(labels) else None


def observed_agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return the share of items that two raters labeled alike, 0 to 1.

    Raises ValueError without items and for sequences of different lengths.
    """
    pairs = list(zip(first, second, strict=True))
    if not pairs:
        raise ValueError("two raters of nothing neither agree nor disagree")
    return sum(a == b for a, b in pairs) / len(pairs)


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa (1960) of two raters: at most 1, 0 for chance, at worst -1.

    None if both gave every item the same single label, where chance alone agrees fully. Raises as
    :func:`observed_agreement`.
    """
    observed, items = observed_agreement(first, second), len(first)
    first_counts, second_counts = Counter(first), Counter(second)
    expected = sum(n * second_counts[label] for label, n in first_counts.items()) / items**2
    return _beyond_chance(observed, expected)


def fleiss_kappa(ratings: Sequence[Sequence[Hashable]]) -> float | None:
    """Return Fleiss' kappa (1971) of any number of raters, who may differ from item to item.

    Args:
        ratings: the labels of each item, equally many for all and at least two.

    Returns None if there is only one label in all. Raises ValueError for other ``ratings``.
    """
    numbers = {len(labels) for labels in ratings}
    if len(numbers) != 1 or min(numbers) < 2:
        raise ValueError(
            "Fleiss' kappa needs items that were all rated by the same number of raters, two or "
            f"more; there are items with {', '.join(map(str, sorted(numbers))) or 'none'}"
        )
    [raters] = numbers
    counts = [Counter(labels) for labels in ratings]
    agreeing = sum(n * (n - 1) for count in counts for n in count.values())
    observed = agreeing / (len(ratings) * raters * (raters - 1))
    totals = Counter(chain.from_iterable(ratings))
    expected = sum((n / totals.total()) ** 2 for n in totals.values())
    return _beyond_chance(observed, expected)


def unequal(a: Hashable, b: Hashable) -> float:
    """Return the difference of two labels on a nominal scale, 0 or 1, for alpha."""
    return float(a != b)


def squared_difference(a: float, b: float) -> float:
    """Return the difference of two points on an interval scale, for alpha."""
    return (a - b) ** 2


def krippendorff_alpha(
    ratings: Sequence[Sequence[Label]], difference: Callable[[Label, Label], float] = unequal
) -> float | None:
    """Return Krippendorff's alpha (2011): 1 for agreement, 0 for chance, below for disagreement.

    Args:
        ratings: the labels of each item, also of different numbers; items with fewer than two
            count for nothing.
        difference: of two labels, 0 for equal ones.

    Returns None without two labels of an item, and if there is only one label in all.
    """
    paired = [labels for labels in ratings if len(labels) > 1]
    counts = Counter(chain.from_iterable(paired))
    observed = sum(
        sum(difference(a, b) for a, b in permutations(labels, 2)) / (len(labels) - 1)
        for labels in paired
    )
    expected = sum(
        n * m * difference(a, b) for (a, n), (b, m) in product(counts.items(), repeat=2)
    ) / max(counts.total() - 1, 1)
    return 1 - observed / expected if expected else None


def _beyond_chance(observed: float, expected: float) -> float | None:
    return None if expected >= 1 else (observed - expected) / (1 - expected)
