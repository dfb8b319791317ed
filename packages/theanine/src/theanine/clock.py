"""Where the present time comes from: a port, so that no logic calls ``now()`` by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Clock = Callable[[], datetime]
"""Gives the present time as an aware datetime."""


def system_clock() -> datetime:
    """The machine's time, in UTC."""
    return datetime.now(UTC)


def micros(at: datetime) -> int:
    """Microseconds since 1970 UTC."""
    return (at - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The aware UTC datetime of :func:`micros`."""
    return _EPOCH + timedelta(microseconds=value)
