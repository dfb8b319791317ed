"""Times in any writing: numbers of any unit, ISO 8601, or words in any language of CLDR.

``calendar_words.json`` is written by ``tools/make_calendar_words.py``.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import cache
from importlib.resources import files
from typing import cast

from theanine.clock import fault_of_time
from theanine.importers.dates import NOON, has_offset
from theanine.importers.wording import wording

MARKS = "\u200b\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff"
"""Marks of direction and width, as a class of a regular expression."""
_SEPARATOR = rf"[./_-][{MARKS}\s]{{0,2}}|\s"
_NUMBERS = re.compile(
    rf"(?<![\d.])(?P<a>\d{{1,4}})[{MARKS}]?(?P<s>{_SEPARATOR})(?P<b>\d{{1,2}})[{MARKS}]?"
    rf"(?:(?:{_SEPARATOR})(?P<c>\d{{4}}|\d{{1,2}})(?!\d))?\.?"
)
_YEAR_FIRST = re.compile(
    r"(?<!\d)(?<!\d[-_./]\d[-_./])(?<!\d[-_./]\d\d[-_./])"  # the year of "13-05-2024-10-30"
    r"(?P<year>20\d\d)[-_./](?P<month>\d{1,2})[-_./](?P<day>\d{1,2})(?!\d)"
)
_UNITS = re.compile(
    r"(?:(?P<year>\d{4})\s?[年년]\s?)?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]"
)
_VIETNAMESE = re.compile(
    r"(?P<day>\d{1,2}) tháng (?P<month>\d{1,2})(?:,? (?:năm )?(?P<year>\d{4}))?", re.IGNORECASE
)
_COMPACT = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)(?:\d{4}|\d{6})?(?!\d)"
)
_WEEK = re.compile(r"(?<!\d)(?P<year>\d{4})-?W(?P<week>\d\d)(?!\d)", re.IGNORECASE)
_WORDS = re.compile(r"\d+|[^\W\d_](?:[^\s\d.,;:/()\[\]_-])*")
_CLOCK = re.compile(
    r"(?P<before>[^\d\n:]{0,24}?)(?<!\d)(?P<hour>\d{1,2})(?:[:.]|\s?h\s?)(?P<minute>\d{2})"
    r"(?:(?:[:.]|\s?min\s)(?P<second>\d{2})(?:\s?s\b)?)?(?!\d)(?P<after>[^\d\n:]{0,24})"
)
_ZONES = wording("zones")
_ZONE = re.compile(r"(?:UTC|GMT)?\s?([+\-−])(\d{1,2}):?(\d{2})?$|(?:UTC|GMT|Z)$")
_CLOCK_IN_UNITS = re.compile(
    r"(?<!\d)(?P<hour>\d{1,2})(?:h\s?(?=\d{1,2}m)|\s?[時时點点시](?!間|间|간)\s?)"
    r"(?:(?P<minute>\d{1,2})(?:m|\s?[分분])(?:\s?(?P<second>\d{1,2})(?:s|\s?[秒초]))?)?"
    r"(?:\s?\d{1,3}ms)?"
)
"""A time of day in units, as SillyTavern, Korean, Japanese and Chinese write it."""
_CLOCK_IN_NAME = re.compile(
    r"[-_T @]+([01]\d|2[0-3])[-_.:h]?([0-5]\d)(?:[-_.:m]?([0-5]\d))?(?!\d|p(?![a-z]))"
)
"""The time of day after the date in a file's name; 1440p is the height of a picture."""
_OFFSET_IN_NAME = re.compile(r"\s?(?:GMT|UTC)([+-])(\d{1,2})(?:[:_]?(\d\d))?(?!\d)")
_LONGEST = 80
"""Characters of a time in words."""
NUMBER = re.compile(r"\d{9,10}(?:\.\d+)?|\d{12,13}")
"""A time in seconds or milliseconds since 1970."""
ISO_DATE = re.compile(
    r"(?<!\d)\d{4}-\d\d-\d\d"
    r"(?:(?:T|,? (?:at )?)\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:\s?Z|\s?[+-]\d\d:?\d\d)?)?(?!\d)"
)
"""A date in ISO 8601, with or without a time of day and an offset."""
_MIN_LETTERS, _LAST_LETTER = 2, 0x24F
"""Names of up to two Latin letters are words of other meanings."""
_IRAN = 226_529
"""Days from the calendar's first to that of Iran: 1 Farvardin 1403 is 20 March 2024."""


