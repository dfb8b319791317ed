"""Chats as text whose lines begin with a time of day: LINE, KakaoTalk, meetings, and logs of IRC.

::

    2024.05.13 Monday                          LINE: a day above its messages
    21:56<TAB>Ana<TAB>The mast is up.
    ------ Monday, May 13, 2024 ------         KakaoTalk
    [Ana] [9:56 PM] The mast is up.
    May 13, 2024 at 9:56 PM, Ana : It is up.   KakaoTalk on a phone, with days in such lines
    10:01:00<TAB> From Ana to Everyone:        Zoom, with the words below or behind; also dated
    00:01:07<TAB>Ana:<TAB>The mast is up.      Zoom, from the start of the recording
    [10:01 AM] Ana: The mast is up.            copied from Teams
    Ana   0:07                                 a transcript of Teams, from its start
    12:56 <@ana> The mast is up.               irssi, mIRC and ZNC; "--- Day changed" is a day
    [12:56:00] [Server thread/INFO]: <ana> Up  games, which log much else
    2024-05-13 12:56:00<TAB>ana<TAB>It is up.  weechat
    (12:56:00 PM) ana: The mast is up.         Pidgin, also as HTML

Days and times are told by their form in any language. Without days, the date is that of the file
or its folder. What a reply or a reaction quotes is known as the beginning of an earlier message.

Sources: ChatLab ``packages/parser/src/browser/line.test.ts``, AmDewSaroota/wendys-oracle, and
readers of Zoom's ``meeting_saved_chat.txt``; the default formats of the logs of irssi, weechat,
ZNC, mIRC, HexChat and Pidgin. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from pathlib import PurePosixPath

from theanine.importers.base import ZONELESS, Entry, Format, Intake, format_named
from theanine.importers.dates import DEFAULT_START, check_date
from theanine.importers.html_text import html_to_text
from theanine.importers.schema import require_storable
from theanine.importers.sessions import SYNTHETIC, SessionBuilder, chat_sessions
from theanine.importers.source import Source
from theanine.importers.wording import wording
from theanine.importers.words import file_named
from theanine.importers.written_dates import (
    WrittenDate,
    find_date,
    hour_of,
    offset_of,
    part_of_day,
    time_in_name,
)
from theanine.types import History

_WORDING = wording("chat_lines")
_FROM, _TO, _REPLYING = ("|".join(_WORDING[each]) for each in ("from", "to", "replying"))
_TIME = (
    r"(?P<before>[^\x00-\x7f][^\s\d:]{0,6} ?)?(?P<hour>\d{1,2}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2}))?(?:[ \u00a0\u202f]?(?P<after>[AaPp]\.? ?[Mm]\b\.?))?"
)
_ZOOM = re.compile(
    rf"(?P<date>\d{{4}}-\d\d-\d\d )?{_TIME}\s+(?:{_FROM})\s+(?P<name>\S[^:\n]{{0,80}}?)"
    rf"\s+(?:{_TO})\s+[^:\n]{{1,80}}:\s*(?P<text>.*)",
    re.IGNORECASE,
)
_RECORDED = re.compile(rf"{_TIME}\t\s?(?P<name>[^\t:]{{1,80}}?)\s?:\t(?P<text>.*)")
_TEAMS = re.compile(rf"\[{_TIME}\] (?P<name>[^\W\d_][^:\n]{{0,60}}?)(?:: (?P<text>.*))?")
_SPOKEN = re.compile(
    rf"(?![^\n]*\d{{4}})(?P<name>[^\W\d_][^\t:]{{0,59}}?)(?:\s{{2,}}|\t){_TIME}\s*(?P<text>)"
)
_STAMPED = re.compile(
    rf"(?P<name>[^\W\d_][^\t:,.()\[\]]{{0,59}}?) [(\[]?{_TIME}[)\]]?:?\s*(?P<text>)"
)
"""The first time must be the start: lines of a timetable have the same form."""
_CAPTION = re.compile(rf"\[(?P<name>[^\W\d_][^\[\]]{{0,59}})\] {_TIME}(?P<text>)")
_LINE = re.compile(rf"{_TIME}\t(?:(?P<name>[^\t]+)\t)?\t?(?P<text>.*)")
_SPACED = re.compile(rf"{_TIME} (?P<name>)(?P<text>\S.*)")
_KAKAO = re.compile(rf"\[(?P<name>[^\[\]]{{1,60}})\] \[{_TIME}\] (?P<text>.*)")
_KAKAO_PHONE = re.compile(
    rf"(?P<date>(?=[^\n:]{{0,16}}\d{{4}})[^\n:]{{8,32}}?)[ \u00a0\u202f]{_TIME}"
    r"(?:, (?:(?P<name>[^\n:]{1,60}?) : )?(?P<text>.*))?"
)
"""A day above its messages also has this form, without a name and words."""
_MEETING = (_ZOOM, _RECORDED, _TEAMS, _SPOKEN, _STAMPED, _CAPTION)
_FROM_ZERO = (_SPOKEN, _STAMPED)
_DATED = r"(?P<date>\d{4}-\d\d-\d\d[ T]|[A-Z][a-z]{2} +\d\d? |\d\d?[./]\d\d?[./]\d{2,4},? )?"
_IRC = re.compile(rf"[\[(]?{_DATED}{_TIME}[\])]?:?(?P<name>)\s(?P<text>.*)")
_PIDGIN = re.compile(rf"\({_DATED}{_TIME}\) (?:(?P<name>[^\s:][^:\n]{{0,60}}?): )?(?P<text>.*)")
_LOGS = (_IRC, _PIDGIN)
_LABELS = r"(?:(?:\[[^\[\]]{1,60}\]:?|[A-Z]{4,6}(?:\[[^\[\]]{1,60}\]|\])?:) )*"
"""Labels before a player's words in the log of a game: a thread, a level, the kind of line."""
_SAID = re.compile(
    rf"{_LABELS}<[ @+%&~!]?(?P<nick>[^<>\s]{{1,60}})>\s?(?P<said>.*)"
    rf"|{_LABELS}\s*\*\s+(?P<actor>[^\s*]{{1,60}})\s(?P<done>.*)"
    r"|[@+%&~!]?(?P<column>[^\s<>*=!@+-][^\t]{0,60})\t(?P<cell>.*)"
)
"""A line of IRC after its time, by form; in the last one, of columns, a date precedes the time."""
_EVENT = re.compile(
    r"\S+ (?:[\[(][^\s()\[\]]*@.*|has (?:joined|left) [#&(].*|has quit\b.*|is now known as \S+"
    r"|(?:sets? mode|(?:was|has been) kicked|changes? (?:the )?topic)\b.*)"
    r"|(?:Now talking|Topic|Set by|Attempting|Rejoined|Disconnected|Retrieving|Looking up)\b.*"
)
"""Lines of programs in the form of an action of somebody."""
_CODES = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|[\x02\x0f\x11\x16\x1d-\x1f]")
"""Colors and other styles of IRC."""
_LOGGED = re.compile(
    r"[-*\s]*(?:log (?:opened|closed)|day changed(?: to)?|session (?:start|close|time):|"
    r"(?:begin|ending) logging at|conversation with .{1,100} at) ",
    re.IGNORECASE,
)
_WITH = re.compile(r"conversation with (.{1,100}?) at ", re.IGNORECASE)
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?: [AP]M\b)?(?: [A-Z]{3,5}\b)?(?: on .*)?")
_FROM_START = timedelta(minutes=30)
"""A recording's first words come before; the time of day of a meeting's is later."""
_PROGRAM = re.compile("|".join(_WORDING["program"]), re.IGNORECASE)
_SHARED = re.compile(r"\[(?P<what>[^\[\]\n]{1,20})\](?: (?P<file>\S[^\n]{0,80}\.\w{2,5}))?")
_QUOTE = r"[\"“„«](?P<quote>[^\n]+?)(?:\.\.\.|…)?[\"”“»]"
_REPLY = re.compile(
    rf"(?:(?:{_REPLYING})\s*{_QUOTE}|"
    rf"[^\n\"“„«]{{2,40}}{_QUOTE.replace('quote', 'other')}:?(?=\n))\s*"
)
_REACTION = re.compile(rf"[^\n\"“„«]{{2,40}}{_QUOTE}(?P<other>)[^\n\"]{{0,30}}")
_SYMBOL = re.compile(r"[\u2190-\u2bff\U0001f000-\U0001faff]")
_MAX_QUOTED = 200
_LOOKED_AT = 2000
_SAME_SECOND = 4
"""From so many lines on, a second word that follows a first one in all of them is of the name."""


