"""Plain notes: a folder of Markdown or text files, or one file; or Evernote's ``.enex``.

Each note is a session of the user's own words, a turn a section or, in a long section, a few
paragraphs. The layouts are those of Obsidian and Logseq (basicmachines-co/basic-memory
``src/basic_memory/markdown``, front matter with ``title`` and ``created``),
and of Notion, whose properties are below the title; Evernote's is read as all2md and pandoc do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import product
from xml.etree.ElementTree import Element, ParseError, iterparse

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.dates import positions
from theanine.importers.folder import Folder
from theanine.importers.html_text import html_to_text
from theanine.importers.markdown import (
    front_matter_date,
    is_chat,
    properties,
    split_front_matter,
)
from theanine.importers.schema import Object, as_object, get, parse
from theanine.importers.sessions import SessionBuilder
from theanine.importers.wording import wording
from theanine.importers.words import file_named, note_unread, storable
from theanine.importers.written_dates import ISO_DATE, any_time, find_date
from theanine.types import History

_SUFFIXES = ("*.md", "*.markdown", "*.txt", "*.enex")
_HEADING = re.compile(r"#{1,6}\s+\S.*")
_LONG = 1_200
"""Paragraphs of a section are put together up to so many characters."""
_LEFT_OUT_FOLDERS = re.compile(
    rf"(?:.*/)?(?:{'|'.join(wording('notes')['left_out'])})/.*", re.IGNORECASE
)
_CONFIGS = (
    *(("templates.json", "folder"), ("plugins/templater-obsidian/data.json", "templates_folder")),
    ("daily-notes.json", "template"),
)
"""Files of Obsidian's settings, with the setting that names what holds no notes."""
_PLACEHOLDER = re.compile(r"\{\{\s?(?:date|time|title)\b[^{}\n]{0,60}\}\}|<%[*_+-]?\s?tp\.|<%\*")
_DECLARED = re.compile(r"<\?xml[^>]*>|<!DOCTYPE[^>]*>")
_TODO = re.compile(r"<en-todo\b[^<>]*>|<(?P<li>li)\b[^<>]*--en-checked[^<>]*>")
_SECRET = re.compile(r"<en-crypt\b.*?</en-crypt>", re.DOTALL)
_LEFT_OUT = "templates and deleted notes left out"
_BELOW = re.compile(r"(?:\A|\n)id: [0-9a-f]{32}\n(?:\w+:[^\n]*\n)*type_: \d+\s*\Z")
_NOTE = "1"
"""Joplin's type of a note; others are notebooks, files and tags."""
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_QUERIES = frozenset(wording("notes")["queries"])
_SHOWN = r"\{\{(?:embed|query|renderer)\b[^{}\n]*\}\}"
_LINE = r"[^\n]*(?:\n|\Z)"
_MARK = re.compile(
    r"^[ \t]*(?P<fence>```+|~~~+)[ \t]*(?P<language>[\w-]*)[^\n]*\n"
    r".*?(?:^[ \t]*(?P=fence)[ \t]*$|\Z)"
    r"|(?P<code>`[^`\n]+`)"
    # A drawer of Logseq, a property that it or a plug-in made, a line of its clock.
    r"|(?P<kept>^[ \t]*:[\w-]+:[ \t]*\n(?:(?![ \t]*:[\w-]+:[ \t]*$)[^\n]*\n)*"
    rf"[ \t]*:END:{_LINE}"
    rf"|^[ \t]*(?:[-*+] )?(?:{'|'.join(wording('notes')['properties'])})::(?=\s|\Z){_LINE}"
    rf"|^[ \t]*(?:[-*+] )?(?:CLOCK: \[|#\+(?:BEGIN|END)_){_LINE})"
    rf"|\[(?P<label>[^\[\]\n]+)\]\(\(\({_UUID}\)\)\)"
    r"|(?P<field>(?:^[ \t]*(?:[-*+>] )*|[\[(])[*_]{0,2}[^\W\d_][^\n:()\[\]`]{0,40})::(?:[ \t]|$)"
    # Empty points, what is shown from elsewhere, ids of blocks and what refers to them.
    rf"|^[ \t]*[-*+][ \t]*(?:{_SHOWN})?[ \t]*(?:\n|\Z)"
    rf"|{_SHOWN}|\(\({_UUID}\)\)"
    r"|(?<=[^\s\[])#\^[\w-]+(?=[\]|])"
    r"|(?:^|[ \t]+)\^(?=[\d-]*[A-Za-z])[A-Za-z0-9-]{3,}[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


def _read(intake: Intake) -> Iterator[History]:
    name = intake.user_name("" if intake.folder else intake.own_name)
    if _is_evernote(intake):
        yield from _read_evernote(intake, name)
        return
    lines = [line.removesuffix("\r") for line in intake.source.text().split("\n")]
    fields, lines = _without_fields_below(lines)
    if fields.get("type_", _NOTE) != _NOTE:
        intake.notes["notebooks, tags and other records of Joplin left out"] += 1
        return
    if intake.folder and _LEFT_OUT not in intake.seen:
        intake.seen.add(_LEFT_OUT)
        intake.notes[_LEFT_OUT] += len(intake.folder.select(*_SUFFIXES)) - len(_pick(intake.folder))
    above, start = split_front_matter(lines)
    fields = {**fields, **_of_bundle(intake), **above}
    if intake.folder and _is_template(lines[start:]):
        intake.notes[_LEFT_OUT] += 1
        return
    title = fields.get("title", "")
    entries = _entries(lines[start:])
    for date, entry in entries:
        key = intake.source.name + (f"/{date}" if date else "")
        with intake.catching():
            heading = title or next(filter(_HEADING.fullmatch, entry), "").lstrip("# ").strip()
            made = front_matter_date(fields) or front_matter_date(properties(entry))
            at = _date(intake, date, made, entry)
            lines = _without_marks(intake, entry)
            yield from _note(intake, name, key, heading or intake.source.stem, at, lines)


def _of_bundle(intake: Intake) -> Mapping[str, str]:
    """Return the fields of a note that is a TextBundle, such as Bear's, which are beside it."""
    bundle, _, _ = intake.name.rpartition("/")
    if intake.folder is None or not bundle.endswith((".textbundle", ".textpack")):
        return {}
    info = intake.folder.object(f"{bundle}/info.json")
    found = (get(each, "creationDate") for each in (info, *info.values()))
    made = next((each for each in found if isinstance(each, str)), "")
    return {"created": made} if made else {}


def _without_fields_below(lines: Sequence[str]) -> tuple[Mapping[str, str], Sequence[str]]:
    """Return the fields that Joplin writes below a note, and the lines of the note."""
    text = "\n".join(lines)
    if not (below := _BELOW.search(text)):
        return {}, lines
    rows = (line.partition(":") for line in below[0].strip().split("\n"))
    fields = {name: value.strip() for name, _, value in rows}
    title, *body = text[: below.start()].strip("\n").split("\n")
    return {"title": title.strip(), **fields}, [f"# {title.strip()}", *body]


def _without_marks(intake: Intake, lines: Sequence[str]) -> Sequence[str]:
    """Return a note without what Logseq and Obsidian keep in it: properties, ids, queries.

    A property that the writer made up stays as words; code stays as it is.
    """

    def shown(mark: re.Match[str]) -> str:
        kind = mark.lastgroup or ""
        if kind == "code" or (kind == "language" and mark["language"].lower() not in _QUERIES):
            return mark[0]
        if kind == "field":
            return f"{mark['field']}: "
        intake.notes["properties and queries of a program left out"] += kind in ("language", "kept")
        return mark["label"] or ""

    return _MARK.sub(shown, "\n".join(lines)).split("\n")


def _note(
    intake: Intake,
    name: str,
    key: str,
    title: str,
    at: datetime,
    lines: Sequence[str],
    attachment: str = "",
) -> Iterator[History]:
    session = SessionBuilder(key, intake.notes, title=title)
    passages = list(_passages(lines)) or [""] * bool(attachment)
    for passage, time in zip(passages, positions(at, len(passages)), strict=True):
        turn = Entry(intake.name, "user", text=passage, attachment=attachment, at=time)
        session.append(intake.turn(turn), intake.name)
        attachment = ""
    if session:
        yield intake.part(name, session.build())
    else:
        intake.notes["empty notes left out"] += 1


def _read_evernote(intake: Intake, name: str) -> Iterator[History]:
    """Read Evernote's export, note by note."""
    keys = Counter[str]()
    try:
        for _, element in iterparse(intake.source.stream()):
            if element.tag == "note":
                with intake.catching():
                    yield from _evernote(intake, name, element, keys)
                element.clear()
    except ParseError as fault:
        intake.broken_xml(fault)


def _evernote(intake: Intake, name: str, note: Element, keys: Counter[str]) -> Iterator[History]:
    title = storable((note.findtext("title") or "").strip())
    created = note.findtext("created") or ""
    at = any_time(created, UTC) or any_time(note.findtext("updated"), UTC) or _modified(intake)
    content, secrets = _SECRET.subn("", _DECLARED.sub("", note.findtext("content") or ""))
    intake.notes["encrypted passages left out"] += secrets
    tasks = (f"[ ] {each.text}" for each in note.iterfind("task/title"))
    text = storable("\n".join([html_to_text(_TODO.sub(_check_box, content)), *tasks]))
    names = (each.findtext("resource-attributes/file-name") for each in note.iter("resource"))
    files = storable(", ".join(map(file_named, names)))
    intake.notes["words found in pictures left out"] += sum(1 for _ in note.iter("recognition"))
    others: Object = {}
    for each in note.iter():
        if each.tag not in ("content", "data", "recognition") and each.text:
            others[each.tag] = f"{others.get(each.tag, '')}\n{each.text}".strip()
    note_unread(intake.notes, others, (title, text, files))
    key = f"{intake.source.name}/{title}/{created}"
    keys[key] += 1
    lines = [*([f"# {title}", ""] if title else []), *text.split("\n")]
    key = f"{key} ({keys[key]})" if keys[key] > 1 else key
    yield from _note(intake, name, key, title, at, lines, files)


def _check_box(match: re.Match[str]) -> str:
    return f"{'<li>' if match['li'] else ''}[{'x' if 'true' in match[0] else ' '}] "


def _is_evernote(intake: Intake) -> bool:
    return b"<en-export" in intake.source.head[:2000]


def _is_template(lines: Sequence[str]) -> bool:
    """Return whether a note has a template's placeholders, which aren't in code."""
    text = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", "\n".join(lines))
    return _PLACEHOLDER.search(text) is not None


def _entries(lines: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return the notes of a file, each with the date of its heading if the file has several."""
    starts = [i for i, line in enumerate(lines) if _heading_date(line)]
    if len(starts) < 2:
        return [("", lines)]
    entries: list[tuple[str, Sequence[str]]] = [("", lines[: starts[0]])]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        entries.append((_heading_date(lines[start]), lines[start:end]))
    return [(date, entry) for date, entry in entries if any(line.strip() for line in entry)]


def _heading_date(line: str) -> str:
    """Return the date that a heading begins with, also after a weekday; else an empty text."""
    if not _HEADING.fullmatch(line) or len(line) > _LONG:
        return ""
    heading = line.lstrip("# ").removeprefix("[[")
    if match := ISO_DATE.match(heading):
        return "" if heading[match.end() :][:1].isalnum() else match[0]
    found = find_date(heading := ISO_DATE.split(heading)[0])  # a later date is another
    if not found or not found.year or not re.search(r"\d{4}", heading):
        return ""
    start, end = found.span
    before = heading[:start].strip(" ,.")
    return heading[start:end] if not re.search(r"[\s\d]", before) else ""


def _date(intake: Intake, date: str, front_matter: str, entry: Sequence[str]) -> datetime:
    first = next((line for line in entry if line.strip()), "")
    texts = (date, front_matter, first if first.startswith("#") else "", intake.source.stem)
    for text in texts:
        if at := intake.date_in(text):
            return at
    return _modified(intake)


def _modified(intake: Intake) -> datetime:
    if intake.source.modified is None:
        raise BadInput(
            "a note without a date; write one such as # 2024-05-08 above it", intake.name
        )
    intake.notes["notes dated by their files' last change"] += 1
    return intake.source.modified.astimezone(intake.options.local)


def _passages(lines: Sequence[str]) -> Iterator[str]:
    """Yield a section with its heading, or the parts of a long one, cut between paragraphs."""
    passage: list[str] = []
    fenced = False
    for line in lines:
        fenced ^= line.lstrip().startswith("```")
        begins = not fenced and _HEADING.fullmatch(line)
        is_long = not fenced and not line.strip() and sum(map(len, passage)) > _LONG
        if (begins or is_long) and any(not _HEADING.fullmatch(each) for each in passage if each):
            yield "\n".join(passage).strip()
            passage = []
        passage.append(line)
    if text := "\n".join(passage).strip():
        yield text


def _pick(folder: Folder) -> Sequence[str]:
    own = _named_by_obsidian(folder)
    return [
        name
        for name in folder.select(*_SUFFIXES)
        if not _LEFT_OUT_FOLDERS.fullmatch(name)
        and not any(name == f"{path}.md" or name.startswith(f"{path}/") for path in own)
    ]


def _named_by_obsidian(folder: Folder) -> Sequence[str]:
    """Return the folders and notes that a vault's settings name as templates."""
    roots = {"", *(f"{name.split('/')[0]}/" for name in folder.names if "/" in name)}
    paths: list[str] = []
    for root, (file, setting) in product(sorted(roots), _CONFIGS):
        with suppress(BadInput, KeyError), folder.open(f"{root}.obsidian/{file}") as source:
            value = as_object(parse(source.text(), source.name), source.name).get(setting)
            if isinstance(value, str) and (path := value.strip("/ ").removesuffix(".md")):
                paths.append(f"{root}{path}")
    return paths


def _sniff(intake: Intake) -> bool:
    if is_chat(intake.lines):
        return False
    dated = any(map(_heading_date, intake.lines))
    front = intake.source.head.lstrip().startswith(b"---")
    is_note = intake.source.suffix in (".md", ".markdown") and (
        front or dated or any(_HEADING.fullmatch(line) for line in intake.lines)
    )
    return intake.folder is not None or is_note or _is_evernote(intake)


FORMAT = format_named("notes", _read, _sniff, _pick)