def _fold(word: str) -> str:
    """Return a word without case, marks, dots and spaces."""
    plain = (c for c in unicodedata.normalize("NFKC", word) if unicodedata.category(c) != "Cf")
    return re.sub(r"[\s.,،·]", "", "".join(plain)).casefold()


@cache
def _words() -> tuple[Mapping[str, tuple[int, int]], Mapping[str, int]]:
    text = (files("theanine.importers") / "calendar_words.json").read_text("utf-8")
    data = cast("dict[str, dict[str, object]]", json.loads(text))
    halves = cast("dict[str, Sequence[int]]", data["halves"])
    # A name that is of several months, such as "listopad", is the one of more languages.
    found: dict[str, Counter[int]] = {}
    for names in cast("dict[str, dict[str, int]]", data["months"]).values():
        for name, number in names.items():
            if len(name) > _MIN_LETTERS or ord(name[0]) > _LAST_LETTER:
                found.setdefault(_fold(name), Counter())[number] += 1
    months = {name: numbers.most_common(1)[0][0] for name, numbers in found.items()}
    return {_fold(word): (hours[0], hours[1]) for word, hours in halves.items()}, months


def part_of_day(word: str) -> tuple[int, int] | None:
    """Return the hours, from the first to before the last, that a word such as "pm" spans."""
    return _words()[0].get(_fold(word)) if word else None


def month_of(word: str) -> int | None:
    """Return the number of a month by its name in any language, also with an ending."""
    months, word = _words()[1], _fold(word)
    forms = (word, word[1:] if word.startswith("ב") else "", *(word[:-n] for n in (1, 2, 3)))
    found = (months.get(form) for form in forms if form == word or len(form) > 2)
    return next((number for number in found if number), None)


def hour_of(hour: int, part: tuple[int, int] | None) -> int:
    """Return the hour from 0 to 23 of one from 1 to 12 in a part of the day."""
    if part is None or hour > 12:
        return hour
    start, end = part

    def distance(hour: int) -> int:
        inside = start <= hour < end if start < end else hour >= start or hour < end
        return 0 if inside else min((start - hour) % 24, (hour - end + 1) % 24)

    return min((hour % 12, hour % 12 + 12), key=distance)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as it is written.

    Attributes:
        year: None if it has none.
        day: of the two numbers that can be day and month, the first unless it is clear.
        swappable: whether day and month can be the other way round.
        span: where in the text it is.
    """

    year: int | None
    month: int
    day: int
    swappable: bool
    span: tuple[int, int]

    @property
    def swapped(self) -> WrittenDate:
        """The date with day and month the other way round."""
        return WrittenDate(self.year, self.day, self.month, self.swappable, self.span)


def find_date(text: str) -> WrittenDate | None:
    """Return the date that a text begins with or holds: in digits, or with a month's name."""
    for pattern in (_COMPACT, _YEAR_FIRST, _UNITS, _VIETNAMESE):
        if match := pattern.search(text):
            year = match["year"]
            found = _date(int(year) if year else None, match["month"], match["day"], match.span())
            if found:
                return found
    if match := _WEEK.search(text):
        try:
            day = date.fromisocalendar(int(match["year"]), int(match["week"]), 1)
        except ValueError:
            return None
        return WrittenDate(day.year, day.month, day.day, False, match.span())
    return _with_name(text) or _in_numbers(text)


def _date(
    year: int | None, month: str | int, day: str | int, span: tuple[int, int], *, both: bool = False
) -> WrittenDate | None:
    year, month, day = full_date(year, int(month), int(day))
    swappable = both and month <= 12 and day <= 12 and month != day
    if both and month > 12:
        month, day = day, month
    try:
        date(year or 2000, month, day)
    except ValueError:
        return None
    return WrittenDate(year, month, day, swappable, span)


