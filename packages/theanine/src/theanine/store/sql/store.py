"""The store over any SQL database: each call runs one function in a worker thread.

These functions, in the modules of this package, take a connection inside a transaction. A thread is
never cancelled, so a cancelled call is either complete or has not begun.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio
import anyio.to_thread
import sqlalchemy as sa
from sqlalchemy import exc

from theanine.errors import StoreError
from theanine.store import validate
from theanine.store.sql import (
    commit,
    erase,
    export,
    integrity,
    journal,
    memories,
    method_data,
    remembering,
    turns,
)
from theanine.store.sql import vectors as vector_rows
from theanine.store.sql.vectors import Vectors
from theanine.store.values import (
    CostLine,
    ForgetReport,
    JournalEntry,
    Logged,
    Pending,
    ScopeVersion,
)
from theanine.types import (
    ImportedMemory,
    Link,
    Mark,
    Memory,
    MemoryBatch,
    Scope,
    Session,
    Transcript,
    Turn,
    Utterance,
)

P = ParamSpec("P")
T = TypeVar("T")

Work = Callable[Concatenate[sa.Connection, P], T]
_EXPORT_BATCH = 500

_QUICK_IDS = 64
"""Rows that can be read in the time that a change of thread takes."""


class SqlStore:
    """Base class of the stores in SQL databases; see :class:`theanine.store.base.Store`.

    An adapter adds connections, transactions, and erasing from files.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._engine: sa.Engine | None = None

    # hooks for adapters

    def _connect(self) -> sa.Engine:
        """Check, create or migrate the database and return its engine."""
        raise NotImplementedError

    def _read_transaction(self, engine: sa.Engine) -> AbstractContextManager[sa.Connection]:
        """Return a transaction that sees one state of the database."""
        raise NotImplementedError

    def _write_transaction(self, engine: sa.Engine) -> AbstractContextManager[sa.Connection]:
        """Return a transaction that excludes other writers."""
        raise NotImplementedError

    def _translate_error(self, error: Exception) -> Exception:
        """Return the library's error for a database or file error."""
        raise NotImplementedError

    def _find_damage(self, db: sa.Connection) -> list[str]:
        """Return the damage that the database itself reports."""
        raise NotImplementedError

    def _scrub_files(self, engine: sa.Engine, texts: set[str]) -> bool:
        """Remove erased texts from every file; return whether none is found afterwards."""
        raise NotImplementedError

    def _finish_erasing(self, engine: sa.Engine) -> None:
        """Complete an erasure that had to wait for the end of a long read."""
        raise NotImplementedError

    # running

    @property
    def location(self) -> str:
        """The location as the user gave it, without secrets."""
        return self._location

    @property
    def engine(self) -> sa.Engine:
        """The open engine. Raises StoreError before ``open`` and after ``close``."""
        if self._engine is None:
            raise StoreError(f"the store {self._location} is not open; open it first")
        return self._engine

    async def open(self) -> None:
        """Open the store, creating or migrating it if needed."""
        if self._engine is None:
            self._engine = await anyio.to_thread.run_sync(self._run, self._connect)

    async def close(self) -> None:
        """Release all connections."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await anyio.to_thread.run_sync(engine.dispose)

    def _run(self, work: Callable[[], T]) -> T:
        """Call a function, translating its errors."""
        try:
            return work()
        except (exc.DBAPIError, exc.TimeoutError, OSError) as error:
            raise self._translate_error(error) from error

    async def _read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        engine = self.engine

        def run() -> T:
            with self._read_transaction(engine) as db:
                return work(db, *args, **kwargs)

        return await anyio.to_thread.run_sync(self._run, run)

    async def _read_quickly(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Read a few rows with one select; an adapter may do so in the calling thread."""
        return await self._read(work, *args, **kwargs)

    async def _write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        engine = self.engine

        def run() -> T:
            with self._write_transaction(engine) as db:
                return work(db, *args, **kwargs)

        return await anyio.to_thread.run_sync(self._run, run)

    # the log

    async def start_session(
        self, scope: Scope, at: datetime, *, key: str | None = None, holder: str = ""
    ) -> int:
        validate.check_scope(scope)
        validate.check_time(at, "the session's time")
        if key is not None:
            validate.check_name(key, "the session's key", "")
        return await self._write(turns.start_session, scope, at, key, holder)

    async def append_turns(
        self,
        scope: Scope,
        session: int,
        utterances: Sequence[Utterance],
        *,
        epoch: int | None = None,
    ) -> list[Turn]:
        validate.check_utterances(utterances)
        return await self._write(turns.append_turns, scope, session, utterances, epoch)

    async def end_session(self, scope: Scope, session: int, at: datetime, method: str) -> bool:
        validate.check_time(at, "the session's end")
        return await self._write(turns.end_session, scope, session, at, method)

    async def log_transcript(self, scope: Scope, transcript: Transcript, method: str) -> Logged:
        validate.check_scope(scope)
        validate.check_transcript(transcript)
        return await self._write(turns.log_transcript, scope, transcript, method)

    async def orphaned_sessions(
        self, scope: Scope | None = None, *, remote: bool = False
    ) -> list[tuple[Scope, Session]]:
        return await self._read(turns.load_orphaned_sessions, scope, remote)

    async def scopes(self) -> list[Scope]:
        return await self._read(turns.load_scopes)

    async def sessions(
        self, scope: Scope, method: str, *, after: int = 0, only: int | None = None
    ) -> list[Session]:
        return await self._read(turns.load_sessions, scope, method, after, only)

    async def turns(
        self,
        scope: Scope,
        *,
        session: int | None = None,
        ids: Sequence[int] | None = None,
        last: int | None = None,
    ) -> list[Turn]:
        quick = ids is not None and len(ids) <= _QUICK_IDS
        read = self._read_quickly if quick else self._read
        return await read(turns.load_turns, scope, session, ids, last)

    async def turns_with_recalls(self, scope: Scope, *, after: int = 0) -> list[Turn]:
        return await self._read(turns.load_turns_with_recalls, scope, after)

    # remembering

    async def pending(self, method: str, scope: Scope | None = None) -> list[Pending]:
        return await self._read(remembering.load_pending, method, scope)

    async def pending_input(
        self, scope: Scope, session: int, method: str
    ) -> tuple[list[Turn], list[ImportedMemory]]:
        return await self._read(remembering.load_pending_input, scope, session, method)

    async def acquire_lease(
        self, scope: Scope, holder: str, until: datetime, now: datetime
    ) -> bool:
        return await self._write(remembering.acquire_lease, scope, holder, until, now)

    async def renew_lease(self, scope: Scope, holder: str, until: datetime) -> bool:
        return await self._write(remembering.renew_lease, scope, holder, until)

    async def release_lease(self, scope: Scope, holder: str) -> None:
        await self._write(remembering.release_lease, scope, holder)

    async def commit_batch(
        self,
        scope: Scope,
        session: int,
        method: str,
        batch: MemoryBatch,
        *,
        embedder: str,
        holder: str,
        at: datetime,
        seen: tuple[int, int] | None = None,
    ) -> list[Memory]:
        return await self._write(
            commit.commit_batch,
            scope,
            session,
            method,
            batch,
            embedder=embedder,
            holder=holder,
            at=at,
            seen=seen,
        )

    async def record_failure(
        self,
        scope: Scope,
        session: int,
        method: str,
        reason: str,
        *,
        epoch: int | None = None,
    ) -> None:
        await self._write(remembering.record_failure, scope, session, method, reason, epoch)

    async def methods(self, scope: Scope | None = None) -> dict[str, int]:
        return await self._read(method_data.count_memories, scope)

    async def default_method(self) -> str:
        return await self._read(remembering.load_default_method)

    async def delete_method_data(
        self, methods: Sequence[str], scope: Scope | None = None, *, replacement: str | None = None
    ) -> int | None:
        return await self._write(method_data.delete_method_data, methods, scope, replacement)

    async def promote(self, stage: str, method: str, scope: Scope | None = None) -> int | None:
        return await self._write(method_data.promote_stage, stage, method, scope)

    # memories

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        return await self._read_quickly(memories.load_scope_version, scope)

    async def memories(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
        ids: Sequence[int] | None = None,
    ) -> list[Memory]:
        return await self._read(
            memories.load_memories, scope, method, after, _or_unlimited(upto), ids
        )

    async def vectors(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> tuple[list[int], Vectors]:
        return await self._read(vector_rows.load_vectors, scope, method, after, _or_unlimited(upto))

    async def links(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> list[Link]:
        return await self._read(memories.load_links, scope, method, after, _or_unlimited(upto))

    async def marks(self, scope: Scope, *, method: str | None = None, after: int = 0) -> list[Mark]:
        return await self._read(memories.load_marks, scope, method, after)

    # the journal

    async def find_journal_entry(self, scope: Scope, key: str) -> JournalEntry | None:
        return await self._read(journal.find_entry, scope, key)

    async def add_journal_entry(self, scope: Scope, entry: JournalEntry) -> None:
        await self._write(journal.add_entry, scope, entry)

    async def reject_journal_entries(self, scope: Scope, keys: Sequence[str], error: str) -> None:
        await self._write(journal.reject_entries, scope, keys, error)

    async def costs(self, scope: Scope | None = None) -> list[CostLine]:
        return await self._read(journal.sum_costs, scope)

    # maintenance

    async def check_integrity(self) -> str:
        return await self._read(
            lambda db: "; ".join(self._find_damage(db) or integrity.find_dangling_references(db))
        )

    async def forget(
        self, scope: Scope, *, session: int | None = None, memory: int | None = None
    ) -> ForgetReport:
        engine = self.engine

        def run() -> ForgetReport:  # one thread, so that a cancelled call still scrubs the files
            with self._write_transaction(engine) as db:
                report, texts = self._erase(db, scope, session, memory)
            return replace(report, verified=self._scrub_files(engine, texts))

        return await anyio.to_thread.run_sync(self._run, run)

    def _erase(
        self, db: sa.Connection, scope: Scope, session: int | None, memory: int | None
    ) -> tuple[ForgetReport, set[str]]:
        """Erase from the tables; an adapter may also record that the files must follow."""
        return erase.forget(db, scope, session, memory)

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        return False

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        return None

    async def active_embedder(self) -> tuple[str, int] | None:
        row = await self._read(vector_rows.load_active_embedder)
        return None if row is None else (row.name, row.dimension)

    async def unembedded_memories(
        self, name: str, limit: int
    ) -> tuple[list[tuple[Scope, int, str]], int]:
        return await self._read(vector_rows.load_unembedded, name, limit)

    async def add_vectors(
        self, name: str, owners: Sequence[tuple[Scope, int]], vectors: Any
    ) -> None:
        await self._write(vector_rows.add_vectors, name, owners, vectors)

    async def switch_embedder(self, name: str, dimension: int) -> bool:
        return await self._write(vector_rows.switch_embedder, name, dimension)

    async def export(self, scope: Scope | None = None) -> AsyncIterator[dict[str, Any]]:
        """Yield all records of one state of the database, however long the consumer takes."""
        engine = self.engine
        run = anyio.to_thread.run_sync
        transaction = self._read_transaction(engine)

        def end() -> None:
            transaction.__exit__(None, None, None)
            self._finish_erasing(engine)

        db = await run(self._run, transaction.__enter__)
        try:
            records = export.export_records(db, scope)
            while batch := await run(self._run, lambda: list(islice(records, _EXPORT_BATCH))):
                for record in batch:
                    yield record
        finally:
            with anyio.CancelScope(shield=True):
                await run(self._run, end)

    async def restore(self, records: Sequence[dict[str, Any]]) -> int:
        return await self._write(export.restore_records, records)


def _or_unlimited(upto: int | None) -> int:
    return 2**31 - 1 if upto is None else upto
