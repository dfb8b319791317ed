"""A measure over all items, and over those of each category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from theanine_bench.metrics.intervals import Floats
from theanine_bench.samples import SampleResult

V = TypeVar("V", float, Floats)


def by_category(
    name: str, items: Sequence[SampleResult], of: Callable[[Sequence[int]], V], fewest: int = 1
) -> dict[str, V]:
    """``NAME``, and ``NAME/CATEGORY`` and their mean ``NAME/mean`` where there are several.

    Papers that report sessions 3 to 5 and the average of sessions mean ``NAME/mean``. ``of`` is
    given rows of ``items``, and gives a value of them or one of each resample. The categories are
    left out where one has fewer than ``fewest`` items. Empty without items.
    """
    if not items:
        return {}
    found = {name: of(range(len(items)))}
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(items):
        rows.setdefault(item.category, []).append(row)
    if len(rows) > 1 and min(map(len, rows.values())) >= fewest:
        each = {category: of(rows[category]) for category in sorted(rows)}
        found |= {f"{name}/{category}": value for category, value in each.items()}
        found[f"{name}/mean"] = reduce(lambda one, other: one + other, each.values()) / len(each)
    return found
