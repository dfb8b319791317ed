"""Chats of Cursor: ``User/globalStorage/state.vscdb`` of the desktop program.

An SQLite database; ``cursorDiskKV`` has a document ``composerData:<c>`` for each chat, with
``fullConversationHeadersOnly`` giving the order of its messages, and ``bubbleId:<c>:<b>`` for each
message: ``type`` 1 is the user, 2 the assistant, ``text`` the words. Older versions keep the
messages in ``composerData`` as ``conversation``. Messages without words, which are tool calls and
thoughts, are counted. The file is only read, also while Cursor runs.

Source: skillsynchq/txcript ``docs/formats/cursor-desktop.md``. Never seen real.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from theanine.errors import BadInput
from theanine.importers.base import Entry, Format, Intake
from theanine.importers.schema import Object, as_object, objects_in, parse, printable
from theanine.importers.source import Source
from theanine.importers.table import EMPTY, Talk, key_of, layout_named, time_at
from theanine.importers.words import TOOLS
from theanine.types import History, Role

_LAYOUT = layout_named("cursor")
_ROLES: dict[int, Role] = {1: "user", 2: "assistant"}
_CHATS = (
    "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' "
    "AND value IS NOT NULL ORDER BY key"
)
_BUBBLE = "SELECT value FROM cursorDiskKV WHERE key = ?"


def _read(intake: Intake) -> Iterator[History]:
    try:
        with _database(intake.source) as db:
            for key, value in db.execute(_CHATS):
                where = f"{intake.name}, {_text(key)[:60]}"
                with intake.catching():
                    chat = as_object(parse(_text(value), where), where)
                    id = _text(key).partition(":")[2]
                    entries = [
                        entry
                        for at_bubble, bubble in _bubbles(intake, db, id, chat, where)
                        for entry in _entry(intake, bubble, at_bubble)
                    ]
                    talk = Talk(intake, _LAYOUT, chat, id, where)
                    yield from talk.finish(entries, intake.user_name())
    except (sqlite3.Error, UnicodeDecodeError) as fault:  # the latter for its own messages
        raise BadInput(
            f"a database that can't be read ({fault}); copy it while Cursor is closed", intake.name
        ) from None
    yield intake.part(intake.user_name())


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


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _entry(intake: Intake, bubble: Object, where: str) -> Sequence[Entry]:
    text, number = bubble.get("text"), bubble.get("type")
    if not isinstance(text, str) or not text.strip():
        intake.notes[TOOLS if bubble.get("toolFormerData") else EMPTY] += 1
        return ()
    at = time_at(intake, bubble, _LAYOUT.time, where)
    role = _ROLES.get(number) if isinstance(number, int) else None
    return [Entry(where, role, text=text, key=key_of(bubble.get("bubbleId")), at=at)]


def _bubbles(
    intake: Intake, db: sqlite3.Connection, id: str, chat: Object, where: str
) -> Iterator[tuple[str, Object]]:
    inline = objects_in(chat.get("conversation"))
    if inline:
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
            bubble = as_object(parse(_text(row[0]), at_bubble), at_bubble)
            yield at_bubble, {"bubbleId": header.get("bubbleId"), **bubble}


FORMAT = Format(
    name="cursor",
    sniff=lambda intake: intake.kind == "sqlite" and b"cursorDiskKV" in intake.source.head,
    read=_read,
    pick=lambda folder: [
        name for name in folder.select("state.vscdb") if "workspaceStorage" not in name
    ],
    kind="sqlite",
    repairs=True,
)
