"""The clock port: code takes the present time from a ``Clock``, never from ``now()``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from theanine.errors import SettingsError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

FIRST_YEAR, LAST_YEAR = 1900, 2199
"""Years of stored times; others are errors in the source, such as milliseconds read as seconds."""
MAX_OFFSET = timedelta(hours=18)
"""Largest UTC offset of a stored time; those of all zones and times are smaller."""

Clock = Callable[[], datetime]
"""Returns the present time as an aware datetime."""


def system_clock() -> datetime:
    """Return the machine's time in UTC."""
    return datetime.now(UTC)


def micros(at: datetime) -> int:
    """Return the microseconds since 1970-01-01 UTC."""
    return (at - _EPOCH) // _MICROSECOND


_FIRST = micros(datetime(1, 1, 2, tzinfo=UTC))
_LAST = micros(datetime(9999, 12, 30, tzinfo=UTC))


def duration_micros(duration: timedelta) -> int:
    """Return a duration in microseconds."""
    return duration // _MICROSECOND


def moment(value: int) -> datetime:
    """Return the aware UTC datetime of a number of microseconds (see :func:`micros`).

    Numbers that no datetime has, which only a damaged store holds, give the first or last day.
    """
    return _EPOCH + timedelta(microseconds=min(max(value, _FIRST), _LAST))


def fault_of_time(at: datetime) -> str:
    """Return why an aware datetime can't be right, such as "is in the year 3000"; else empty."""
    try:
        year = at.astimezone(UTC).year
    except OverflowError:  # at the ends of datetime's range
        year = at.year
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return f"is in the year {year}; it must be from {FIRST_YEAR} to {LAST_YEAR}"
    if abs(at.utcoffset() or timedelta()) > MAX_OFFSET:
        return f"has the UTC offset {at:%z}; the maximum is 18 hours"
    return ""


def load_zone(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name, such as ``Europe/Zagreb``. Raises SettingsError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(
            f"unknown time zone {name!r}; name one such as Europe/Zagreb"
        ) from error


def find_zone(name: str | None) -> ZoneInfo | None:
    """Return a stored time zone; None if there is none or this machine's data lacks it."""
    try:
        return load_zone(name) if name else None
    except SettingsError:
        return None
