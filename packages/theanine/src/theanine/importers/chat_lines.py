"""Chats as text whose lines have only a time of day: LINE, KakaoTalk, and the chats of meetings.

::

    2024.05.13 Monday                          LINE: a day above its messages
    21:56<TAB>Ana<TAB>The mast is up.
    ------ Monday, May 13, 2024 ------         KakaoTalk
    [Ana] [9:56 PM] The mast is up.
    10:01:00<TAB> From Ana to Everyone:        Zoom, with the words below or behind
    00:01:07<TAB>Ana:<TAB>The mast is up.      Zoom, from the start of the recording
    [10:01 AM] Ana: The mast is up.            copied from Teams
    Ana   0:07                                 a transcript of Teams, from its start

Days and times are told by their form in any language. Without days, the date is that of the file
or its folder. What a reply or a reaction quotes is known as the beginning of an earlier message.

Sources: ChatLab ``packages/parser/src/browser/line.test.ts``, AmDewSaroota/wendys-oracle, and
readers of Zoom's ``meeting_saved_chat.txt``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import pairwise

from theanine.importers.base import ZONELESS, Entry, Format, Intake, format_named
from theanine.importers.dates import DEFAULT_START, check_date
from theanine.importers.schema import require_storable
from theanine.importers.sessions import SYNTHETIC, SessionBuilder, chat_sessions
from theanine.importers.wording import wording
from theanine.importers.words import file_named
from theanine.importers.written_dates import (
    WrittenDate,
    find_date,
    hour_of,
    part_of_day,
    time_in_name,
)
from theanine.types import History

_WORDING = wording("chat_lines")
_FROM, _TO, _REPLYING = ("|".join(_WORDING[each]) for each in ("from", "to", "replying"))
_TIME = (
    r"(?P<before>[^\x00-\x7f][^\s\d:]{0,6} ?)?(?P<hour>\d{1,2}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2}))?(?: ?(?P<after>[AaPp]\.? ?[Mm]\b\.?))?"
)
_ZOOM = re.compile(
    rf"{_TIME}\s+(?:{_FROM})\s+(?P<name>\S[^:\n]{{0,80}}?)\s+(?:{_TO})\s+[^:\n]{{1,80}}:\s*(?P<text>.*)",
    re.IGNORECASE,
)
_RECORDED = re.compile(rf"{_TIME}\t\s?(?P<name>[^\t:]{{1,80}}?)\s?:\t(?P<text>.*)")
_TEAMS = re.compile(rf"\[{_TIME}\] (?P<name>[^\W\d_][^:\n]{{0,60}}?)(?:: (?P<text>.*))?")
_SPOKEN = re.compile(
    rf"(?![^\n]*\d{{4}})(?P<name>[^\W\d_][^\t:]{{0,59}}?)(?:\s{{2,}}|\t){_TIME}(?P<text>)"
)
_CAPTION = re.compile(rf"\[(?P<name>[^\W\d_][^\[\]]{{0,59}})\] {_TIME}(?P<text>)")
_LINE = re.compile(rf"{_TIME}\t(?:(?P<name>[^\t]+)\t)?\t?(?P<text>.*)")
_SPACED = re.compile(rf"{_TIME} (?P<name>)(?P<text>\S.*)")
_KAKAO = re.compile(rf"\[(?P<name>[^\[\]]{{1,60}})\] \[{_TIME}\] (?P<text>.*)")
_MEETING = (_ZOOM, _RECORDED, _TEAMS, _SPOKEN, _CAPTION)
_FROM_START = timedelta(minutes=30)
"""A recording's first words come before; the time of day of a meeting's is later."""
_SHARED = re.compile(r"\[(?P<what>[^\[\]\n]{1,20})\](?: (?P<file>\S[^\n]{0,80}\.\w{2,5}))?")
_QUOTE = r"[\"“„«](?P<quote>[^\n]+?)(?:\.\.\.|…)?[\"”“»]"
_REPLY = re.compile(
    rf"(?:(?:{_REPLYING})\s*{_QUOTE}|"
    rf"[^\n\"“„«]{{2,40}}{_QUOTE.replace('quote', 'other')}:?(?=\n))\s*"
)
_REACTION = re.compile(rf"[^\n\"“„«]{{2,40}}{_QUOTE}(?P<other>)[^\n\"]{{0,30}}")
_SYMBOL = re.compile(r"[\u2190-\u2bff\U0001f000-\U0001faff]")
_MAX_QUOTED = 200
_SAME_SECOND = 4
"""From so many lines on, a second word that follows a first one in all of them is of the name."""


def is_meeting(lines: Sequence[str]) -> bool:
    """Return whether a text is the chat or the transcript of a meeting."""
    return _form(lines) in _MEETING


def _form(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return how the messages of a file begin; None if it is no chat of this kind."""
    is_line = lines[0].startswith("[LINE]") if lines else False
    dated = is_line or any(map(_day, lines))
    for form in () if is_line else _MEETING:
        heads = [i for i, line in enumerate(lines) if form.fullmatch(line)]
        bare = form in (_SPOKEN, _CAPTION) and any(b == a + 1 for a, b in pairwise(heads))
        if heads and heads[0] < 2 and (form is _ZOOM or len(heads) > 1) and not bare:
            return form
    for form in (_LINE, _KAKAO, _SPACED) if dated else ():
        heads = filter(None, map(form.fullmatch, lines))
        if any(head["name"] or is_line for head in heads):
            return form
    return None


