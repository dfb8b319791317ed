"""Chats in Markdown, as browser extensions and scripts save them: a heading or bold name a turn.

A file is a session, named after it. A time in the headings or a date in the front matter dates it;
else it only keeps the order. Names inside fenced code are words.

Sources of the layouts: pionxzh/chatgpt-exporter (``#### You:``), basicmachines-co/basic-memory
``src/basic_memory/importers/chatgpt_importer.py`` (``### User (time)``), rashidazarang/
chatgpt-chat-exporter, phquathi/chatgpt-export-to-markdown (``## Q:``).

Perplexity's own export has a logo as HTML, and a question as a heading at its beginning and after
each rule. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.dates import Calendar, positions
from theanine.importers.markup import without_markup
from theanine.importers.sessions import SYNTHETIC, SessionBuilder
from theanine.importers.wording import wording
from theanine.importers.written_dates import ISO_DATE, NUMBER, find_date, part_of_day
from theanine.types import History, Role

_SIDES = wording("markdown")
_USERS, _ASSISTANTS = ("|".join(_SIDES[each]) for each in ("users", "assistants"))
# Everything is bounded, as a line can be very long.
_NAME = rf"(?:(?P<user>{_USERS})|(?P<assistant>{_ASSISTANTS}))"
_STAMP = (
    r"(?P<stamp>(?:\s{0,3}[-–—|,]?\s{0,3}[(\[_*]{0,3}\d{4}-\d\d-\d\d[^\n]{0,40}?[)\]_*]{0,3})?)"
)
_HEADING = re.compile(
    rf"#{{1,6}}\s{{1,4}}[^\w\n#]{{0,8}}{_NAME}\W{{0,8}}?{_STAMP}\W{{0,8}}", re.IGNORECASE
)
_BOLD = re.compile(
    rf"[^\w\n*#>`|-]{{0,4}}\*\*\s?{_NAME}\s?(?::\s?\*\*|\*\*\s?:){_STAMP}\s?(?P<rest>.*)",
    re.IGNORECASE,
)
_BOLD_LINE = re.compile(
    rf"_?\*\*\s?{_NAME}(?:\s\((?P<within>[^()\n]{{1,60}})\))?\s?\*\*_?{_STAMP}\s{{0,4}}",
    re.IGNORECASE,
)
_FORMS = (_HEADING, _BOLD, _BOLD_LINE)
_RULE = re.compile(r"\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*")
_FIELD = re.compile(r"(?P<key>[^\W\d_][\w -]{0,40})(?:::?\s+|：\s*)(?P<value>\S.*)")
_LOGO = re.compile(r"<img\b[^<>]*\bperplexity\b[^<>]*>")
_TAGS = re.compile(
    r"<span\b[^<>]*\bdisplay:\s?none\b[^<>]*>.*?</span>|<div\b[^<>]*>\W{0,4}</div>|<img\b[^<>]*>"
    r"| ?\[\^\d+(?:_\d+)?\](?!:)|^\[\^\d+(?:_\d+)?\]: \S+$",
    re.MULTILINE,
)
"""Parts of Perplexity's text to leave out: hidden text, signs, pictures, and marks of sources."""
_NOTES = wording("notes")
_DATES = _NOTES["dates"]
_CREATED, _SAVED = (re.compile("|".join(_NOTES[each])) for each in ("created", "saved"))


@dataclass(slots=True)
class _Turn:
    role: Role
    stamp: str
    line: int
    lines: list[str] = field(default_factory=list[str])


def is_chat(lines: Sequence[str]) -> bool:
    """Return whether the first lines of a file name both sides of a chat."""
    return bool(_forms(lines))


