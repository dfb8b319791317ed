"""Transcripts of programs that write code: Claude Code, Codex and Cursor.

Words are read; tool calls and results, thoughts, the output of commands, what subagents said and
what the program says in the user's name are left out and counted. The forms are internal to the
programs and change: lines of unknown types are counted by type.

claude-code
    ``~/.claude/projects``, or a file ``<session>.jsonl`` from it: lines of the types ``user`` and
    ``assistant`` have a ``message`` of Anthropic's form, ``uuid``, ``timestamp`` and ``sessionId``.
    A session that goes on in another file is copied there: each ``uuid`` with the same words is
    read once, from the file that was changed first.
codex
    ``~/.codex/sessions``, or a file ``rollout-<time>-<id>.jsonl`` from it: lines ``{"timestamp",
    "type", "payload"}``, in the first version the payload alone. The turns are in
    ``response_item`` and again in ``event_msg``; the first are read.
cursor
    ``User/globalStorage/state.vscdb``, an SQLite database, which is only read, also while Cursor
    runs: in ``cursorDiskKV``, ``composerData:<c>`` is a chat, whose
    ``fullConversationHeadersOnly`` (older versions: ``conversation``, with the messages
    themselves) gives the order of its messages ``bubbleId:<c>:<b>``.

Source: skillsynchq/txcript ``docs/formats``. Never seen real.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.folder import Folder
from theanine.importers.schema import Object, as_object, objects_in, parse, printable
from theanine.importers.sessions import NO_TIME
from theanine.importers.source import Source
from theanine.importers.table import (
    EMPTY,
    SYSTEM,
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
    without,
)
from theanine.importers.wording import wording
from theanine.importers.words import THOUGHTS, TOOLS, Words, note_unread
from theanine.importers.written_dates import any_time
from theanine.types import History, Role

_CLAUDE, _CODEX, _CURSOR = map(layout_named, ("claude-code", "codex", "cursor"))
_OF_PROGRAM = "messages of the program left out"

# Claude Code

_TITLES = wording("coding")["titles"]
_BOOKKEEPING = frozenset((*wording("coding")["bookkeeping"], *_TITLES))
_MARKUP = re.compile(
    r"<(?P<tag>command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|system-reminder|task-notification)>"
    r".*?</(?P=tag)>",
    re.DOTALL,
)
"""Passages that the program, not the user, puts into the user's messages."""
_SESSION_FILE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")


def _is_claude(intake: Intake) -> bool:
    return any(
        {"uuid", "sessionId", "message"} <= record.keys()
        or (record.get("type") == "summary" and "leafUuid" in record)
        for record in intake.ahead
    )


def _read_claude(intake: Intake) -> Iterator[History]:
    entries: list[Entry] = []
    metadata = {"conversation": intake.source.stem}
    for where, record in intake.records():
        kind = record.get("type")
        with intake.catching():
            role, _ = role_in(_CLAUDE, record)
            if role in ("user", "assistant"):
                if found := _claude_entries(intake, record, Entry(where, role)):
                    metadata |= project_of(record)
                    entries += found
            elif isinstance(kind, str) and kind in _BOOKKEEPING:
                title = name_of(first_of(record, _TITLES))
                metadata |= {"title": title} if title else {}
                note_unread(intake.notes, record, [title])
            else:
                unknown = printable(str(kind)[:40])
                intake.notes[f'lines of the unknown type "{unknown}" left out'] += 1
    talk = Talk(intake, _CLAUDE, {}, intake.stem, intake.name, metadata=metadata)
    yield from talk.finish(entries, intake.user_name())


def _claude_entries(intake: Intake, record: Object, entry: Entry) -> Sequence[Entry]:
    if record.get("isSidechain"):
        intake.notes["messages of subagents left out"] += 1
        return ()
    if record.get("isMeta") or record.get("isCompactSummary") or record.get("isApiErrorMessage"):
        intake.notes[_OF_PROGRAM] += 1
        return ()
    message = as_object(record.get("message"), f"{entry.where}.message")
    entry.key = key_of(record.get("uuid"))
    same = hashlib.sha256(repr((entry.key, message)).encode("utf-8", "replace")).hexdigest()
    if entry.key and same in intake.seen:
        intake.notes["repeated turns"] += 1
        return ()
    intake.seen.add(same)
    words = Words(intake.notes)
    words.add(message.get("content"))
    text = words.text.lstrip()
    is_markup = entry.role == "user" and text.startswith("<") and not _MARKUP.sub("", text).strip()
    if is_markup or words.text.startswith("[Request interrupted by user"):
        intake.notes["commands and their output left out"] += 1
        return ()
    if has_only_parts(intake, message, words):
        return ()
    entry.at = time_at(intake, record, _CLAUDE.time, entry.where)
    note_unread(intake.notes, without(record, "message"), ())
    return finish(intake, message, words, entry, _CLAUDE)


def _pick_claude(folder: Folder) -> Sequence[str]:
    """Return the sessions' files, those first that have been left longest."""
    names = [
        name
        for name in folder.names
        if _SESSION_FILE.fullmatch(PurePosixPath(name).name)
        and {"subagents", "tool-results"}.isdisjoint(PurePosixPath(name).parts)
    ]
    return sorted(names, key=lambda name: (folder.modified(name), name))


# Codex

_LINES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_SCAFFOLDING = re.compile(
    r"\s*(?:<(?P<tag>environment_context|user_instructions|permissions instructions|turn_aborted|"
    r"INSTRUCTIONS|collaboration_mode|skill|user_shell_command)\b.*|# AGENTS\.md instructions\b.*)",
    re.DOTALL,
)


