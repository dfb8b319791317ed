"""Find the times in a question: days, months, seasons, years, "last week", "two days ago".

Understands ISO dates and wording in English and in the languages of
:mod:`theanine.retrieval.date_words`, and ignores the rest.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise, permutations

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
        is_holiday: whether it is a holiday, by its name.
    """

    ranges: tuple[DateRange, ...]
    span: tuple[int, int]
    relative: bool = False
    is_holiday: bool = False


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

_ORDINALS = ("first", "second", "third", "fourth")
_M = "|".join(sorted(_MONTHS, key=len, reverse=True))
_Y = r"(?:19|20)\d\d"
_D = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = r"(?P<u>day|week|fortnight|month|year)s?"
_FEW = r"(?:a )?(?:few|several)|some"
_ABSOLUTE = [
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d)(?P<y>{_Y})[-/.] ?(?P<m>\d\d?)[-/.] ?(?P<d>\d\d?)(?!\d)",
        rf"(?<!\d)(?P<d>\d\d?)[-.] ?(?P<m>\d\d?)[-.] ?(?P<y>{_Y}|\d\d)(?!\d)",
        rf"(?<!\d)(?P<d>\d\d?)/(?P<m>\d\d?)/(?P<y>{_Y}|\d\d)(?!\d)",
        rf"(?<!\d)(?P<m>\d\d?)/(?P<d>\d\d?)/(?P<y>{_Y}|\d\d)(?!\d)",
        rf"\b{_D}(?: ?[-–] ?| (?:and|to|until|till) )(?:the )?(?P<e>\d{{1,2}})(?:st|nd|rd|th)?"
        rf" (?:of )?(?P<m>{_M})\b(?:,? (?P<y>{_Y})\b)?",
        rf"\b(?P<m>{_M})\.? {_D} ?[-–] ?(?P<e>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<y>{_Y})\b)?",
        rf"\b(?P<o>{'|'.join(_ORDINALS)}|last) (?P<w>{'|'.join(_WEEKDAYS)})"
        rf" (?:of|in) (?P<m>{_M})\b(?:,? (?P<y>{_Y})\b)?",
        rf"\b(?P<m>{_M})\.? {_D}(?:,? (?P<y>{_Y}))?\b(?! ?%)",
        rf"\b{_D} (?:of )?(?P<m>{_M})\b(?:,? (?P<y>{_Y})\b)?",
        rf"\b(?P<m>{_M}),? (?P<y>{_Y})\b",
        rf"\b(?P<s>{'|'.join(_SEASONS)})(?: of)?,? (?P<y>{_Y})\b",
        rf"\bQ(?P<q>[1-4])(?: of)?,? (?P<y>{_Y})\b",
        rf"\b(?:in|during|by|since|of|until|early|late|mid|between|from|to|before|after|and)[ -]"
        rf"(?:early |late |mid[- ]?)?(?P<m>{_M})\b",
        r"\b(?:in|during|over|since|that|(?:beginning|start|middle|end|half) of) (?:the )?"
        rf"(?P<s>{'|'.join(_SEASONS)})\b(?! (?:of )?(?:last|this) year)",
        rf"\b(?:in|during|of|since|by|from|early|mid|late|before|after|until)[ -]"
        rf"(?:early |late |mid[- ]?)?(?P<y>{_Y})\b",
    )
]
_DAY_PARTS = "morning|noon|afternoon|evening|night"
_HOLIDAYS: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
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
_MOVABLE = {
    "good friday": (-2, -2),
    "easter sunday": (0, 0),
    "easter monday": (1, 1),
    "easter": (-2, 1),
    "pentecost": (49, 50),
    "whitsun": (49, 50),
}
"""The first and last day of a holiday, counted from the Sunday of Easter."""
_NAMED_DAYS = "|".join([*_HOLIDAYS, *_MOVABLE]).replace("'", "[’']")
_HOLIDAY = lazy_pattern(
    rf"\b(?P<l>last )?(?P<h>{_NAMED_DAYS}|"
    rf"thanksgiving(?: day)?)\b(?:,? (?:in |of )?(?P<y>{_Y})\b)?",
    re.IGNORECASE,
)
_Reader = Callable[[re.Match[str], date], DateRange]
_READERS: tuple[tuple[str, _Reader], ...] = (
    (
        r"\b(?:on )?the (?P<d>\d{1,2})(?:st|nd|rd|th) of (?P<l>last|this) month\b",
        lambda m, day: _day_of_month(int(m["d"]), day, last=m["l"].lower() == "last"),
    ),
    (
        rf"\b(?:in )?(?:the )?(?P<s>{'|'.join(_SEASONS)}) (?:of )?(?P<l>last|this) year\b",
        lambda m, day: _season(m["s"], day.year - (m["l"].lower() == "last")),
    ),
    (
        r"\b(?:in |on |over )?the "
        rf"(?P<u>night|week|weekend|month|year|{'|'.join([*_WEEKDAYS, *_SEASONS])}) before last\b",
        lambda m, day: _before_last(m["u"].lower(), day),
    ),
    (
        rf"\b(?:just )?(?:{_FEW}) {_UNIT} (?:ago|back)\b|\bthe other (?P<o>day|week)\b",
        lambda m, day: _some_ago((m["u"] or m["o"]).lower(), day),
    ),
    (
        rf"\b{_N} (?P<w>{'|'.join(_WEEKDAYS)})s ago\b",
        lambda m, day: _days_back(day, _since_weekday(m["w"], day) + 7 * (_number(m["n"]) - 1)),
    ),
    (
        rf"\b{_N} (?P<s>{'|'.join(_SEASONS)})s ago\b",
        lambda m, day: _latest_season(m["s"], _shift(day, -365 * (_number(m["n"]) - 1)), over=True),
    ),
    (r"\bhalf a year ago\b", lambda _, day: (_shift(day, -213), _shift(day, -152))),
    (
        rf"\b(?:(?:an?|\d+|{_FEW}|two|three|four|five) (?:hours?|minutes?) ago|"
        r"(?:the )?(?:last|past) (?:hour|few hours))\b",
        lambda _, day: (day, day),
    ),
    (
        r"\b(?:in |over |during |within )?(?:the )?(?:last|past) (?P<n>\d+) hours\b",
        lambda m, day: (_shift(day, -(int(m["n"]) // 24)), day),
    ),
    (
        rf"\b(?:in |over |during |within )?(?:the )?(?:last|past) (?:{_FEW}) {_UNIT}\b",
        lambda m, day: (_some_ago(m["u"].lower(), day)[0], day),
    ),
    (
        rf"\b(?:in |back in )?(?P<l>last|this) (?P<m>{_M})\b",
        lambda m, day: _latest_month(m["m"], day, over=m["l"].lower() == "last"),
    ),
    (
        r"\bon the (?P<d>\d{1,2})(?:st|nd|rd|th)\b"
        r"(?=\W*$| (?:i|we|you|he|she|they|did|was|were|at|in|and|of (?:this|last) month)\b)",
        lambda m, day: _latest_day(int(m["d"]), day),
    ),
    (
        rf"\b(?:exactly )?{_N} (?P<u>week|month|year)s? ago "
        rf"(?:to(?:day|night)|this (?:{_DAY_PARTS}))\b",
        lambda m, day: _exactly_ago(m, day),
    ),
    (rf"\b(?:exactly |about |around |some )?{_N} {_UNIT} ago\b", lambda m, day: _ago(m, day)),
    (
        rf"\b(?:in |over |during |within )?(?:the )?(?:last|past|previous) (?:{_N} )?{_UNIT}\b",
        lambda m, day: _past(m, day),
    ),
    (
        r"\b(?:in |during |earlier |so far )?this (?P<u>week|month|year)(?: so far)?\b",
        lambda m, day: (_period(day, m["u"].lower())[0], day),
    ),
    (
        rf"\b(?P<l>last|this) (?P<s>{'|'.join(_SEASONS)})\b",
        lambda m, day: _latest_season(m["s"], day, over=m["l"].lower() == "last"),
    ),
    (
        r"\b(?:on |at |over )?(?:the )?(?:last |past |this )?weekend\b",
        lambda _, day: _weekend(day),
    ),
    (
        r"(?<!\bevery )(?<!\beach )(?<!\busual )(?<!\bregular )(?<!\bmy )(?<!\bour )"
        rf"\b(?:on )?(?:last |this )?(?P<w>{'|'.join(_WEEKDAYS)})(?: (?:{_DAY_PARTS}))?\b",
        lambda m, day: _days_back(day, _since_weekday(m["w"], day)),
    ),
    (r"\bthe day before yesterday\b", lambda _, day: _days_back(day, 2)),
    (
        rf"\byesterday(?: (?:{_DAY_PARTS}))?\b|\blast (?:night|evening)\b",
        lambda _, day: _days_back(day, 1),
    ),
    (
        rf"\b(?:earlier )?today\b|\btonight\b|\b(?:earlier )?this (?:{_DAY_PARTS})\b",
        lambda _, day: (day, day),
    ),
)
_RELATIVE = tuple((lazy_pattern(pattern, re.IGNORECASE), read) for pattern, read in _READERS)
"""Phrases for times by their distance from a day, and what they mean on it."""
_SINCE = lazy_pattern(r"\b(?:ever )?(?:since|starting)(?: the| in)* *$", re.IGNORECASE)
_ONWARDS = lazy_pattern(r" on(?:wards?)?\b", re.IGNORECASE)
_AFTER = lazy_pattern(r"\bafter(?: the| in)* *$", re.IGNORECASE)
_BEFORE = lazy_pattern(r"\b(?:before|prior to)(?: the| in)* *$", re.IGNORECASE)
_UNTIL = lazy_pattern(
    r"\b(?:until|till|through|"
    r"(?<!\bbeen )(?<!\bget )(?<!\bgot )(?<!\bwas )(?<!\bi )(?<!\bwe )up to)(?: the| in)* *$",
    re.IGNORECASE,
)
_PREPOSITION = lazy_pattern(
    r"\b(?:back )?(?:in|on|at|during|of|by|around|from|over|for)(?: the)? ?$", re.IGNORECASE
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
_QUALIFYING = lazy_pattern(
    r"(?:['’]s|,)?\s*(?:(?:(?:of|in|on|at|from|back|during|the|so far|de|del|do|da|du|des|della?|"
    r"von|vom|im|am|u|من|в|на|от|を|の)\b|d['’]|dell['’]|l['’])\s*)*",
    re.IGNORECASE,
)
"""Words between two times of which one narrows the other: "of" in "Tuesday of last week"."""
_WEEKDAY = lazy_pattern(rf"\b({'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_PART = lazy_pattern(
    r"\b(?:the )?(?P<p>early|mid|late|beginning|start|middle|end|first half|second half|"
    r"(?:first|second|third|fourth|last) quarter)(?: part)?(?: of| in)?[ -]*(?:the )?$",
    re.IGNORECASE,
)
_COUNTED_PART = lazy_pattern(
    r"\b(?:(?:in|on|over|during|within|for) )?(?:the )?(?:very )?"
    rf"(?P<o>first|second|third|fourth|fifth|last) (?:{_N} |(?P<few>few) )?"
    r"(?P<u>day|week|weekend|month)(?P<s>s?) (?:of|in) (?:the )?$",
    re.IGNORECASE,
)
_BESIDE = lazy_pattern(
    rf"\b(?:(?:in|on|over|during|for) )?(?:the )?(?:{_N} )?"
    r"(?P<u>day|night|morning|afternoon|evening|weekend|week|month)(?P<s>s?) "
    r"(?P<r>before|after) (?:the )?$",
    re.IGNORECASE,
)
_WEEK_OF = lazy_pattern(r"\b(?:the )?week (?:of|starting|beginning)(?: the)? $", re.IGNORECASE)
_PARTS = {
    **dict.fromkeys(("early", "beginning", "start"), (0, 1, 3)),
    **dict.fromkeys(("mid", "middle"), (1, 2, 3)),
    **dict.fromkeys(("late", "end"), (2, 3, 3)),
    "first half": (0, 1, 2),
    "second half": (1, 2, 2),
    "first quarter": (0, 1, 4),
    "second quarter": (1, 2, 4),
    "third quarter": (2, 3, 4),
    "fourth quarter": (3, 4, 4),
    "last quarter": (3, 4, 4),
}
"""For each name of a part: the numbers of the first equal part in it and of the first one after it,
and the number of equal parts."""
_BETWEEN = lazy_pattern(r"^ ?(?:and|to|until|till|-|–|through) ?(?:the )?$", re.IGNORECASE)
_DATE_WORD = lazy_pattern(
    rf"\d\d|\d(?:st|nd|rd|th)\b|\b(?:{_M}|{'|'.join([*_SEASONS, *_WEEKDAYS])}|ago|back|last|past|"
    rf"previous|this|the other|yesterday|today|tonight|weekend|thanksgiving|"
    rf"{'|'.join(name.split()[0] for name in [*_HOLIDAYS, *_MOVABLE])})\b",
    re.IGNORECASE,
)
"""Every date contains one of these: a cheap test that most questions fail."""
_DAYS_IN_UNIT = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}


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
    if not question.isascii():  # ٢٠٢٥ is 2025
        question = re.sub(r"\d", lambda match: str(int(match[0])), question)
    if not _DATE_WORD.search(question):
        return question, []
    found: dict[tuple[int, int], NamedTime] = {}
    for match, ranges, relative in _readings(question, years, today):
        groups = match.groupdict()
        start, end = match.span()
        # What stands before a month or a year tells a part of it or a bound.
        named = [name for name in "hqdsmy" if groups.get(name)]
        if not relative and len(named) == 1:
            start = match.start(named[0])
        if (same := found.get((start, end))) and not relative:  # as day and month the other way
            found[start, end] = replace(same, ranges=(*same.ranges, *ranges))
        elif not _overlaps(match, found):  # of no day, such as 2023-13-01, it is no year either
            time = NamedTime(
                ranges=ranges,
                span=(start, end),
                relative=relative,
                is_holiday=bool(groups.get("h")),
            )
            found[start, end] = time
    parts = [_part(question, found[span]) for span in sorted(found) if found[span].ranges]
    whole = [each for each in parts if not any(_is_inside(each, other) for other in parts)]
    return question, _agreed(_narrowed(question, whole))


def _readings(
    question: str, years: Sequence[int], today: date | None
) -> Iterator[tuple[re.Match[str], tuple[DateRange, ...], bool]]:
    """Yield what may be a time, the surest first, with its days and whether it is relative."""
    for match in _HOLIDAY.finditer(question):
        yield match, _holidays(match, years, today), False
    for pattern in _ABSOLUTE:
        for match in pattern.finditer(question):
            yield match, tuple(_absolute(match, years)), False
    if today is None:
        return
    for pattern, read in _RELATIVE:
        for match in pattern.finditer(question):
            yield match, (read(match, today),), True


def _is_inside(time: NamedTime, other: NamedTime) -> bool:
    """Whether a phrase is part of a longer one: "the last week" of "the last week of May"."""
    (start, end), (first, last) = time.span, other.span
    return first <= start and end <= last and (first, last) != (start, end)


def _part(question: str, time: NamedTime) -> NamedTime:
    """Return the part of a time that is named before it: "early" in May, the end of a year."""
    start, end = time.span
    if match := _COUNTED_PART.search(question[:start]):
        counted = [days for each in time.ranges for days in _counted_part(match, each)]
        return NamedTime(ranges=tuple(counted), span=(match.start(), end), relative=time.relative)
    if match := _BESIDE.search(question[:start]):
        ranges = tuple(_beside(match, days) for days in time.ranges)
        return NamedTime(ranges=ranges, span=(match.start(), end), relative=time.relative)
    if match := _WEEK_OF.search(question[:start]):
        ranges = tuple(_period(days[0], "week") for days in time.ranges)
        return NamedTime(ranges=ranges, span=(match.start(), end), relative=time.relative)
    match = _PART.search(question[:start])
    if not match:
        return time
    first, last, of = _PARTS[match["p"].lower()]
    ranges = tuple(_cut_range(days, first, last, of) for days in time.ranges)
    return NamedTime(ranges=ranges, span=(match.start(), end), relative=time.relative)


def _counted_part(match: re.Match[str], days: DateRange) -> Iterator[DateRange]:
    """Yield the first days of a time, its second week, its last weekend …, if it has it."""
    begin, end = days
    unit, order = match["u"].lower(), match["o"].lower()
    length = 1 if unit == "weekend" else _DAYS_IN_UNIT[unit]
    some = 7 if unit == "day" else 3
    count = _number(match["n"]) if match["n"] else some if match["few"] or match["s"] else 1
    skipped = 0 if order == "last" else (*_ORDINALS, "fifth").index(order)
    if unit == "weekend":
        saturday = _shift(begin, (5 - begin.weekday()) % 7)
        starts = [_shift(saturday, 7 * n) for n in range((end - saturday).days // 7 + 1)]
        starts = starts[-count:] if order == "last" else starts[skipped : skipped + count]
        yield from ((start, _shift(start, 1)) for start in starts)
    elif unit == "month":
        months = 12 * begin.year + begin.month - 1
        all_months = 12 * end.year + end.month - months
        first = all_months - count if order == "last" else skipped
        start, until = months + first, months + first + count - 1
        yield _month(start // 12, start % 12 + 1)[0], _month(until // 12, until % 12 + 1)[1]
    elif order == "last":
        yield max(begin, _shift(end, 1 - count * length)), end
    elif (start := _shift(begin, skipped * length)) <= end:
        yield start, min(end, _shift(start, count * length - 1))


def _beside(match: re.Match[str], days: DateRange) -> DateRange:
    """Return the day, the days, the two weeks … before or after a time."""
    unit = match["u"].lower()
    length = _DAYS_IN_UNIT.get(unit, 2 if unit == "weekend" else 1)
    after = match["r"].lower() == "after"
    edge, sign = (days[1], 1) if after else (days[0], -1)
    if unit == "weekend":
        saturday = _shift(edge, (4 - edge.weekday()) % 7 + 1)
        if not after:
            saturday = _shift(edge, -_since_weekday("saturday", edge))
        return saturday, _shift(saturday, 1)
    if match["n"]:
        center, slack = _shift(edge, sign * _number(match["n"]) * length), length // 3
        return _shift(center, -slack), _shift(center, slack)
    far = 7 if match["s"] and length == 1 else length
    near, far_day = _shift(edge, sign), _shift(edge, sign * far)
    return min(near, far_day), max(near, far_day)


def _cut_range(days: DateRange, first: int, last: int, of: int) -> DateRange:
    """Return from the beginning of the part ``first`` to that of ``last``, of equal parts."""
    begin, end = days
    if (begin.month, begin.day) == (1, 1) and end.year == begin.year and (end - begin).days > 31:
        months = 12 // of  # of a year, whole months, of which some may be still to come
        until = _month(begin.year, last * months)[1]
        return date(begin.year, first * months + 1, 1), until
    length = (end - begin).days + 1
    start = _shift(begin, first * length // of)
    return start, end if last == of else _shift(begin, last * length // of - 1)


def _narrowed(question: str, times: Iterable[NamedTime]) -> list[NamedTime]:
    """Return the times, with one for two of which one narrows the other: "March last year"."""
    result: list[NamedTime] = []
    for time in times:
        if result:
            former = result[-1]
            between = question[former.span[1] : time.span[0]]
            if _QUALIFYING.fullmatch(between) and (ranges := _common(question, former, time)):
                result[-1] = NamedTime(
                    ranges=ranges,
                    span=(former.span[0], time.span[1]),
                    relative=former.relative or time.relative,
                    is_holiday=former.is_holiday or time.is_holiday,
                )
                continue
        result.append(time)
    return result


def _agreed(times: list[NamedTime]) -> list[NamedTime]:
    """Return two times with the days that both may mean, if one without a year is within the other.

    "In 2024, where were we at Easter?" asks about one Easter, wherever its two times stand.
    """
    for time, bounds in permutations(times) if len(times) == 2 else ():
        if len(time.ranges) > 1 and len(bounds.ranges) == 1:
            begin, end = bounds.ranges[0]
            within = tuple(each for each in time.ranges if begin <= each[0] and each[1] <= end)
            if within:
                return [replace(each, ranges=within) for each in times]
    return times


def _common(question: str, one: NamedTime, other: NamedTime) -> tuple[DateRange, ...]:
    """Return the days that belong to both times; of a weekday, those in the other time."""
    for time, bounds in ((one, other), (other, one)):
        named = _WEEKDAY.search(question, *time.span)
        if named and time.relative and any(last > first for first, last in bounds.ranges):
            weekday = _WEEKDAYS[named[1].lower()]
            days = [
                _shift(first, number)
                for first, last in bounds.ranges
                for number in range(min((last - first).days + 1, 62))
            ]
            return tuple((day, day) for day in days if day.weekday() == weekday)
        if named and time.relative and not bounds.relative:  # "Friday, 13 June"
            return bounds.ranges
    common = {
        (max(first, begin), min(last, end))
        for first, last in one.ranges
        for begin, end in other.ranges
    }
    return tuple(sorted((first, last) for first, last in common if first <= last))


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
                if pattern is _PREPOSITION:
                    break
                # Of a day without a year, the latest one that has begun.
                begun = [days for days in ranges if days[0] <= today][-1:] or list(ranges)
                ranges = tuple(change(days, today) for days in begun)
                break
        onwards = _ONWARDS.match(question, end)
        if onwards and before.rstrip().lower().endswith("from"):
            ranges = tuple((days[0], max(today, days[1])) for days in ranges[-1:])
            end = onwards.end()
        intervals.append(replace(time, ranges=ranges, span=(start, end)))
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
    if year_text and len(year_text) == 2:  # 31/8/25
        year_text = f"20{year_text}"
    for year in [int(year_text)] if year_text else years:
        if groups.get("s"):
            yield _season(groups["s"], year)
        elif groups.get("q"):
            first = 3 * int(groups["q"]) - 2
            yield _month(year, first)[0], _month(year, first + 2)[1]
        elif not groups.get("m"):
            yield date(year, 1, 1), date(year, 12, 31)
        else:
            month_text = groups["m"].lower()
            month = int(month_text) if month_text.isdigit() else _MONTHS[month_text]
            if 1 <= month <= 12:
                yield from _of_month(groups, *_month(year, month))


def _of_month(groups: Mapping[str, str | None], start: date, end: date) -> Iterator[DateRange]:
    """Yield what is named of a month: all of it, a day, some days, or one of its weekdays."""
    if weekday := groups.get("w"):
        first = _shift(start, (_WEEKDAYS[weekday.lower()] - start.weekday()) % 7)
        order = (groups["o"] or "").lower()
        weeks = (end - first).days // 7 if order == "last" else _ORDINALS.index(order)
        yield _days_back(first, -7 * weeks)
        return
    day = int(groups.get("d") or 0)
    last = int(groups.get("e") or day)
    if not groups.get("d"):
        yield start, end
    elif 1 <= day <= last <= end.day:
        yield start.replace(day=day), start.replace(day=last)


def _ago(match: re.Match[str], today: date) -> DateRange:
    unit = match["u"].lower()
    center = _shift(today, -_number(match["n"]) * _DAYS_IN_UNIT[unit])
    # "A week ago" means a day or two around it; "a year ago", some weeks.
    slack = _DAYS_IN_UNIT[unit] // 3
    return _shift(center, -slack), min(_shift(center, slack), today)


def _exactly_ago(match: re.Match[str], today: date) -> DateRange:
    number, unit = _number(match["n"]), match["u"].lower()
    if unit == "week":
        return _days_back(today, 7 * number)
    months = 12 * today.year + today.month - 1 - number * (12 if unit == "year" else 1)
    start, end = _month(max(months // 12, 1), months % 12 + 1)
    day = start.replace(day=min(today.day, end.day))
    return day, day


def _past(match: re.Match[str], today: date) -> DateRange:
    unit = match["u"].lower()
    if match["n"] or unit == "fortnight":
        number = _number(match["n"] or "a")
        return _shift(today, -number * _DAYS_IN_UNIT[unit]), today
    return _period(_shift(_period(today, unit)[0], -1), unit)


def _some_ago(unit: str, today: date) -> DateRange:
    """Return from six to two units ago."""
    days = _DAYS_IN_UNIT[unit]
    return _shift(today, -6 * days), _shift(today, -2 * days)


def _before_last(unit: str, today: date) -> DateRange:
    if unit == "night":
        return _days_back(today, 2)
    if unit in _WEEKDAYS:
        return _days_back(today, _since_weekday(unit, today) + 7)
    if unit in _SEASONS:
        return _latest_season(unit, _latest_season(unit, today, over=True)[0], over=True)
    if unit == "weekend":
        return _weekend(_shift(today, -7))
    last = _period(_shift(_period(today, unit)[0], -1), unit)
    return _period(_shift(last[0], -1), unit)


def _latest_month(name: str, today: date, *, over: bool) -> DateRange:
    """Return the latest month of a name that has begun, or that is ``over``."""
    month = _MONTHS[name.lower()]
    is_this_year = (month < today.month) if over else (month <= today.month)
    return _month(today.year if is_this_year else today.year - 1, month)


def _latest_day(number: int, today: date) -> DateRange:
    """Return the latest day of a month that has a number."""
    return next(
        (_days_back(today, back) for back in range(62) if _shift(today, -back).day == number),
        _days_back(today, 0),
    )


def _day_of_month(number: int, today: date, *, last: bool) -> DateRange:
    """Return the day of this or the last month that has a number, at most its last day."""
    start, end = _period(_shift(today.replace(day=1), -1) if last else today, "month")
    day = start.replace(day=min(max(number, 1), end.day))
    return day, day


def _since_weekday(name: str, today: date) -> int:
    """Return how many days ago the latest weekday of a name before today was."""
    return (today.weekday() - _WEEKDAYS[name.lower()]) % 7 or 7


def _weekend(today: date) -> DateRange:
    """Return the latest weekend that began before today."""
    saturday = _shift(today, -_since_weekday("saturday", today))
    return saturday, _shift(saturday, 1)


def _latest_season(name: str, today: date, *, over: bool) -> DateRange:
    """Return the latest season of a name that has begun, or that is ``over``."""
    for year in (today.year, today.year - 1):
        first, last = _season(name, year)
        if (last < today) if over else (first <= today):
            return first, min(last, today)
    return _season(name, today.year - 2)


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
        if name in _MOVABLE:
            sunday, (first, last) = _easter(year), _MOVABLE[name]
            result.append((_shift(sunday, first), _shift(sunday, last)))
        elif name not in _HOLIDAYS:  # the fourth Thursday of November
            begin = date(year, 11, 1)
            thursday = _shift(begin, (3 - begin.weekday()) % 7 + 21)
            result.append((thursday, thursday))
        else:
            first_day, last_day = _HOLIDAYS[name]
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