def _day(line: str) -> WrittenDate | None:
    """Return the date of a line that has nothing else but a weekday."""
    text = line.strip(" -—=\r")
    found = find_date(text) if 6 <= len(text) <= 40 and "\t" not in text else None
    if found is None or not re.search(r"\d{4}", text[slice(*found.span)]):
        return None
    rest = text[: found.span[0]] + text[found.span[1] :]
    return None if re.search(r"[\d:：]", rest) or len(rest.split()) > 2 else found


def _shape(line: str) -> str:
    return re.sub(r"[^\d\s./,()（）-]+", "a", re.sub(r"\d+", "0", line))


def _clock(head: re.Match[str]) -> timedelta:
    hour, minute, second = (int(head[part] or 0) for part in ("hour", "minute", "second"))
    if head.re is _SPOKEN and head["second"] is None:
        return timedelta(minutes=hour, seconds=minute)
    hour = hour_of(hour, part_of_day((head["before"] or head["after"] or "").strip()))
    return timedelta(hours=hour, minutes=minute, seconds=second)


def _dates(intake: Intake, lines: Sequence[str]) -> Mapping[str, date]:
    """Return the dates of the lines that have one, in the order of day and month that is right."""
    days = {line: found for line in lines if (found := _day(line))}
    shape = next(map(_shape, days), "")  # others are words
    days = {line: found for line, found in days.items() if _shape(line) == shape}
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
    if (form := _form(intake.lines)) is None:
        return
    lines = [line.rstrip("\r") for _, line in intake.text_lines()]
    dates = _dates(intake, () if form in _MEETING else lines)
    chat = require_storable(re.sub(r"^\[LINE\]\s*", "", intake.stem) or "chat", intake.name)
    path, zone = intake.source.path, intake.options.local
    start = time_in_name(intake.source.name, zone)
    folder = path.resolve().parent.name if path else ""
    if start is None and re.match(r"\d{4}-\d\d-\d\d ", folder):  # as Zoom names a meeting's
        start = time_in_name(folder, zone)
    start = start or intake.options.start
    entries = _messages(intake, lines, form, dates, start or DEFAULT_START)
    if dates or start:
        yield from chat_sessions(intake, intake.user_name(), chat, entries)
        return
    session = SessionBuilder(intake.stem, intake.notes, title=chat)
    for entry in entries:
        with intake.catching():
            session.append(intake.turn(entry), entry.where)
    if session:
        intake.notes[SYNTHETIC] += 1
        yield intake.part(intake.user_name(), session.build(dated=False))


def _messages(
    intake: Intake,
    lines: Sequence[str],
    form: re.Pattern[str],
    dates: Mapping[str, date],
    start: datetime,
) -> Iterator[Entry]:
    names = _names(intake, lines if form is _SPACED else lines[:1])
    zone, midnight, last = intake.options.local, None, timedelta()
    earlier: list[str] = []
    for number, head, block in _blocks(lines, form, dates):
        where = f"{intake.name}, line {number}"
        if head is None:
            if block[0] in dates:
                midnight, last = datetime.combine(dates[block[0]], time(), zone), timedelta()
            else:
                intake.notes["lines before the first message left out"] += bool(block[0].strip())
            continue
        clock = _clock(head)
        if midnight is None:
            is_start = clock < _FROM_START and form in _MEETING
            midnight = start if is_start else datetime.combine(start.astimezone(zone), time(), zone)
        elif not dates and last - clock > timedelta(hours=12):
            midnight += timedelta(days=1)
        last = clock
        name, first = (head["name"] or "").strip(), head["text"] or ""
        if form is _SPACED:
            name = names[first.split()[0]]
            first = first[len(name) :].strip()
        text, attachment = _content(intake, "\n".join([first, *block]), form, earlier)
        if not name:
            intake.notes["system lines left out"] += 1
        elif text or attachment:
            intake.notes[ZONELESS] += intake.options.zone is None
            with intake.catching():
                at = check_date(midnight + clock, where)
                yield Entry(where, "user", name, text, attachment, at=at)


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
    if form in _MEETING:
        text = "\n".join(line.strip() for line in text.split("\n"))
        return _without_quote(intake, text, earlier), ""
    if text.startswith("☎"):
        intake.notes["calls left out"] += 1
        return "", ""
    return shared_in(text)


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


def _named(name: str, *forms: re.Pattern[str]) -> Format:
    return format_named(name, read_chat, lambda intake: _form(intake.lines) in forms)


FORMATS = (_named("line", _LINE, _SPACED), _named("kakaotalk", _KAKAO))
