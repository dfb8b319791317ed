"""Where the sessions before the questions are: a history file, or a store that is only read."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
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
class Past:
    """What was before the new session, by user.

    Attributes:
        histories: sessions that the agent under test is to remember.
        records: of a store instead: all that is kept of the users, memories and all, but not what
            models were asked.
        hash: of all of it.
    """

    histories: Sequence[History] = ()
    records: Sequence[Mapping[str, Any]] = ()
    hash: str = ""
    ends: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def users(self) -> list[str]:
        """Whose it is."""
        return list(self.ends)


def past_of_data(path: Path) -> Past:
    """The histories of a file or folder. Raises BadInput."""
    return past_of(read_histories(path).histories, hash_files(path))


def past_of(histories: Sequence[History], hash: str) -> Past:
    """Histories that were read already."""
    return Past(histories=histories, hash=hash, ends={one.name: end_of(one) for one in histories})


async def past_of_store(location: str, users: Iterable[str]) -> Past:
    """All that a store keeps of the users. Nothing is written to it.

    Raises BadInput where there is no such store, NotFound for an unknown user.
    """
    records: list[dict[str, Any]] = []
    ends: dict[str, Any] = {}
    async with _copy(location) as store:
        for user in users:
            scope = Scope(user)
            ends[user] = max(turn.at for turn in await _turns(store, scope))
            records += [one async for one in store.export(scope) if one["type"] != "journal"]
    told = json.dumps(records, sort_keys=True, ensure_ascii=False, default=str).encode()
    return Past(records=records, hash=hashlib.sha256(told).hexdigest(), ends=ends)


async def histories_of_store(location: str, users: Sequence[str]) -> list[History]:
    """The users' sessions in a store, as a file would hold them; of all users for none.

    Raises as :func:`past_of_store`.
    """
    async with _copy(location) as store:
        all_of_them = [scope.user for scope in await store.scopes() if scope == Scope(scope.user)]
        return [await _history(store, Scope(user)) for user in users or all_of_them]


def end_of(history: History) -> Any:
    """When its last session was over."""
    return max([one.at for t in history.transcripts for one in (t, *t.turns)])


@asynccontextmanager
async def _copy(location: str) -> AsyncGenerator[Store]:
    """A copy of a store, so that the store itself is only read, whatever version wrote it."""
    path = Path(location.removeprefix("sqlite:///"))
    with TemporaryDirectory(prefix="theanine-teafarm-") as folder:
        target = Path(folder) / path.name
        await anyio.to_thread.run_sync(_copy_file, path, target)
        store = open_store(str(target))
        await store.open()
        try:
            yield store
        finally:
            await store.close()


def _copy_file(source: Path, target: Path) -> None:
    """As it is at one moment, also while others write."""
    if not source.is_file():
        raise BadInput("there is no store", str(source))
    # A store that nobody has open has no such file, and is then read without leaving one.
    how = "mode=ro" if source.with_name(f"{source.name}-wal").exists() else "immutable=1"
    try:
        with (
            closing(sqlite3.connect(f"{source.resolve().as_uri()}?{how}", uri=True)) as one,
            closing(sqlite3.connect(target)) as two,
        ):
            one.backup(two)
    except sqlite3.Error as error:
        raise BadInput(f"it can't be copied: {error}", str(source)) from None


async def _turns(store: Store, scope: Scope) -> Sequence[Turn]:
    turns = await store.turns(scope)
    if not turns:
        known = ", ".join(str(one) for one in (await store.scopes())[:10]) or "nobody"
        raise NotFound(f"nothing was said by or to {scope}; the store knows {known}")
    return turns


async def _history(store: Store, scope: Scope) -> History:
    turns = await _turns(store, scope)
    transcripts: list[Transcript] = []
    for session in await store.sessions(scope, ""):
        own = [turn for turn in turns if turn.session == session.id]
        if own:
            transcripts.append(
                Transcript(
                    key=session.key,
                    turns=[_said(turn) for turn in own],
                    at=session.started_at,
                    dated=session.dated,
                )
            )
    return History(name=scope.user, transcripts=transcripts)


def _said(turn: Turn) -> Utterance:
    return Utterance(
        text=turn.text,
        speaker=turn.speaker,
        at=turn.at,
        role=turn.role,
        key=turn.key or f"turn {turn.id}",
        attachment=turn.attachment,
    )
