"""Repeating what failed for the moment: one loop, and one reading of ``Retry-After``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf
from random import Random
from typing import TypeVar

import anyio

from theanine.clock import system_clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that failed.

    Attributes:
        passing: whether another attempt may succeed.
        wait: seconds that the other side asked to wait; None if it didn't.
        seconds: how long the attempt took.
        attempts: how many there were so far.
    """

    error: Exception
    passing: bool = True
    wait: float | None = None
    seconds: float = 0.0
    attempts: int = 1


async def repeat(
    attempt: Callable[[float], Awaitable[T | Failure]],
    *,
    attempts: int,
    first_wait: float,
    max_wait: float,
    patience: float = inf,
    rng: Random,
) -> T | Failure:
    """Return the first result of an attempt, or the last failure.

    Pauses grow exponentially with full jitter, and last at least as long as the other side asked.

    Args:
        attempt: is given the seconds that attempts and pauses took so far.
        attempts: the most, at least 1.
        first_wait: upper bound of the first pause in seconds; doubles each time.
        max_wait: longest pause, whatever the other side asks.
        patience: seconds for all attempts and pauses.
    """
    elapsed, number = 0.0, 1
    while True:
        result = await attempt(elapsed)
        if not isinstance(result, Failure):
            return result
        jittered = rng.uniform(0, first_wait * 2 ** (number - 1))
        pause = min(max_wait, max(jittered, result.wait or 0.0))
        elapsed += result.seconds + pause
        if not result.passing or number >= attempts or elapsed >= patience:
            return replace(result, attempts=number)
        await anyio.sleep(pause)
        number += 1


def read_retry_after(header: str, date: str | None = None) -> float | None:
    """Return the seconds of a ``Retry-After`` (RFC 9110): a number or a date; None for neither.

    Args:
        date: the ``Date`` of the same answer, against which a date counts: clocks differ. Without
            it, this machine's clock counts.
    """
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    if (until := _read_date(text)) is None:
        return None
    now = _read_date(date) if date else None
    return max((until - (now or system_clock())).total_seconds(), 0.0)


def _read_date(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
