"""Reads a file, a stream or a folder: finds its format, its histories, and what is wrong in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TextIO, cast

from theanine.errors import BadInput, SettingsError
from theanine.importers import (
    beam,
    cc,
    chatgpt,
    jsonl,
    locomo,
    longmemeval,
    memorybank,
    msc,
    ready_made,
    text,
)
from theanine.importers.base import Format, Intake, Kind, Options, Preview, Rejected
from theanine.importers.fields import as_object, is_object, parse
from theanine.importers.folders import files_of
from theanine.importers.source import Source, opened
from theanine.importers.store_export import first_is_dump
from theanine.types import History, Transcript

_KNOWN = (
    jsonl.FORMAT,
    text.FORMAT,
    chatgpt.FORMAT,
    locomo.FORMAT,
    msc.FORMAT,
    cc.FORMAT,
    memorybank.FORMAT,
    beam.FORMAT,
    longmemeval.FORMAT,
    ready_made.FORMAT,
)
FORMATS: Mapping[str, Format] = {known.name: known for known in _KNOWN}
"""The formats by name; each has a one-line ``summary``."""

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReader:
    """What a source held.

    Attributes:
        format: the format that it was read as.
        histories: one for each relationship in it, in the source's order.
        rejected: the items that were not taken; empty unless ``keep_going``.
        notes: what was odd and how often, over all histories.
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
) -> HistoryReader:
    """Reads the histories of a file, a folder or an open text stream such as standard input.

    Args:
        format: a name of ``FORMATS``; None finds out.
        memories: take ready-made memories along.
        zone: where dates without a zone belong. None reads them as UTC and counts them in the
            notes, and refuses them in our own JSON Lines.
        start: when the first session of an undated source was (aware); its sessions then count as
            dated. None puts them on a calendar from 2000-01-01 as undated.
        keep_going: take what is good and report the rest in ``rejected``, instead of nothing.
        name: what to call a history that the source itself gives no name.

    Raises:
        BadInput: the source is empty, of no known format or unreadable; or an item in it is
            wrong and ``keep_going`` is off. Up to 20 items are listed with place and reason.
        SettingsError: an unknown ``format``, a naive ``start``, or ``memories`` for a format that
            holds none.
    """
    if format is not None and format not in FORMATS:
        raise SettingsError(f'unknown format "{format}"; known: {", ".join(FORMATS)}')
    if start is not None and start.utcoffset() is None:
        raise SettingsError("start has no UTC offset; give one, such as 2024-05-08T00:00+02:00")
    options = Options(zone=zone, start=start, memories=memories, name=name)
    is_folder = isinstance(source, Path) and source.is_dir()
    sources = files_of(source) if is_folder and isinstance(source, Path) else [source]
    parts = [_read(part, format, options) for part in sources]
    rejected = [item for part in parts for item in part.rejected]
    histories = _once([history for part in parts for history in part.histories], rejected)
    if rejected and not keep_going:
        raise _refusal(rejected)
    notes = sum((Counter(history.notes) for history in histories), Counter[str]())
    return HistoryReader(
        format=parts[0].format,
        histories=histories,
        rejected=rejected,
        notes=dict(notes),
    )


def _once(histories: Sequence[History], rejected: list[Rejected]) -> list[History]:
    """One history a name, one session a key, the first of each; times may differ, words may not.

    A folder's files overlap, and nothing but this keeps a file from using a name twice.
    """
    found: dict[str, dict[str, Transcript]] = {}
    notes: dict[str, Counter[str]] = {}
    for history in histories:
        sessions = found.setdefault(history.name, {})
        fresh = False
        for transcript in history.transcripts:
            have = sessions.setdefault(transcript.key, transcript)
            fresh = fresh or have is transcript
            if not _same(have, transcript):
                where = f"{history.name}, session {transcript.key}"
                reason = "the name of two sessions with different words; give each its own"
                rejected.append(Rejected(where, reason))
        if fresh:
            notes[history.name] = notes.get(history.name, Counter()) + Counter(history.notes)
    return [
        History(
            name=name,
            transcripts=sorted(sessions.values(), key=lambda t: t.at),
            notes=dict(notes[name]),
        )
        for name, sessions in found.items()
    ]


def _same(one: Transcript, other: Transcript) -> bool:
    if one is other:
        return True
    words = [[(turn.speaker, turn.full_text) for turn in t.turns] for t in (one, other)]
    return words[0] == words[1] and list(one.memories) == list(other.memories)


def _refusal(rejected: Sequence[Rejected]) -> BadInput:
    if len(rejected) == 1:
        return BadInput(rejected[0].reason, rejected[0].where)
    shown = "\n".join(f"  {item.where}: {item.reason}" for item in rejected[:_SHOWN])
    more = f"\n  and {len(rejected) - _SHOWN} more" if len(rejected) > _SHOWN else ""
    return BadInput(
        f"{len(rejected)} items can't be taken, so nothing was (--keep-going takes the rest):\n"
        f"{shown}{more}"
    )


def _read(origin: Path | TextIO, name: str | None, options: Options) -> HistoryReader:
    with opened(origin) as source:
        head = source.peek(5)
        if not head:
            raise BadInput("the file is empty; nothing to import", source.name)
        if name is None and first_is_dump(source):
            raise BadInput(
                "this is the export of a whole store, not of conversations; restore it instead",
                source.name,
            )
        intake = Intake(source, _kind(source, head, name), options)
        sample = _sample(intake, head)
        chosen = FORMATS[name] if name else _found(intake, sample)
        if options.memories and not chosen.memories:
            holding = ", ".join(known.name for known in _KNOWN if known.memories)
            raise SettingsError(
                f"the format {chosen.name} holds no ready-made memories ({holding} can); "
                "import it without --memories"
            )
        histories = list(chosen.read(intake))
    if not histories and not intake.faults:
        raise BadInput(f"no conversation in it (read as {chosen.name})", source.name)
    return HistoryReader(format=chosen.name, histories=histories, rejected=intake.faults)


def _kind(source: Source, head: Sequence[str], name: str | None) -> Kind:
    """How it is written, by what the caller says, its name's ending and its first lines."""
    first = head[0]
    written = source.suffix in (".txt", ".md") and _object(first) is None
    if name == "text" or (name is None and written):  # MSC calls its JSON Lines .txt
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


def _sample(intake: Intake, head: Sequence[str]) -> Preview:
    if intake.kind == "text":
        return Preview("text", {}, head)
    nothing: Mapping[str, object] = {}
    if intake.kind == "lines":
        return Preview("lines", next((o for line in head if (o := _object(line))), nothing))
    document = parse(intake.source.text(), intake.name)
    intake.document = document
    if document in ([], {}):
        raise BadInput("the file holds no items; nothing to import", intake.name)
    items = cast("list[object]", document) if isinstance(document, list) else [document]
    first = next((as_object(item, "") for item in items if is_object(item)), nothing)
    return Preview("json", first)


def _object(line: str) -> Mapping[str, object] | None:
    try:
        return as_object(parse(line, ""), "")
    except BadInput:
        return None


def _found(intake: Intake, sample: Preview) -> Format:
    for known in _KNOWN:
        if known.sniff(sample):
            return known
    if intake.kind == "lines" and not sample.first:
        return jsonl.FORMAT
    raise BadInput(
        f"unknown format; name it if it is one of {', '.join(FORMATS)}, "
        "or write it as JSON Lines or as Speaker: words",
        intake.name,
    )
