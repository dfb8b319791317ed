"""The store in a PostgreSQL database, for any number of processes and machines."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import sqlalchemy as sa
from sqlalchemy import exc, pool

from theanine.errors import (
    NotAStore,
    SettingsError,
    StoreError,
    StoreFull,
    StoreUnavailable,
    WriteUnconfirmed,
)
from theanine.store import sqlstates
from theanine.store.notifications import NOTIFY, Listener, take_pending
from theanine.store.residue_scan import Probes
from theanine.store.server_status import ServerStatus, load_status
from theanine.store.sql import schema as t
from theanine.store.sql import sidecars, upgrade, walls
from theanine.store.sql.changes import Change, is_stored, trace_change
from theanine.store.sql.distribution import (
    Distribution,
    Rebalance,
    distribute,
    distribute_missing,
    end_rebalance,
    has_citus,
    load_distribution,
    load_rebalance,
    prepare_migration,
    start_rebalance,
    vacuum_shards,
)
from theanine.store.sql.fixed import Reads
from theanine.store.sql.outbox import ask_for_listeners, cache_listeners
from theanine.store.sql.scopes import cache_numbers, find_scope
from theanine.store.sql.store import SqlStore
from theanine.store.sql.tracing import traced
from theanine.types import Scope

T = TypeVar("T")

_log = logging.getLogger(__name__)

_SETTINGS = {"pool_size": 8, "pool_timeout": 10, "statement_timeout": 0}
"""What the URL's query may set beside libpq's own parameters, with the defaults."""
_CONNECTION = {  # libpq's; so that a server that vanished is noticed within a minute
    "application_name": "theanine",
    "connect_timeout": "10",  # seconds
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",  # milliseconds
}
_OTHERS = sa.text(
    """
    SELECT coalesce(host(client_addr), 'this machine') || ' (process ' || pid || ' of the server)'
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name = current_setting('application_name')
    ORDER BY pid
    """
)
_LOCK_TIMEOUT = 30_000  # milliseconds that a writer waits for another one of the same scope
_IDLE_TIMEOUT = 60_000  # milliseconds after which the server ends a transaction that does nothing
_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds before each further try of a transaction, at most; half of it at least."""
_PATIENCE = 10.0  # seconds after which no further try begins
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_UNCONFIRMED = (
    "{}: the connection was lost during a commit, so this may or may not be stored; repeating it "
    "is safe for turns with ids, transcripts and exports, for the rest look first"
)
_MAX_NUMBERS = 10_000  # cached scopes
_ALL = 0x746865616E696E65
"""Key of the advisory lock that whoever writes holds: shared for one scope, alone for several."""


