"""Transcripts of Claude Code: ``~/.claude/projects``, or a file ``<session>.jsonl`` from it.

Each line is an object with a ``type``. Lines of the types ``user`` and ``assistant`` hold a
``message`` of Anthropic's form, a ``uuid``, a ``timestamp`` and a ``sessionId``; words in them are
read, while tool calls and results, thoughts, the output of commands and what subagents said
(``isSidechain``) are left out and counted. A session that goes on in another file is copied there:
each ``uuid`` is read once, from the file that was changed first. The form is internal to Claude
Code and changes: lines of unknown types are counted by type.

Source: skillsynchq/txcript ``docs/formats/claude-code.md``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from theanine.importers.base import Entry, Format, Intake
from theanine.importers.folder import Folder
from theanine.importers.schema import Object, as_object, printable
from theanine.importers.table import (
    Talk,
    finish,
    first_of,
    has_only_parts,
    key_of,
    layout_named,
    name_of,
    project_of,
    role_in,
    time_at,
)
from theanine.importers.words import Words
from theanine.types import History, Role

_LAYOUT = layout_named("claude-code")
_TITLES = ("custom-title", "customTitle", "ai-title", "aiTitle", "agent-name", "summary")
_BOOKKEEPING = frozenset({
    "system", "attachment", "file-history-snapshot", "file-history-delta", "queue-operation",
    "mode", "last-prompt", "progress", "pr-link", "permission-mode", *_TITLES,
})  # fmt: skip
_MARKUP = re.compile(
    r"<(?P<tag>command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|system-reminder|task-notification)>"
    r".*?</(?P=tag)>",
    re.DOTALL,
)
_INTERRUPTED = "[Request interrupted by user"
_FILE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")


def _sniff(intake: Intake) -> bool:
    return any(
        {"uuid", "sessionId", "message"} <= record.keys()
        or (record.get("type") == "summary" and "leafUuid" in record)
        for record in intake.ahead
    )


def _read(intake: Intake) -> Iterator[History]:
    entries: list[Entry] = []
    metadata = {"conversation": intake.source.stem}
    for where, record in intake.records():
        kind = record.get("type")
        with intake.catching():
            role, _ = role_in(_LAYOUT, record)
            if role in ("user", "assistant"):
                if found := _entries(intake, record, Entry(where, role)):
                    metadata |= project_of(record)
                    entries += found
            elif isinstance(kind, str) and kind in _BOOKKEEPING:
                if title := name_of(first_of(record, _TITLES)):
                    metadata["title"] = title
            else:
                unknown = printable(str(kind)[:40])
                intake.notes[f'lines of the unknown type "{unknown}" left out'] += 1
    talk = Talk(intake, _LAYOUT, {}, intake.stem, intake.name, metadata=metadata)
    yield from talk.finish(entries, intake.user_name())
    yield intake.part(intake.user_name())


def _entries(intake: Intake, record: Object, entry: Entry) -> Sequence[Entry]:
    if record.get("isSidechain"):
        intake.notes["messages of subagents left out"] += 1
        return ()
    if record.get("isMeta") or record.get("isCompactSummary") or record.get("isApiErrorMessage"):
        intake.notes["messages of the program left out"] += 1
        return ()
    entry.key = key_of(record.get("uuid"))
    if entry.key in intake.seen:
        intake.notes["repeated turns"] += 1
        return ()
    intake.seen |= {entry.key} if entry.key else set()
    message = as_object(record.get("message"), f"{entry.where}.message")
    words = Words(intake.notes)
    words.add(message.get("content"))
    if words.text.startswith(_INTERRUPTED) or _is_markup(entry.role, words.text):
        intake.notes["commands and their output left out"] += 1
        return ()
    if has_only_parts(intake, message, words):
        return ()
    entry.at = time_at(intake, record, _LAYOUT.time, entry.where)
    return finish(intake, message, words, entry, _LAYOUT)


def _is_markup(role: Role | None, text: str) -> bool:
    """Return whether a user's text is nothing but what the program wrote in the user's name."""
    return role == "user" and text.lstrip().startswith("<") and not _MARKUP.sub("", text).strip()


def _pick(folder: Folder) -> Sequence[str]:
    """Return the sessions' files, those first that have been left longest."""
    names = [
        name
        for name in folder.names
        if _FILE.fullmatch(PurePosixPath(name).name)
        and {"subagents", "tool-results"}.isdisjoint(PurePosixPath(name).parts)
    ]
    return sorted(names, key=lambda name: (folder.modified(name), name))


FORMAT = Format(
    name="claude-code", sniff=_sniff, read=_read, pick=_pick, kind="lines", repairs=True
)
