"""A metric over all results, over those of each category, and the mean of the categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from theanine_bench.samples import SampleResult
from theanine_bench.statistics.intervals import Floats

V = TypeVar("V", float, Floats)


def by_category(
    name: str,
    results: Sequence[SampleResult],
    compute: Callable[[Sequence[int]], V],
    min_size: int = 1,
) -> dict[str, V]:
    """Return ``NAME`` and, with several categories, ``NAME/CATEGORY`` and ``NAME/mean`` of those.

    Papers that report sessions 3 to 5 and their average mean ``NAME/mean``. ``compute`` takes
    indexes of ``results`` and returns a value, or one a resample. Categories are left out if one
    has fewer than ``min_size`` results. Empty without results.
    """
    if not results:
        return {}
    values = {name: compute(range(len(results)))}
    categories: dict[str, list[int]] = {}
    for index, result in enumerate(results):
        categories.setdefault(result.category, []).append(index)
    if len(categories) > 1 and min(map(len, categories.values())) >= min_size:
        each = {category: compute(categories[category]) for category in sorted(categories)}
        values |= {f"{name}/{category}": value for category, value in each.items()}
        values[f"{name}/mean"] = reduce(lambda a, b: a + b, each.values()) / len(each)
    return values
