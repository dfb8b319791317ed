"""How much of a memory is left: Ebbinghaus' curve in days, as MemoryBank has it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import exp

_DAY = timedelta(days=1)


def retention(days: float, strength: int) -> float:
    """exp(-days / strength): 1 at once, and less with every day; slower the stronger it is.

    ``days`` since it was said or last recalled, below 0 counts as 0; ``strength`` is 1 or more.
    """
    return exp(-max(0.0, days) / strength)


def retained(said: datetime, recalls: Sequence[datetime], now: datetime) -> float:
    """What is left ``now`` of something said then: 0 to 1.

    Its strength is 1 and a further 1 for each recall until now; days count from the last of them.
    ``recalls`` are ascending; those after ``now`` do not count.
    """
    past = bisect_right(recalls, now)
    last = max(said, recalls[past - 1]) if past else said
    return retention((now - last) / _DAY, 1 + past)
