"""A compact index of the links between memories: a few bytes for each link."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.graph import Pair
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.scoring import concatenated_ranges
from theanine.types import Link, Relation

_RELATIONS = (None, *Relation)
_NAMES = [str(relation) for relation in _RELATIONS]


class LinkIndex:
    """Pairs of linked memories and their relations; what else a link says stays in the store."""

    def __init__(self) -> None:
        # In order of the newer memory, then of the older one.
        self._newer: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._older: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._relations: GrowingArray[np.int8] = GrowingArray(np.int8)
        self._by_older: NDArray[np.int64] | None = None  # the order of the pairs by older memory

    def extend(self, links: Iterable[Link]) -> None:
        """Add links by newer and older memory; no newer one may have been added before."""
        rows = [(link.newer, link.older, _RELATIONS.index(link.relation)) for link in links]
        if rows:
            newer, older, relations = zip(*rows, strict=True)
            self._newer.extend(newer)
            self._older.extend(older)
            self._relations.extend(relations)
            self._by_older = None

    def neighbors(self, memory: int) -> list[tuple[int, Relation | None]]:
        """Return what a memory is linked with, first older memories, and how."""
        if self._by_older is None:
            self._by_older = np.argsort(self._older.values, kind="stable")
        older, newer = self._older.values, self._newer.values
        own = slice(*np.searchsorted(newer, [memory, memory + 1]).tolist())
        places = slice(
            *np.searchsorted(older, [memory, memory + 1], sorter=self._by_older).tolist()
        )
        others = self._by_older[places]
        numbers: list[int] = [*older[own].tolist(), *newer[others].tolist()]
        codes = [*self._relations.values[own].tolist(), *self._relations.values[others].tolist()]
        return [(number, _RELATIONS[code]) for number, code in zip(numbers, codes, strict=True)]

    def among(self, memories: Collection[int]) -> dict[Pair, Relation | None]:
        """Return the relations of some memories to each other, by older and newer memory."""
        numbers = np.sort(np.fromiter(memories, np.int64, len(memories)))
        starts, ends = np.searchsorted(self._newer.values, [numbers, numbers + 1])
        within = concatenated_ranges(starts, ends - starts)
        older = self._older.values[within]
        places = np.searchsorted(numbers, older)
        within = within[numbers.take(places, mode="clip") == older] if len(numbers) else within
        columns = (self._older.values, self._newer.values, self._relations.values)
        rows = zip(*(column[within].tolist() for column in columns), strict=True)
        return {(older, newer): _RELATIONS[code] for older, newer, code in rows}

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        return array_state(self) | {"relations": _NAMES}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the links of another index."""
        restore_arrays(self, state)
        codes = [_NAMES.index(name) for name in state["relations"]]
        self._relations.restore(np.array(codes, np.int8)[state["_relations"]])
