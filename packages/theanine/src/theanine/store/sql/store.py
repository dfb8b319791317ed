"""The store over any SQL database: each call is one function, run whole in a worker thread.

The functions, in the modules beside this one, take a connection inside a transaction. As a thread
is never cancelled, neither is a transaction: it is done or it has not begun.
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

from theanine.embeddings.base import Vectors
from theanine.errors import StoreError
from theanine.store import validate
from theanine.store.sql import default_method as own_method
from theanine.store.sql import erase, journal, leases, memories, remembering, restore, transcripts
from theanine.store.sql import export as dump
from theanine.store.sql import integrity as dangling
from theanine.store.sql import method_data as drop
from theanine.store.sql import turns as log
from theanine.store.sql import vectors as embeddings
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
_BATCH = 500

_FEW = 64
"""Rows that are read in the time that a change of thread takes."""


class SqlStore:
    """Everything that SQL databases share; an adapter adds the engine and how to erase for good.

    See :class:`theanine.store.base.Store` for what each call promises.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._engine: sa.Engine | None = None

    # what an adapter provides

    def _connect(self) -> sa.Engine:
        """Check, create or migrate the database, and give its engine."""
        raise NotImplementedError

    def _reading(self, engine: sa.Engine) -> AbstractContextManager[sa.Connection]:
        """A transaction that sees one state of the database."""
        raise NotImplementedError

    def _writing(self, engine: sa.Engine) -> AbstractContextManager[sa.Connection]:
        """A transaction that no other writer can upset."""
        raise NotImplementedError

    def _failure(self, error: Exception) -> Exception:
        """A database's error in our own terms."""
        raise NotImplementedError

    def _damage(self, db: sa.Connection) -> list[str]:
        """What the database itself finds damaged; empty when it is sound."""
        raise NotImplementedError

    def _scrub(self, engine: sa.Engine, texts: set[str]) -> bool:
        """Get erased words out of every file; True when none is found afterwards."""
        raise NotImplementedError

    def _settle(self, engine: sa.Engine) -> None:
        """Do what had to wait for the end of a long read."""
        raise NotImplementedError

    # running

    @property
    def location(self) -> str:
        """Where it is, as the user named it, without secrets."""
        return self._location

    @property
    def engine(self) -> sa.Engine:
        """The open engine. Raises StoreError before ``open`` and after ``close``."""
        if self._engine is None:
            raise StoreError(f"the store {self._location} is not open; open it first")
        return self._engine

    async def open(self) -> None:
        """Create or migrate it if need be."""
        if self._engine is None:
            self._engine = await anyio.to_thread.run_sync(self._translated, self._connect)

    async def close(self) -> None:
        """Let go of everything."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await anyio.to_thread.run_sync(engine.dispose)

    def _translated(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (exc.DBAPIError, exc.TimeoutError, OSError) as error:
            raise self._failure(error) from error

    async def _read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        engine = self.engine

        def run() -> T:
            with self._reading(engine) as db:
                return work(db, *args, **kwargs)

        return await anyio.to_thread.run_sync(self._translated, run)

    async def _glance(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A read of a few rows. An adapter may spare it the change of thread."""
        return await self._read(work, *args, **kwargs)

    async def _write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        engine = self.engine

        def run() -> T:
            with self._writing(engine) as db:
                return work(db, *args, **kwargs)

        return await anyio.to_thread.run_sync(self._translated, run)

    # the log

    async def start_session(
        self, scope: Scope, at: datetime, *, key: str | None = None, holder: str = ""
    ) -> int:
        validate.check_scope(scope)
        validate.check_time(at, "the session's time")
        if key is not None:
            validate.check_name(key, "the session's key", "")
        return await self._write(log.start_session, scope, at, key, holder)

    async def append_turns(
        self,
        scope: Scope,
        session: int,
        utterances: Sequence[Utterance],
        *,
        epoch: int | None = None,
    ) -> list[Turn]:
        validate.check_utterances(utterances)
        return await self._write(log.hear, scope, session, utterances, epoch)

    async def end_session(self, scope: Scope, session: int, at: datetime, method: str) -> bool:
        validate.check_time(at, "the session's end")
        return await self._write(log.end_session, scope, session, at, method)

    async def log_transcript(self, scope: Scope, transcript: Transcript, method: str) -> Logged:
        validate.check_scope(scope)
        validate.check_transcript(transcript)
        return await self._write(transcripts.log_transcript, scope, transcript, method)

    async def orphaned_sessions(
        self, scope: Scope | None = None, *, remote: bool = False
    ) -> list[tuple[Scope, Session]]:
        return await self._read(leases.abandoned, scope, remote)

    async def scopes(self) -> list[Scope]:
        return await self._read(log.scopes)

    async def sessions(
        self, scope: Scope, method: str, *, after: int = 0, only: int | None = None
    ) -> list[Session]:
        return await self._read(log.sessions, scope, method, after, only)

    async def turns(
        self,
        scope: Scope,
        *,
        session: int | None = None,
        ids: Sequence[int] | None = None,
        last: int | None = None,
    ) -> list[Turn]:
        few = ids is not None and len(ids) <= _FEW
        read = self._glance if few else self._read
        return await read(log.turns, scope, session, ids, last)

    # remembering

    async def pending(self, method: str, scope: Scope | None = None) -> list[Pending]:
        return await self._read(remembering.pending, method, scope)

    async def pending_input(
        self, scope: Scope, session: int, method: str
    ) -> tuple[list[Turn], list[ImportedMemory]]:
        return await self._read(remembering.unremembered, scope, session, method)

    async def acquire_lease(
        self, scope: Scope, holder: str, until: datetime, now: datetime
    ) -> bool:
        return await self._write(leases.lease, scope, holder, until, now)

    async def renew_lease(self, scope: Scope, holder: str, until: datetime) -> bool:
        return await self._write(leases.renew, scope, holder, until)

    async def release_lease(self, scope: Scope, holder: str) -> None:
        await self._write(leases.release, scope, holder)

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
            remembering.commit,
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
        return await self._read(drop.methods, scope)

    async def default_method(self) -> str:
        return await self._read(own_method.own_method)

    async def delete_method_data(
        self, methods: Sequence[str], scope: Scope | None = None, *, replacement: str | None = None
    ) -> int | None:
        return await self._write(drop.drop, methods, scope, replacement)

    async def promote(self, stage: str, method: str, scope: Scope | None = None) -> int | None:
        return await self._write(drop.promote, stage, method, scope)

    # memories

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        return await self._glance(memories.state, scope)

    async def memories(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
        ids: Sequence[int] | None = None,
    ) -> list[Memory]:
        return await self._read(memories.memories, scope, method, after, _last(upto), ids)

    async def vectors(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> tuple[list[int], Vectors]:
        return await self._read(embeddings.vectors, scope, method, after, _last(upto))

    async def links(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> list[Link]:
        return await self._read(memories.links, scope, method, after, _last(upto))

    async def marks(self, scope: Scope, *, method: str | None = None, after: int = 0) -> list[Mark]:
        return await self._read(memories.marks, scope, method, after)

    async def turns_with_recalls(self, scope: Scope, *, after: int = 0) -> list[Turn]:
        return await self._read(memories.recalls, scope, after)

    # the journal

    async def find_journal_entry(self, scope: Scope, key: str) -> JournalEntry | None:
        return await self._read(journal.journalled, scope, key)

    async def add_journal_entry(self, scope: Scope, entry: JournalEntry) -> None:
        await self._write(journal.journal, scope, entry)

    async def reject_journal_entries(self, scope: Scope, keys: Sequence[str], error: str) -> None:
        await self._write(journal.reject, scope, keys, error)

    async def costs(self, scope: Scope | None = None) -> list[CostLine]:
        return await self._read(journal.costs, scope)

    # upkeep

    async def check_integrity(self) -> str:
        return await self._read(
            lambda db: "; ".join(self._damage(db) or dangling.dangling_references(db))
        )

    async def forget(
        self, scope: Scope, *, session: int | None = None, memory: int | None = None
    ) -> ForgetReport:
        engine = self.engine

        def run() -> ForgetReport:  # in one go: what is erased must leave the files too
            with self._writing(engine) as db:
                receipt, texts = self._erase(db, scope, session, memory)
            return replace(receipt, verified=self._scrub(engine, texts))

        return await anyio.to_thread.run_sync(self._translated, run)

    def _erase(
        self, db: sa.Connection, scope: Scope, session: int | None, memory: int | None
    ) -> tuple[ForgetReport, set[str]]:
        """Erase from the tables; an adapter may note there that the files come next."""
        return erase.forget(db, scope, session, memory)

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        return False

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        return None

    async def active_embedder(self) -> tuple[str, int] | None:
        row = await self._read(embeddings.active_embedder)
        return None if row is None else (row.name, row.dimension)

    async def unembedded_memories(
        self, name: str, limit: int
    ) -> tuple[list[tuple[Scope, int, str]], int]:
        return await self._read(embeddings.reembed_batch, name, limit)

    async def add_vectors(
        self, name: str, owners: Sequence[tuple[Scope, int]], vectors: Any
    ) -> None:
        await self._write(embeddings.add_vectors, name, owners, vectors)

    async def switch_embedder(self, name: str, dimension: int) -> bool:
        return await self._write(embeddings.use_embedder, name, dimension)

    async def export(self, scope: Scope | None = None) -> AsyncIterator[dict[str, Any]]:
        """All records in one state of the database, however long the reader takes."""
        engine = self.engine
        run = anyio.to_thread.run_sync
        reading = self._reading(engine)

        def end() -> None:
            reading.__exit__(None, None, None)
            self._settle(engine)

        db = await run(self._translated, reading.__enter__)
        try:
            records = dump.records(db, scope)
            while batch := await run(self._translated, lambda: list(islice(records, _BATCH))):
                for record in batch:
                    yield record
        finally:
            with anyio.CancelScope(shield=True):
                await run(self._translated, end)

    async def restore(self, records: Sequence[dict[str, Any]]) -> int:
        return await self._write(restore.restore, records)


def _last(upto: int | None) -> int:
    """The number up to which is read; None is any that a row can have."""
    return 2**31 - 1 if upto is None else upto
