"""Find the times in a question: days, months, seasons, years, "last week", "two days ago".

Understands ISO dates and wording in English and in the languages of
:mod:`theanine.retrieval.date_words`, and ignores the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise, permutations

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.calendar_days import (
    DAY_NUMBERS,
    MONTH,
    MONTHS,
    ORDINALS,
    SEASONS,
    WEEKDAYS,
    YEAR,
    DateRange,
    days_back,
    days_of_month,
    days_of_season,
    shift,
)
from theanine.retrieval.date_words import english_dates
from theanine.retrieval.holidays import HOLIDAY, HOLIDAYS, MOVABLE_HOLIDAYS, days_of_holiday
from theanine.retrieval.parts_of_times import NamedTime, part_of_time
from theanine.retrieval.relative_times import RELATIVE_TIMES

_D = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_ABSOLUTE = [
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d)(?P<y>{YEAR})[-/.] ?(?P<m>\d\d?)[-/.] ?(?P<d>\d\d?)(?!\d)",
        rf"(?<!\d)(?P<d>\d\d?)[-.] ?(?P<m>\d\d?)[-.] ?(?P<y>{YEAR}|\d\d)(?!\d)",
        rf"(?<!\d)(?P<d>\d\d?)/(?P<m>\d\d?)/(?P<y>{YEAR}|\d\d)(?!\d)",
        rf"(?<!\d)(?P<m>\d\d?)/(?P<d>\d\d?)/(?P<y>{YEAR}|\d\d)(?!\d)",
        rf"\b{_D}(?: ?[-–] ?| (?:and|to|until|till) )(?:the )?(?P<e>\d{{1,2}})(?:st|nd|rd|th)?"
        rf" (?:of )?(?P<m>{MONTH})\b(?:,? (?P<y>{YEAR})\b)?",
        rf"\b(?P<m>{MONTH})\.? {_D} ?[-–] ?(?P<e>\d{{1,2}})(?:st|nd|rd|th)?\b"
        rf"(?:,? (?P<y>{YEAR})\b)?",
        rf"\b(?P<o>{'|'.join(ORDINALS)}|last) (?P<w>{'|'.join(WEEKDAYS)})"
        rf" (?:of|in) (?P<m>{MONTH})\b(?:,? (?P<y>{YEAR})\b)?",
        rf"\b(?P<m>{MONTH})\.? {_D}(?:,? (?P<y>{YEAR}))?\b(?! ?%)",
        rf"\b{_D} (?:of )?(?P<m>{MONTH})\b(?:,? (?P<y>{YEAR})\b)?",
        rf"\b(?P<m>{MONTH}),? (?P<y>{YEAR})\b",
        rf"\b(?P<s>{'|'.join(SEASONS)})(?: of)?,? (?P<y>{YEAR})\b",
        rf"\bQ(?P<q>[1-4])(?: of)?,? (?P<y>{YEAR})\b",
        rf"\b(?:in|during|by|since|of|until|early|late|mid|between|from|to|before|after|and)[ -]"
        rf"(?:early |late |mid[- ]?)?(?P<m>{MONTH})\b",
        r"\b(?:in|during|over|since|that|(?:beginning|start|middle|end|half) of) (?:the )?"
        rf"(?P<s>{'|'.join(SEASONS)})\b(?! (?:of )?(?:last|this) year)",
        rf"\b(?:in|during|of|since|by|from|early|mid|late|before|after|until)[ -]"
        rf"(?:early |late |mid[- ]?)?(?P<y>{YEAR})\b",
    )
]
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
    (_AFTER, lambda days, today: (shift(days[1], 1), max(today, days[1]))),
    (_BEFORE, lambda days, _: (date.min, shift(days[0], -1))),
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
_WEEKDAY = lazy_pattern(rf"\b({'|'.join(WEEKDAYS)})\b", re.IGNORECASE)
_BETWEEN = lazy_pattern(r"^ ?(?:and|to|until|till|-|–|through) ?(?:the )?$", re.IGNORECASE)
_DAY_NAMES = "|".join(sorted(DAY_NUMBERS, key=len, reverse=True)).replace("-", "[- ]")
_NAMED_DAY = lazy_pattern(
    rf"(?P<before>\b(?:{MONTH}) the )?\b(?P<day>{_DAY_NAMES})\b(?P<after> of (?:{MONTH})\b)?",
    re.IGNORECASE,
)
_DATE_WORD = lazy_pattern(
    rf"\d\d|\d(?:st|nd|rd|th)\b|\b(?:{MONTH}|{'|'.join([*SEASONS, *WEEKDAYS])}|ago|back|last|past|"
    rf"previous|this|the other|yesterday|today|tonight|weekend|thanksgiving|"
    rf"{'|'.join(name.split()[0] for name in [*HOLIDAYS, *MOVABLE_HOLIDAYS])})\b",
    re.IGNORECASE,
)
"""Every date contains one of these: a cheap test that most questions fail."""


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
    question = _NAMED_DAY.sub(_numbered, question)
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
    parts = [part_of_time(question, found[span]) for span in sorted(found) if found[span].ranges]
    whole = [each for each in parts if not any(_is_inside(each, other) for other in parts)]
    return question, _agreed(_narrowed(question, whole))


def _numbered(match: re.Match[str]) -> str:
    """Return a day of a month by its number, for one that is told in words."""
    before, after = match["before"] or "", match["after"] or ""
    number = DAY_NUMBERS[match["day"].lower().replace(" ", "-")]
    return f"{before.removesuffix('the ')}{number}{after}" if before or after else match[0]


def _readings(
    question: str, years: Sequence[int], today: date | None
) -> Iterator[tuple[re.Match[str], tuple[DateRange, ...], bool]]:
    """Yield what may be a time, the surest first, with its days and whether it is relative."""
    for match in HOLIDAY.finditer(question):
        yield match, days_of_holiday(match, years, today), False
    for pattern in _ABSOLUTE:
        for match in pattern.finditer(question):
            yield match, tuple(_absolute(match, years)), False
    if today is None:
        return
    for pattern, read in RELATIVE_TIMES:
        for match in pattern.finditer(question):
            yield match, (read(match, today),), True


def _is_inside(time: NamedTime, other: NamedTime) -> bool:
    """Whether a phrase is part of a longer one: "the last week" of "the last week of May"."""
    (start, end), (first, last) = time.span, other.span
    return first <= start and end <= last and (first, last) != (start, end)


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
            weekday = WEEKDAYS[named[1].lower()]
            days = [
                shift(first, number)
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
            yield days_of_season(groups["s"], year)
        elif groups.get("q"):
            first = 3 * int(groups["q"]) - 2
            yield days_of_month(year, first)[0], days_of_month(year, first + 2)[1]
        elif not groups.get("m"):
            yield date(year, 1, 1), date(year, 12, 31)
        else:
            month_text = groups["m"].lower()
            month = int(month_text) if month_text.isdigit() else MONTHS[month_text]
            if 1 <= month <= 12:
                yield from _of_month(groups, *days_of_month(year, month))


def _of_month(groups: Mapping[str, str | None], start: date, end: date) -> Iterator[DateRange]:
    """Yield what is named of a month: all of it, a day, some days, or one of its weekdays."""
    if weekday := groups.get("w"):
        first = shift(start, (WEEKDAYS[weekday.lower()] - start.weekday()) % 7)
        order = (groups["o"] or "").lower()
        weeks = (end - first).days // 7 if order == "last" else ORDINALS.index(order)
        yield days_back(first, -7 * weeks)
        return
    day = int(groups.get("d") or 0)
    last = int(groups.get("e") or day)
    if not groups.get("d"):
        yield start, end
    elif 1 <= day <= last <= end.day:
        yield start.replace(day=day), start.replace(day=last)
