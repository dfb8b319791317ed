"""Times that are told by their distance from today: "yesterday", "three weeks ago"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.calendar_days import (
    DAYS_IN_UNIT,
    FEW,
    MONTH,
    MONTHS,
    NUMBER,
    SEASONS,
    UNIT,
    WEEKDAYS,
    DateRange,
    days_back,
    days_of_month,
    days_of_season,
    days_since,
    latest_season,
    latest_weekend,
    period_around,
    read_number,
    shift,
)

_DAY_PARTS = "morning|noon|afternoon|evening|night"
_Reader = Callable[[re.Match[str], date], DateRange]
_READERS: tuple[tuple[str, _Reader], ...] = (
    (
        r"\b(?:on )?the (?P<d>\d{1,2})(?:st|nd|rd|th) of (?P<l>last|this) month\b",
        lambda m, day: _day_of_month(int(m["d"]), day, last=m["l"].lower() == "last"),
    ),
    (
        rf"\b(?:in )?(?:the )?(?P<s>{'|'.join(SEASONS)}) (?:of )?(?P<l>last|this) year\b",
        lambda m, day: days_of_season(m["s"], day.year - (m["l"].lower() == "last")),
    ),
    (
        r"\b(?:in |on |over )?the "
        rf"(?P<u>night|week|weekend|month|year|{'|'.join([*WEEKDAYS, *SEASONS])}) before last\b",
        lambda m, day: _before_last(m["u"].lower(), day),
    ),
    (
        rf"\b(?:just )?(?:{FEW}) {UNIT} (?:ago|back)\b|\bthe other (?P<o>day|week)\b",
        lambda m, day: _some_ago((m["u"] or m["o"]).lower(), day),
    ),
    (
        rf"\b{NUMBER} (?P<w>{'|'.join(WEEKDAYS)})s ago\b",
        lambda m, day: days_back(day, days_since(m["w"], day) + 7 * (read_number(m["n"]) - 1)),
    ),
    (
        rf"\b{NUMBER} (?P<s>{'|'.join(SEASONS)})s ago\b",
        lambda m, day: latest_season(
            m["s"], shift(day, -365 * (read_number(m["n"]) - 1)), over=True
        ),
    ),
    (r"\bhalf a year ago\b", lambda _, day: (shift(day, -213), shift(day, -152))),
    (
        rf"\b(?:(?:an?|\d+|{FEW}|two|three|four|five) (?:hours?|minutes?) ago|"
        r"(?:the )?(?:last|past) (?:hour|few hours))\b",
        lambda _, day: (day, day),
    ),
    (
        r"\b(?:in |over |during |within )?(?:the )?(?:last|past) (?P<n>\d+) hours\b",
        lambda m, day: (shift(day, -(int(m["n"]) // 24)), day),
    ),
    (
        rf"\b(?:in |over |during |within )?(?:the )?(?:last|past) (?:{FEW}) {UNIT}\b",
        lambda m, day: (_some_ago(m["u"].lower(), day)[0], day),
    ),
    (
        rf"\b(?:in |back in )?(?P<l>last|this) (?P<m>{MONTH})\b",
        lambda m, day: _latest_month(m["m"], day, over=m["l"].lower() == "last"),
    ),
    (
        r"\bon the (?P<d>\d{1,2})(?:st|nd|rd|th)\b"
        r"(?=\W*$| (?:i|we|you|he|she|they|did|was|were|at|in|and|of (?:this|last) month)\b)",
        lambda m, day: _latest_day(int(m["d"]), day),
    ),
    (
        rf"\b(?:on )?(?:last |this )?(?P<w>{'|'.join(WEEKDAYS)}),? (?:the )?"
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)\b(?! (?:of )?(?:{MONTH})\b)",
        lambda m, day: _latest_day(int(m["d"]), day, m["w"]),
    ),
    (
        rf"\b(?:exactly )?{NUMBER} (?P<u>week|month|year)s? ago "
        rf"(?:to(?:day|night)|this (?:{_DAY_PARTS}))\b",
        lambda m, day: _exactly_ago(m, day),
    ),
    (rf"\b(?:exactly |about |around |some )?{NUMBER} {UNIT} ago\b", lambda m, day: _ago(m, day)),
    (
        rf"\b(?:in |over |during |within )?(?:the )?(?:last|past|previous) (?:{NUMBER} )?{UNIT}\b",
        lambda m, day: _past(m, day),
    ),
    (
        r"\b(?:in |during |earlier |so far )?this (?P<u>week|month|year)(?: so far)?\b",
        lambda m, day: (period_around(day, m["u"].lower())[0], day),
    ),
    (
        rf"\b(?P<l>last|this) (?P<s>{'|'.join(SEASONS)})\b",
        lambda m, day: latest_season(m["s"], day, over=m["l"].lower() == "last"),
    ),
    (
        r"\b(?:on |at |over )?(?:the )?(?:last |past |this )?weekend\b",
        lambda _, day: latest_weekend(day),
    ),
    (
        r"(?<!\bevery )(?<!\beach )(?<!\busual )(?<!\bregular )(?<!\bmy )(?<!\bour )"
        rf"\b(?:on )?(?:last |this )?(?P<w>{'|'.join(WEEKDAYS)})(?: (?:{_DAY_PARTS}))?\b",
        lambda m, day: days_back(day, days_since(m["w"], day)),
    ),
    (r"\bthe day before yesterday\b", lambda _, day: days_back(day, 2)),
    (
        rf"\byesterday(?: (?:{_DAY_PARTS}))?\b|\blast (?:night|evening)\b",
        lambda _, day: days_back(day, 1),
    ),
    (
        rf"\b(?:earlier )?today\b|\btonight\b|\b(?:earlier )?this (?:{_DAY_PARTS})\b",
        lambda _, day: (day, day),
    ),
)
RELATIVE_TIMES = tuple((lazy_pattern(pattern, re.IGNORECASE), read) for pattern, read in _READERS)
"""Phrases for times by their distance from a day, and what they mean on it."""


def _ago(match: re.Match[str], today: date) -> DateRange:
    unit = match["u"].lower()
    center = shift(today, -read_number(match["n"]) * DAYS_IN_UNIT[unit])
    # "A week ago" means a day or two around it; "a year ago", some weeks.
    slack = DAYS_IN_UNIT[unit] // 3
    return shift(center, -slack), min(shift(center, slack), today)


def _exactly_ago(match: re.Match[str], today: date) -> DateRange:
    number, unit = read_number(match["n"]), match["u"].lower()
    if unit == "week":
        return days_back(today, 7 * number)
    months = 12 * today.year + today.month - 1 - number * (12 if unit == "year" else 1)
    start, end = days_of_month(max(months // 12, 1), months % 12 + 1)
    day = start.replace(day=min(today.day, end.day))
    return day, day


def _past(match: re.Match[str], today: date) -> DateRange:
    unit = match["u"].lower()
    if match["n"] or unit == "fortnight":
        number = read_number(match["n"] or "a")
        return shift(today, -number * DAYS_IN_UNIT[unit]), today
    return period_around(shift(period_around(today, unit)[0], -1), unit)


def _some_ago(unit: str, today: date) -> DateRange:
    """Return from six to two units ago."""
    days = DAYS_IN_UNIT[unit]
    return shift(today, -6 * days), shift(today, -2 * days)


def _before_last(unit: str, today: date) -> DateRange:
    if unit == "night":
        return days_back(today, 2)
    if unit in WEEKDAYS:
        return days_back(today, days_since(unit, today) + 7)
    if unit in SEASONS:
        return latest_season(unit, latest_season(unit, today, over=True)[0], over=True)
    if unit == "weekend":
        return latest_weekend(shift(today, -7))
    last = period_around(shift(period_around(today, unit)[0], -1), unit)
    return period_around(shift(last[0], -1), unit)


def _latest_month(name: str, today: date, *, over: bool) -> DateRange:
    """Return the latest month of a name that has begun, or that is ``over``."""
    month = MONTHS[name.lower()]
    is_this_year = (month < today.month) if over else (month <= today.month)
    return days_of_month(today.year if is_this_year else today.year - 1, month)


def _latest_day(number: int, today: date, weekday: str = "") -> DateRange:
    """Return the latest day of a month that has a number and, within a year, is that weekday."""
    numbered = (shift(today, -back) for back in range(366))
    days = [day for day in numbered if day.day == number]
    meant = [day for day in days if weekday and day.weekday() == WEEKDAYS[weekday.lower()]]
    day = next(iter([*meant, *days]), today)
    return day, day


def _day_of_month(number: int, today: date, *, last: bool) -> DateRange:
    """Return the day of this or the last month that has a number, at most its last day."""
    start, end = period_around(shift(today.replace(day=1), -1) if last else today, "month")
    day = start.replace(day=min(max(number, 1), end.day))
    return day, day
