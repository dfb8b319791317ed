"""The clock port: code takes the present time from a ``Clock``, never from ``now()``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from theanine.errors import SettingsError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Clock = Callable[[], datetime]
"""Returns the present time as an aware datetime."""


def system_clock() -> datetime:
    """Return the machine's time in UTC."""
    return datetime.now(UTC)


def micros(at: datetime) -> int:
    """Return the microseconds since 1970-01-01 UTC."""
    return (at - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """Return the aware UTC datetime of a number of microseconds (see :func:`micros`)."""
    return _EPOCH + timedelta(microseconds=value)


def load_zone(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name, such as ``Europe/Zagreb``. Raises SettingsError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(
            f"unknown time zone {name!r}; name one such as Europe/Zagreb"
        ) from error
