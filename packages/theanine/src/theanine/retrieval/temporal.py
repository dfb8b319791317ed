"""Find the times in a question: days, months, seasons, years, "last week", "two days ago".

Understands ISO dates and wording in English and in the languages of
:mod:`theanine.retrieval.date_words`, and ignores the rest.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.date_words import english_dates

DateRange = tuple[date, date]
"""First and last day, inclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTime:
    """A time that a question names.

    Attributes:
        ranges: the days that it may mean; several for a date without a year.
        span: the characters of the phrase, in the question with its dates in English.
        relative: whether it is told by its distance from today.
    """

    ranges: tuple[DateRange, ...]
    span: tuple[int, int]
    relative: bool = False


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
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?P<y>{_Y})-(?P<m>\d\d)-(?P<d>\d\d)\b",
        rf"\b(?P<m>{_M})\.? {_D}(?:,? (?P<y>{_Y}))?\b(?! ?%)",
        rf"\b{_D} (?:of )?(?P<m>{_M})\b(?:,? (?P<y>{_Y})\b)?",
        rf"\b(?P<m>{_M}),? (?P<y>{_Y})\b",
        rf"\b(?P<s>{'|'.join(_SEASONS)})(?: of)?,? (?P<y>{_Y})\b",
        rf"\b(?:in|during|by|since|of|until|early|late|mid|last|this|between|from|to|before|after|and)"
        rf"[ -](?:early |late |mid-?)?"
        rf"(?P<m>{_M})\b",
        rf"\b(?:in|during|of|since|by|from) (?P<y>{_Y})\b",
    )
]
_DAY_PARTS = "morning|noon|afternoon|evening|night"
_HOLIDAYS: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "christmas eve": ((12, 24), (12, 24)),
    "christmas": ((12, 24), (12, 26)),
    "new year's eve": ((12, 31), (12, 31)),
    "new year's day": ((1, 1), (1, 1)),
    "new year": ((1, 1), (1, 1)),
    "valentine's day": ((2, 14), (2, 14)),
    "halloween": ((10, 31), (10, 31)),
}
"""Month and day on which a holiday begins and ends."""
_HOLIDAY = lazy_pattern(
    rf"\b(?P<l>last )?(?P<h>{'|'.join(_HOLIDAYS).replace(chr(39), '[’' + chr(39) + ']')}|easter)"
    rf"\b(?: (?:in |of )?(?P<y>{_Y})\b)?",
    re.IGNORECASE,
)
_Reader = Callable[[re.Match[str], date], DateRange]
_READERS: tuple[tuple[str, _Reader], ...] = (
    (rf"\b(?:exactly |about |around |some )?{_N} {_UNIT} ago\b", lambda m, day: _ago(m, day)),
    (
        rf"\b(?:in |over |during |within )?(?:the )?(?:last|past|previous) (?:{_N} )?{_UNIT}\b",
        lambda m, day: _past(m, day),
    ),
    (
        r"\b(?:in |during )?this (?P<u>week|month|year)\b",
        lambda m, day: (_period(day, m["u"].lower())[0], day),
    ),
    (
        rf"\b(?P<l>last|this) (?P<s>{'|'.join(_SEASONS)})\b",
        lambda m, day: _latest_season(m["s"], day, over=m["l"].lower() == "last"),
    ),
    (
        r"\b(?:on |at |over )?(?:the )?(?:last |past )?weekend\b",
        lambda _, day: (
            _shift(day, -((day.weekday() - 5) % 7 or 7)),
            _shift(day, -((day.weekday() - 5) % 7 or 7) + 1),
        ),
    ),
    (
        rf"\b(?:on )?(?:last |this )?(?P<w>{'|'.join(_WEEKDAYS)})(?: (?:{_DAY_PARTS}))?\b",
        lambda m, day: _days_back(day, (day.weekday() - _WEEKDAYS[m["w"].lower()]) % 7 or 7),
    ),
    (r"\bthe day before yesterday\b", lambda _, day: _days_back(day, 2)),
    (rf"\byesterday(?: (?:{_DAY_PARTS}))?\b|\blast night\b", lambda _, day: _days_back(day, 1)),
    (
        rf"\b(?:earlier )?today\b|\btonight\b|\b(?:earlier )?this (?:{_DAY_PARTS})\b",
        lambda _, day: (day, day),
    ),
)
_RELATIVE = tuple((lazy_pattern(pattern, re.IGNORECASE), read) for pattern, read in _READERS)
"""Phrases for times by their distance from a day, and what they mean on it."""
_SINCE = lazy_pattern(r"\b(?:ever )?(?:since|from|starting)(?: the)? ?$", re.IGNORECASE)
_AFTER = lazy_pattern(r"\bafter(?: the)? ?$", re.IGNORECASE)
_BEFORE = lazy_pattern(r"\b(?:before|prior to)(?: the)? ?$", re.IGNORECASE)
_UNTIL = lazy_pattern(r"\b(?:until|till|up to|through)(?: the)? ?$", re.IGNORECASE)
_PREPOSITION = lazy_pattern(
    r"\b(?:back )?(?:in|on|at|during|of|by|around)(?: the)? ?$", re.IGNORECASE
)
_LEADING = lazy_pattern(r"(?:since|from|until|till|before|after) ", re.IGNORECASE)
_PREPOSITIONS: tuple[tuple[re.Pattern[str], Callable[[DateRange, date], DateRange]], ...] = (
    (_SINCE, lambda days, today: (days[0], max(today, days[1]))),
    (_AFTER, lambda days, today: (_shift(days[1], 1), max(today, days[1]))),
    (_BEFORE, lambda days, _: (date.min, _shift(days[0], -1))),
    (_UNTIL, lambda days, _: (date.min, days[1])),
    (_PREPOSITION, lambda days, _: days),
)
"""What a preposition before a time makes of its days, given today."""
_BETWEEN = lazy_pattern(r"^ ?(?:and|to|until|till|-|–|through) ?(?:the )?$", re.IGNORECASE)
_DATE_WORD = lazy_pattern(
    rf"\d\d|\b(?:{_M}|{'|'.join([*_SEASONS, *_WEEKDAYS])}|ago|last|past|previous|this|"
    rf"yesterday|today|tonight|weekend|easter|{'|'.join(name.split()[0] for name in _HOLIDAYS)})\b",
    re.IGNORECASE,
)
"""Every date contains one of these: a cheap test that most questions fail."""
_DAYS_IN_UNIT = {"day": 1, "week": 7, "month": 30, "year": 365}


