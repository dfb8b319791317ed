"""Reading a file, a stream or a folder in the format that it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TextIO, cast

from theanine.errors import BadInput, SettingsError
from theanine.importers import beam, cc, chatgpt, jsonl, locomo, longmemeval, memorybank, msc, text
from theanine.importers import memories as memories_format
from theanine.importers.base import Format, Intake, Kind, Options, Rejected
from theanine.importers.schema import Object, as_object, is_object, parse
from theanine.importers.source import Source, files_in, opened, starts_export
from theanine.types import History, Transcript

_MODULES = (
    *(jsonl, text, chatgpt, locomo, msc, cc, memorybank, beam, longmemeval),
    memories_format,
)
FORMATS: Mapping[str, Format] = {module.FORMAT.name: module.FORMAT for module in _MODULES}
"""The formats by name."""

_MAX_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedHistories:
    """The content of a source.

    Attributes:
        format: the format in which it was read.
        histories: its histories in the source's order, one for each relationship.
        rejected: the items that were left out; empty unless ``keep_going``.
        notes: oddities with their numbers, over all histories.
    """

    format: str
    histories: Sequence[History]
    rejected: Sequence[Rejected] = ()
    notes: Mapping[str, int] = field(default_factory=dict[str, int])


def read_histories(
    source: Path | TextIO,
    *,
    format: str | None = None,
    memories: bool = False,
    zone: tzinfo | None = None,
    start: datetime | None = None,
    keep_going: bool = False,
    name: str | None = None,
) -> ImportedHistories:
    """Read the histories of a file, a folder or an open text stream such as standard input.

    Args:
        format: a name in ``FORMATS``; None detects it.
        memories: also read the source's memories.
        zone: time zone of dates without one. None reads them as UTC and counts them in the notes,
            but doesn't accept them in our own JSON Lines.
        start: date of the first session of an undated source (aware); its sessions then count as
            dated. None puts them on a calendar from 2000-01-01 as undated.
        keep_going: read the valid items and report the others in ``rejected``.
        name: name of a history that has none in the source.

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
    options = Options(zone=zone, start=start, memories=memories, name=name)
    sources: Sequence[Path | TextIO] = [source]
    if isinstance(source, Path) and source.is_dir():
        sources = files_in(source)
    parts = [_read(part, format, options) for part in sources]
    rejected = [item for part in parts for item in part.rejected]
    histories = _merge([history for part in parts for history in part.histories], rejected)
    if rejected and not keep_going:
        raise _refusal(rejected)
    notes = sum((Counter(history.notes) for history in histories), Counter[str]())
    return ImportedHistories(
        format=parts[0].format, histories=histories, rejected=rejected, notes=dict(notes)
    )


def _merge(histories: Sequence[History], rejected: list[Rejected]) -> list[History]:
    """Merge histories of the same name; of sessions with the same key, keep the first.

    The files of a folder overlap. Sessions with the same key but other turns are rejected; their
    times may differ.
    """
    merged: dict[str, dict[str, Transcript]] = {}
    notes: dict[str, Counter[str]] = {}
    for history in histories:
        sessions = merged.setdefault(history.name, {})
        has_new = False
        for transcript in history.transcripts:
            first = sessions.setdefault(transcript.key, transcript)
            has_new = has_new or first is transcript
            if first is not transcript and _content(first) != _content(transcript):
                where = f"{history.name}, session {transcript.key}"
                reason = "the name of two sessions with different turns; give each its own"
                rejected.append(Rejected(where, reason))
        if has_new:
            notes[history.name] = notes.get(history.name, Counter()) + Counter(history.notes)
    return [
        History(
            name=name,
            transcripts=sorted(sessions.values(), key=lambda t: t.at),
            notes=dict(notes[name]),
        )
        for name, sessions in merged.items()
    ]


def _content(transcript: Transcript) -> tuple[object, ...]:
    turns = [(turn.speaker, turn.full_text) for turn in transcript.turns]
    return turns, list(transcript.memories)


def _refusal(rejected: Sequence[Rejected]) -> BadInput:
    if len(rejected) == 1:
        return BadInput(rejected[0].reason, rejected[0].where)
    lines = "\n".join(f"  {item.where}: {item.reason}" for item in rejected[:_MAX_LISTED])
    more = f"\n  and {len(rejected) - _MAX_LISTED} more" if len(rejected) > _MAX_LISTED else ""
    return BadInput(
        f"{len(rejected)} items are invalid, so nothing was read (--keep-going skips them):\n"
        f"{lines}{more}"
    )


def _read(origin: Path | TextIO, name: str | None, options: Options) -> ImportedHistories:
    with opened(origin) as source:
        head = source.peek(5)
        if not head:
            raise BadInput("the file is empty; nothing to import", source.name)
        if name is None and starts_export(source):
            raise BadInput(
                "this is the export of a whole store, not of conversations; restore it instead",
                source.name,
            )
        intake = _intake(source, _kind(source, head, name), head, options)
        format = FORMATS[name] if name else _detect(intake)
        if options.memories and not format.memories:
            able = ", ".join(each.name for each in FORMATS.values() if each.memories)
            raise SettingsError(
                f"the format {format.name} holds no memories ({able} can); import it without "
                "--memories"
            )
        histories = list(format.read(intake))
    if not histories and not intake.faults:
        raise BadInput(f"no conversation in it (read as {format.name})", source.name)
    return ImportedHistories(format=format.name, histories=histories, rejected=intake.faults)


def _kind(source: Source, head: Sequence[str], name: str | None) -> Kind:
    """Return the syntax by the format's name, the file's suffix and the first lines."""
    first = head[0]
    is_text = source.suffix in (".txt", ".md") and _object(first) is None
    if name == "text" or (name is None and is_text):  # MSC calls its JSON Lines .txt
        return "text"
    if first.startswith("["):
        return "json"
    if name == "jsonl" or (name is None and source.suffix in (".jsonl", ".ndjson")):
        return "lines"
    if not first.startswith("{"):
        return "json" if name else "text"
    if len(head) > 1 and (head[1].startswith("{") or _object(first) is not None):
        return "lines"
    return "json"


def _intake(source: Source, kind: Kind, head: Sequence[str], options: Options) -> Intake:
    intake = Intake(source, kind, options)
    if kind == "text":
        intake.lines = head
        return intake
    if kind == "lines":
        intake.first = next((record for line in head if (record := _object(line))), intake.first)
        return intake
    intake.document = document = parse(source.text(), source.name)
    if document in ([], {}):
        raise BadInput("the file holds no items; nothing to import", source.name)
    items = cast("list[object]", document) if isinstance(document, list) else [document]
    intake.first = next((item for item in items if is_object(item)), intake.first)
    return intake


def _object(line: str) -> Object | None:
    try:
        return as_object(parse(line, ""), "")
    except BadInput:
        return None


def _detect(intake: Intake) -> Format:
    for format in FORMATS.values():
        if format.sniff(intake):
            return format
    if intake.kind == "lines" and not intake.first:
        return jsonl.FORMAT
    raise BadInput(
        f"unknown format; name it if it is one of {', '.join(FORMATS)}, "
        "or write it as JSON Lines or as Speaker: text",
        intake.name,
    )
