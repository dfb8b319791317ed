"""Rows of numbers that keep arriving, in one array with room to spare."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

N = TypeVar("N", bound=np.generic)


class Rows(Generic[N]):
    """Grows by doubling, so that adding rows one by one costs no more than adding them at once."""

    def __init__(self, kind: DTypeLike, first: ArrayLike = ()) -> None:
        self._room: NDArray[Any] = np.array(first, kind)
        self._filled = len(self._room)

    def __len__(self) -> int:
        return self._filled

    @property
    def all(self) -> NDArray[N]:
        """Every row; not to be written to, and stale once rows are added."""
        return self._room[: self._filled]

    def extend(self, rows: ArrayLike) -> None:
        """Add rows behind the last. The first decide on the width."""
        added = np.asarray(rows, self._room.dtype)
        if not len(added):
            return
        need = self._filled + len(added)
        if need > len(self._room):
            room = np.empty((max(need, 2 * len(self._room)), *added.shape[1:]), self._room.dtype)
            room[: self._filled] = self._room[: self._filled] if self._filled else 0
            self._room = room
        self._room[self._filled : need] = added
        self._filled = need
