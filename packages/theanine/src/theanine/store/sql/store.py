"""The store over any SQL database: each call runs one function in a worker thread.

These functions, in the modules of this package, take a connection inside a transaction. Writing is
never cancelled halfway: a cancelled call is either complete or has not begun.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import wraps
from itertools import islice
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio
import anyio.to_thread
import sqlalchemy as sa
from anyio.lowlevel import checkpoint_if_cancelled
from sqlalchemy import exc

from theanine.cancellation import finish
from theanine.errors import DamagedData, NotFound, StoreError
from theanine.store.processes import check_process
from theanine.store.sql import (
    commit,
    corrections,
    erase,
    holders,
    integrity,
    journal,
    leases,
    listing,
    method_data,
    remembering,
    reservations,
    threads,
    turns,
    upgrade,
    user_settings,
)
from theanine.store.sql import export as export_rows
from theanine.store.sql import memories as memory_rows
from theanine.store.sql import pending as pending_sessions
from theanine.store.sql import restore as restoring
from theanine.store.sql import vectors as vector_rows
from theanine.store.sql.changes import count_change
from theanine.store.values import ForgetReport, Restored, ScopeVersion
from theanine.types import LOCAL_MODEL, Memory, MemoryBatch, Role, Scope, Turn

P = ParamSpec("P")
T = TypeVar("T")

Work = Callable[Concatenate[sa.Connection, P], T]
_EXPORT_BATCH = 500

_QUICK_ROWS = 64
"""Rows that can be read in the time that a change of thread takes."""


def _reading(
    work: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[Concatenate[SqlStore, P], CoroutineType[Any, Any, T]]:
    """Return the store's method that calls a function in a read transaction."""

    @wraps(work)
    async def method(self: SqlStore, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    return method


def _writing(
    work: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[Concatenate[SqlStore, P], CoroutineType[Any, Any, T]]:
    """Return the store's method that calls a function in a write transaction."""

    @wraps(work)
    async def method(self: SqlStore, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    return method


def _counted(
    work: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[Concatenate[sa.Connection, P], T]:
    """Have a function count its change in the version of the scope that it is given.

    One without a scope changes all.
    """

    @wraps(work)
    def counted(db: sa.Connection, *args: P.args, **kwargs: P.kwargs) -> T:
        result = work(db, *args, **kwargs)
        count_change(db, _find_scope(args, kwargs))
        return result

    return counted


def _find_scope(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Scope | None:
    """Return the scope that a call is about; None if it is about the whole store."""
    return next((value for value in (*args, *kwargs.values()) if isinstance(value, Scope)), None)


def _changing(
    work: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[Concatenate[SqlStore, P], CoroutineType[Any, Any, T]]:
    """Return the store's method that calls a function which changes what an export holds."""
    return _writing(_counted(work))


class SqlStore:
    """Base class of the stores in SQL databases; see :class:`theanine.store.base.Store`.

    An adapter adds connections, transactions, and erasing from files.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._engine: sa.Engine | None = None
        self._process = 0

    # hooks for adapters

    def _connect(self) -> sa.Engine:
        """Check, create or migrate the database and return its engine."""
        raise NotImplementedError

    def _read_transaction(
        self, engine: sa.Engine, scope: Scope | None = None
    ) -> AbstractContextManager[sa.Connection]:
        """Return a transaction that sees one state of the scope or, with None, of the database."""
        raise NotImplementedError

    def _write_transaction(
        self, engine: sa.Engine, durable: bool = True, scope: Scope | None = None
    ) -> AbstractContextManager[sa.Connection]:
        """Return a transaction that excludes other writers of the scope or, with None, all others.

        One that is not durable may be undone by a loss of power, but only if all later ones are.
        """
        raise NotImplementedError

    def _call_reading(
        self, engine: sa.Engine, work: Callable[[sa.Connection], T], scope: Scope | None = None
    ) -> T:
        """Call a function in a read transaction; an adapter may repeat both."""
        with self._read_transaction(engine, scope) as db:
            return work(db)

    def _call_writing(
        self,
        engine: sa.Engine,
        work: Callable[[sa.Connection], T],
        scope: Scope | None = None,
        durable: bool = True,
    ) -> T:
        """Call a function in a write transaction; an adapter may repeat both.

        What is committed is never done twice, except for functions that count no change of the
        scope: for these, twice must be the same as once.
        """
        with self._write_transaction(engine, durable, scope) as db:
            return work(db)

    def _translate_error(self, error: Exception) -> Exception:
        """Return the library's error for a database or file error."""
        raise NotImplementedError

    def _find_damage(self, db: sa.Connection) -> list[str]:
        """Return the damage that the database itself reports."""
        raise NotImplementedError

    @property
    def _remaining(self) -> str:
        """Where erased text may be found after it was removed from all that can be read."""
        return ""

    def _scrub_files(self, engine: sa.Engine, texts: set[str], scope_id: int) -> bool:
        """Remove a scope's erased texts from every file; return whether none is found."""
        raise NotImplementedError

    def _finish_erasing(self, engine: sa.Engine) -> None:
        """Complete an erasure that had to wait for the end of a long read."""
        raise NotImplementedError

    def _require_revision(self, db: sa.Connection) -> None:
        """Raise NotFound or StoreError for tables that are not of this version."""
        if (revision := upgrade.load_revision(db)) is None:
            raise NotFound(f"there is no store at {self.location}")
        if revision != upgrade.HEAD:
            raise StoreError(
                f"{self.location} is of another version of theanine; any other command, such as "
                "`theanine doctor`, migrates it"
            )

    # running

    @property
    def location(self) -> str:
        """The location as the user gave it, without secrets."""
        return self._location

    @property
    def engine(self) -> sa.Engine:
        """The open engine. Raises StoreError before ``open``, after ``close`` and after a fork."""
        if self._engine is None:
            raise StoreError(f"the store {self._location} is not open; open it first")
        check_process(self._process)
        return self._engine

    async def open(self) -> None:
        """Open the store, creating or migrating it if needed."""
        if self._engine is None:
            await self._finish(self._open)

    def _open(self) -> None:
        self._engine = self._connect()
        self._process = os.getpid()

    async def close(self) -> None:
        """Release all connections."""
        engine, self._engine = self._engine, None
        if engine is not None and self._process == os.getpid():  # else they are another's files
            await finish(anyio.to_thread.run_sync(engine.dispose))

    def _run(self, work: Callable[[], T]) -> T:
        """Call a function, translating its errors."""
        try:
            return work()
        except (exc.DBAPIError, exc.TimeoutError, OSError) as error:
            raise self._translate_error(error) from error
        except json.JSONDecodeError as error:
            raise DamagedData(
                f"{self.location}: a stored value is damaged ({error}); `theanine doctor` names "
                "the row, and an export or a backup restores it"
            ) from error

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a read transaction, in a worker thread."""
        engine, scope = self.engine, _find_scope(args, kwargs)

        def run() -> T:
            return self._call_reading(engine, lambda db: work(db, *args, **kwargs), scope)

        return await anyio.to_thread.run_sync(self._run, run)

    async def _read_quickly(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Read a few rows; an adapter may do so in the calling thread."""
        return await self.read(work, *args, **kwargs)

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a write transaction, in a worker thread."""
        return await self._write(True, work, *args, **kwargs)

    async def _write(self, durable: bool, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        engine, scope = self.engine, _find_scope(args, kwargs)

        def run() -> T:
            return self._call_writing(engine, lambda db: work(db, *args, **kwargs), scope, durable)

        return await self._finish(run)

    async def _finish(self, work: Callable[[], T]) -> T:
        """Call a function in a worker thread; if the caller is cancelled, it is finished first."""
        await checkpoint_if_cancelled()  # else a write that is cancelled already would be done
        return await finish(anyio.to_thread.run_sync(self._run, work))

    # the log

    start_session = _changing(turns.start_session)
    append_turns = _changing(turns.append_turns)
    end_session = _changing(turns.end_session)
    log_transcript = _changing(turns.log_transcript)
    continue_thread = _changing(threads.continue_thread)
    log_transcripts = _changing(turns.log_transcripts)
    renew_holder = _writing(holders.renew_holder)
    orphaned_sessions = _reading(turns.load_orphaned_sessions)
    scopes = _reading(turns.load_scopes)
    sessions = _reading(turns.load_sessions)
    turns_with_recalls = _reading(turns.load_turns_with_recalls)
    turn_metadata = _reading(listing.load_turn_metadata)
    count_turns = _reading(turns.count_turns)
    list_sessions = _reading(listing.list_sessions)
    list_turns = _reading(listing.list_turns)
    list_memories = _reading(listing.list_memories)

    async def end_idle_sessions(
        self, scope: Scope | None, at: datetime, method: str
    ) -> list[tuple[Scope, int]]:
        ended: list[tuple[Scope, int]] = []
        for owner in await self.read(threads.load_idle_scopes, scope, at):
            end = _counted(threads.end_idle_sessions)
            ended += [(owner, number) for number in await self.write(end, owner, at, method)]
        return ended

    async def open_session(
        self, scope: Scope, thread: str, at: datetime | None = None
    ) -> int | None:
        return await self._read_quickly(threads.find_open_session, scope, thread, at)

    async def turns(
        self,
        scope: Scope,
        *,
        session: int | None = None,
        thread: str | None = None,
        role: Role | None = None,
        key: str | None = None,
        ids: Sequence[int] | None = None,
        last: int | None = None,
        after: int = 0,
        upto: int | None = None,
        with_content: bool = False,
    ) -> list[Turn]:
        few = len(ids) if ids is not None else _QUICK_ROWS + 1 if upto is None else upto - after
        quick = few <= _QUICK_ROWS
        read = self._read_quickly if quick else self.read
        return await read(
            turns.load_turns,
            scope,
            session=session,
            thread=thread,
            role=role,
            key=key,
            ids=ids,
            last=last,
            after=after,
            upto=upto,
            with_content=with_content,
        )

    # remembering

    pending = _reading(pending_sessions.load_pending)
    due_scopes = _reading(pending_sessions.load_due_scopes)
    unmarked_scopes = _reading(pending_sessions.load_unmarked_scopes)
    mark_pending = _changing(pending_sessions.mark_all_pending)
    pending_input = _reading(remembering.load_pending_input)
    acquire_lease = _writing(leases.acquire_lease)
    renew_lease = _writing(leases.renew_lease)
    release_lease = _writing(leases.release_lease)
    claim_task = _writing(leases.claim_task)
    now = _reading(leases.load_time)

    async def commit_batch(
        self,
        scope: Scope,
        session: int,
        method: str,
        batch: MemoryBatch,
        *,
        embedder: str,
        lease: int,
        at: datetime,
        seen: tuple[int, int] | None = None,
    ) -> list[Memory]:
        durable = any(memory.made_by != LOCAL_MODEL for memory in batch.memories)
        return await self._write(
            durable,
            _counted(commit.commit_batch),
            scope,
            session,
            method,
            batch,
            embedder=embedder,
            lease=lease,
            at=at,
            seen=seen,
        )

    record_failure = _changing(pending_sessions.record_failure)
    retry_sessions = _changing(pending_sessions.retry_sessions)
    cancel_session = _changing(pending_sessions.cancel_session)
    methods = _reading(method_data.count_memories)
    default_method = _reading(remembering.load_default_method)
    delete_method_data = _changing(method_data.delete_method_data)
    promote = _changing(method_data.promote_stage)

    # memories

    async def memories(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
        ids: Sequence[int] | None = None,
    ) -> list[Memory]:
        few = len(ids) if ids is not None else _QUICK_ROWS + 1 if upto is None else upto - after
        quick = few <= _QUICK_ROWS
        read = self._read_quickly if quick else self.read
        return await read(
            memory_rows.load_memories, scope, method=method, after=after, upto=upto, ids=ids
        )

    vectors = _reading(vector_rows.load_vectors)
    links = _reading(memory_rows.load_links)
    marks = _reading(memory_rows.load_marks)
    correct_memory = _changing(corrections.correct_memory)
    set_pin = _changing(corrections.set_pin)
    carry_marks = _changing(corrections.carry_marks)

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        return await self._read_quickly(memory_rows.load_scope_version, scope)

    # the journal

    find_journal_entry = _reading(journal.find_entry)
    add_journal_entry = _changing(journal.add_entry)
    reject_journal_entries = _changing(journal.reject_entries)
    retire_journal_entry = _changing(journal.retire_entry)
    costs = _reading(journal.sum_costs)
    spending = _reading(reservations.load_spending)
    reserve = _writing(reservations.reserve)
    renew_reservation = _writing(reservations.renew_reservation)
    release_reservation = _writing(reservations.release_reservation)

    # maintenance

    downgrade = _writing(upgrade.downgrade)
    """Return the schema to an earlier revision; only ``close`` may be called afterwards."""

    async def find_bypass(self) -> str:
        """Return why this role sees the rows of all scopes, such as "is a superuser".

        Empty if row-level security holds, or if the database has none.
        """
        return ""

    async def check_integrity(self) -> str:
        def find_damage(db: sa.Connection) -> list[str]:
            return self._find_damage(db) or [
                *integrity.find_dangling_references(db),
                *integrity.find_damaged_json(db),
            ]

        return "; ".join(await self.read(find_damage))

    async def forget(
        self,
        scope: Scope,
        *,
        session: int | None = None,
        thread: str | None = None,
        memory: int | None = None,
        turn: int | Sequence[int] | None = None,
        keep_turns: bool = False,
    ) -> ForgetReport:
        def forget(db: sa.Connection) -> erase.Erased:
            return erase.forget(
                db,
                scope,
                session=session,
                thread=thread,
                memory=memory,
                turn=turn,
                keep_turns=keep_turns,
            )

        return await self._forget(scope, forget)

    async def expire(self, scope: Scope, before: datetime) -> ForgetReport | None:
        if not await self.read(erase.count_expired, scope, before):
            return None
        return await self._forget(scope, lambda db: erase.expire(db, scope, before))

    async def _forget(
        self, scope: Scope, work: Callable[[sa.Connection], erase.Erased]
    ) -> ForgetReport:
        engine = self.engine

        def erase_and_count(db: sa.Connection) -> tuple[erase.Erased, int]:
            erased = self._erase(db, scope, work)
            count_change(db, scope)
            return erased

        def run() -> ForgetReport:  # one thread, so that a cancelled call still scrubs the files
            (report, texts), scope_id = self._call_writing(engine, erase_and_count, scope)
            clean = self._scrub_files(engine, texts, scope_id)
            return replace(
                report,
                files_verified=clean,
                verified=clean and not report.kept_repeats,
                remaining=self._remaining,
            )

        return await self._finish(run)

    def _erase(
        self, db: sa.Connection, scope: Scope, work: Callable[[sa.Connection], erase.Erased]
    ) -> tuple[erase.Erased, int]:
        """Erase from the tables; return what was erased, and the scope's number."""
        scope_id = memory_rows.load_scope_version(db, scope).scope_id
        erased = work(db)
        self._note_erasure(db, [scope_id])
        return erased, scope_id

    def _note_erasure(self, db: sa.Connection, scope_ids: Sequence[int]) -> None:
        """Record that the files must follow what was erased from scopes in the tables."""

    @property
    def has_sidecars(self) -> bool:
        return False

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        return False

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        return None

    async def active_embedder(self) -> tuple[str, int] | None:
        row = await self.read(vector_rows.load_active_embedder)
        return None if row is None else (row.name, row.dimension)

    unembedded_memories = _reading(vector_rows.load_unembedded)
    add_vectors = _changing(vector_rows.add_vectors)
    switch_embedder = _changing(vector_rows.switch_embedder)
    settings = _reading(user_settings.load_settings)
    set_time_zone = _changing(user_settings.set_time_zone)
    set_retention = _changing(user_settings.set_retention)
    retentions = _reading(user_settings.load_retentions)

    export_versions = _reading(export_rows.load_export_versions)
    export_settings = _reading(export_rows.export_settings)

    async def restore(
        self, records: Iterable[Mapping[str, Any]], *, partial: bool = False
    ) -> Restored:
        engine = self.engine

        def run() -> Restored:
            with self._write_transaction(engine) as db:
                restored = restoring.restore_records(db, records, partial=partial)
                if restored.erased:
                    self._note_erasure(db, restored.replaced)
            if restored.erased:
                self._finish_erasing(engine)
            return restored

        return await self._finish(run)

    async def export(self, scope: Scope | None = None) -> AsyncIterator[dict[str, Any]]:
        """Yield all records of one state of the database, however long the consumer takes.

        Raises DamagedData after the last record if that names scopes that were left out.
        """
        left_out: list[Mapping[str, Any]] = []
        engine = self.engine
        run = anyio.to_thread.run_sync
        transaction = self._read_transaction(engine, scope)
        db = await run(self._run, transaction.__enter__)
        records = export_rows.export_records(db, scope)

        def end() -> None:
            records.close()  # an open cursor would go on reading the old state
            transaction.__exit__(None, None, None)
            self._finish_erasing(engine)

        try:
            while batch := await run(self._run, lambda: list(islice(records, _EXPORT_BATCH))):
                for record in batch:
                    yield record
                    left_out = record.get("left_out", [])
        finally:
            await finish(run(self._run, end))
        if left_out:
            users = ", ".join(str(Scope(**each["scope"])) for each in left_out)
            raise DamagedData(
                f"{self.location}: the export lacks data of {users}, because stored values are "
                "damaged; `theanine doctor` names the rows"
            )