def find_date_ranges(
    question: str, years: Sequence[int] = (), today: date | None = None
) -> list[DateRange]:
    """Return the date ranges that a question names; see :func:`find_times`."""
    return [days for time in find_times(question, years, today)[1] for days in time.ranges]


def find_times(
    question: str, years: Sequence[int] = (), today: date | None = None
) -> tuple[str, list[NamedTime]]:
    """Return a question with its dates in English, and the times that it names, in order.

    Args:
        years: tried for dates without a year.
        today: the day that relative dates count from; None ignores them.
    """
    question = english_dates(question)
    if not _DATE_WORD.search(question):
        return question, []
    found: list[NamedTime] = []
    for match in _HOLIDAY.finditer(question):
        ranges = _holidays(match, years, today)
        found.append(NamedTime(ranges=ranges, span=match.span()))
    for pattern in _ABSOLUTE:
        for match in pattern.finditer(question):
            if not _overlaps(match, [time.span for time in found]):
                ranges = tuple(_absolute(match, years))
                found.append(NamedTime(ranges=ranges, span=match.span()))
    for pattern, read in _RELATIVE if today else ():
        for match in pattern.finditer(question):
            if today and not _overlaps(match, [time.span for time in found]):
                days = read(match, today)
                found.append(NamedTime(ranges=(days,), span=match.span(), relative=True))
    return question, sorted(found, key=lambda time: time.span)


