"""Reading a file, a stream or a folder in the format that it has."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Generator, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import TextIO

from theanine.errors import BadInput, SettingsError
from theanine.importers import (
    aider,
    captions,
    chat_lines,
    chatgpt,
    claude,
    coding,
    datasets,
    discord,
    gemini,
    headed,
    imessage,
    jsonl,
    mail,
    mapped,
    markdown,
    notes,
    other_memories,
    rows,
    signal,
    slack,
    telegram,
    text,
    whatsapp,
)
from theanine.importers.base import CUT_OFF, PUT_RIGHT, Format, Intake, Kind, Options, Rejected
from theanine.importers.describing import SQLITE_MAGIC, describe, describe_folder
from theanine.importers.folder import Directory, Folder, archive_of, holds_archives
from theanine.importers.json_stream import ITEMS, preview
from theanine.importers.schema import Object, as_object, is_object, objects_in, parse_all
from theanine.importers.source import Source, opened, starts_export
from theanine.importers.spool import Spool
from theanine.importers.words import note_unread
from theanine.types import History

FORMATS: Mapping[str, Format] = {
    format.name: format
    for format in (
        *(jsonl.FORMAT, text.FORMAT, chatgpt.FORMAT, claude.FORMAT, rows.MESSAGES),
        *(markdown.FORMAT, notes.FORMAT, whatsapp.FORMAT, imessage.FORMAT, telegram.FORMAT),
        *(slack.FORMAT, mail.FORMAT, *coding.FORMATS, *gemini.FORMATS, signal.FORMAT),
        *(
            discord.FORMAT,
            captions.FORMAT,
            *chat_lines.FORMATS,
            headed.FORMAT,
            aider.FORMAT,
            signal.SIGTOP,
            mapped.FORMAT,
            *datasets.FORMATS,
        ),
        *(other_memories.FORMAT, datasets.MEMORIES, mapped.COPILOT, *rows.FORMATS),
    )
}
"""The formats by name."""

_GUESSED = (notes.FORMAT, text.FORMAT)
_GUESSED_NAMES = {each.name for each in _GUESSED}
_SURE = tuple(each for each in FORMATS.values() if each not in _GUESSED)
_DETECTED = (*_SURE, *_GUESSED)
"""The formats in the order of detection: those that many texts look like come last."""

_GENERAL = {rows.MESSAGES.name, other_memories.FORMAT.name, whatsapp.FORMAT.name}
"""Formats with files that others have too, with more in them."""

_STREAMED = {"telegram", "discord", "slack", "secom"}
"""Formats whose readers find their places themselves."""
_WRAPPINGS = 4
_MAX_LISTED = 20
_CUT = "broken JSON: cut off at its end"
_STRUCTURED = ("*.json", "*.jsonl", "*.ndjson", "*.xml")
"""Files that are told by their content where no name of a folder is known."""
_HEAD_LINES = 40
_LONG_LINE = 64 << 20
TEXT_SUFFIXES = (
    *(".txt", ".md", ".markdown", ".eml", ".emlx", ".mbox"),
    *(".csv", ".tsv", ".vtt", ".srt", ".sbv", ".html", ".htm"),
)
_XML = re.compile(rb"\s*<\?xml")
_BEGINS_JSON = re.compile(rb'\s*\{\s*"[^"\n]{1,80}"\s*:')
_EMPTY = (b"", b"[]", b"{}")
"""The contents, blanks aside, of files without an item, such as a chat without messages."""
_BRACKETED_TEXT = re.compile(r"\[(?:\d{1,4}([./-])\d{1,2}\1\d{1,4}|\d{1,2}:\d\d|LINE\])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedHistories:
    """The content of a source.

    Attributes:
        format: the format in which it was read; empty if no file of a folder could be.
        histories: its histories in the source's order, one for each relationship.
        rejected: the items that couldn't be read and were left out.
        notes: oddities with their numbers, over all histories.
    """

    format: str
    histories: Sequence[History]
    rejected: Sequence[Rejected] = ()
    notes: Mapping[str, int] = field(default_factory=dict[str, int])


class UnknownFormat(BadInput):
    """A source is in no known format.

    Attributes:
        layout: a mapping of its fields that ``read_histories`` can be given; None if there is none.
    """

    def __init__(self, reason: str, where: str, layout: dict[str, object] | None) -> None:
        if layout is not None:
            shown = json.dumps(layout, ensure_ascii=False)
            reason += (
                f". It seems to hold messages: with this in a file, --map FILE reads it: {shown}"
            )
        super().__init__(reason, where)
        self.layout = layout


def read_histories(
    source: Path | TextIO,
    *,
    format: str | None = None,
    memories: bool = False,
    zone: tzinfo | None = None,
    start: datetime | None = None,
    keep_going: bool = False,
    strict: bool = False,
    layout: Mapping[str, object] | None = None,
    name: str | None = None,
    speaker: str | None = None,
) -> ImportedHistories:
    """Read the histories of a file, a zip archive, a folder or an open stream.

    Memory is bounded: sessions are kept in a temporary file and read when they are needed.

    Args:
        format: a name in ``FORMATS``; None detects it.
        memories: also read the source's memories.
        zone: time zone of dates without one. None reads them as UTC and counts them in the notes,
            but doesn't accept them in our own JSON Lines.
        start: date of the first session of an undated source (aware); its sessions then count as
            dated. None puts them on a calendar from 2000-01-01 as undated.
        keep_going: read the valid items and report the others in ``rejected``; what services and
            programs export is read so anyway.
        layout: where the messages of a file in an unknown format are; see
            :mod:`theanine.importers.mapped`.
        strict: refuse what services and programs export if anything in it is odd.
        name: name of a history that has none in the source.
        speaker: the user's name among the speakers of the source; in a chat that names no
            speakers, the name to give the user.

    Raises:
        BadInput: the source is empty, unreadable or of no known format; or an item in it is
            invalid and ``keep_going`` is off. Up to 20 items are listed with place and reason.
        SettingsError: an unknown ``format``, a naive ``start``, or ``memories`` for a format that
            has none.
    """
    if format is not None and format not in FORMATS:
        raise SettingsError(f'unknown format "{format}"; known: {", ".join(FORMATS)}')
    if start is not None and start.utcoffset() is None:
        raise SettingsError("start has no UTC offset; give one, such as 2024-05-08T00:00+02:00")
    options = Options(
        zone=zone,
        start=start,
        memories=memories,
        name=name,
        speaker=speaker,
        strict=strict,
        layout=layout,
    )
    if layout is not None:
        mapped.layout_of(layout)  # to refuse a wrong one before anything is read
    spool = Spool()
    rejected: list[Rejected] = []
    left_out: list[Rejected] = []
    formats: list[str] = []
    people: set[str] = set()
    named = mapped.MAPPED if layout is not None else FORMATS[format] if format else None
    sources = _intakes(source, named, options, rejected)
    with closing(sources):  # which closes the file, also after a fault
        for intake, candidates in sources:
            before = spool.count
            # In a folder, a file that can't be read is one invalid item.
            with nullcontext() if intake.folder is None else intake.catching():
                chosen = _detect(intake, candidates)
                _check_memories(chosen, options)
                formats.append(chosen.name)
                _read_as(intake, chosen)
                tolerated = left_out if chosen.repairs and not strict else rejected
                name = intake.user_name()
                for part in chosen.read(intake):
                    name = part.name
                    tolerated += spool.add(part, joined=chosen.joined)
                note_unread(intake.notes, intake.around, ())
                people |= intake.people
                spool.add(intake.part(name))
                if tolerated is left_out and spool.count:
                    left_out += intake.faults
                    intake.faults.clear()
                if spool.count == before and not intake.faults and intake.folder is None:
                    raise BadInput(_nothing(chosen.name, spool.notes), intake.name)
            rejected += intake.faults
    histories = spool.histories()
    if (rejected and not keep_going) or (left_out and not histories):
        raise _refusal([*rejected, *left_out], source)
    is_read = bool(histories or rejected)
    _check_contents(spool, formats, source, options, people, is_read=is_read)
    notes = sum((Counter(history.notes) for history in histories), Counter[str]())
    return ImportedHistories(
        format=formats[0] if formats else format or "",
        histories=histories,
        rejected=[*rejected, *left_out],
        notes=dict(notes),
    )


def _check_memories(format: Format, options: Options) -> None:
    """Raise SettingsError if memories are asked of a format that has none."""
    if options.memories and not format.memories:
        able = ", ".join(each.name for each in FORMATS.values() if each.memories)
        raise SettingsError(
            f"the format {format.name} holds no memories ({able} can); import it without --memories"
        )


def _check_contents(
    spool: Spool,
    formats: Sequence[str],
    source: Path | TextIO,
    options: Options,
    people: Container[str],
    *,
    is_read: bool,
) -> None:
    """Raise BadInput if nothing was read, or nobody is the speaker whom the caller names."""
    if not is_read:
        raise BadInput(_nothing("".join(formats[:1]), spool.notes), str(source))
    speaker = options.speaker
    if spool.count and speaker and speaker not in spool.speakers and speaker not in people:
        speakers = ", ".join(name for name, _ in spool.speakers.most_common(_MAX_LISTED))
        raise BadInput(f'no turn by "{speaker}"; the speakers are {speakers}', str(source))


def _nothing(format: str, notes: Mapping[str, int]) -> str:
    read_as = f" (read as {format})" if format else ""
    counted = ", ".join(f"{count} × {note}" for note, count in notes.items())
    return f"no conversation in it{read_as}{': ' if counted else ''}{counted}"


def _intakes(
    origin: Path | TextIO, format: Format | None, options: Options, rejected: list[Rejected]
) -> Generator[tuple[Intake, Sequence[Format]]]:
    """Yield each file to read, with the formats that it can have."""
    if isinstance(origin, Path) and origin.is_dir():
        yield from _intakes_of(Directory(origin), format, options, rejected)
        return
    with opened(origin) as source:
        if archive := archive_of(source):
            yield from _intakes_of(archive, format, options, rejected)
        else:
            yield _intake(source, format, options), [format] if format else _DETECTED


def _intakes_of(
    folder: Folder, format: Format | None, options: Options, rejected: list[Rejected]
) -> Iterator[tuple[Intake, Sequence[Format]]]:
    """Yield the files to read in a folder, or in each archive in one that has only archives.

    What a service packs into several parts can have some without a conversation, such as pictures.
    """
    if not holds_archives(folder):
        yield from _intakes_in(folder, format, options, rejected)
        return
    count, empty = 0, list[BadInput]()
    for name in folder.names:
        try:
            with folder.unpacked(name) as archive:
                try:
                    for each in _intakes_in(archive, format, options, rejected):
                        count += 1
                        yield each
                except BadInput as fault:
                    empty.append(fault)
        except BadInput as fault:  # a damaged one
            rejected.append(_rejected(fault, name))
    if empty and not count:
        raise empty[0]


def _intakes_in(
    folder: Folder, format: Format | None, options: Options, rejected: list[Rejected]
) -> Iterator[tuple[Intake, Sequence[Format]]]:
    """Yield the files of all exports in a folder; notes by their names only if nothing else is so.

    What the first format found must be readable, or is added to ``rejected``; files that others
    found by name alone are passed over if their content is something else. If no file has a name
    that a format knows, or the one that the caller named, or only notes have, its files are told by
    their content.
    """
    picked = _pick(folder, format)
    by_name = bool(picked)
    picked |= _by_content(folder, format, picked)
    first = next(iter(picked))
    seen: set[str] = set()
    count = 0
    for name in dict.fromkeys(name for names in picked.values() for name in names):
        if name in seen:  # it was read with another file
            continue
        candidates = [FORMATS[each] for each, names in picked.items() if name in names]
        expected = by_name and name in picked[first]
        try:
            with folder.open(name) as source:
                if b"".join(source.head.split()) in _EMPTY:
                    continue
                intake = _intake(source, format, options)
                intake.folder, intake.seen = folder, seen
                if expected:
                    yield intake, candidates if format else [*candidates, *_DETECTED]
                elif any(each.sniff(intake) for each in candidates):
                    count += 1
                    yield intake, candidates
        except BadInput as fault:
            if expected:
                rejected.append(_rejected(fault, name))
    if not by_name and not count:
        raise BadInput(describe_folder(folder, *([format.name] if format else [])), folder.name)


def _rejected(fault: BadInput, name: str) -> Rejected:
    where = fault.where or name
    return Rejected(where, str(fault).removeprefix(f"{where}: "))


def _pick(folder: Folder, format: Format | None) -> dict[str, Sequence[str]]:
    """Return the files of a folder by the formats that their names are of, the first one first."""
    formats = [format] if format else _DETECTED
    picked = {each.name: names for each in formats if (names := each.pick(folder))}
    if picked and next(iter(picked)) not in _GUESSED_NAMES:
        picked = {name: names for name, names in picked.items() if name not in _GUESSED_NAMES}
    return picked


def _by_content(
    folder: Folder, format: Format | None, picked: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Return the files to tell by their content: those of a folder with nothing but notes."""
    if format is not None:
        return {} if picked else {format.name: folder.names}
    if picked.keys() - _GUESSED_NAMES:
        return {}
    names = folder.select(*_STRUCTURED)
    return {each.name: names for each in _SURE}