def is_meeting(lines: Sequence[str]) -> bool:
    """Return whether a text is the chat or the transcript of a meeting."""
    return _form(lines) in _MEETING


def _form(lines: Sequence[str], source: Source | None = None) -> re.Pattern[str] | None:
    """Return how the messages of a file begin; None if it is no chat of this kind.

    A log can begin with much that its program writes before anybody in the ``source`` speaks.
    """
    is_line = lines[0].startswith("[LINE]") if lines else False
    dated = is_line or any(map(_day, lines))
    for form in () if is_line else _MEETING:
        heads = [i for i, line in enumerate(lines) if form.fullmatch(line)]
        bare = form in (*_FROM_ZERO, _CAPTION) and any(b == a + 1 for a, b in pairwise(heads))
        early = heads and (heads[0] < 2 or (form is _SPOKEN and len(heads) > 2))
        if form is _STAMPED and early and not re.search(r"\b0?0:", lines[heads[0]]):
            continue
        if early and (form is _ZOOM or len(heads) > 1) and not bare:
            return form
    for form in () if is_line else _LOGS:
        first = bool(lines) and (form.fullmatch(lines[0]) or _day(lines[0]))
        more = source.peek(_LOOKED_AT) if first and source else ()
        logged = filter(None, map(form.fullmatch, (*lines, *more)))
        if first and any(_spoken(each)[0] for each in logged):
            return form
    heads = [
        head for head in map(_KAKAO_PHONE.fullmatch, lines) if head and find_date(head["date"])
    ]
    if any(head["name"] for head in heads):
        return _KAKAO_PHONE
    for form in (_LINE, _KAKAO, _SPACED) if dated else ():
        heads = filter(None, map(form.fullmatch, lines))
        if any(head["name"] or is_line for head in heads):
            return form
    return None


