"""Parts of a time and what is beside it: "the second week of May", "the day after Christmas"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.calendar_days import (
    DAYS_IN_UNIT,
    NUMBER,
    ORDINALS,
    DateRange,
    days_of_month,
    days_since,
    period_around,
    read_number,
    shift,
)


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


_PART = lazy_pattern(
    r"\b(?:the )?(?P<p>early|mid|late|beginning|start|middle|end|first half|second half|"
    r"(?:first|second|third|fourth|last) quarter)(?: part)?(?: of| in)?[ -]*(?:the )?$",
    re.IGNORECASE,
)
_COUNTED_PART = lazy_pattern(
    r"\b(?:(?:in|on|over|during|within|for) )?(?:the )?(?:very )?"
    rf"(?P<o>first|second|third|fourth|fifth|last) (?:{NUMBER} |(?P<few>few) )?"
    r"(?P<u>day|week|weekend|month)(?P<s>s?) (?:of|in) (?:the )?$",
    re.IGNORECASE,
)
_BESIDE = lazy_pattern(
    rf"\b(?:(?:in|on|over|during|for) )?(?:the )?(?:{NUMBER} )?"
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


def part_of_time(question: str, time: NamedTime) -> NamedTime:
    """Return the part of a time that is named before it: "early" in May, the end of a year."""
    start, end = time.span
    if match := _COUNTED_PART.search(question[:start]):
        counted = [days for each in time.ranges for days in _counted_part(match, each)]
        return NamedTime(ranges=tuple(counted), span=(match.start(), end), relative=time.relative)
    if match := _BESIDE.search(question[:start]):
        ranges = tuple(_beside(match, days) for days in time.ranges)
        return NamedTime(ranges=ranges, span=(match.start(), end), relative=time.relative)
    if match := _WEEK_OF.search(question[:start]):
        ranges = tuple(period_around(days[0], "week") for days in time.ranges)
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
    length = 1 if unit == "weekend" else DAYS_IN_UNIT[unit]
    some = 7 if unit == "day" else 3
    count = read_number(match["n"]) if match["n"] else some if match["few"] or match["s"] else 1
    skipped = 0 if order == "last" else (*ORDINALS, "fifth").index(order)
    if unit == "weekend":
        saturday = shift(begin, (5 - begin.weekday()) % 7)
        starts = [shift(saturday, 7 * n) for n in range((end - saturday).days // 7 + 1)]
        starts = starts[-count:] if order == "last" else starts[skipped : skipped + count]
        yield from ((start, shift(start, 1)) for start in starts)
    elif unit == "month":
        months = 12 * begin.year + begin.month - 1
        all_months = 12 * end.year + end.month - months
        first = all_months - count if order == "last" else skipped
        start, until = months + first, months + first + count - 1
        yield (
            days_of_month(start // 12, start % 12 + 1)[0],
            days_of_month(until // 12, until % 12 + 1)[1],
        )
    elif order == "last":
        yield max(begin, shift(end, 1 - count * length)), end
    elif (start := shift(begin, skipped * length)) <= end:
        yield start, min(end, shift(start, count * length - 1))


def _beside(match: re.Match[str], days: DateRange) -> DateRange:
    """Return the day, the days, the two weeks … before or after a time."""
    unit = match["u"].lower()
    length = DAYS_IN_UNIT.get(unit, 2 if unit == "weekend" else 1)
    after = match["r"].lower() == "after"
    edge, sign = (days[1], 1) if after else (days[0], -1)
    if unit == "weekend":
        saturday = shift(edge, (4 - edge.weekday()) % 7 + 1)
        if not after:
            saturday = shift(edge, -days_since("saturday", edge))
        return saturday, shift(saturday, 1)
    if match["n"]:
        center, slack = shift(edge, sign * read_number(match["n"]) * length), length // 3
        return shift(center, -slack), shift(center, slack)
    far = 7 if match["s"] and length == 1 else length
    near, far_day = shift(edge, sign), shift(edge, sign * far)
    return min(near, far_day), max(near, far_day)


def _cut_range(days: DateRange, first: int, last: int, of: int) -> DateRange:
    """Return from the beginning of the part ``first`` to that of ``last``, of equal parts."""
    begin, end = days
    if (begin.month, begin.day) == (1, 1) and end.year == begin.year and (end - begin).days > 31:
        months = 12 // of  # of a year, whole months, of which some may be still to come
        until = days_of_month(begin.year, last * months)[1]
        return date(begin.year, first * months + 1, 1), until
    length = (end - begin).days + 1
    start = shift(begin, first * length // of)
    return start, end if last == of else shift(begin, last * length // of - 1)