def _refusal(rejected: Sequence[Rejected], source: Path | TextIO) -> BadInput:
    if len(rejected) == 1:
        where, reason = rejected[0].where, rejected[0].reason
        archive = isinstance(source, Path) and source.suffix.lower() == ".zip" and source.name
        if archive and not where.startswith(archive):
            where = f"{archive}, {where}"
        if reason.startswith("broken JSON"):
            advice = "download the export again" if archive else "--keep-going skips what is broken"
            reason = f"{reason}; {advice}"
        return BadInput(reason, where)
    lines = "\n".join(f"  {item.where}: {item.reason}" for item in rejected[:_MAX_LISTED])
    more = f"\n  and {len(rejected) - _MAX_LISTED} more" if len(rejected) > _MAX_LISTED else ""
    return BadInput(
        f"{len(rejected)} items are invalid, so nothing was read (--keep-going skips them):\n"
        f"{lines}{more}"
    )


def _intake(source: Source, format: Format | None, options: Options) -> Intake:
    original = source = source.unpacked()
    kind = _kind(source, None if options.layout else format)
    intake = Intake(source, kind, options, original)
    if not options.strict:
        _put_right(intake)
    source = intake.source
    if intake.kind == "sqlite":
        return intake
    head = source.peek(_HEAD_LINES)
    if not head:
        raise BadInput("the file is empty; nothing to import", source.name)
    if format is None and starts_export(source):
        raise BadInput(
            "this is the export of a whole store, not of conversations; restore it instead",
            source.name,
        )
    if intake.kind == "text":
        intake.lines = head
    elif intake.kind == "lines":
        if b"\n" not in source.head.strip():  # the first line is longer than what was peeked at
            line = source.stream().readline(_LONG_LINE)
            head = [line.decode("utf-8", "replace").strip()]
        intake.ahead = [record for line in head if (record := _object(line))]
        intake.first = next(iter(intake.ahead), intake.first)
    else:
        document = preview(source.stream(), source.name)
        if document in ([], {}):
            raise BadInput("the file holds no items; nothing to import", source.name)
        intake.ahead = [document] if is_object(document) else objects_in(document)
        intake.first = next(iter(intake.ahead), intake.first)
    return intake