class PostgresStore(SqlStore):
    """A store in one PostgreSQL database, shared by any number of processes and machines.

    Writers of one scope wait for each other, those of different scopes don't. Every call is one
    transaction, on a connection that goes back to the pool; it works through PgBouncer in
    transaction mode. A transaction that fails because the connection was lost or others were in
    the way is repeated a few times, but never one that may be stored already.
    """

    def __init__(self, location: str, *, read_only: bool = False) -> None:
        try:
            url = sa.make_url(location).set(drivername="postgresql+psycopg")
        except (exc.ArgumentError, ValueError):
            raise SettingsError(
                "the store's URL can't be read; write postgresql://USER@HOST:PORT/DATABASE"
            ) from None
        if not url.database:
            raise SettingsError(
                "the store's URL names no database; write postgresql://USER@HOST:PORT/DATABASE"
            )
        shown = url.set(drivername="postgresql").render_as_string(hide_password=True)
        super().__init__(shown)
        settings = {name: _read_number(url, name, default) for name, default in _SETTINGS.items()}
        self._pool_size = settings["pool_size"]
        self._pool_timeout = settings["pool_timeout"]
        self._statement_timeout = settings["statement_timeout"]
        self._url = url.difference_update_query(_SETTINGS)
        self._read_only = read_only
        self._is_citus = False
        # Of scopes on Citus; each transaction checks the number that it has taken from here.
        self._numbers: dict[Scope, int] = {}
        # Prepared statements don't live in PgBouncer's transaction mode.
        self._parameters: dict[str, object] = {"prepare_threshold": None}
        unset = _CONNECTION.keys() - self._url.query.keys()
        self._parameters |= {name: _CONNECTION[name] for name in unset}

    def _make_engine(self) -> sa.Engine:
        try:
            return sa.create_engine(
                self._url,
                poolclass=pool.QueuePool,
                pool_size=self._pool_size,
                pool_timeout=self._pool_timeout,
                max_overflow=0,
                connect_args=self._parameters,
                isolation_level="AUTOCOMMIT",  # see _connected
            )
        except ModuleNotFoundError as error:
            raise SettingsError(
                "a store in PostgreSQL needs the extra postgres; install theanine[postgres]"
            ) from error

    def _load_tables(self) -> upgrade.Tables:
        engine = self._make_engine()
        try:
            with _connected(engine) as db:
                revision = upgrade.load_revision(db)
                return upgrade.Tables(revision, tuple(db.scalars(_OTHERS)))
        finally:
            engine.dispose()

    def _connect(self) -> sa.Engine:
        engine = self._make_engine()
        try:
            with _connected(engine) as db:
                db.exec_driver_sql("BEGIN")
                if self._read_only:
                    self._require_revision(db)
                else:
                    self._migrate(db)
                self._is_citus = has_citus(db)
        except BaseException as error:
            engine.dispose()
            if isinstance(error, exc.ProgrammingError) and "connection option" in str(error.orig):
                raise SettingsError(f"the store's URL can't be used: {error.orig}") from error
            raise
        return engine

    def _migrate(self, db: sa.Connection) -> None:
        """Create or migrate the schema; processes that open it at once wait for each other."""
        walls.open_to_store(db)
        db.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.cast(_ALL, sa.BigInteger))))
        if upgrade.load_revision(db) is None and (tables := sa.inspect(db).get_table_names()):
            raise NotAStore(
                f"{self.location} holds another application's tables, such as {min(tables)}; name "
                "another database"
            )
        distributed = upgrade.load_revision(db) != upgrade.HEAD and prepare_migration(db)
        upgrade.migrate(db, self.location)
        if distributed:
            distribute_missing(db)  # a table that is new

    # transactions

    @contextmanager
    def _read_transaction(
        self, engine: sa.Engine, scope: Scope | None = None
    ) -> Generator[sa.Connection]:
        with _connected(engine) as db:
            yield self._begin(db, _BEGIN_READING, self._limits(), scope)

    @contextmanager
    def _write_transaction(
        self,
        engine: sa.Engine,
        durable: bool = True,
        scope: Scope | None = None,
        *,
        alone: bool = True,
    ) -> Generator[sa.Connection]:
        if self._read_only:
            raise StoreError(f"{self.location} was opened to be read only")
        calls = self._limits(lock=_LOCK_TIMEOUT, idle_in_transaction_session=_IDLE_TIMEOUT)
        if not durable:
            calls.append("set_config('synchronous_commit', 'off', true)")
        shared = "" if scope is None and alone else "_shared"
        calls.append(f"pg_advisory_xact_lock{shared}({_ALL})")
        if scope is not None:
            calls.append(f"pg_advisory_xact_lock({_scope_key(scope)})")
        with _connected(engine) as db:
            yield self._begin(db, "BEGIN", calls, scope, writes=True)

    def _begin(
        self,
        db: sa.Connection,
        begin: str,
        calls: Sequence[str],
        scope: Scope | None,
        *,
        writes: bool = False,
    ) -> sa.Connection:
        """Begin work in a scope or, with None, in the whole store, after calls of the server.

        The calls, the look-up of the scope and, for who writes, that of the webhooks that are to be
        told go in one round trip. Citus would send all of a
        string that holds a ``SET LOCAL`` to the workers, locks included.
        """
        if scope is None:
            _run_at_once(db, [begin, *([f"SELECT {', '.join(calls)}"] if calls else [])])
            walls.open_to_store(db)
            return cache_numbers(db, {})
        walls.enclose(db)
        called = f"SELECT {', '.join([*calls, walls.open_to_tenant(scope)])}"
        known = self._numbers.get(scope)
        told = [walls.tell_workers_at_once(known)] if known else []
        asked = [ask_for_listeners(scope.tenant)] if writes else []
        results = _run_at_once(db, [begin, called, walls.look_up(scope), *asked, *told])
        found = results[2]
        if writes:
            cache_listeners(db, results[3])
        if not found:
            if known:
                self._numbers.pop(scope, None)
                walls.close_to_scopes(db)
            return cache_numbers(db, {})
        [(number, is_citus, _)] = found
        if is_citus and number != known:
            walls.open_to_scope(db, number)
            self._keep_number(scope, number)
        return cache_numbers(db, {scope: number})

    def _keep_number(self, scope: Scope, number: int) -> None:
        if len(self._numbers) >= _MAX_NUMBERS:
            self._numbers.clear()
        self._numbers[scope] = number

    def _limits(self, **timeouts: int) -> list[str]:
        """Return calls that limit a transaction's waits, in milliseconds."""
        if self._statement_timeout:
            timeouts["statement"] = self._statement_timeout * 1000
        return [
            f"set_config('{name}_timeout', '{value}', true)" for name, value in timeouts.items()
        ]

    async def _read_rows(self, scope: Scope, reads: Reads) -> list[list[Any]]:
        engine = self.engine

        def read() -> list[list[Any]]:
            return _repeat(lambda: self._read_at_once(engine, scope, reads))

        return await anyio.to_thread.run_sync(self._run, read)

    def _read_at_once(self, engine: sa.Engine, scope: Scope, reads: Reads) -> list[list[Any]]:
        """Read in one round trip; on Citus in three if the scope's number isn't known.

        There, the workers must be told the number before anything else.
        """

        def select(scope_id: str) -> list[str]:
            dialect = engine.dialect
            return [
                each.text(dialect, scope_id, numbers, values) for each, numbers, values in reads
            ]

        calls = ", ".join([*self._limits(), walls.open_to_tenant(scope)])
        begin = [_BEGIN_READING, f"SELECT {calls}", walls.look_up(scope)]
        selects = select(walls.SCOPE_ID)
        with traced(engine.dialect.name, selects[0]), _connected(engine) as db:
            results = _Results()
            if not self._is_citus:
                _, _, found, *results, _ = _run_at_once(db, [*begin, *selects, "COMMIT"])
                self._is_citus = any(is_citus for _, is_citus, _ in found)
            known = self._numbers.get(scope)
            if self._is_citus and known:
                told = walls.tell_workers_at_once(known)
                statements = [*begin, told, *select(str(known)), "COMMIT"]
                _, _, found, _, *results, _ = _run_at_once(db, statements)
                if [number for number, _, _ in found] != [known]:  # it was forgotten
                    self._numbers.pop(scope, None)
                    known = None
            if self._is_citus and not known:
                _, _, found = _run_at_once(db, begin)
                number = str(found[0][0]) if found else "NULL"
                if found:
                    _run_at_once(db, walls.tell_workers(number))
                    self._keep_number(scope, found[0][0])
                *results, _ = _run_at_once(db, [*select(number), "COMMIT"])
        return [read.select.name(rows) for read, rows in zip(reads, results, strict=True)]

    # repeating

    def _call_reading(
        self, engine: sa.Engine, work: Callable[[sa.Connection], T], scope: Scope | None = None
    ) -> T:
        return _repeat(lambda: super(PostgresStore, self)._call_reading(engine, work, scope))

    def _call_writing(
        self,
        engine: sa.Engine,
        work: Callable[[sa.Connection], T],
        scope: Scope | None = None,
        durable: bool = True,
        *,
        alone: bool = True,
    ) -> T:
        unanswered: tuple[Change, T] | None = None  # the try whose commit got no answer

        def attempt() -> T:
            nonlocal unanswered
            if unanswered is not None:
                change, result = unanswered
                with self._write_transaction(engine, scope=scope) as db:
                    stored = is_stored(db, scope, change)
                if stored:
                    return result
                if stored is None:
                    raise WriteUnconfirmed(_UNCONFIRMED.format(self.location))
                unanswered = None
            change, results = Change(), list[T]()
            try:
                with self._write_transaction(engine, durable, scope, alone=alone) as db:
                    take_pending(db)  # of a transaction that failed
                    results.append(work(trace_change(db, change)))
                    is_pending = take_pending(db)
                if is_pending:
                    self._notify(engine)
                return results[0]
            except exc.DBAPIError as error:
                if results and change.counted and sqlstates.may_be_committed(error):
                    unanswered = change, results[0]
                raise

        try:
            return _repeat(attempt)
        except (exc.DBAPIError, exc.TimeoutError) as error:
            if unanswered is not None:
                raise WriteUnconfirmed(_UNCONFIRMED.format(self.location)) from error
            raise

    def _translate_error(self, error: Exception) -> Exception:
        if isinstance(error, exc.TimeoutError):
            return StoreUnavailable(
                f"{self.location}: all {self._pool_size} connections of this client were in use "
                f"for {self._pool_timeout} s; try again, or raise pool_size in the URL"
            )
        cause = getattr(error, "orig", None) or error
        message = str(cause).strip().splitlines()[0] if str(cause).strip() else repr(cause)
        state = sqlstates.find_sqlstate(error)
        kind = StoreUnavailable if sqlstates.is_passing(state) else StoreError
        if state == sqlstates.FULL:
            kind = StoreFull
        advice = sqlstates.find_advice(state) or "database error"
        return kind(f"{self.location}: {advice} ({message})")

    def _find_damage(self, db: sa.Connection) -> list[str]:
        return []

    def listener(self) -> Listener | None:
        """Return what waits for the server's notifications."""
        _, connecting = self.engine.dialect.create_connect_args(self._url)
        return Listener({**self._parameters, **connecting})

    def _notify(self, engine: sa.Engine) -> None:
        """Notify workers of what is pending. It is a hint: an error is no failure of the write."""
        try:
            with _connected(engine) as db:
                _run_at_once(db, ["BEGIN", NOTIFY, "COMMIT"])
        except (exc.DBAPIError, exc.TimeoutError) as error:
            _log.info("workers were not notified: %s", error)

    async def server_status(self) -> ServerStatus:
        """Return the state of the server and of this database."""
        return await self.read(load_status)

    # sidecars, in a table

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        """Store data derived from a scope, excluding other writers of it meanwhile."""
        return await self._write(False, sidecars.save_sidecar, scope, name, epoch, parts)

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        """Return data derived from a scope, or None."""
        return await self.read(_load_sidecar, scope, name)

    # distributing

    async def find_bypass(self) -> str:
        """Return why this role sees the rows of all scopes; empty if row-level security holds."""
        return await self.read(walls.find_bypass)

    async def distribution(self) -> Distribution | None:
        """Return how the tables are distributed; None where the Citus extension is missing."""
        return await self.read(load_distribution)

    async def distribute(self, shards: int | None = None) -> list[str]:
        """Distribute the tables by scope over the workers of a Citus cluster; return their names.

        Tables that are distributed already stay as they are. Others can read meanwhile. Writers
        wait, and are refused after 30 seconds with ``StoreUnavailable``.

        Args:
            shards: number of parts of each table, if none is distributed yet; None: as the server
                says.

        Raises:
            UserError: without the extension, or if the role can't see all rows.
            StoreUnavailable: a worker can't be reached, or another process distributes.
        """
        engine = self.engine
        writers = partial(self._write_transaction, engine)
        return await self._finish(lambda: distribute(engine, self.location, writers, shards))

    async def rebalance(self, progress: Callable[[Rebalance], object] | None = None) -> Rebalance:
        """Move users between the workers of a Citus cluster until each has its share of them.

        Others read and write meanwhile. The walls between users don't hold for the owner of the
        tables until it is done. A rebalance that is cancelled stops after the moves that are done.

        Args:
            progress: is called with the state, again and again.

        Returns the state at the end; without moves if there was nothing to move. Raises:
            UserError: without the extension, or if the role is no superuser.
            StoreUnavailable: a worker can't be reached, another process distributes, or a move
                failed.
        """
        engine = self.engine
        try:
            if not await self._finish(lambda: start_rebalance(engine, self.location)):
                return Rebalance()
            while (now := await self.read(load_rebalance)).running:
                if progress:
                    progress(now)
                await anyio.sleep(0.5)
        finally:
            with anyio.CancelScope(shield=True):
                await self._finish(lambda: end_rebalance(engine, self.location))
        if now.state != "finished":
            reason = "; ".join(now.messages) or "see the server's log"
            raise StoreUnavailable(f"{self.location}: not all shards could be moved: {reason}")
        return now

    # erasing

    def _note_erasure(self, db: sa.Connection, scope_ids: Sequence[int]) -> None:
        sidecars.delete_sidecars(db, scope_ids)

    @property
    def _remaining(self) -> str:
        return (
            "the server's write-ahead log, its replicas and backups keep it until they are "
            "overwritten or deleted"
        )

    def _scrub_files(self, engine: sa.Engine, probes: Probes, scope_id: int) -> bool:
        """Free the space of erased rows; what the server's files hold can't be verified."""
        with engine.connect() as db:
            distributed = vacuum_shards(db, scope_id)
            for table in t.metadata.sorted_tables:
                if table.name not in distributed:
                    db.execute(sa.text(f'VACUUM "{table.name}"'))
        return False

    def _finish_erasing(self, engine: sa.Engine) -> None:
        pass


