"""Months, seasons, weeks and weekdays as days of the calendar, and their English names."""

from __future__ import annotations

import calendar
from datetime import date

DateRange = tuple[date, date]
"""First and last day, inclusive."""
MONTHS = {
    name.lower(): i
    for names in (calendar.month_name, calendar.month_abbr)
    for i, name in enumerate(names)
    if name
} | {"sept": 9}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
WEEKDAYS = {name.lower(): i for i, name in enumerate(calendar.day_name)}
NUMBERS = {
    word: i
    for i, word in enumerate(
        "a one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2}
DAYS_IN_UNIT = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
ORDINALS = ("first", "second", "third", "fourth")
DAY_NUMBERS = (
    {
        name: str(tens + number)
        for tens, before in ((0, ""), (20, "twenty-"), (30, "thirty-"))
        for number, name in enumerate(
            [
                f"{before}{unit}"
                for unit in (*ORDINALS, "fifth", "sixth", "seventh", "eighth", "ninth")
            ],
            1,
        )
        if tens + number <= 31
    }
    | {
        name: str(number)
        for number, name in enumerate(
            "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth "
            "eighteenth nineteenth twentieth".split(),
            10,
        )
    }
    | {"thirtieth": "30"}
)
"""The numbers of days by their names."""
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
YEAR = r"(?:19|20)\d\d"
NUMBER = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
UNIT = r"(?P<u>day|week|fortnight|month|year)s?"
FEW = r"(?:a )?(?:few|several)|some"
"""Regular expressions for the name of a month, a year, a number ``n``, a unit ``u``, and some."""


def read_number(text: str) -> int:
    """Return a number in digits or one of the words of ``NUMBERS``."""
    return int(text) if text.isdigit() else NUMBERS[text.lower()]


def days_of_month(year: int, month: int) -> DateRange:
    """Return the first and the last day of a month."""
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def period_around(day: date, unit: str) -> DateRange:
    """Return the calendar day, week, month or year that contains a day; a year ends on that day."""
    if unit == "day":
        return day, day
    if unit == "week":
        start = shift(day, -day.weekday())
        return start, shift(start, 6)
    return days_of_month(day.year, day.month) if unit == "month" else (date(day.year, 1, 1), day)


def shift(day: date, days: int) -> date:
    """Add days, stopping at either end of the calendar."""
    number = day.toordinal() + days
    return date.fromordinal(min(max(number, 1), date.max.toordinal()))


def days_back(today: date, days: int) -> DateRange:
    """Return the one day that was so many days before."""
    return shift(today, -days), shift(today, -days)


def days_since(name: str, today: date) -> int:
    """Return how many days ago the latest weekday of a name before today was."""
    return (today.weekday() - WEEKDAYS[name.lower()]) % 7 or 7


def latest_weekend(today: date) -> DateRange:
    """Return the latest weekend that began before today."""
    saturday = shift(today, -days_since("saturday", today))
    return saturday, shift(saturday, 1)


def days_of_season(name: str, year: int) -> DateRange:
    """Return the three months of a season; a winter begins in December of the year."""
    first = SEASONS[name.lower()]
    start = days_of_month(year, first)[0]
    # A winter ends in the February of the next year.
    return start, days_of_month(start.year + (first == 12), (first + 1) % 12 + 1)[1]


def latest_season(name: str, today: date, *, over: bool) -> DateRange:
    """Return the latest season of a name that has begun, or that is ``over``."""
    for year in (today.year, today.year - 1):
        first, last = days_of_season(name, year)
        if (last < today) if over else (first <= today):
            return first, min(last, today)
    return days_of_season(name, today.year - 2)