def _forms(lines: Sequence[str]) -> Sequence[re.Pattern[str]]:
    """Return how a text names both sides of a chat; nothing if it doesn't.

    It is one form if that has both, and what has another is words; else each side may have its own.
    """
    found = {form: [m for line in lines if (m := form.fullmatch(line))] for form in _FORMS}
    sides = {form: {bool(m["user"]) for m in matches} for form, matches in found.items()}
    if both := [form for form in _FORMS if len(sides[form]) == 2]:
        return (max(both, key=lambda form: len(found[form])),)
    return _FORMS if len(set[bool]().union(*sides.values())) == 2 else ()


def _read(intake: Intake) -> Iterator[History]:
    name = intake.user_name("" if intake.folder else intake.own_name)
    lines = intake.source.text().split("\n")
    fields, start = split_front_matter([line.removesuffix("\r") for line in lines])
    asked = _is_perplexity(intake.lines)
    turns = list(_questions(lines) if asked else _turns(lines, start))
    texts = ["\n".join(turn.lines).strip() for turn in turns]
    texts = [
        without_markup(text, intake.notes) if turn.role == "assistant" else text
        for turn, text in zip(turns, texts, strict=True)
    ]
    intake.notes["empty turns left out"] += sum(not text for text in texts)
    said = [(turn, text) for turn, text in zip(turns, texts, strict=True) if text]
    if said:
        title = fields.get("title") or (said[0][1] if asked else _title(lines[start:]))
        session = SessionBuilder(intake.source.name.removesuffix(".md"), intake.notes, title=title)
        date = front_matter_date(fields) or _date_above(lines[start : turns[0].line - 1])
        times, dated = _times(intake, [turn for turn, _ in said], date)
        for (turn, text), at in zip(said, times, strict=True):
            where = f"{intake.name}, line {turn.line}"
            with intake.catching():
                entry = Entry(where, turn.role, text=text, at=at)
                session.append(intake.turn(entry), where)
        if session:
            yield intake.part(name, session.build(dated=dated))


def _turns(lines: Sequence[str], start: int) -> Iterator[_Turn]:
    turn: _Turn | None = None
    fence = ""
    forms = _forms(lines[start:]) or (_HEADING,)
    for number, raw in enumerate(lines[start:], start + 1):
        line = raw.removesuffix("\r")
        stripped = line.lstrip()
        if stripped.startswith(("```", "~~~")):
            fence = "" if fence and stripped.startswith(fence) else fence or stripped[:3]
        matches = () if fence else filter(None, (form.fullmatch(line) for form in forms))
        match = next(iter(matches), None)
        if match:
            if turn:
                yield turn
            groups = match.groupdict()
            stamp, rest = groups["stamp"] or groups.get("within") or "", groups.get("rest")
            turn = _Turn("user" if match["user"] else "assistant", stamp, number)
            turn.lines += [rest] if rest else []
        elif turn and (fence or not _RULE.fullmatch(line)):
            turn.lines.append(line)
    if turn:
        yield turn


def _is_perplexity(lines: Sequence[str]) -> bool:
    return bool(lines) and _LOGO.match(lines[0]) is not None


def _questions(lines: Sequence[str]) -> Iterator[_Turn]:
    """Yield the questions of Perplexity's export and their answers, without its marks."""
    lines = _TAGS.sub("", "\n".join(line.removesuffix("\r") for line in lines)).split("\n")
    turn: _Turn | None = None
    begins = True
    for number, line in enumerate(lines, 1):
        if begins and line.startswith("# "):
            if turn:
                yield turn
            yield _Turn("user", "", number, [line.removeprefix("# ").strip()])
            turn, begins = _Turn("assistant", "", number + 1), False
        elif _RULE.fullmatch(line):
            begins = True
        elif line.strip() or turn:
            turn = turn or _Turn("assistant", "", number)
            turn.lines.append(line)
            begins = begins and not line.strip()
    if turn:
        yield turn


