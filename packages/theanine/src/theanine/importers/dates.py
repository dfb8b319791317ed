"""Dates of imported histories: strict parsing, and a synthetic calendar for undated ones.

Turns without times of their own follow each other by one second from the start of their session,
or closer, so that they end before midnight and before the next session. A date without a time of
day is read as noon. Undated sessions are put on a synthetic calendar: the first starts at
``start``, each other after the gap in the source (default: a day), and a turn takes a minute.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo

from theanine.clock import fault_of_time
from theanine.errors import BadInput

DEFAULT_START = datetime(2000, 1, 1, tzinfo=UTC)
NOON = time(12)
DAY = timedelta(days=1)
TURN = timedelta(minutes=1)

_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "several": 4}
_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}
_DURATION = re.compile(
    r"(?P<n>\d{1,4}|couple|few|several|one|two|three|an?)\s+(?:of\s+)?"
    r"(?P<unit>second|minute|hour|day|week|month|year)s?\b",
    re.IGNORECASE,
)


def check_date(at: datetime, where: str) -> datetime:
    """Return a time if its year and its UTC offset can be right. Raises BadInput for others."""
    if fault := fault_of_time(at):
        raise BadInput(f"the time {fault}", where)
    return at


def iso_time(text: str, where: str, zone: tzinfo | None) -> datetime:
    """Parse an ISO 8601 time. Without an offset it is in ``zone``, or an error if that is None."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(
            f'"{text[:40]}" is not an ISO 8601 time; write it like 2024-05-08T13:56:00+02:00', where
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


def has_offset(text: str) -> bool:
    """Return whether a time in ISO 8601 ends with a UTC offset."""
    return re.search(r"(?:Z|[+-]\d\d(?::?\d\d){0,2})$", text.strip()[10:]) is not None


def iso_date_time(text: str, where: str, zone: tzinfo) -> datetime:
    """Parse a date as :func:`iso_time`; one without a time of day is noon. Raises BadInput."""
    text = re.sub(r"\s(?=[Z+-])|,|(?<= )at ", "", text)
    at = iso_time(text, where, zone)
    return at if ":" in text else datetime.combine(at, NOON, zone)


def formatted_time(text: str, patterns: Sequence[str], where: str, zone: tzinfo) -> datetime:
    """Parse a time in one of several ``strptime`` patterns; one without hours gives noon.

    Raises BadInput.
    """
    for pattern in patterns:
        try:
            at = datetime.strptime(text.strip(), pattern).replace(tzinfo=zone)
        except ValueError:
            continue
        if not any(hour in pattern for hour in ("%H", "%I")):
            at = datetime.combine(at, NOON, zone)
        return check_date(at, where)
    example = datetime(2023, 5, 8, 13, 56).strftime(patterns[0])
    raise BadInput(f'"{text[:40]}" is not a date of this format; write it like {example}', where)


def positions(start: datetime, count: int, before: datetime | None = None) -> list[datetime]:
    """Return times of ``count`` turns from ``start``, all before midnight and ``before``.

    They are a second apart, or less if that doesn't fit.
    """
    midnight = datetime.combine(start.date() + DAY, time(), start.tzinfo)
    limit = min(midnight, before) if before is not None and before > start else midnight
    step = min(timedelta(seconds=1), (limit - start) / (count + 1))
    return [start + i * step for i in range(count)]


def parse_duration(text: str) -> timedelta | None:
    """Parse durations such as ``6 days 3 hours ago`` or ``A few weeks after``; None if none."""
    durations: list[timedelta] = []
    for match in _DURATION.finditer(text):
        number = match["n"].lower()
        count = int(number) if number.isdecimal() else _NUMBERS[number]
        durations.append(count * _UNITS[match["unit"].lower()])
    return sum(durations, timedelta()) if durations else None


class Calendar:
    """Gives times to undated sessions, one after the other.

    Attributes:
        dated: whether the caller gave the date of the first session.
    """

    def __init__(self, start: datetime | None) -> None:
        self.dated = start is not None
        self._previous: datetime | None = None
        self._free = start or DEFAULT_START

    def place(self, count: int, gap: timedelta | None, where: str) -> list[datetime]:
        """Return times of a session of ``count`` turns, but at least one time.

        It starts ``gap`` after the start of the previous session, but not before its end.
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