def _spoken(head: re.Match[str]) -> tuple[str, str]:
    """Return who speaks in a line of a log, and the words; no name for what a program writes."""
    text = _CODES.sub("", head["text"])
    if head.re is _PIDGIN:
        return head["name"] or "", text
    said = _SAID.fullmatch(text)
    if said is None or (said["column"] and not head["date"]):
        return "", text
    if said["actor"] and _EVENT.fullmatch(f"{said['actor']} {said['done']}"):
        return "", text
    name = said["nick"] or said["actor"] or said["column"]
    return name, said["said"] or said["done"] or said["cell"] or ""


def _bare(line: str) -> str:
    """Return a line in which a log begins, ends or goes on with a day by its day alone."""
    if not (logged := _LOGGED.match(line)):
        return line
    return " ".join(_CLOCK.sub(" ", line[logged.end() :]).split())


def _day(line: str) -> WrittenDate | None:
    """Return the date of a line that has nothing else but a weekday."""
    text = _bare(line).strip(" -—=\r")
    found = find_date(text) if 6 <= len(text) <= 40 and "\t" not in text else None
    if found is None or not re.search(r"\d{4}", text[slice(*found.span)]):
        return None
    rest = text[: found.span[0]] + text[found.span[1] :]
    return None if re.search(r"[\d:：]", rest) or len(rest.split()) > 2 else found


def _shape(line: str) -> str:
    return re.sub(r"[^\d\s./,()（）-]+", "a", re.sub(r"\d+", "0", line))


def _clock(head: re.Match[str]) -> timedelta:
    hour, minute, second = (int(head[part] or 0) for part in ("hour", "minute", "second"))
    if head.re in _FROM_ZERO and head["second"] is None:
        return timedelta(minutes=hour, seconds=minute)
    hour = hour_of(hour, part_of_day((head["before"] or head["after"] or "").strip()))
    return timedelta(hours=hour, minutes=minute, seconds=second)


def _dates(intake: Intake, lines: Sequence[str]) -> Mapping[str, date]:
    """Return the dates of the lines that have one, in the order of day and month that is right."""
    days = {line: found for line in lines if (found := _day(line))}
    shape = next((_shape(_bare(line)) for line in days), "")  # others are words
    days = {line: found for line, found in days.items() if _shape(_bare(line)) == shape}
    orders: list[tuple[int, Mapping[str, date]]] = []
    for swapped in (False, True):
        dates = {
            line: date(each.year or 2000, each.month, each.day)
            for line, found in days.items()
            for each in [found.swapped if swapped and found.swappable else found]
        }
        week = {f"{date(2024, 1, day):%a}" for day in range(1, 8)}
        wrong = sum(line[:3] in week and line[:3] != f"{at:%a}" for line, at in dates.items())
        orders.append((wrong + sum(b < a for a, b in pairwise(dates.values())), dates))
    if orders[0][0] == orders[1][0] and any(found.swappable for found in days.values()):
        intake.notes["files whose dates could also have month and day the other way round"] += 1
    return min(orders, key=lambda order: order[0])[1]


