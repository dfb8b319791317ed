"""A SQL database: each call runs one function in a worker thread, inside a transaction.

Writing is never cancelled halfway: a cancelled call is either complete or has not begun.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio
import anyio.to_thread
import sqlalchemy as sa
from anyio.lowlevel import checkpoint_if_cancelled
from sqlalchemy import exc

from theanine.cancellation import finish
from theanine.errors import DamagedData, NotFound, StoreError
from theanine.store.forks import inside_database
from theanine.store.processes import check_process
from theanine.store.sql import upgrade
from theanine.store.sql.changes import count_change
from theanine.store.sql.fixed import Reads, read_rows
from theanine.store.sql.outbox import announcing
from theanine.store.sql.preconditions import check_precondition
from theanine.store.sql.tracing import trace_statements
from theanine.types import Scope

P = ParamSpec("P")
T = TypeVar("T")

Work = Callable[Concatenate[sa.Connection, P], T]

QUICK_ROWS = 128
"""Maximum rows that are read in the calling thread: a change of thread would take longer."""


def reading(
    work: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[Concatenate[SqlDatabase, P], CoroutineType[Any, Any, T]]:
    """Return a method of the store that calls a function in a read transaction."""

    @wraps(work)
    async def method(self: SqlDatabase, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    return method


def writing(
    work: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[Concatenate[SqlDatabase, P], CoroutineType[Any, Any, T]]:
    """Return a method of the store that calls a function in a write transaction."""

    @wraps(work)
    async def method(self: SqlDatabase, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    return method


def counted(
    work: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[Concatenate[sa.Connection, P], T]:
    """Have a function count its change in the version of its scope argument.

    Without one, it changes all scopes.
    """

    @wraps(work)
    def counted(db: sa.Connection, *args: P.args, **kwargs: P.kwargs) -> T:
        check_precondition(db)
        scope = _find_scope(args, kwargs)
        with announcing(db, scope):
            result = work(db, *args, **kwargs)
        count_change(db, scope)
        return result

    return counted


def _find_scope(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Scope | None:
    """Return the scope that a call is about; None if it is about the whole store."""
    return next((value for value in (*args, *kwargs.values()) if isinstance(value, Scope)), None)


def changing(
    work: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[Concatenate[SqlDatabase, P], CoroutineType[Any, Any, T]]:
    """Return a method of the store that calls a function which changes exported data."""
    return writing(counted(work))


class SqlDatabase:
    """Base class of :class:`theanine.store.sql.store.SqlStore`: connections and transactions."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._engine: sa.Engine | None = None
        self._process = 0

    # for adapters to implement

    def _connect(self) -> sa.Engine:
        """Check, create or migrate the database and return its engine."""
        raise NotImplementedError

    def _read_transaction(
        self, engine: sa.Engine, scope: Scope | None = None
    ) -> AbstractContextManager[sa.Connection]:
        """Return a transaction that sees one state of the scope or, with None, of the database."""
        raise NotImplementedError

    def _write_transaction(
        self,
        engine: sa.Engine,
        durable: bool = True,
        scope: Scope | None = None,
        *,
        alone: bool = True,
    ) -> AbstractContextManager[sa.Connection]:
        """Return a transaction that excludes other writers of the scope or, with None, all others.

        One that is not durable may be undone by a loss of power, but only if all later ones are.
        One that is not ``alone`` may let others write meanwhile.
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
        *,
        alone: bool = True,
    ) -> T:
        """Call a function in a write transaction; an adapter may repeat both.

        What is committed is never done twice, except for functions that count no change of the
        scope: for these, twice must be the same as once.
        """
        with self._write_transaction(engine, durable, scope, alone=alone) as db:
            return work(db)

    def _translate_error(self, error: Exception) -> Exception:
        """Return the library's error for a database or file error."""
        raise NotImplementedError

    def _require_revision(self, db: sa.Connection) -> None:
        """Raise NotFound or StoreError for tables that are not of this version."""
        if (revision := upgrade.load_revision(db)) is None:
            raise NotFound(f"there is no store at {self.location}")
        if revision != upgrade.HEAD:
            raise StoreError(
                f"{self.location} is of another version of theanine (its schema is {revision!r}, "
                f"this version's {upgrade.HEAD!r}); `theanine db migrate` brings it up to date"
            )

    def _load_tables(self) -> upgrade.Tables:
        """Return the state of the tables, without opening the store."""
        raise NotImplementedError

    async def load_tables(self) -> upgrade.Tables:
        """Return the state of the tables, which may be of another version.

        The store is neither opened nor changed. Raises NotAStore for another application's.
        """
        return await anyio.to_thread.run_sync(self._run, self._load_tables)

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
        trace_statements(self._engine)
        self._process = os.getpid()

    async def close(self) -> None:
        """Release all connections."""
        engine, self._engine = self._engine, None
        if engine is not None and self._process == os.getpid():  # else they are another's files
            await finish(anyio.to_thread.run_sync(engine.dispose))

    def _run(self, work: Callable[[], T]) -> T:
        """Call a function, translating its errors."""
        try:
            with inside_database():
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

    async def _read_rows(self, scope: Scope, reads: Reads) -> list[list[Any]]:
        """Return the rows of several selects in a scope, all of one state of it."""
        few = sum(len(each.numbers) for each in reads) <= QUICK_ROWS
        return await (self._read_quickly if few else self.read)(read_rows, scope, reads)

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a write transaction, in a worker thread."""
        return await self._write(True, work, *args, **kwargs)

    async def _write(self, durable: bool, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        engine, scope = self.engine, _find_scope(args, kwargs)

        def run() -> T:
            return self._call_writing(engine, lambda db: work(db, *args, **kwargs), scope, durable)

        return await self._finish(run)

    async def write_concurrently(
        self, durable: bool, work: Work[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function in a write transaction that does not exclude other writers.

        It is for tables that belong to no scope, and each of its statements must be right whatever
        others have written since the last one. One that is not ``durable`` may be undone by a loss
        of power, but only if all later ones are.
        """
        engine = self.engine

        def run() -> T:
            return self._call_writing(
                engine, lambda db: work(db, *args, **kwargs), None, durable, alone=False
            )

        return await self._finish(run)

    async def _finish(self, work: Callable[[], T]) -> T:
        """Call a function in a worker thread; if the caller is cancelled, it is finished first."""
        await checkpoint_if_cancelled()  # else a write that is cancelled already would be done
        return await finish(anyio.to_thread.run_sync(self._run, work))