def _put_right(intake: Intake) -> None:
    """Make JSON of a source right and whole, and a text UTF-8, noting it."""
    if intake.kind == "text" and not _XML.match(intake.original.head):
        intake.source, charset = intake.original.in_utf8()
        damaged = "characters that can't be read"
        note = damaged if charset == "utf-8" else f"text in the charset {charset}"
        intake.notes[note] += bool(charset)
    if intake.kind in ("json", "lines"):
        intake.source = intake.original.put_right()
        intake.notes[PUT_RIGHT] += intake.source is not intake.original
    if intake.kind == "json":
        whole = intake.source.completed()
        intake.source, intake.is_cut = whole, whole is not intake.source


def _read_as(intake: Intake, format: Format) -> None:
    """Tell a source its format, which can read it only as it is, and note what was cut off."""
    intake.format = format.name
    as_it_is = format.decodes if intake.kind == "text" else not format.repairs
    if intake.source is not intake.original and as_it_is:
        intake.source = intake.original  # whose faults are then named
        intake.notes.clear()
    elif intake.is_cut:
        intake.notes[CUT_OFF] += 1
        intake.faults.append(Rejected(intake.name, _CUT))


def _kind(source: Source, format: Format | None) -> Kind:
    """Return the syntax by the format, the first bytes, the file's suffix and the first lines."""
    if format is not None and format.kind is not None:
        return format.kind
    if source.head.startswith(SQLITE_MAGIC):
        return "sqlite"
    first = "".join(source.peek(1))
    is_json = _object(first) is not None or _BEGINS_JSON.match(source.head)
    if format is None and source.suffix in TEXT_SUFFIXES and not is_json:
        return "text"  # MSC calls its JSON Lines .txt, Standard Notes its JSON
    if first.startswith("[") and not _BRACKETED_TEXT.match(first):
        return "json"
    if format is None and source.suffix in (".jsonl", ".ndjson"):
        return "lines"
    if not first.startswith("{"):
        return "json" if format and not first.startswith("<") else "text"
    return "lines" if _begins_lines(source) else "json"


