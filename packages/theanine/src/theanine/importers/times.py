"""Times in any writing: numbers of any unit, ISO 8601, or dates in words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import cast

from theanine.clock import fault_of_time
from theanine.importers.dates import NOON, has_offset
from theanine.importers.written_dates import find_date, offset_of, written_time

_CLOCK = re.compile(
    r"[-_T @]+([01]\d|2[0-3])[-_.:h]?([0-5]\d)(?:[-_.:m]?([0-5]\d))?(?!\d|p(?![a-z]))"
)
"""The time of day after the date in a file's name; 1440p is the height of a picture."""
_LONGEST = 80
"""Characters of a time in words."""


def any_time(value: object, zone: tzinfo) -> datetime | None:
    """Return a time in any writing, aware; None for what is no time.

    Numbers are seconds, milliseconds, microseconds or nanoseconds since 1970, by their size.
    Objects are those of MongoDB (``$date``) and of protocol buffers (``seconds``).
    """
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        for name in ("$date", "$numberLong", "seconds", "_seconds", "iso", "value", "timestamp"):
            if name in fields:
                return any_time(fields[name], zone)
        return None
    if isinstance(value, str):
        text = unicodedata.normalize("NFKC", value).strip()
        if re.fullmatch(r"-?\d{9,19}(?:\.\d+)?", text):
            return any_time(float(text), zone)
        return _iso(text, zone) or _in_words(text, zone)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    seconds = float(value)
    while abs(seconds) > 1e11:
        seconds /= 1000
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return at if seconds > 1e8 and not fault_of_time(at) else None


def is_zoneless(value: object) -> bool:
    """Return whether a time is written without a UTC offset or a known zone."""
    if not isinstance(value, str) or re.fullmatch(r"-?[\d.]+", value.strip()):
        return False
    return not (has_offset(value) or offset_of(value.strip()))


def _iso(text: str, zone: tzinfo) -> datetime | None:
    try:
        at = datetime.fromisoformat(re.sub(r"\s(?=[Z+-]\d*:?\d*$)|\sUTC$", "", text))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC if text.endswith("UTC") else zone)
    return None if fault_of_time(at) else at if ":" in text or "T" in text else _noon(at)


def _noon(at: datetime) -> datetime:
    return datetime.combine(at, NOON, at.tzinfo)


def _in_words(text: str, zone: tzinfo) -> datetime | None:
    at = written_time(text, zone) if len(text) <= _LONGEST else None
    return None if at is None or fault_of_time(at) else at


def time_in_name(name: str, zone: tzinfo) -> datetime | None:
    """Return the date in a file's name, such as ``GMT20240513-195600_Recording``; None if none."""
    if match := re.search(r"(?<!\d)1[0-9]{12}(?!\d)", name):
        return any_time(int(match[0]), zone)
    found = find_date(name)
    if not found or not found.year or found.swappable or str(found.year) not in name:
        return None
    start, end = found.span
    clock = _CLOCK.match(name, end)
    hours = [int(each or 0) for each in clock.groups()] if clock else [12]
    zone = UTC if re.search(r"GMT|UTC", name[: start + 3]) else zone
    at = datetime(found.year, found.month, found.day, *hours, tzinfo=zone)
    return None if fault_of_time(at) else at