@contextmanager
def _connected(engine: sa.Engine) -> Generator[sa.Connection]:
    """Give a connection on which a transaction begins by a statement, not by itself.

    So that ``BEGIN`` goes with other statements in one round trip. What was begun is committed at
    the end, or rolled back after an error.
    """
    with engine.connect() as db:
        driver: Any = db.connection.driver_connection
        try:
            with db.begin():
                yield db
        finally:
            if driver.info.transaction_status.name != "IDLE":  # the connection was lost
                db.invalidate()


_Results = list[list[tuple[Any, ...]]]


def _run_at_once(db: sa.Connection, statements: Sequence[str]) -> _Results:
    """Run statements in one round trip, and return the rows of each."""
    driver: Any = db.connection.driver_connection
    errors: Any = db.dialect.loaded_dbapi
    text = "; ".join(statements)
    try:
        cursor = driver.execute(text)
        results = _Results()
        while not results or cursor.nextset():
            results.append(cursor.fetchall() if cursor.pgresult.nfields else [])
    except errors.Error as error:
        if lost := driver.closed:  # then, as SQLAlchemy assumes, the pool's others are, too
            pool_of = db.engine.pool
            pool_of._invalidate(db.connection, error)  # pyright: ignore[reportPrivateUsage]
            db.invalidate(error)
        raise exc.DBAPIError.instance(
            text, (), error, errors.Error, connection_invalidated=lost
        ) from error
    return results