def _begins_lines(source: Source) -> bool:
    """Return whether the first line is an object of its own, or the second begins one."""
    stream = source.stream()
    lines = (line for line in iter(partial(stream.readline, _LONG_LINE), b"") if line.strip())
    first, second = next(lines, b""), next(lines, b"").strip()
    text = first.decode("utf-8", "replace").strip()
    # A value that goes on, such as indented JSON, isn't followed by an object on the next line.
    opens = second.startswith(b"{") and not text.endswith(("[", ",", ":", "{"))
    return first.endswith(b"\n") and (opens or bool(second and _object(text)))


def _object(line: str) -> Object | None:
    try:
        return as_object(next(parse_all(line, ""), None), "")
    except BadInput:
        return None


def _detect(intake: Intake, candidates: Sequence[Format]) -> Format:
    """Return the one format that is possible, or that recognizes the source.

    Raises:
        BadInput: none does, or several; many texts look like those that are guessed, so they only
            count if no other does.
    """
    if len(candidates) == 1:
        if not candidates[0].sniff(intake):
            _unwrap(intake, candidates)
        return candidates[0]
    first = intake.first
    for record in (first, *intake.ahead):  # the first one may be the odd one
        intake.first = record
        if found := _recognize(intake, candidates):
            return found
    intake.first = first
    if wrapped := _unwrap(intake, candidates):
        return wrapped
    if intake.kind == "lines" and not intake.first:
        return FORMATS["jsonl"]
    if intake.is_cut:
        preview(intake.original.stream(), intake.name)  # which names the fault
    raise UnknownFormat(
        f"unknown format: it looks like {describe(intake)}. Name it with --format if it is one of "
        f"{', '.join(FORMATS)}, or write it as JSON Lines or as Speaker: text",
        intake.name,
        mapped.propose(intake),
    )