def find_intervals(question: str, years: Sequence[int], today: date) -> tuple[str, list[NamedTime]]:
    """Return a question with its dates in English, and the intervals that it asks about.

    Beyond :func:`find_times`, "since", "before" and the like are part of a phrase, and "from June
    to August" is one interval.
    """
    question, times = find_times(question, years, today)
    intervals: list[NamedTime] = []
    last = 0
    for time in _joined(question, times):
        start, end = time.span
        if time not in times:  # it was joined, with its prepositions
            intervals.append(time)
            last = end
            continue
        if lead := _LEADING.match(question, start, end):  # part of what was matched
            start = lead.end()
        before = question[last:start]
        ranges = time.ranges
        for pattern, change in _PREPOSITIONS:
            if match := pattern.search(before):
                start -= len(before) - match.start()
                ranges = tuple(change(days, today) for days in ranges)
                break
        intervals.append(NamedTime(ranges=ranges, span=(start, end), relative=time.relative))
        last = end
    return question, intervals


def _joined(question: str, times: Sequence[NamedTime]) -> list[NamedTime]:
    """Return the times with "from … to …" and "between … and …" as one."""
    result = list(times)
    for first, second in pairwise(times):
        between = question[first.span[1] : second.span[0]]
        before = question[: first.span[0]].rstrip().casefold()
        opening = re.search(r"\b(?:from|between)(?: the)?$", before)
        inside = re.match(r"(?:from|between) ", question[first.span[0] :], re.IGNORECASE)
        if (opening or inside) and _BETWEEN.match(between):
            begun = [
                [days[0] for days in first.ranges if days[0] <= end] for _, end in second.ranges
            ]
            ranges = tuple(
                (max(starts), end)
                for starts, (_, end) in zip(begun, second.ranges, strict=True)
                if starts
            )
            start = opening.start() if opening else first.span[0]
            both = NamedTime(ranges=ranges, span=(start, second.span[1]))
            result[result.index(first) : result.index(second) + 1] = [both]
    return result


def _overlaps(match: re.Match[str], spans: Iterable[tuple[int, int]]) -> bool:
    return any(match.start() < end and start < match.end() for start, end in spans)


def _absolute(match: re.Match[str], years: Iterable[int]) -> Iterator[DateRange]:
    groups = match.groupdict()
    year_text = groups.get("y")
    for year in [int(year_text)] if year_text else years:
        if groups.get("s"):
            yield _season(groups["s"], year)
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


def _ago(match: re.Match[str], today: date) -> DateRange:
    unit = match["u"].lower()
    center = _shift(today, -_number(match["n"]) * _DAYS_IN_UNIT[unit])
    # "A week ago" means a day or two around it; "a year ago", some weeks.
    slack = _DAYS_IN_UNIT[unit] // 3
    return _shift(center, -slack), min(_shift(center, slack), today)


def _past(match: re.Match[str], today: date) -> DateRange:
    unit = match["u"].lower()
    if match["n"]:
        return _shift(today, -_number(match["n"]) * _DAYS_IN_UNIT[unit]), today
    return _period(_shift(_period(today, unit)[0], -1), unit)


def _latest_season(name: str, today: date, *, over: bool) -> DateRange:
    """Return the latest season of a name that has begun, or that is ``over``."""
    for year in (today.year, today.year - 1):
        first, last = _season(name, year)
        if (last if over else first) <= today:
            return first, min(last, today)
    return _season(name, today.year - 1)


def _season(name: str, year: int) -> DateRange:
    first = _SEASONS[name.lower()]
    start = _month(year, first)[0]
    # A winter ends in the February of the next year.
    return start, _month(start.year + (first == 12), (first + 1) % 12 + 1)[1]


def _holidays(
    match: re.Match[str], years: Sequence[int], today: date | None
) -> tuple[DateRange, ...]:
    """Return the days of a holiday in its year, or in each of ``years``."""
    name = match["h"].lower().replace("’", "'")
    chosen = [int(match["y"])] if match["y"] else list(years)
    if match["l"] and today:
        chosen = [today.year, today.year - 1]
    result: list[DateRange] = []
    for year in chosen:
        if name == "easter":
            sunday = _easter(year)
            result.append((_shift(sunday, -2), _shift(sunday, 1)))
        else:
            first, last = _HOLIDAYS[name]
            result.append((date(year, *first), date(year, *last)))
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


def _days_back(today: date, days: int) -> DateRange:
    return _shift(today, -days), _shift(today, -days)


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