def _is_codex(intake: Intake) -> bool:
    return any(
        isinstance(record.get("type"), str)
        and record["type"] in _LINES
        and isinstance(record.get("payload"), dict)
        for record in intake.ahead
    ) or (
        {"id", "timestamp", "instructions"} <= intake.first.keys()
        and intake.source.stem.startswith("rollout-")
    )


def _read_codex(intake: Intake) -> Iterator[History]:
    entries: list[Entry] = []
    metadata: dict[str, str] = {}
    latest: datetime | None = None
    for where, record in intake.records():
        with intake.catching():
            payload = as_object(record.get("payload", record), f"{where}.payload")
            if record.get("type") == "session_meta" or "instructions" in record:
                metadata |= project_of(payload, payload.get("id"))
                note_unread(intake.notes, record, metadata.values())
            elif record.get("type") in ("response_item", None) or "payload" not in record:
                at = time_at(intake, record, _CODEX.time, where)
                for entry in _codex_entries(intake, payload, Entry(where, at=at)):
                    if entry.at is None and latest:
                        if "payload" in record:
                            intake.repaired(NO_TIME, where)
                        else:  # in the first version only the first line has a time
                            intake.notes[NO_TIME] += 1
                        entry.at = latest
                    entries.append(entry)
        latest = any_time(record.get("timestamp"), intake.options.local) or latest
    talk = Talk(intake, _CODEX, {}, intake.stem, intake.name, metadata=metadata)
    yield from talk.finish(entries, intake.user_name())


def _codex_entries(intake: Intake, item: Object, entry: Entry) -> Sequence[Entry]:
    kind = str(item.get("type"))
    role, unknown = role_in(_CODEX, item)
    entry.role = "system" if unknown else role
    if kind == "reasoning":
        intake.notes[THOUGHTS] += 1
    elif kind != "message" and not entry.role:
        intake.notes[TOOLS] += kind.endswith(("_call", "_output"))
    elif entry.role in ("system", "tool"):
        intake.notes[SYSTEM] += 1
    else:
        words = Words(intake.notes)
        words.add(item.get("content"))
        if entry.role != "assistant" and _SCAFFOLDING.fullmatch(words.text):
            intake.notes[_OF_PROGRAM] += 1
        elif not has_only_parts(intake, item, words):
            return finish(intake, item, words, entry, _CODEX)
    return ()


# Cursor

_ROLES: dict[object, Role] = {1: "user", 2: "assistant"}
_CHATS = (
    "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' "
    "AND value IS NOT NULL ORDER BY key"
)
_BUBBLE = "SELECT value FROM cursorDiskKV WHERE key = ?"


def _read_cursor(intake: Intake) -> Iterator[History]:
    try:
        with _database(intake.source) as db:
            for key, value in db.execute(_CHATS):
                where = f"{intake.name}, {_decoded(key)[:60]}"
                with intake.catching():
                    chat = as_object(parse(_decoded(value), where), where)
                    id = _decoded(key).partition(":")[2]
                    entries: list[Entry] = []
                    for at_bubble, bubble in _bubbles(intake, db, id, chat, where):
                        entries += _cursor_entries(intake, bubble, at_bubble)
                    talk = Talk(intake, _CURSOR, chat, id, where)
                    yield from talk.finish(entries, intake.user_name())
    except (sqlite3.Error, UnicodeDecodeError) as fault:  # the latter for its own messages
        raise BadInput(
            f"a database that can't be read ({fault}); copy it while Cursor is closed", intake.name
        ) from None


@contextmanager
def _database(source: Source) -> Generator[sqlite3.Connection]:
    """Open the database read-only; one from an archive is copied into a temporary file first."""
    with tempfile.TemporaryDirectory() as folder:
        path = source.path
        if path is None:
            path = Path(folder) / "state.vscdb"
            with path.open("wb") as copy:
                shutil.copyfileobj(source.raw(), copy)
        uri = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.text_factory = bytes
            yield db


def _decoded(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _bubbles(
    intake: Intake, db: sqlite3.Connection, id: str, chat: Object, where: str
) -> Iterator[tuple[str, Object]]:
    if inline := objects_in(chat.get("conversation")):
        yield from ((f"{where}.conversation[{i}]", bubble) for i, bubble in enumerate(inline))
        return
    for header in objects_in(chat.get("fullConversationHeadersOnly")):
        key = f"bubbleId:{id}:{header.get('bubbleId')}"
        at_bubble = f"{intake.name}, {key}"
        row = db.execute(_BUBBLE, (printable(key),)).fetchone()
        if row is None or row[0] is None:
            intake.notes["messages that the database doesn't hold"] += 1
            continue
        with intake.catching():
            bubble = as_object(parse(_decoded(row[0]), at_bubble), at_bubble)
            yield at_bubble, {"bubbleId": header.get("bubbleId"), **bubble}


def _cursor_entries(intake: Intake, bubble: Object, where: str) -> Sequence[Entry]:
    text, number = bubble.get("text"), bubble.get("type")
    if not isinstance(text, str) or not text.strip():
        intake.notes[TOOLS if bubble.get("toolFormerData") else EMPTY] += 1
        return ()
    at = time_at(intake, bubble, _CURSOR.time, where)
    role = _ROLES.get(number) if isinstance(number, int) else None
    return [Entry(where, role, text=text, key=key_of(bubble.get("bubbleId")), at=at)]


def _pick_cursor(folder: Folder) -> Sequence[str]:
    return [name for name in folder.select("state.vscdb") if "workspaceStorage" not in name]


def _is_cursor(intake: Intake) -> bool:
    return intake.kind == "sqlite" and b"cursorDiskKV" in intake.source.head


FORMATS = (
    format_named("claude-code", _read_claude, _is_claude, _pick_claude),
    format_named("codex", _read_codex, _is_codex),
    format_named("cursor", _read_cursor, _is_cursor, _pick_cursor),
)
