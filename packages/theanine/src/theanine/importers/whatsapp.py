"""A chat that WhatsApp exported, from Android or iOS: the zip archive or the text file.

::

    08/05/2024, 13:56 - Ana: I booked the ferry.           (Android)
    [08.05.24, 13:56:02] Ana: I booked the ferry.          (iOS)
    24/3/14, 13:59:59: Ana: I booked the ferry.            (older iPhones)
    [13:56, 08/05/2024] Ana: I booked the ferry.           (copied from WhatsApp Web)

The order of day, month and year is found over the whole file, by what can be a month, then by the
order in which no date goes back. Unmarked lines continue the message above them, and so does a
chat pasted into a message. In a chat of two, the user is the one whom it isn't named after.

Sources: joweich/chat-miner ``chatminer/chatparsers.py`` and ``test/whatsapp``, Dlurak/Whis
``src/lib/constants/whatsapp.ts``, and loaders that read Finnish, Arabic and Chinese exports.
Never seen real.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import pairwise

from theanine.errors import BadInput
from theanine.importers.base import ZONELESS, Entry, Intake, format_named
from theanine.importers.dates import check_date
from theanine.importers.folder import Folder
from theanine.importers.schema import require_storable
from theanine.importers.sessions import chat_sessions
from theanine.importers.wording import wording
from theanine.importers.words import OWN_WORDS, notice_in
from theanine.importers.written_dates import (
    MARKS,
    find_clock,
    find_date,
    full_date,
    hour_of,
    month_of,
    part_of_day,
)
from theanine.types import History

_LEFT_TO_RIGHT = "\u200e"  # before what iOS writes itself
_SPACE = "[ \u00a0\u202f\u2009]"
_LINE = re.compile(
    rf"[{MARKS}]*(?P<bracket>\[)?[{MARKS}]*(?P<stamp>[^\n\[\]]{{5,64}}?)[{MARKS}]*"
    rf"(?P<close>(?(bracket)\]{_SPACE}?|(?:{_SPACE}[-–]|:){_SPACE}))(?P<rest>.*)"
)
_JOINT = rf"[{MARKS}]?(?:[./-]{_SPACE}?|{_SPACE})[{MARKS}]?"
_DATE = (
    rf"(?P<a>\d{{1,4}})[{MARKS}]?(?P<joint>[./-]{_SPACE}?)[{MARKS}]?(?P<b>\d{{1,2}})"
    rf"(?:{_JOINT}(?P<c>\d{{4}}|\d{{1,2}}))?\.?"
)
_CLOCK = (
    r"(?P<hour>[01]?\d|2[0-4])(?:[:.]|\s?h\s?)(?P<minute>\d{2})"
    r"(?:(?:[:.]|\s?min\s)(?P<second>\d{2})(?:\s?s)?)?"
)
_WORDS = r"[^\d\n:]{0,24}?"
_STAMPS = (
    re.compile(rf"{_DATE}(?P<before>{_WORDS}){_CLOCK}(?P<after>{_WORDS})"),
    re.compile(rf"(?P<before>){_CLOCK}(?P<after>[^\d\n:,]{{0,12}}),\s?{_DATE}"),
)
_CLOCK_IN_WORDS = re.compile(r"\d{1,2}(?:[:.]|\s?h\s?)\d\d(?!\d)")
_SPEAKER = re.compile(
    rf"[{MARKS}~]*{_SPACE}*(?P<speaker>[^:]{{1,80}}?){_SPACE}?:(?: |$)(?P<text>.*)"
)
_TIGHT = re.compile(rf"[{MARKS}~]*{_SPACE}*(?P<speaker>[^:：]{{1,80}}?)[:：](?P<text>(?!//)\S.*)")
"""A name with no space after its colon; only if other lines tell that it is one."""
_QUOTES = re.compile(r"[\"“”„«»]")
_MARKED = r"<(?P<mark>[^<>\d:]{3,80})>"
"""What Android writes itself, in any language: a sentence in angle brackets."""
_PLACEHOLDER = re.compile(_MARKED)
_EDITED = re.compile(rf"{_SPACE}{{0,3}}(?:{_LEFT_TO_RIGHT}<[^<>:]{{3,60}}>|{_MARKED})\Z")
_IOS_FILE = re.compile(
    rf"(?P<title>.*?)(?P<own>{_LEFT_TO_RIGHT})?<[^<>:：\n]{{3,40}}(?:：|:(?(own)|{_SPACE})){_SPACE}?"
    r"(?P<file>(?(own)[^<>\n]+|[^<>\n/@]+\.\w{2,5}))>(?P<more>.*)",
    re.DOTALL,
)
_IOS_MARK = re.compile(rf"(?:^|(?<=\s)){_LEFT_TO_RIGHT}(?P<kind>[^\n{_LEFT_TO_RIGHT}]+)$", re.M)
_DOCUMENT = re.compile(rf"[^\n]+\.\w{{2,5}}|[^\n]*{_SPACE}•{_SPACE}[^\n]*")
"""The name of a document and its number of pages, as iOS writes them before its mark."""
_ANDROID_FILE = re.compile(
    rf"(?P<own>[{MARKS}]*)(?P<file>[^\n]{{1,200}}\.\w{{2,5}}){_SPACE}\((?P<said>[^()\n]{{3,60}})\)"
)
_NAMED_BY_APP = re.compile(r"[A-Z]{3}-\d{8}-WA\d+\.\w+")
_WORDING = wording("whatsapp")
_EDITS = frozenset(_WORDING["edited"])
_MEDIA = "a picture, a video or a recording"
_APP_NOTES = tuple(
    re.compile(
        "".join(rf"(?=.*(?:{'|'.join(_WORDING[each])}))" for each in about) + ".*", re.IGNORECASE
    )
    for about in (("this", "message", "gone"), ("this", "message", "waiting"), ("missed", "call"))
)
"""Notes by what they are about: this message, which is gone or awaited, or a missed call."""
_OWN_WORDS = re.compile(
    rf"{OWN_WORDS}|.*(?:[?!,;@]|\b(?:{'|'.join(_WORDING['ones_own'])})\b)", re.IGNORECASE
)
_TITLE = re.compile(
    r"^.*?whatsapp[- ]*(?:chat|conversation)?"
    r"(?:\s+(?:with|mit|con|avec|com|met|sa|s)\s+|\s*-\s*)",
    re.IGNORECASE,
)
_DAY_FIRST, _MONTH_FIRST, _YEAR_FIRST = range(3)
_FIRST_YEAR = 2009  # of WhatsApp


@dataclass(frozen=True, slots=True)
class _Header:
    """The beginning of a message.

    Attributes:
        numbers: the three numbers of its date, the last one None if it has no year.
        written: the date instead, if it names its month or has the year first in four digits.
        layout: what all headers that one phone writes have in common.
        us, spaced: whether it is written as in the United States, or as in Korean.
    """

    text: str
    rest: str
    layout: str
    clock: tuple[int, int, int]
    numbers: tuple[int, int, int | None] = (0, 0, None)
    written: tuple[int | None, int, int] | None = None
    us: bool = False
    spaced: bool = False

    @property
    def written_date(self) -> tuple[object, ...]:
        """The date and how it is written."""
        return self.numbers, self.written, self.us, self.spaced

    def date(self, order: int) -> tuple[int | None, int, int]:
        """Return year, month and day in an order of the numbers."""
        if self.written:
            return self.written
        a, b, c = self.numbers
        if order == _YEAR_FIRST and c is not None:
            year, month, day = a, b, c
        else:
            year, (month, day) = c, ((a, b) if order == _MONTH_FIRST else (b, a))
        return full_date(year, month, day)


def _header(line: str) -> _Header | None:
    """Return the header that a line begins with, if it begins a message."""
    match = _LINE.fullmatch(line)
    if not match or not _CLOCK_IN_WORDS.search(match["stamp"]):
        return None
    stamp, close = match["stamp"], match["close"].strip()
    for number, pattern in enumerate(_STAMPS):
        found = pattern.fullmatch(stamp)
        if found and not (number and not match["bracket"]):
            break
    else:
        return _header_in_words(match)
    if not (after := part_of_day(found["after"])) and found["after"].strip():
        after = next(filter(None, map(part_of_day, found["after"].split())), None)
    before = found["before"].strip(" .,،")
    part = after or part_of_day(before) or part_of_day(before.split()[-1] if before else "")
    hour = hour_of(int(found["hour"]), part)
    clock = hour % 24, int(found["minute"]), int(found["second"] or 0)
    if clock[1] > 59 or clock[2] > 59:
        return None
    a, b, c = int(found["a"]), int(found["b"]), found["c"]
    header = _Header(
        text=stamp,
        rest=match["rest"],
        layout=f"{close}{number}",
        clock=clock,
        numbers=(a, b, None if c is None else int(c)),
        us=found["joint"] == "/" and found["after"].strip() in ("AM", "PM"),
        spaced=found["joint"] == ". " and len(found["a"]) < 3,
    )
    if len(found["a"]) < 3:
        return header
    if c is None:
        return None
    return _Header(
        text=stamp,
        rest=match["rest"],
        layout=header.layout,
        clock=clock,
        written=full_date(a, b, int(c)),
    )


def _header_in_words(match: re.Match[str]) -> _Header | None:
    """Return the header whose date has the name of a month, or units as in Chinese."""
    stamp = match["stamp"]
    first = re.match(rf"[{MARKS}]*(?:\d|(?P<word>[^\W\d_]+)(?P<weekday>[.,])?)", stamp)
    found = find_date(stamp)
    if not first or not found or not (found.year or re.search(r"[^\W\d_]", stamp)):
        return None
    if first["word"] and not first["weekday"] and not month_of(first["word"]):
        return None
    start, end = found.span
    clock = find_clock(stamp[end:]) or find_clock(stamp[:start])
    named = re.search(r"[^\W\d_]", stamp[start:end])
    if not clock or not (named or "." not in stamp[start:end]):
        return None
    return _Header(
        text=stamp,
        rest=match["rest"],
        layout=f"{match['close'].strip()}0",
        clock=(clock.hour, clock.minute, clock.second),
        written=(found.year, found.month, found.day),
    )


@dataclass(frozen=True, slots=True)
class _Order:
    """The faults that the dates of a file have in one order of day, month and year.

    Attributes:
        faults: how many dates can't be, and how often one is before the previous one.
        turns: how often a new year begins above the first date with a year.
        year: that date's, or None.
        last: month and day of the last date.
    """

    number: int
    faults: tuple[int, int]
    turns: int
    year: int | None
    last: tuple[int, int]


def _tried(headers: Sequence[_Header], number: int) -> _Order:
    dates = [header.date(number) for header in headers]
    possible = [each for each in dates if 1 <= each[1] <= 12 and 1 <= each[2] <= 31]
    full = [(year, month, day) for year, month, day in possible if year is not None]
    first = next((i for i, each in enumerate(possible) if each[0] is not None), len(possible))
    days = [(month, day) for _, month, day in possible]
    impossible = len(dates) - len(possible) + sum(year < _FIRST_YEAR for year, _, _ in full)
    return _Order(
        number,
        faults=(impossible, sum(b < a for a, b in pairwise(full))),
        turns=sum(b < a for a, b in pairwise(days[: first + 1])),
        year=full[0][0] if full else None,
        last=days[-1] if days else (0, 0),
    )


@dataclass(slots=True)
class _Calendar:
    """Gives the messages their times, with the years that some dates lack."""

    order: int
    zone: tzinfo
    year: int | None
    last_day: tuple[int, int] = (0, 0)

    def time(self, header: _Header, where: str) -> datetime:
        """Return the time of the next message. Raises BadInput."""
        year, month, day = header.date(self.order)
        if year is None and self.year is None:
            raise BadInput(
                f'"{header.text[:24]}" has no year, nor has another date of the file; give the '
                "date of its first message as the start",
                where,
            )
        self.year = year or (self.year or 0) + ((month, day) < self.last_day)
        self.last_day = month, day
        return self.at(header, self.year, where)

    def at(self, header: _Header, year: int, where: str) -> datetime:
        _, month, day = header.date(self.order)
        try:
            return datetime(year, month, day, *header.clock, tzinfo=self.zone)
        except ValueError:
            raise BadInput(f'"{header.text[:24]}" is not a date; check the line', where) from None

    def is_quoted(self, header: _Header, outer: datetime) -> bool:
        """Return whether a header that is unlike the others is a pasted one: from before."""
        year, _, _ = header.date(self.order)
        try:
            return self.at(header, year or outer.year, "") <= outer
        except BadInput:
            return True


def _named(match: re.Match[str]) -> str:
    """Return the speaker of a line, without the marks that phones put round numbers."""
    return re.sub(f"[{MARKS}]", "", match["speaker"]).strip()


@dataclass(slots=True)
class _Survey:
    """What is known of a file after its first reading.

    Attributes:
        headers: those whose dates are written otherwise than the one above them.
        speakers: the lines that begin with each possible speaker's name.
        tight: those with no space after the colon.
        layout: that of the first header.
        crlf: whether messages end with CR LF, so that lines that end with LF are in them.
    """

    headers: list[_Header] = field(default_factory=list[_Header])
    speakers: Counter[str] = field(default_factory=Counter[str])
    tight: Counter[str] = field(default_factory=Counter[str])
    layout: str = ""
    crlf: bool = False

    def add(self, header: _Header) -> None:
        last = self.headers[-1] if self.headers else None
        if last is None or header.written_date != last.written_date:
            self.headers.append(header)
        for pattern, names in ((_SPEAKER, self.speakers), (_TIGHT, self.tight)):
            if speaker := pattern.fullmatch(header.rest):
                names[_named(speaker)] += 1
                break

    def said(self, line: str) -> re.Match[str] | None:
        """Return the speaker and the words of the first line of a message; None for a note."""
        if (match := _SPEAKER.fullmatch(line)) or not (match := _TIGHT.fullmatch(line)):
            return match
        return match if _named(match) in self.speakers else None

    def order(self, intake: Intake) -> _Order:
        """Return the order of day, month and year, noting if nothing tells it."""
        plain = [header for header in self.headers if not header.written]
        first = _DAY_FIRST
        if all(header.us for header in plain):  # as in the United States: 5/8/24, 1:56 PM
            first = _MONTH_FIRST
        elif all(header.spaced for header in plain):  # as in Korean: 24. 5. 13.
            first = _YEAR_FIRST
        orders = [_tried(self.headers, number) for number in range(3)]
        best = min(orders, key=lambda each: (each.faults, each.number != first, each.number))
        told = (
            orders[_DAY_FIRST].faults != orders[_MONTH_FIRST].faults or best.number == _YEAR_FIRST
        )
        if not told and any(header.numbers[0] != header.numbers[1] for header in plain):
            intake.notes["files whose dates could also have month and day the other way round"] += 1
        return best

    def is_unlike(self, header: _Header, after_crlf: bool) -> bool:
        """Return whether a header may be one of another chat, pasted into a message."""
        return header.layout != self.layout or (self.crlf and not after_crlf)

    def is_speaker(self, name: str) -> bool:
        """Return whether a name is a person's, not the beginning of a note of WhatsApp.

        Such a note has an odd quotation mark, goes on after a speaker's name, or is a sentence.
        """
        words = name.split()
        lower = sum(word[0].islower() for word in words[1:])
        goes_on = any(" ".join(words[:n]) in self.speakers for n in range(1, len(words) - 2))
        if goes_on and lower:
            return self.speakers[name] > 1 and len(_QUOTES.findall(name)) % 2 == 0
        is_odd = len(_QUOTES.findall(name)) % 2 or (len(words) >= 5 and lower >= 3)
        return self.speakers[name] > 1 or not is_odd


def _survey(intake: Intake) -> _Survey:
    endings = {line.endswith(b"\r\n") for _, _, line in intake.source.lines()}
    survey = _Survey(crlf=len(endings) == 2)
    after_crlf = True
    for _, line in intake.text_lines():
        if header := _header(line.rstrip("\r")):
            survey.layout = survey.layout or header.layout
            if not survey.is_unlike(header, after_crlf):
                survey.add(header)
        after_crlf = line.endswith("\r") if line.strip() else after_crlf
    for name, count in survey.tight.items():
        if name in survey.speakers or (count > 1 and not name[-1:].isdigit()):
            survey.speakers[name] += count
    return survey


def _read(intake: Intake) -> Iterator[History]:
    survey = _survey(intake)
    speakers = {name for name in survey.speakers if survey.is_speaker(name)}
    chat = _chat_name(intake, speakers)
    others = speakers - {chat}
    owner = others.pop() if len(speakers) == 2 and len(others) == 1 else ""
    name = intake.user_name(owner)
    yield from chat_sessions(intake, name, chat, _messages(intake, survey))


def _calendar(intake: Intake, survey: _Survey) -> _Calendar:
    """Return the calendar that begins in the year of the first message, as far as it is known."""
    order = survey.order(intake)
    year = None if order.year is None else order.year - order.turns
    if year is None and intake.options.start:
        year = intake.options.start.year
    elif year is None and survey.headers and (changed := intake.source.modified):
        intake.notes["files without years, dated by their last change"] += 1
        year = changed.year - (order.last > (changed.month, changed.day)) - order.turns
    return _Calendar(order.number, intake.options.local, year)


def _messages(intake: Intake, survey: _Survey) -> Iterator[Entry]:
    calendar = _calendar(intake, survey)
    header: _Header | None = None
    at: datetime | None = None
    started, lines = 0, list[str]()
    after_crlf = True
    for number, text in intake.text_lines():
        line = text.rstrip("\r") if text.strip() else ""
        found = _header(line)
        if found and at and survey.is_unlike(found, after_crlf) and calendar.is_quoted(found, at):
            found = None
        after_crlf = text.endswith("\r") if line else after_crlf
        if found:
            if header:
                yield from _message(intake, survey, at, lines, started)
            header, at, lines, started = found, None, [found.rest], number
            with intake.catching():
                where = f"{intake.name}, line {number}"
                at = check_date(calendar.time(found, where), where)
        elif header:
            lines.append(line)
        else:
            intake.notes["lines before the first message left out"] += bool(line)
    if header:
        yield from _message(intake, survey, at, lines, started)


def _message(
    intake: Intake, survey: _Survey, at: datetime | None, lines: list[str], number: int
) -> Iterator[Entry]:
    where = f"{intake.name}, line {number}"
    with intake.catching():
        match = survey.said(lines[0])
        speaker = _named(match) if match else ""
        if not match or not speaker:
            intake.notes["system lines left out"] += 1
            return
        if not survey.is_speaker(speaker):
            intake.notes["system lines left out"] += 1
            if not _QUOTES.search(speaker):
                _name(intake, lines[0], "a line by WhatsApp")
            return
        words = "\n".join([match["text"], *lines[1:]]).rstrip("\n")
        text, attachment = _content(intake, words, speaker, survey.speakers)
        if not text and not attachment:
            intake.notes["deleted and system messages left out"] += 1
            return
        if at is None:
            return
        intake.notes[ZONELESS] += intake.options.zone is None
        yield Entry(where, "user", speaker, text, attachment, at=at)


def _name(intake: Intake, words: str, what: str) -> None:
    """Note words that only by their form are known to be WhatsApp's."""
    intake.notes[f'"{words[:80]}" read as {what}'] += 1


