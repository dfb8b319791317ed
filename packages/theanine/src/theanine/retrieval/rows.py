"""Rows of numbers that keep arriving, in one array with room to spare."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

N = TypeVar("N", bound=np.generic)


class GrowingArray(Generic[N]):
    """Grows by doubling, so that adding rows one by one costs no more than adding them at once."""

    def __init__(self, kind: DTypeLike, first: ArrayLike = ()) -> None:
        self._room: NDArray[Any] = np.array(first, kind)
        self._filled = len(self._room)
        self._expected = 0

    def __len__(self) -> int:
        return self._filled

    @property
    def values(self) -> NDArray[N]:
        """Every row; not to be written to, and stale once rows are added."""
        return self._room[: self._filled]

    def reserve(self, rows: int) -> None:
        """How many rows there will soon be: room for them is made at once."""
        self._expected = rows

    def extend(self, rows: ArrayLike) -> None:
        """Add rows behind the last. The first decide on the width."""
        added = np.asarray(rows, self._room.dtype)
        if not len(added):
            return
        need = self._filled + len(added)
        if need > len(self._room):
            self._grow(max(need, 2 * len(self._room), self._expected), added.shape[1:])
        self._room[self._filled : need] = added
        self._filled = need

    def _grow(self, rows: int, width: tuple[int, ...]) -> None:
        room = np.empty((rows, *width), self._room.dtype)
        if self._filled:
            room[: self._filled] = self.values
        self._room = room
