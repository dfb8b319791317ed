"""The metadata of numbered rows, for masks: equal metadata is kept once."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from theanine.filters import Filter
from theanine.retrieval.growing_array import GrowingArray
from theanine.types import Metadata


class MetadataColumn:
    """Metadata by number. Numbers up to ``last`` that were not added have none.

    Attributes:
        last: the highest number whose metadata is known.
    """

    def __init__(self) -> None:
        self.last = 0
        self._numbers: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._codes: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._distinct: list[Metadata] = [{}]
        self._code_of: dict[str, int] = {"{}": 0}

    def extend(self, rows: Iterable[tuple[int, Metadata]], last: int) -> None:
        """Add rows in order of their numbers, which are above ``self.last`` and up to ``last``."""
        added = [(number, self._code(metadata)) for number, metadata in rows if metadata]
        self._numbers.extend([number for number, _ in added])
        self._codes.extend([code for _, code in added])
        self.last = last

    def _code(self, metadata: Metadata) -> int:
        text = json.dumps(dict(metadata))
        if text not in self._code_of:
            self._code_of[text] = len(self._distinct)
            self._distinct.append(metadata)
        return self._code_of[text]

    def mask(self, numbers: NDArray[np.int64], where: Filter) -> NDArray[np.bool_]:
        """Return which numbers have metadata that matches; unknown ones don't."""
        matching = np.array([where.matches(metadata) for metadata in self._distinct])
        codes = np.zeros(len(numbers), np.int64)
        if len(self._numbers):
            places = np.searchsorted(self._numbers.values, numbers)
            places = np.minimum(places, len(self._numbers) - 1)
            added = self._numbers.values[places] == numbers
            codes[added] = self._codes.values[places[added]]
        return matching[codes] & (numbers <= self.last)