def _content(intake: Intake, text: str, speaker: str, others: Container[str]) -> tuple[str, str]:
    """Return a message's words and what was shared; both empty for notes of WhatsApp itself."""
    first, _, rest = text.partition("\n")
    bare = _plain(text)
    if bare == "null" or notice_in(bare, speaker, others):
        return "", ""
    if (match := _PLACEHOLDER.fullmatch(bare)) and _is_sentence(match["mark"]):
        if not _OMITTED_WORDS.search(bare):
            _name(intake, bare, "media that were left out")
        return "", _MEDIA
    if "\n" not in bare and _is_app_note(bare):
        _name(intake, bare, "a note of WhatsApp")
        return "", ""
    if match := _IOS_FILE.fullmatch(text):
        shared = _kind(match["file"])
        return _plain(f"{_caption(match['title'], shared)}\n{match['more']}"), shared
    if (match := _ANDROID_FILE.fullmatch(first)) and _is_attached(match):
        return _plain(rest), _kind(match["file"])
    if (found := _by_ios(text)) is not None:
        return found
    if (match := _EDITED.search(text)) and _is_mark(match):
        wording = match["mark"] or ""
        if wording and wording.rstrip(".") not in _EDITS:
            _name(intake, f"<{wording}>", "the mark of an edited message")
        text = text[: match.start()]
    return _plain(text), ""


