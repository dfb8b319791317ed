"""Finds the days that a question names: dates, months, seasons, years, "last week", "two days ago".

English wording and ISO dates. What it does not understand, it leaves alone.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

DateRange = tuple[date, date]
"""First and last day, both included."""

_MONTHS = {
    name.lower(): i
    for names in (calendar.month_name, calendar.month_abbr)
    for i, name in enumerate(names)
    if name
} | {"sept": 9}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_WEEKDAYS = {name.lower(): i for i, name in enumerate(calendar.day_name)}
_NUMBERS = {
    word: i
    for i, word in enumerate(
        "a one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2}

_M = "|".join(sorted(_MONTHS, key=len, reverse=True))
_Y = r"(?:19|20)\d\d"
_D = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = r"(?P<u>day|week|month|year)s?"
_NAMED = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?P<y>{_Y})-(?P<m>\d\d)-(?P<d>\d\d)\b",
        rf"\b(?P<m>{_M})\.? {_D}(?:,? (?P<y>{_Y}))?\b(?! ?%)",
        rf"\b{_D} (?:of )?(?P<m>{_M})\b(?:,? (?P<y>{_Y})\b)?",
        rf"\b(?P<m>{_M}),? (?P<y>{_Y})\b",
        rf"\b(?P<s>{'|'.join(_SEASONS)})(?: of)?,? (?P<y>{_Y})\b",
        rf"\b(?:in|during|by|since|of|until|early|late|mid|last|this)[ -](?:early |late |mid-?)?"
        rf"(?P<m>{_M})\b",
        rf"\b(?:in|during|of|since|by|from) (?P<y>{_Y})\b",
    )
]
_AGO = re.compile(rf"\b{_N} {_UNIT} ago\b", re.IGNORECASE)
_PAST = re.compile(rf"\b(?:last|past) (?:{_N} )?{_UNIT}\b", re.IGNORECASE)
_THIS = re.compile(r"\bthis (?P<u>week|month|year)\b", re.IGNORECASE)
_DAY = re.compile(rf"\b(?P<l>last )?(?P<w>{'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_SINGLE = re.compile(r"\b(?P<b>the day before )?(?P<w>yesterday|today)\b", re.IGNORECASE)
_ANY = re.compile(
    rf"\d\d|\b(?:{_M}|{'|'.join([*_SEASONS, *_WEEKDAYS])}|ago|last|past|this|yesterday|today)\b",
    re.IGNORECASE,
)
"""A question without any of these names no day; most are told so at once."""
_LENGTH = {"day": 1, "week": 7, "month": 30, "year": 365}


def find_date_ranges(
    question: str, years: Sequence[int] = (), today: date | None = None
) -> list[DateRange]:
    """The stretches of days that a question names.

    ``years`` are tried where it names none; without ``today`` what counts from it is passed over.
    """
    if not _ANY.search(question):
        return []
    found: list[DateRange] = []
    taken: list[tuple[int, int]] = []
    for pattern in _NAMED:
        for match in pattern.finditer(question):
            if all(match.end() <= start or end <= match.start() for start, end in taken):
                taken.append(match.span())
                found += _named(match, years)
    return found if today is None else found + list(_relative(question, today, taken))


def _named(match: re.Match[str], years: Iterable[int]) -> Iterator[DateRange]:
    parts = match.groupdict()
    named = parts.get("y")
    for year in [int(named)] if named else years:
        if parts.get("s"):
            first = _SEASONS[parts["s"].lower()]
            start = _month(year, first)[0]
            yield start, _month(start.year + (first == 12), (first + 1) % 12 + 1)[1]
        elif not parts.get("m"):
            yield date(year, 1, 1), date(year, 12, 31)
        else:
            month = parts["m"].lower()
            number = int(month) if month.isdigit() else _MONTHS[month]
            if not 1 <= number <= 12:
                continue
            whole = _month(year, number)
            if not parts.get("d"):
                yield whole
            elif 1 <= int(parts["d"]) <= whole[1].day:
                yield _one(date(year, number, int(parts["d"])))


def _relative(question: str, today: date, taken: Sequence[tuple[int, int]]) -> Iterator[DateRange]:
    for match in _AGO.finditer(question):
        length = _LENGTH[match["u"].lower()]
        centre = _back(today, _count(match["n"]) * length)
        # A week ago is a day or two around it; a year ago, weeks.
        slack = timedelta(length // 3)
        yield _plus(centre, -slack), min(_plus(centre, slack), today)
    for match in _PAST.finditer(question):
        length = _LENGTH[match["u"].lower()]
        if match["n"]:
            yield _back(today, _count(match["n"]) * length), today
        else:
            yield _before(today, match["u"].lower())
    for match in _THIS.finditer(question):
        yield _within(today, match["u"].lower())[0], today
    for match in _DAY.finditer(question):
        if all(match.end() <= start or end <= match.start() for start, end in taken):
            ahead = (today.weekday() - _WEEKDAYS[match["w"].lower()]) % 7
            yield _one(_back(today, ahead or 7))
    for match in _SINGLE.finditer(question):
        back = (match["w"].lower() == "yesterday") + bool(match["b"])
        yield _one(_back(today, back))


def _count(number: str) -> int:
    return int(number) if number.isdigit() else _NUMBERS[number.lower()]


def _month(year: int, month: int) -> DateRange:
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _within(day: date, unit: str) -> DateRange:
    """The calendar day, week, month or year that a day is in."""
    if unit == "day":
        return day, day
    if unit == "week":
        start = _back(day, day.weekday())
        return start, _plus(start, timedelta(6))
    return _month(day.year, day.month) if unit == "month" else (date(day.year, 1, 1), day)


def _before(day: date, unit: str) -> DateRange:
    """The calendar day, week, month or year before the one that a day is in."""
    start, end = _within(_back(_within(day, unit)[0], 1), unit)
    return start, end


def _one(day: date) -> DateRange:
    return day, day


def _back(day: date, days: int) -> date:
    return _plus(day, -timedelta(days))


def _plus(day: date, step: timedelta) -> date:
    """Never past either end of the calendar."""
    number = day.toordinal() + step.days
    return date.fromordinal(min(max(number, 1), date.max.toordinal()))