def _load_sidecar(db: sa.Connection, scope: Scope, name: str) -> bytes | None:
    """Read a row's data as bytes: in the text format, a megabyte takes ten times as long."""
    driver: Any = db.connection.driver_connection
    query = "SELECT data FROM sidecar WHERE scope = %s AND name = %s"
    params = (find_scope(db, scope), name)
    try:
        row = driver.cursor(binary=True).execute(query, params).fetchone()
    except driver.Error as error:
        raise exc.DBAPIError.instance(query, params, error, driver.Error) from error
    return row[0] if row else None


def _repeat(attempt: Callable[[], T]) -> T:
    """Call a function again, a few times, while its errors are of those that pass in seconds."""
    deadline = time.monotonic() + _PATIENCE
    for tries, pause in enumerate(_PAUSES, 1):
        try:
            return attempt()
        except exc.DBAPIError as error:
            if time.monotonic() > deadline or not sqlstates.is_worth_repeating(error, tries):
                raise
        time.sleep(pause * random.uniform(0.5, 1))
    return attempt()


def _read_number(url: sa.URL, name: str, default: int) -> int:
    """Return a setting of the URL's query. Raises SettingsError for what is no number."""
    value = url.query.get(name, str(default))
    least = 0 if name == "statement_timeout" else 1
    if isinstance(value, str) and value.isdecimal() and int(value) >= least:
        return int(value)
    raise SettingsError(f"{name} in the store's URL must be a whole number, at least {least}")


def _scope_key(scope: Scope) -> int:
    """Return the key of a scope's advisory lock: two scopes may share one, and then wait."""
    names = "\0".join((scope.tenant, scope.agent, scope.user)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(names, digest_size=8).digest(), "big", signed=True)