def _is_attached(match: re.Match[str]) -> bool:
    """Return whether a name with words in parentheses is a file's, by a mark, its form or these."""
    is_own = match["own"] or _NAMED_BY_APP.fullmatch(match["file"])
    return bool(is_own or _ATTACHED.search(match["said"]))


def _by_ios(text: str) -> tuple[str, str] | None:
    """Return the words and what was shared of what iOS wrote itself; None for other messages."""
    for match in _IOS_MARK.finditer(text):
        if _OMITTED_WORDS.search(match["kind"]):
            title = text[: match.start()]
            caption = _caption(title, _kind(match["kind"], _MEDIA))
            name = "" if caption else _plain(title.rpartition(_LEFT_TO_RIGHT)[0] or title)
            shared = _kind(name.rstrip(" •")) if name else _kind(match["kind"], _MEDIA)
            return _plain(f"{caption}{text[match.end() :]}"), shared
    # A poll, an event or a place has words of its own; notes have none.
    bare = _plain(text)
    return (
        ("", "")
        if text.startswith(_LEFT_TO_RIGHT) and "\n" not in bare and "://" not in bare
        else None
    )


def _caption(title: str, shared: str) -> str:
    """Return what stands before the mark of what was shared, if it isn't a document's name."""
    title = _plain(title)
    named = shared not in _WORDING["kinds"] or shared in ("a file", "a contact")
    is_name = named and (_DOCUMENT.fullmatch(title) or title.split(" • ")[0] in shared)
    return "" if is_name else title


