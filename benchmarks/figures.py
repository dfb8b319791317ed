"""One measured figure beside its goal, and the best that another system showed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured.

    Attributes:
        name: what, and at which size.
        value: in ``unit``; None when it could not be measured, with the reason in ``note``.
        goal: the most that it may be, or with ``at_least`` the least; None when there is no goal.
        peer: the best other system, as measured on a machine like the one that set the goals.
    """

    name: str
    value: float | None
    unit: str
    goal: float | None = None
    at_least: bool = False
    peer: str = ""
    note: str = ""

    @property
    def verdict(self) -> str:
        """``ok``, ``MISSED``, or nothing without a goal or a value."""
        if self.goal is None or self.value is None:
            return "" if self.goal is None else "not run"
        met = self.value >= self.goal if self.at_least else self.value <= self.goal
        return "ok" if met else "MISSED"


Bench = Callable[[], list[Figure]]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the others lie."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return percentile(values, 0.5)


def sync_page(file: BinaryIO) -> float:
    """Write a page, wait for the disk, and return the seconds that it took."""
    started = time.perf_counter()
    file.write(b"0" * 4096)
    file.flush()
    os.fsync(file.fileno())
    return time.perf_counter() - started
