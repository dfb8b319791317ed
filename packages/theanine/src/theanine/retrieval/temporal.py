"""Find the dates in a question: days, months, seasons, years, "last week", "two days ago".

Understands ISO dates and wording in English and in the languages of
:mod:`theanine.retrieval.date_words`, and ignores the rest.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from theanine.retrieval.date_words import english_dates

DateRange = tuple[date, date]
"""First and last day, inclusive."""

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
_ABSOLUTE = [
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
_WEEKDAY = re.compile(rf"\b(?P<l>last )?(?P<w>{'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_YESTERDAY = re.compile(r"\b(?P<b>the day before )?(?P<w>yesterday|today)\b", re.IGNORECASE)
_DATE_WORD = re.compile(
    rf"\d\d|\b(?:{_M}|{'|'.join([*_SEASONS, *_WEEKDAYS])}|ago|last|past|this|yesterday|today)\b",
    re.IGNORECASE,
)
"""Every date contains one of these: a cheap test that most questions fail."""
_DAYS_IN_UNIT = {"day": 1, "week": 7, "month": 30, "year": 365}


def find_date_ranges(
    question: str, years: Sequence[int] = (), today: date | None = None
) -> list[DateRange]:
    """Return the date ranges that a question names.

    Args:
        years: tried for dates without a year.
        today: the day that relative dates count from; None ignores them.
    """
    question = english_dates(question)
    if not _DATE_WORD.search(question):
        return []
    ranges: list[DateRange] = []
    matched: list[tuple[int, int]] = []
    for pattern in _ABSOLUTE:
        for match in pattern.finditer(question):
            if not _overlaps(match, matched):
                matched.append(match.span())
                ranges += _absolute(match, years)
    return ranges if today is None else ranges + list(_relative(question, today, matched))


def _overlaps(match: re.Match[str], spans: Iterable[tuple[int, int]]) -> bool:
    return any(match.start() < end and start < match.end() for start, end in spans)


def _absolute(match: re.Match[str], years: Iterable[int]) -> Iterator[DateRange]:
    groups = match.groupdict()
    year_text = groups.get("y")
    for year in [int(year_text)] if year_text else years:
        if groups.get("s"):
            first = _SEASONS[groups["s"].lower()]
            start = _month(year, first)[0]
            # A winter ends in the February of the next year.
            yield start, _month(start.year + (first == 12), (first + 1) % 12 + 1)[1]
        elif not groups.get("m"):
            yield date(year, 1, 1), date(year, 12, 31)
        else:
            month_text = groups["m"].lower()
            month = int(month_text) if month_text.isdigit() else _MONTHS[month_text]
            if not 1 <= month <= 12:
                continue
            start, end = _month(year, month)
            if not groups.get("d"):
                yield start, end
            elif 1 <= int(groups["d"]) <= end.day:
                day = date(year, month, int(groups["d"]))
                yield day, day


def _relative(
    question: str, today: date, matched: Sequence[tuple[int, int]]
) -> Iterator[DateRange]:
    for match in _AGO.finditer(question):
        length = _DAYS_IN_UNIT[match["u"].lower()]
        center = _shift(today, -_number(match["n"]) * length)
        # "A week ago" means a day or two around it; "a year ago", some weeks.
        slack = length // 3
        yield _shift(center, -slack), min(_shift(center, slack), today)
    for match in _PAST.finditer(question):
        unit = match["u"].lower()
        if match["n"]:
            yield _shift(today, -_number(match["n"]) * _DAYS_IN_UNIT[unit]), today
        else:
            last_day_before = _shift(_period(today, unit)[0], -1)
            yield _period(last_day_before, unit)
    for match in _THIS.finditer(question):
        yield _period(today, match["u"].lower())[0], today
    for match in _WEEKDAY.finditer(question):
        if not _overlaps(match, matched):
            back = (today.weekday() - _WEEKDAYS[match["w"].lower()]) % 7 or 7
            day = _shift(today, -back)
            yield day, day
    for match in _YESTERDAY.finditer(question):
        day = _shift(today, -((match["w"].lower() == "yesterday") + bool(match["b"])))
        yield day, day


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]


def _month(year: int, month: int) -> DateRange:
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _period(day: date, unit: str) -> DateRange:
    """Return the calendar day, week, month or year that contains a day; a year ends on that day."""
    if unit == "day":
        return day, day
    if unit == "week":
        start = _shift(day, -day.weekday())
        return start, _shift(start, 6)
    return _month(day.year, day.month) if unit == "month" else (date(day.year, 1, 1), day)


def _shift(day: date, days: int) -> date:
    """Add days, stopping at either end of the calendar."""
    number = day.toordinal() + days
    return date.fromordinal(min(max(number, 1), date.max.toordinal()))
