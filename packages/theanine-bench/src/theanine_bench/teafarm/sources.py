"""The sessions before a question: from a history file, or from a store that is only read."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from theanine.errors import BadInput, NotFound
from theanine.importers import read_histories
from theanine.store import Store, open_store
from theanine.types import History, Scope, Transcript, Turn, Utterance
from theanine_bench.files import hash_files


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSessions:
    """The sessions before the new one.

    Attributes:
        histories: sessions for the target to remember.
        records: an export of a store instead, memories included, model calls excluded.
        hash: of all of it.
        ends: the end of each user's last session.
    """

    histories: Sequence[History] = ()
    records: Sequence[Mapping[str, Any]] = ()
    hash: str = ""
    ends: Mapping[str, datetime] = field(default_factory=dict[str, datetime])


def read_sessions(path: Path) -> EarlierSessions:
    """Read the histories of a file or folder. Raises BadInput."""
    return from_histories(read_histories(path).histories, hash_files(path))


def from_histories(histories: Sequence[History], hash: str) -> EarlierSessions:
    """Return histories, read from files of this hash, as earlier sessions."""
    ends = {
        history.name: max(timed.at for t in history.transcripts for timed in (t, *t.turns))
        for history in histories
    }
    return EarlierSessions(histories=histories, hash=hash, ends=ends)


async def export_sessions(location: str, users: Iterable[str]) -> EarlierSessions:
    """Export all that a store holds of the users; nothing is written to it.

    Raises BadInput if there is no store, NotFound for an unknown user.
    """
    records: list[dict[str, Any]] = []
    ends: dict[str, datetime] = {}
    async with _open_copy(location) as store:
        for user in users:
            scope = Scope(user)
            ends[user] = max(turn.at for turn in await _turns(store, scope))
            records += [r async for r in store.export(scope) if r["type"] != "journal"]
    content = json.dumps(records, sort_keys=True, ensure_ascii=False, default=str).encode()
    return EarlierSessions(records=records, hash=hashlib.sha256(content).hexdigest(), ends=ends)


async def read_store_histories(location: str, users: Sequence[str]) -> list[History]:
    """Return the users' sessions in a store as histories; of all users if none is named.

    Raises like :func:`export_sessions`.
    """
    async with _open_copy(location) as store:
        all_users = [scope.user for scope in await store.scopes() if scope == Scope(scope.user)]
        return [await _history(store, Scope(user)) for user in users or all_users]


@asynccontextmanager
async def _open_copy(location: str) -> AsyncGenerator[Store]:
    """Open a copy of a store: opening would migrate the store itself to this version."""
    path = Path(location.removeprefix("sqlite:///"))
    with TemporaryDirectory(prefix="theanine-teafarm-") as folder:
        target = Path(folder) / path.name
        await anyio.to_thread.run_sync(_copy_database, path, target)
        store = open_store(str(target))
        await store.open()
        try:
            yield store
        finally:
            await store.close()


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database at one moment, also while others write to it."""
    if not source.is_file():
        raise BadInput("there is no store", str(source))
    # Without a write-ahead log nobody has it open; immutable then leaves no files next to it.
    mode = "mode=ro" if source.with_name(f"{source.name}-wal").exists() else "immutable=1"
    try:
        with (
            closing(sqlite3.connect(f"{source.resolve().as_uri()}?{mode}", uri=True)) as original,
            closing(sqlite3.connect(target)) as copy,
        ):
            original.backup(copy)
    except sqlite3.Error as error:
        raise BadInput(f"it can't be copied: {error}", str(source)) from None


async def _turns(store: Store, scope: Scope) -> Sequence[Turn]:
    turns = await store.turns(scope)
    if not turns:
        scopes = ", ".join(map(str, (await store.scopes())[:10])) or "no users"
        raise NotFound(f"{scope} has no turns; the store has {scopes}")
    return turns


async def _history(store: Store, scope: Scope) -> History:
    by_session: dict[int, list[Utterance]] = {}
    for turn in await _turns(store, scope):
        utterance = Utterance(
            text=turn.text,
            speaker=turn.speaker,
            at=turn.at,
            role=turn.role,
            key=turn.key or f"turn {turn.id}",
            attachment=turn.attachment,
        )
        by_session.setdefault(turn.session, []).append(utterance)
    transcripts = [
        Transcript(
            key=session.key,
            turns=by_session[session.id],
            at=session.started_at,
            dated=session.dated,
        )
        for session in await store.sessions(scope, "")
        if session.id in by_session
    ]
    return History(name=scope.user, transcripts=transcripts)