def full_date(year: int | None, month: int, day: int) -> tuple[int | None, int, int]:
    """Return a date of this century and our calendar: of Thailand's and Iran's, the same day."""
    if year is None:
        return year, month, day
    if 1300 <= year < 1420 and 1 <= month <= 12:
        return _from_iran(year, month, day)
    return year + 2000 if year < 100 else year - 543 if year > 2400 else year, month, day


def _in_numbers(text: str) -> WrittenDate | None:
    for match in _NUMBERS.finditer(text):
        a, b, c = match["a"], match["b"], match["c"]
        if len(a) > 2:
            found = _date(int(a), b, c, match.span()) if c and len(a) == 4 else None
        elif c is None:
            found = _date(None, b, a, match.span(), both=True) if match["s"][0] in "./-" else None
        elif int(a) > 31 or (match["s"][0] not in "./-" and len(c) < 4):
            found = None
        else:
            found = _date(int(c), b, a, match.span(), both=True)
            if found is None and int(a) > 12:  # the year first, in two digits
                found = _date(int(a), b, c, match.span())
        if found:
            return found
    return None


def _with_name(text: str) -> WrittenDate | None:
    """Return a date with the name of a month: the last one, as weekdays can be called the same.

    A name with an ending counts if there is none without, as "kello" before a time begins with one.
    One with a year counts before others, as parts of days can be called like months.
    """
    yearless: WrittenDate | None = None
    words, months = list(_WORDS.finditer(text)), _words()[1]
    order = sorted(range(len(words)), key=lambda i: (_fold(words[i][0]) in months, i), reverse=True)
    for i in order:
        if words[i][0].isdecimal() or (month := month_of(words[i][0])) is None:
            continue
        numbers = [(abs(j - i), j > i, word) for j, word in enumerate(words) if word[0].isdecimal()]
        near = [word for distance, _, word in sorted(numbers, key=lambda n: n[:2]) if distance <= 3]
        day = next((word for word in near if len(word[0]) <= 2 and 1 <= int(word[0]) <= 31), None)
        year = next((word for word in near if len(word[0]) == 4), None)
        if day is None:
            continue
        ends = [words[i], day, *([year] if year else [])]
        span = min(word.start() for word in ends), max(word.end() for word in ends)
        found = _date(int(year[0]) if year else None, month, day[0], span)
        if found and found.year:
            return found
        yearless = yearless or found
    return yearless


def find_clock(text: str) -> time | None:
    """Return the time of day in a text that holds no date, with "pm" or such in any language."""
    text = _CLOCK_IN_UNITS.sub(
        lambda m: f"{m['hour']}:{m['minute'] or 0:0>2}:{m['second'] or 0:0>2} ", text
    )
    for match in _CLOCK.finditer(text):
        after, before = match["after"].split(",")[0].split(), match["before"].split()
        # A word of several words stands beside the time; a weekday or a zone is farther from it.
        near = [after[:n] for n in range(len(after), 0, -1)]
        near += [before[n:] for n in range(len(before))]
        part = next(filter(None, (part_of_day("".join(words)) for words in near)), None)
        hour, minute = hour_of(int(match["hour"]), part), int(match["minute"])
        second = int(match["second"] or 0)
        if hour < 24 and minute < 60 and second < 60:
            return time(hour, minute, second)
    return None


def written_time(text: str, zone: tzinfo) -> datetime | None:
    """Return the time that a text gives, noon without one of the day.

    It is in the zone that the text names, else in ``zone``. Day and month with slashes are in the
    American order if the hours are from 1 to 12. None without a year of four digits.
    """
    text = _ascii_digits(re.sub(r"\s*\([^()]*\)$", "", text.strip()))  # JavaScript names the zone
    found = find_date(text)
    if found is None or (year := found.year) is None:
        return None
    start, end = found.span
    if not re.search(r"\d{4}", text[start:end]):  # as in the number of a version
        return None
    clock = find_clock(text[end:]) or find_clock(text[:start])
    is_american = "/" in text[start:end] and any(map(part_of_day, text[end:].split()))
    if found.swappable and is_american:
        found = found.swapped
    day = date(year, found.month, found.day)
    return datetime.combine(day, clock or NOON, offset_of(text) or zone)


