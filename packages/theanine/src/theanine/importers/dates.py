"""Dates of imported histories: parsed strictly, or placed on a made-up calendar.

Turns without a time of their own stand one second after each other from their session's time,
closer where a second would carry them past midnight or into the next session. A date without a
time of day is taken as noon. Undated sessions get a made-up calendar: the first begins at
``start``, the next ones after the gap that the source tells (else a day), one minute a turn.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo

from theanine.errors import BadInput

DEFAULT_START = datetime(2000, 1, 1, tzinfo=UTC)
NOON = time(12)
ZONELESS = "dates without a zone"
DAY = timedelta(days=1)
TURN = timedelta(minutes=1)

_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "couple": 2,
    "three": 3,
    "few": 3,
    "several": 4,
}
_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}
_SPAN = re.compile(
    r"(?P<n>\d{1,4}|couple|few|several|one|two|three|an?)\s+(?:of\s+)?"
    r"(?P<unit>second|minute|hour|day|week|month|year)s?\b",
    re.IGNORECASE,
)


def check_date(at: datetime, where: str) -> datetime:
    """The time unchanged, once its year is one that a conversation can have (1900 to 2199)."""
    if not 1900 <= at.year <= 2199:
        raise BadInput(f"the year {at.year} can't be right; years 1900 to 2199 are taken", where)
    return at


def iso_time(text: str, where: str, zone: tzinfo | None) -> datetime:
    """An ISO 8601 date and time. One without an offset is read in ``zone``, refused without one."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(
            f'"{text[:40]}" is no ISO 8601 time; write it like 2024-05-08T13:56:00+02:00',
            where,
        ) from None
    if at.utcoffset() is None:
        if zone is None:
            raise BadInput(
                f'"{text[:40]}" has no UTC offset; write it like 2024-05-08T13:56:00+02:00, '
                "or name a time zone for the whole file",
                where,
            )
        at = at.replace(tzinfo=zone)
    return check_date(at, where)


def epoch_time(value: object, where: str) -> datetime:
    """Seconds since 1970 as an aware datetime in UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadInput("the time is no number of seconds since 1970", where)
    if abs(value) > 1e11:
        raise BadInput(f"the time {value:g} looks like milliseconds; seconds are expected", where)
    try:
        at = datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        raise BadInput(f"the time {value:g} is far off; seconds since 1970", where) from None
    return check_date(at, where)


def formatted_time(text: str, patterns: Sequence[str], where: str, zone: tzinfo) -> datetime:
    """A time written in one of the given ``strptime`` patterns, read in ``zone``."""
    for pattern in patterns:
        try:
            at = datetime.strptime(text.strip(), pattern).replace(tzinfo=zone)
        except ValueError:
            continue
        return check_date(at, where)
    shown = datetime(2023, 5, 8, 13, 56).strftime(patterns[0])
    raise BadInput(f'"{text[:40]}" is no date of this format; write it like {shown}', where)


def day_time(text: str, patterns: Sequence[str], where: str, zone: tzinfo) -> datetime:
    """A date without a time of day, as noon in ``zone``."""
    return datetime.combine(formatted_time(text, patterns, where, zone), NOON, zone)


def positions(start: datetime, count: int, before: datetime | None = None) -> list[datetime]:
    """Times of ``count`` turns from ``start``: a second apart, less near midnight or ``before``."""
    midnight = datetime.combine(start.date() + DAY, time(), start.tzinfo)
    limit = min(midnight, before) if before is not None and before > start else midnight
    step = min(timedelta(seconds=1), (limit - start) / (count + 1))
    return [start + i * step for i in range(count)]


def parse_duration(text: str) -> timedelta | None:
    """A length of time such as ``6 days 3 hours ago`` or ``A few weeks after``; None if none."""
    total, found = timedelta(), False
    for match in _SPAN.finditer(text):
        number = match["n"].lower()
        count = int(number) if number.isdecimal() else _NUMBERS[number]
        total, found = total + count * _UNITS[match["unit"].lower()], True
    return total if found else None


class Calendar:
    """Places undated sessions one after the other.

    Attributes:
        dated: whether the caller said when the first session was.
    """

    def __init__(self, start: datetime | None) -> None:
        self.dated = start is not None
        self._previous: datetime | None = None
        self._free = start or DEFAULT_START

    def place(self, count: int, gap: timedelta | None, where: str) -> list[datetime]:
        """Times of a session of ``count`` turns that begins ``gap`` after the one before it began.

        It never begins before the one before it has ended. The list holds at least one time.
        """
        try:
            wanted = self._previous + (gap or DAY) if self._previous else self._free
            begin = max(wanted, self._free)
            times = [begin + i * TURN for i in range(max(count, 1))]
        except OverflowError:
            raise BadInput("the gaps between its sessions are too long", where) from None
        check_date(times[-1], where)
        self._previous, self._free = begin, times[-1] + TURN
        return times