def _date_above(lines: Sequence[str]) -> str:
    """Return the line above a chat that says when it was, at best when it began; else nothing.

    Headings and sentences can have dates of what they are about.
    """
    plain = (re.sub(r"[*_`]", "", each).strip("\r >-") for each in lines)
    dated = [(line, span) for line in plain if line[:1] != "#" and (span := _place_of_date(line))]
    began = (line for line, _ in dated if _CREATED.search(line.lower()))
    others = (
        line for line, span in dated if _SAVED.search(line.lower()) or _is_hardly_more(line, span)
    )
    return next(began, "") or next(others, "")


def _place_of_date(line: str) -> tuple[int, int] | None:
    if match := ISO_DATE.search(line):
        return match.span()
    return found.span if (found := find_date(line)) and found.year else None


def _is_hardly_more(line: str, span: tuple[int, int]) -> bool:
    """Return whether a line has nothing but a date, with its name, a time of day and one word."""
    start, end = span
    words = re.findall(r"[^\W\d_]{2,}", f"{line[:start]} {line[end:]}")
    label = _FIELD.fullmatch(line)
    if label and label["key"].replace(" ", "").lower() not in _DATES:
        return False
    return sum(part_of_day(word) is None for word in words) <= 1 + (label is not None)


def _title(lines: Sequence[str]) -> str:
    heading = next(
        (line for line in lines if line.startswith("# ") and not _HEADING.fullmatch(line)), ""
    )
    return heading.lstrip("# ").strip()


def _times(intake: Intake, turns: Sequence[_Turn], date: str) -> tuple[list[datetime], bool]:
    """Return the turns' times and whether they are real: from headings, or the front matter."""
    stamps = [match[0] if (match := ISO_DATE.search(turn.stamp)) else "" for turn in turns]
    if ":" in stamps[0]:  # some write it above questions only
        times: list[datetime] = []
        for stamp in stamps:
            times.append(intake.iso_date(stamp, intake.name) if ":" in stamp else times[-1])
        return times, True
    if at := intake.date_in(date or next(filter(None, stamps), "")):
        return positions(at, len(turns)), True
    calendar = Calendar(intake.options.start)
    intake.notes[SYNTHETIC] += not calendar.dated
    return calendar.place(len(turns), None, intake.name), calendar.dated


def split_front_matter(lines: Sequence[str]) -> tuple[Mapping[str, str], int]:
    """Return the fields of a file's front matter, and the index of the first line after it.

    Only fields of one line are read; quotes around a value are taken off.
    """
    if not lines or lines[0].strip() != "---":
        return {}, 0
    for end, line in enumerate(lines[1:], 1):
        if line.strip() in ("---", "..."):
            return _fields(lines[1:end]), end + 1
    return {}, 0


def _fields(lines: Sequence[str]) -> Mapping[str, str]:
    matches = (_FIELD.fullmatch(line.strip()) for line in lines)
    return {m["key"].lower(): m["value"].strip().strip("\"'") for m in matches if m}


def properties(lines: Sequence[str]) -> Mapping[str, str]:
    """Return the properties of a note that are its first paragraph, also below its heading."""
    text = "\n".join(lines).strip()
    if text.startswith("# "):
        text = text.partition("\n")[2].strip()
    paragraph = text.partition("\n\n")[0].split("\n")
    found = _fields(paragraph)
    return found if len(found) == len(paragraph) else {}


def front_matter_date(fields: Mapping[str, str]) -> str:
    """Return the words of the date that front matter gives; empty if it gives none."""
    plain = {re.sub(r"[\s_-]", "", key): value for key, value in fields.items()}
    made = (value for key, value in plain.items() if _CREATED.search(key))
    dates = (*(plain.get(key, "") for key in _DATES), *made)
    return next((value.split("→")[0] for value in dates if _is_date(value)), "")


def _is_date(text: str) -> bool:
    return bool(NUMBER.fullmatch(text) or ISO_DATE.search(text) or find_date(text))


FORMAT = format_named(
    "markdown", _read, lambda intake: _is_perplexity(intake.lines) or is_chat(intake.lines)
)