def read_chat(intake: Intake) -> Iterator[History]:
    """Read a chat whose lines begin with times of day."""
    if (form := _form_of(intake)) is None:
        return
    lines = [line.rstrip("\r") for _, line in intake.text_lines()]
    if form is _PIDGIN and _is_page(intake.lines):
        lines = html_to_text("\n".join(lines)).split("\n")
    path, zone = intake.source.path, intake.options.local
    folder = path.resolve().parent.name if path else PurePosixPath(intake.name).parent.name
    chat = re.sub(r"^\[LINE\]\s*", "", intake.stem)
    if form in _LOGS:  # a file a day, in a folder of the chat or with its name before the day
        chat = re.sub(r"(?:^|[._ -]+)\d{4}-\d\d-\d\d.*", "", chat)
        titled = _WITH.match(lines[0])
        chat = chat or (titled[1] if titled else folder)
    if form is _PIDGIN and (offset := re.search(r"[+-]\d{4}(?=[A-Z]*$)", intake.stem)):
        zone = offset_of(f"00:00{offset[0]}") or zone
    chat = require_storable(chat or "chat", intake.name)
    start = time_in_name(intake.source.name, zone)
    if start is None and re.match(r"\d{4}-\d\d-\d\d ", folder):  # as Zoom names a meeting's
        start = time_in_name(folder, zone)
    start = start or intake.options.start
    dates = _dates(intake, () if form in _MEETING else lines)
    days = _Days(form, dates, start or DEFAULT_START, zone)
    heads = filter(None, map(form.fullmatch, lines))
    is_dated = bool(dates or start or any(head.groupdict().get("date") for head in heads))
    entries = _messages(intake, lines, form, days)
    if is_dated:
        yield from chat_sessions(intake, intake.user_name(), chat, entries)
        return
    session = SessionBuilder(intake.stem, intake.notes, title=chat)
    for entry in entries:
        with intake.catching():
            session.append(intake.turn(entry), entry.where)
    if session:
        intake.notes[SYNTHETIC] += 1
        yield intake.part(intake.user_name(), session.build(dated=False))


class _Days:
    """Finds the times of messages, by the days above them, their own dates or their clocks alone.

    Attributes:
        dates: the dates of the lines that have one.
        zone: the zone of the clocks.
    """

    def __init__(
        self, form: re.Pattern[str], dates: Mapping[str, date], start: datetime, zone: tzinfo
    ) -> None:
        self.dates, self.zone = dates, zone
        self._form, self._start = form, start
        self._midnight: datetime | None = None
        self._last = timedelta()

    def begin(self, day: date) -> None:
        """Go on with a day."""
        self._midnight, self._last = datetime.combine(day, time(), self.zone), timedelta()

    def time_of(self, head: re.Match[str]) -> datetime:
        """Return the time of a message, each of which comes after the one before."""
        clock = _clock(head)
        written = find_date(head.groupdict().get("date") or "")
        if written:
            year = written.year or (self._midnight or self._start).year
            self.begin(date(year, written.month, written.day))
        passes = self._form in _LOGS or not self.dates
        if self._midnight is None:
            is_start = clock < _FROM_START and self._form in _MEETING
            day = datetime.combine(self._start.astimezone(self.zone), time(), self.zone)
            self._midnight = self._start if is_start else day
        elif passes and self._last - clock > timedelta(hours=12):
            self._midnight += timedelta(days=1)
        self._last = clock
        return self._midnight + clock


def _messages(
    intake: Intake, lines: Sequence[str], form: re.Pattern[str], days: _Days
) -> Iterator[Entry]:
    names = _names(intake, lines if form is _SPACED else lines[:1])
    earlier: list[str] = []
    for number, head, block in _blocks(lines, form, days.dates):
        where = f"{intake.name}, line {number}"
        if head is None:
            if block[0] in days.dates:
                days.begin(days.dates[block[0]])
            else:
                intake.notes["lines before the first message left out"] += bool(block[0].strip())
            continue
        at = days.time_of(head)
        name, first = (head["name"] or "").strip(), head["text"] or ""
        if form is _SPACED:
            name = names[first.split()[0]]
            first = first[len(name) :].strip()
        elif form in _LOGS:
            name, first = _spoken(head)
        if form in _MEETING:
            block = _without_end(block)
        text, attachment = _content(intake, "\n".join([first, *block]), form, earlier)
        if not name:
            intake.notes["system lines left out"] += bool(text) or form is not _KAKAO_PHONE
        elif text or attachment:
            intake.notes[ZONELESS] += intake.options.zone is None and days.zone is UTC
            with intake.catching():
                yield Entry(where, "user", name, text, attachment, at=check_date(at, where))


