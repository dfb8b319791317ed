"""Retention of a memory: Ebbinghaus' forgetting curve in days, as in the MemoryBank paper."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import exp

_DAY = timedelta(days=1)


def retention(days: float, strength: int) -> float:
    """Return ``exp(-days / strength)``, 0 to 1.

    ``days`` since it was said or last recalled; below 0 they count as 0. ``strength`` is 1 or more.
    """
    return exp(-max(0.0, days) / strength)


def retained(said_at: datetime, recalls: Sequence[datetime], now: datetime) -> float:
    """Return the retention at ``now`` of something said at ``said_at``.

    The strength is 1, and 1 more for each recall until ``now``; days count from the last of them.
    ``recalls`` are ascending.
    """
    past = bisect_right(recalls, now)
    last = max(said_at, recalls[past - 1]) if past else said_at
    return retention((now - last) / _DAY, 1 + past)
