"""An array that grows by appending rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

N = TypeVar("N", bound=np.generic)


class GrowingArray(Generic[N]):
    """Grows by doubling: appending rows one at a time takes linear time in total."""

    __slots__ = ("_buffer", "_length", "_reserved")

    def __init__(self, dtype: DTypeLike, rows: ArrayLike = ()) -> None:
        self._buffer: NDArray[Any] = np.array(rows, dtype)
        self._length = len(self._buffer)
        self._reserved = 0

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[N]:
        """All rows, read-only by convention; stale once rows are added."""
        return self._buffer[: self._length]

    def restore(self, rows: NDArray[N]) -> None:
        """Replace all rows by a copy of others."""
        self._buffer, self._length = np.array(rows, self._buffer.dtype), len(rows)

    def reserve(self, rows: int) -> None:
        """Announce the total number of rows, so that space for them is allocated at once."""
        self._reserved = rows

    def extend(self, rows: ArrayLike) -> None:
        """Append rows; the first ones set the width."""
        added = np.asarray(rows, self._buffer.dtype)
        if not len(added):
            return
        length = self._length + len(added)
        if length > len(self._buffer):
            capacity = max(length, 2 * len(self._buffer), self._reserved)
            buffer = np.empty((capacity, *added.shape[1:]), self._buffer.dtype)
            if self._length:
                buffer[: self._length] = self.values
            self._buffer = buffer
        self._buffer[self._length : length] = added
        self._length = length


def array_state(owner: object) -> dict[str, Any]:
    """Return the rows of an object's growing arrays, by attribute."""
    return {name: array.values for name, array in _arrays(owner)}


def restore_arrays(owner: object, state: Mapping[str, Any]) -> None:
    """Restore an object's growing arrays from :func:`array_state`."""
    for name, array in _arrays(owner):
        array.restore(state[name])


def _arrays(owner: object) -> Iterator[tuple[str, GrowingArray[Any]]]:
    for name, value in vars(owner).items():
        if isinstance(value, GrowingArray):
            yield name, cast("GrowingArray[Any]", value)
