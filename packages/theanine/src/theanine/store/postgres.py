"""The store in a PostgreSQL database, for any number of processes and machines."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc, pool

from theanine.errors import NotAStore, SettingsError, StoreError
from theanine.store.sql import schema as t
from theanine.store.sql import upgrade
from theanine.store.sql.store import SqlStore
from theanine.types import Scope

_POOL = 8  # connections that one client keeps, and waits for one of
_CONNECT_TIMEOUT = 10  # seconds
_LOCK_TIMEOUT = 30_000  # milliseconds that a writer waits for another one of the same scope
_IDLE_TIMEOUT = 60_000  # milliseconds after which the server ends a transaction that does nothing
_ALL = 0x746865616E696E65
"""Key of the advisory lock that whoever writes holds: shared for one scope, alone for several."""


class PostgresStore(SqlStore):
    """A store in one PostgreSQL database, shared by any number of processes and machines.

    Writers of one scope wait for each other, those of different scopes don't. Every call is one
    transaction, on a connection that goes back to the pool; it works through PgBouncer in
    transaction mode.
    """

    def __init__(self, location: str) -> None:
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
        self._url = url

    def _connect(self) -> sa.Engine:
        try:
            engine = sa.create_engine(
                self._url,
                poolclass=pool.QueuePool,
                pool_size=_POOL,
                max_overflow=0,
                pool_pre_ping=True,  # the server may have been restarted
                # Prepared statements don't live in PgBouncer's transaction mode.
                connect_args={"prepare_threshold": None, "connect_timeout": _CONNECT_TIMEOUT},
            )
        except ModuleNotFoundError as error:
            raise SettingsError(
                "a store in PostgreSQL needs the extra postgres; install theanine[postgres]"
            ) from error
        try:
            with engine.begin() as db:
                self._migrate(db)
        except BaseException:
            engine.dispose()
            raise
        return engine

    def _migrate(self, db: sa.Connection) -> None:
        """Create or migrate the schema; processes that open it at once wait for each other."""
        _lock(db, _ALL)
        if upgrade.load_revision(db) is None and (tables := sa.inspect(db).get_table_names()):
            raise NotAStore(
                f"{self.location} holds another application's tables, such as {min(tables)}; name "
                "another database"
            )
        upgrade.migrate(db, self.location)

    # transactions

    @contextmanager
    def _read_transaction(self, engine: sa.Engine) -> Generator[sa.Connection]:
        with engine.connect() as db:
            db.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield db

    @contextmanager
    def _write_transaction(
        self, engine: sa.Engine, durable: bool = True, scope: Scope | None = None
    ) -> Generator[sa.Connection]:
        with engine.begin() as db:
            db.exec_driver_sql(
                f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT}; "
                f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE_TIMEOUT}"
            )
            if not durable:
                db.exec_driver_sql("SET LOCAL synchronous_commit = off")
            if scope is None:
                _lock(db, _ALL)
            else:
                _lock(db, _ALL, shared=True)
                _lock(db, _scope_key(scope))
            yield db

    def _translate_error(self, error: Exception) -> Exception:
        if isinstance(error, exc.TimeoutError):
            return StoreError(
                f"{self.location}: all {_POOL} connections of this client are in use; try again"
            )
        cause: Any = getattr(error, "orig", error)
        state = str(getattr(cause, "sqlstate", None) or "")
        message = str(cause).strip().splitlines()[0] if str(cause).strip() else repr(cause)
        advice = next((text for start, text in _ADVICE.items() if state.startswith(start)), "")
        if not state:
            advice = "the server can't be reached; check that it runs, and the URL"
        return StoreError(f"{self.location}: {advice or 'database error'} ({message})")

    def _find_damage(self, db: sa.Connection) -> list[str]:
        return []

    # erasing

    @property
    def _remaining(self) -> str:
        return (
            "the server's write-ahead log, its replicas and backups keep it until they are "
            "overwritten or deleted"
        )

    def _scrub_files(self, engine: sa.Engine, texts: set[str]) -> bool:
        """Free the space of erased rows; what the server's files hold can't be verified."""
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
            for table in t.metadata.sorted_tables:
                db.execute(sa.text(f'VACUUM "{table.name}"'))
        return False

    def _finish_erasing(self, engine: sa.Engine) -> None:
        pass


_ADVICE = {
    "08": "the connection was lost; try again",
    "28": "the server refuses this user; check the name, the password and pg_hba.conf",
    "3D": "there is no such database; create it first",
    "42501": "this user lacks a right on the tables; grant it, or use the owner's account",
    "53100": "the disk is full; free some space, then try again",
    "53": "the server lacks connections or memory; try again later",
    "55P03": "another writer of this user was not done in 30 s; try again",
    "57": "the server is shutting down or starting; try again",
    "25006": "the server is read-only, such as a replica; name the primary",
}


def _scope_key(scope: Scope) -> int:
    """Return the key of a scope's advisory lock: two scopes may share one, and then wait."""
    names = "\0".join((scope.tenant, scope.agent, scope.user)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(names, digest_size=8).digest(), "big", signed=True)


def _lock(db: sa.Connection, key: int, *, shared: bool = False) -> None:
    """Wait for an advisory lock, which the end of the transaction releases."""
    take = sa.func.pg_advisory_xact_lock_shared if shared else sa.func.pg_advisory_xact_lock
    db.execute(sa.select(take(sa.cast(key, sa.BigInteger))))