def _ascii_digits(text: str) -> str:
    return "".join(
        str(unicodedata.digit(c)) if c.isdigit() and not c.isascii() else c for c in text
    )


def offset_of(text: str) -> tzinfo | None:
    """Return the UTC offset that a text ends with, in numbers or as a zone's abbreviation."""
    last = re.search(r"[A-Z]{3,4}$", text)
    if last and last[0] in _ZONES:
        return timezone(timedelta(hours=_ZONES[last[0]]))
    if not (match := _ZONE.search(text)) or not (match[2] is None or ":" in text[: match.start()]):
        return None
    if match[2] is None:
        return UTC
    delta = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(delta if match[1] == "+" else -delta) if delta < timedelta(hours=24) else None


def _from_iran(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Return the date of a date in the calendar of Iran, by its cycle of 33 years."""
    days = 365 * year + (8 * year + 21) // 33
    days += 31 * (month - 1) if month <= 7 else 30 * (month - 1) + 6
    found = date.fromordinal(days + day + _IRAN)
    return found.year, found.month, found.day


def any_time(value: object, zone: tzinfo) -> datetime | None:
    """Return a time in any writing, aware; None for what is no time.

    Numbers are seconds, milliseconds, microseconds or nanoseconds since 1970, by their size.
    Objects are those of MongoDB (``$date``) and of protocol buffers (``seconds``).
    """
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        for name in ("$date", "$numberLong", "seconds", "_seconds", "iso", "value", "timestamp"):
            if name in fields:
                return any_time(fields[name], zone)
        return None
    if isinstance(value, str):
        text = unicodedata.normalize("NFKC", value).strip()
        if re.fullmatch(r"-?\d{9,19}(?:\.\d+)?", text):
            return any_time(float(text), zone)
        return _iso(text, zone) or _in_words(text, zone)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    seconds = float(value)
    while abs(seconds) > 1e11:
        seconds /= 1000
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return at if seconds > 1e8 and not fault_of_time(at) else None


def is_zoneless(value: object) -> bool:
    """Return whether a time is written without a UTC offset or a known zone."""
    if not isinstance(value, str) or re.fullmatch(r"-?[\d.]+", value.strip()):
        return False
    return not (has_offset(value) or offset_of(value.strip()))


def _iso(text: str, zone: tzinfo) -> datetime | None:
    try:
        at = datetime.fromisoformat(re.sub(r"\s(?=[Z+-]\d*:?\d*$)|\sUTC$", "", text))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC if text.endswith("UTC") else zone)
    return None if fault_of_time(at) else at if ":" in text or "T" in text else _noon(at)


def _noon(at: datetime) -> datetime:
    return datetime.combine(at, NOON, at.tzinfo)


def _in_words(text: str, zone: tzinfo) -> datetime | None:
    at = written_time(text, zone) if len(text) <= _LONGEST else None
    return None if at is None or fault_of_time(at) else at


def time_in_name(name: str, zone: tzinfo) -> datetime | None:
    """Return the date in a file's name, such as ``GMT20240513-195600_Recording``; None if none."""
    if match := re.search(r"(?<!\d)1[0-9]{12}(?!\d)", name):
        return any_time(int(match[0]), zone)
    found = find_date(name)
    if not found or not found.year or found.swappable or str(found.year) not in name:
        return None
    start, end = found.span
    clock = _CLOCK_IN_NAME.match(name, end)
    hours = [int(each or 0) for each in clock.groups()] if clock else [12]
    zone = UTC if re.search(r"GMT|UTC", name[: start + 3]) else zone
    if clock and (offset := _OFFSET_IN_NAME.match(name, clock.end())):
        zone = offset_of(f"00:00 {offset[1]}{offset[2]:0>2}:{offset[3] or '00'}") or zone
    at = datetime(found.year, found.month, found.day, *hours, tzinfo=zone)
    return None if fault_of_time(at) else at
