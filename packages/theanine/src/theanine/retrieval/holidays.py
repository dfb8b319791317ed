"""Holidays by their names, with the days that they have in a year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.calendar_days import (
    YEAR,
    DateRange,
    shift,
)

HOLIDAYS: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "christmas eve": ((12, 24), (12, 24)),
    "christmas day": ((12, 25), (12, 25)),
    "christmas": ((12, 24), (12, 26)),
    "boxing day": ((12, 26), (12, 26)),
    "new year's eve": ((12, 31), (12, 31)),
    "new year's day": ((1, 1), (1, 1)),
    "new year's": ((1, 1), (1, 1)),
    "new year": ((1, 1), (1, 1)),
    "valentine's day": ((2, 14), (2, 14)),
    "valentine's": ((2, 14), (2, 14)),
    "st patrick's day": ((3, 17), (3, 17)),
    "halloween": ((10, 31), (10, 31)),
}
"""Month and day on which a holiday begins and ends."""
MOVABLE_HOLIDAYS = {
    "good friday": (-2, -2),
    "easter sunday": (0, 0),
    "easter monday": (1, 1),
    "easter": (-2, 1),
    "pentecost": (49, 50),
    "whitsun": (49, 50),
}
"""The first and last day of a holiday, counted from the Sunday of Easter."""
HOLIDAY_NAMES = "|".join([*HOLIDAYS, *MOVABLE_HOLIDAYS]).replace("'", "[’']")
HOLIDAY = lazy_pattern(
    rf"\b(?P<l>last )?(?P<h>{HOLIDAY_NAMES}|"
    rf"thanksgiving(?: day)?)\b(?:,? (?:in |of )?(?P<y>{YEAR})\b)?",
    re.IGNORECASE,
)


def days_of_holiday(
    match: re.Match[str], years: Sequence[int], today: date | None
) -> tuple[DateRange, ...]:
    """Return the days of a holiday in its year, or in each of ``years``."""
    name = match["h"].lower().replace("’", "'")
    chosen = [int(match["y"])] if match["y"] else list(years)
    if match["l"] and today:
        chosen = [today.year, today.year - 1]
    result: list[DateRange] = []
    for year in chosen:
        if name in MOVABLE_HOLIDAYS:
            sunday, (first, last) = _easter(year), MOVABLE_HOLIDAYS[name]
            result.append((shift(sunday, first), shift(sunday, last)))
        elif name not in HOLIDAYS:  # the fourth Thursday of November
            begin = date(year, 11, 1)
            thursday = shift(begin, (3 - begin.weekday()) % 7 + 21)
            result.append((thursday, thursday))
        else:
            first_day, last_day = HOLIDAYS[name]
            result.append((date(year, *first_day), date(year, *last_day)))
    if match["l"] and today:
        result = [days for days in result if days[0] <= today][:1]
    return tuple(result)


def _easter(year: int) -> date:
    """Return the Sunday of Easter (Anonymous Gregorian algorithm)."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)