def _unwrap(intake: Intake, candidates: Sequence[Format]) -> Format | None:
    """Return the format of what a document wraps in objects, whose places are filled in; or None.

    Whatever of the first such format is found is read; the outermost, if one is within another.
    """
    chosen, first = None, intake.first
    inside: list[tuple[str, ...]] = []
    if intake.kind != "json" or not intake.ahead:
        return None
    document = intake.ahead[0]
    root = ITEMS if intake.source.head.lstrip().startswith(b"[") else ()
    for pattern, records in list(_holders(document, root, _WRAPPINGS)):
        if any(pattern[: len(outer)] == outer for outer in inside):
            continue
        intake.first = records[0]
        found = _recognize(intake, [chosen] if chosen else candidates)
        if found and found.name not in _STREAMED | _GUESSED_NAMES:
            chosen, inside = found, [*inside, pattern]
            intake.ahead = records if len(inside) == 1 else intake.ahead
    intake.first = first
    if chosen:
        intake.inside, intake.around = inside, _around(document, inside, root)
        intake.first = intake.ahead[0]
    return chosen


def _holders(
    value: Mapping[str, object], place: tuple[str, ...], levels: int
) -> Iterator[tuple[tuple[str, ...], Sequence[Object]]]:
    """Yield the objects in an object and lists of such, with their patterns, outermost first."""
    for key, each in value.items():
        if is_object(each):
            yield (*place, key), [each]
        elif records := objects_in(each):
            yield (*place, key, "*"), records
    for key, each in value.items():
        if is_object(each) and levels > 1:
            yield from _holders(each, (*place, key), levels - 1)


def _around(
    value: Mapping[str, object], inside: Sequence[tuple[str, ...]], place: tuple[str, ...]
) -> Object:
    """Return an object without what is at the patterns."""
    rest: Object = {}
    for key, each in value.items():
        here = (*place, key)
        if here not in inside and (*here, "*") not in inside:
            rest[key] = _around(each, inside, here) if is_object(each) else each
    return rest


def _recognize(intake: Intake, candidates: Sequence[Format]) -> Format | None:
    """Return the format that recognizes a source by its first object or lines; None if none does.

    Raises BadInput if several do.
    """
    found = dict.fromkeys(format.name for format in candidates if format.sniff(intake))
    sure = [name for name in found if name not in _GUESSED_NAMES]
    sure = [name for name in sure if name not in _GENERAL] or sure
    if len(sure) > 1:
        raise BadInput(
            f"this could be {' or '.join(sure)}: name the format with --format", intake.name
        )
    return FORMATS[next(iter(sure or found))] if found else None