def _plain(text: str) -> str:
    """Return words without the marks that iOS puts around and before its own, and mentions."""
    return re.sub("[\u200e\u202a-\u202e\u2066-\u2069]", "", text).strip(" \u200f\n")


def _is_mark(match: re.Match[str]) -> bool:
    return match["mark"] is None or (match.start() > 0 and _is_sentence(match["mark"]))


def _is_sentence(words: str) -> bool:
    """Whether words in angle brackets are a sentence: begin as one, and are several or uncased."""
    first, *others = words.split() or [""]
    if first[:1].lower() == first[:1].upper():  # a script without capitals
        return not first.isascii()
    return first[0].isupper() and bool(others) and others[-1].rstrip(".").islower()


def _is_app_note(text: str) -> bool:
    if len(text) > 70 or len(text.split()) > 9 or text[:1].islower() or _OWN_WORDS.match(text):
        return False
    return any(note.fullmatch(text) for note in _APP_NOTES)


_ATTACHED = re.compile("|".join(_WORDING["attached"]), re.IGNORECASE)
_OMITTED_WORDS = re.compile("|".join(map(re.escape, _WORDING["omitted"])), re.IGNORECASE)
"""Words, in any language, by which a chat says that a file was left out."""


def _kind(name: str, other: str = "") -> str:
    lowered = name.lower()
    if lowered.endswith(".vcf"):
        return f'the contact "{name[:-4]}"'
    named = other or f'the file "{name}"'
    kinds = _WORDING["kinds"].items()
    return next((kind for kind, word in kinds if re.search(word, lowered)), named)


def _chat_name(intake: Intake, speakers: set[str]) -> str:
    """Return whom the chat is with: what its file is named after, in any language."""
    archive = intake.folder.name.rsplit("/", 1)[-1] if intake.folder else ""
    name = intake.source.stem
    if name == "_chat" and archive:
        name = archive.removesuffix(".zip")
    title = require_storable(_TITLE.sub("", name), intake.name).strip() or "chat"
    letter = r"[A-Za-zÀ-ӿ0-9]"  # other scripts write no space between a name and a word
    named = [
        each for each in speakers if re.search(rf"(?<!{letter}){re.escape(each)}(?!{letter})", name)
    ]
    return named[0] if title == name and len(named) == 1 else title


def _pick(folder: Folder) -> list[str]:
    texts = [name for name in folder.names if name.lower().endswith(".txt")]
    return [n for n in texts if n.endswith("_chat.txt") or "whatsapp" in n.lower()]


FORMAT = format_named("whatsapp", _read, lambda intake: any(map(_header, intake.lines[:10])), _pick)
