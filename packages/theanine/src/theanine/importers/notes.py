"""Plain notes: a folder of Markdown or text files, or one file.

Each note is a session of the user's own words, a turn a section or, in a long section, a few
paragraphs. It is dated by ``date:`` or ``created:`` in its front matter, by an ISO date in its
first heading or in its file name (``2024-05-08.md``), or else by the file's last change. A file
with several headings that begin with an ISO date, such as a journal, has a note for each.

The layouts are those of Obsidian and Logseq (basicmachines-co/basic-memory
``src/basic_memory/markdown``, front matter with ``title`` and ``created``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, SessionBuilder
from theanine.importers.dates import positions
from theanine.importers.folder import Folder
from theanine.importers.front_matter import ISO_DATE, front_matter_date, split_front_matter
from theanine.importers.markdown import is_chat
from theanine.importers.schema import require_storable
from theanine.types import History, Utterance

_SUFFIXES = ("*.md", "*.markdown", "*.txt")
_DATED_HEADING = re.compile(rf"#{{1,6}}\s+(?:\[\[)?(?P<date>{ISO_DATE.pattern})(?:\]\])?(?!\w).*")
_HEADING = re.compile(r"#{1,6}\s+\S.*")
_LONG = 1_200
"""Paragraphs of a section are put together up to so many characters."""


def _read(intake: Intake) -> Iterator[History]:
    name = intake.user_name("" if intake.folder else intake.own_name)
    lines = [line.removesuffix("\r") for line in intake.source.text().split("\n")]
    fields, start = split_front_matter(lines)
    title = fields.get("title", "")
    entries = _entries(lines[start:])
    for date, entry in entries:
        key = intake.source.name + (f"/{date}" if date else "")
        with intake.catching():
            heading = title or next(filter(_HEADING.fullmatch, entry), "").lstrip("# ").strip()
            at = _date(intake, date, front_matter_date(fields), entry)
            session = SessionBuilder(key, intake.notes, title=heading or intake.source.stem)
            passages = list(_passages(entry))
            for passage, time in zip(passages, positions(at, len(passages)), strict=True):
                text = require_storable(passage, intake.name)
                speaker = intake.speaker_of("user")
                session.append(Utterance(text=text, speaker=speaker, at=time), intake.name)
            if session:
                yield intake.part(name, session.build())
            else:
                intake.notes["empty notes left out"] += 1
    yield intake.part(name)


def _entries(lines: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return the notes of a file, each with the date of its heading if the file has several."""
    starts = [i for i, line in enumerate(lines) if _DATED_HEADING.fullmatch(line)]
    if len(starts) < 2:
        return [("", lines)]
    entries: list[tuple[str, Sequence[str]]] = [("", lines[: starts[0]])]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        match = _DATED_HEADING.fullmatch(lines[start])
        entries.append((match["date"] if match else "", lines[start:end]))
    return [(date, entry) for date, entry in entries if any(line.strip() for line in entry)]


def _date(intake: Intake, date: str, front_matter: str, entry: Sequence[str]) -> datetime:
    first = next((line for line in entry if line.strip()), "")
    texts = (date, front_matter, first if first.startswith("#") else "", intake.source.stem)
    for text in texts:
        if match := ISO_DATE.search(text):
            return intake.iso_date(match[0], intake.name)
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
    return folder.select(*_SUFFIXES)


def _sniff(intake: Intake) -> bool:
    if intake.kind != "text" or is_chat(intake.lines):
        return False
    dated = any(_DATED_HEADING.fullmatch(line) for line in intake.lines)
    front = intake.source.head.lstrip().startswith(b"---")
    is_note = intake.source.suffix in (".md", ".markdown") and (
        front or dated or any(_HEADING.fullmatch(line) for line in intake.lines)
    )
    return intake.folder is not None or is_note


FORMAT = Format(name="notes", sniff=_sniff, read=_read, pick=_pick, kind="text")