def _blocks(
    lines: Sequence[str], form: re.Pattern[str], dates: Mapping[str, date]
) -> Iterator[tuple[int, re.Match[str] | None, Sequence[str]]]:
    """Yield the number and head of each message with the lines below; other lines without one."""
    number = 0
    while number < len(lines):
        head, end = form.fullmatch(lines[number]), number + 1
        if head is None:
            yield end, None, lines[number:end]
        else:
            while end < len(lines) and not (form.fullmatch(lines[end]) or lines[end] in dates):
                end += 1
            # LINE puts words of several lines in quotation marks: what is within is no message.
            if form is _LINE and head["text"].startswith('"') and any(lines[number + 1 : end]):
                within = lines[number + 1 : number + _MAX_QUOTED]
                closing = (i for i, line in enumerate(within, number + 2) if line.endswith('"'))
                end = max(end, next(closing, 0))
            yield number + 1, head, lines[number + 1 : end]
        number = end


def _without_end(lines: Sequence[str]) -> Sequence[str]:
    """Return lines without blank ones at their end, and what a program adds there."""
    while lines and (not lines[-1].strip() or _PROGRAM.fullmatch(lines[-1].strip())):
        lines = lines[:-1]
    return lines


def _names(intake: Intake, lines: Sequence[str]) -> Mapping[str, str]:
    """Return the names of a chat without tabs by their first words.

    More words are of a name if the chat is called so, or if they follow in all of several lines.
    """
    title = f"{lines[0]} {intake.stem}"
    said: dict[str, list[list[str]]] = {}
    for head in filter(None, map(_SPACED.fullmatch, lines)):
        words = head["text"].split()
        said.setdefault(words[0], []).append(words)
    names: dict[str, str] = {}
    for first, texts in said.items():
        count = 1
        while all(len(words) > count + 1 for words in texts) and (
            " ".join(texts[0][: count + 1]) in title
            or (len(texts) >= _SAME_SECOND and len({words[count] for words in texts}) == 1)
        ):
            count += 1
        names[first] = " ".join(texts[0][:count])
    return names


def _content(
    intake: Intake, text: str, form: re.Pattern[str], earlier: list[str]
) -> tuple[str, str]:
    """Return a message's words and what was shared; both empty for what the program writes."""
    text = text.strip()
    if form is _LINE and "\n" in text and text.startswith('"') and text.endswith('"'):
        text = text[1:-1].replace('""', '"')
    if form in _LOGS:
        return text, ""
    if form in _MEETING:
        text = "\n".join(line.strip() for line in text.split("\n"))
        return _without_quote(intake, text, earlier), ""
    if text.startswith("☎"):
        intake.notes["calls left out"] += 1
        return "", ""
    bare = shared_in(f"[{text}]") if form is _KAKAO_PHONE else ("", "")
    return bare if bare[1] else shared_in(text)


def shared_in(text: str) -> tuple[str, str]:
    """Return a message's words, or what was shared if they only say that, as in "[Photo]"."""
    if match := _SHARED.fullmatch(text):
        kinds = _WORDING["kinds"].items()
        what = match["what"].lower()
        if kind := next((kind for kind, word in kinds if re.fullmatch(word, what)), ""):
            return "", file_named(match["file"], kind)
    return text, ""


def _without_quote(intake: Intake, text: str, earlier: list[str]) -> str:
    """Return words without the earlier message that they answer; none of a reaction to one."""
    for pattern, why in ((_REACTION, "reactions"), (_REPLY, "quotes of other messages")):
        match = pattern.fullmatch(text) if pattern is _REACTION else pattern.match(text)
        quote = match and (match["quote"] or match["other"])
        if not match or not quote or not any(each.startswith(quote) for each in earlier):
            continue
        own = text[match.end() :]
        if own or (pattern is _REACTION and _SYMBOL.search(text.replace(quote, ""))):
            intake.notes[f"{why} left out"] += 1
            text = own
    earlier += [text] if text else []
    return text


def _is_page(lines: Sequence[str]) -> bool:
    return bool(lines) and lines[0].lower().startswith(("<html", "<!doctype html", "<head"))


def _shown(lines: Sequence[str]) -> Sequence[str]:
    """Return the first lines of a text, or those that a page shows."""
    if not _is_page(lines):
        return lines
    return [line for line in html_to_text("\n".join(lines)).split("\n") if line]


def _form_of(intake: Intake) -> re.Pattern[str] | None:
    return _form(_shown(intake.lines), intake.source)


def _named(name: str, *forms: re.Pattern[str]) -> Format:
    return format_named(name, read_chat, lambda intake: _form_of(intake) in forms)


FORMATS = (
    _named("line", _LINE, _SPACED),
    _named("kakaotalk", _KAKAO, _KAKAO_PHONE),
    _named("irc", _IRC),
    _named("pidgin", _PIDGIN),
)
