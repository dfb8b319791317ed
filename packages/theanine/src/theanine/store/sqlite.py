"""The store in one SQLite file: the default."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import sqlalchemy as sa
from anyio import to_thread
from sqlalchemy import exc, pool

from theanine.errors import NotAStore, SettingsError, StoreError
from theanine.store import residue_scan as traces
from theanine.store import sidecar_files as beside
from theanine.store.sql import erase, memories, upgrade
from theanine.store.sql import schema as t
from theanine.store.sql.store import P, SqlStore, T, Work
from theanine.store.values import ForgetReport, ScopeVersion
from theanine.types import Scope

APPLICATION_ID = 0x74686561
"""Marks a file as a store of ours: "thea", in SQLite's header."""

_WAIT = 30.0  # seconds that a writer waits for another process
_PAUSE = 0.02
_SHORT_WAIT = 1.0  # seconds that an opening or the end of an export may last longer
_TRY = 0.05  # seconds that a try to empty the log keeps writers waiting
_ROWS = 500  # read at once
_STATES = 10_000  # scopes whose state is kept in memory
_ERASING = "erasing"  # set with the deletion, removed once the files are clean


class SqliteStore(SqlStore):
    """One file beside its write-ahead log; any number of processes and threads may share it.

    Every commit is on disk before a call returns (``synchronous=FULL``), and erased content is
    overwritten (``secure_delete``).
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(str(path))
        if not str(path) or str(path) == ":memory:":
            raise SettingsError("a store lives in a file; name one, such as memory.db")
        self.path = Path(path).expanduser()
        self._writer = threading.Lock()
        self._glancing = threading.Lock()
        self._glance_at: sa.Connection | None = None
        self._version: int | None = None
        self._states: dict[Scope, ScopeVersion] = {}

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that may hold content."""
        name = str(self.path)
        return (
            self.path,
            *(Path(name + tail) for tail in ("-wal", "-shm", "-journal")),
        )

    # opening

    def _connect(self) -> sa.Engine:
        self._check_path()
        engine = sa.create_engine(
            "sqlite://",
            creator=self._open_file,
            poolclass=pool.QueuePool,
            pool_size=4,
            max_overflow=-1,
        )
        try:
            with engine.connect() as db:
                self._check_owner(db)
                self._use_wal(db)
                self._migrate(db)
            self._settle(engine)
        except BaseException:
            engine.dispose()
            raise
        return engine

    def _open_file(self) -> sqlite3.Connection:
        # isolation_level=None: transactions begin where we say BEGIN, never by themselves.
        db = sqlite3.connect(
            self.path, timeout=_WAIT, isolation_level=None, check_same_thread=False
        )
        try:
            db.execute("PRAGMA synchronous=FULL")
            db.execute("PRAGMA secure_delete=ON")
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _check_path(self) -> None:
        path, folder = self.path, self.path.parent
        if path.is_dir():
            raise NotAStore(f"{path} is a folder; name a file in it, such as {path / 'memory.db'}")
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StoreError(
                f"the folder {folder} can't be written to, and SQLite keeps its log beside the "
                "store; change its permissions or choose another place"
            )
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            raise StoreError(
                f"{path} can't be written to; change its permissions or choose another file"
            )

    def _check_owner(self, db: sa.Connection) -> None:
        """Raises NotAStore for a file that some other application made; nothing is changed yet."""
        mark = db.exec_driver_sql("PRAGMA application_id").scalar_one()
        if mark == APPLICATION_ID:
            return
        tables = db.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if mark or tables:
            raise NotAStore(
                f"{self.path} is another application's SQLite database; name another file"
            )

    def _use_wal(self, db: sa.Connection) -> None:
        """The switch needs the file for itself, and SQLite does not wait for that by itself."""
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                db.exec_driver_sql("PRAGMA journal_mode=WAL")
                return
            except exc.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)

    def _migrate(self, db: sa.Connection) -> None:
        if upgrade.version(db) == upgrade.HEAD:
            return
        db.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            # Another process may have migrated it, or made it another application's, meanwhile.
            self._check_owner(db)
            upgrade.upgrade(db, str(self.path))
            db.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
            db.exec_driver_sql("COMMIT")
        except BaseException:
            if db.connection.dbapi_connection and _in_transaction(db):
                db.exec_driver_sql("ROLLBACK")
            raise

    # transactions

    @contextmanager
    def _reading(self, engine: sa.Engine) -> Generator[sa.Connection]:
        with engine.connect() as db:
            db.exec_driver_sql("BEGIN")
            yield db

    @contextmanager
    def _writing(self, engine: sa.Engine) -> Generator[sa.Connection]:
        # IMMEDIATE takes the write lock at once and waits for it; a later upgrade would not wait.
        with self._writer, engine.connect() as db:
            db.exec_driver_sql("BEGIN IMMEDIATE")
            yield db
            db.commit()

    async def _glance(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        # Readers wait for nobody in WAL, and a few rows take less than the way to a thread. One
        # select needs no BEGIN to see one state of the database.
        def run() -> T:
            with self._glancing:
                if self._glance_at is None:
                    self._glance_at = self.engine.connect()
                try:
                    return work(self._glance_at, *args, **kwargs)
                finally:
                    self._glance_at.rollback()

        return self._translated(run)

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        """From memory while no connection of any process has committed since."""
        return await self._glance(self._state, scope)

    def _state(self, db: sa.Connection, scope: Scope) -> ScopeVersion:
        raw: Any = db.connection.dbapi_connection
        version = raw.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version or len(self._states) >= _STATES:
            self._states.clear()
            self._version = version
        if (known := self._states.get(scope)) is None:
            known = self._states[scope] = memories.state(db, scope)
        return known

    async def close(self) -> None:
        """Let go of everything."""
        self._states.clear()
        self._version = None
        with self._glancing:
            if self._glance_at is not None:
                self._glance_at.close()
                self._glance_at = None
        await super().close()

    def _failure(self, error: Exception) -> Exception:
        cause = getattr(error, "orig", error)
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        path = self.path
        if code == sqlite3.SQLITE_NOTADB:
            return NotAStore(f"{path} is no SQLite database; name another file")
        advice = _ADVICE.get(code)
        if advice:
            return StoreError(f"{path}: {advice} ({cause})")
        if isinstance(error, OSError):
            return StoreError(f"{path} can't be used: {error}; choose another place")
        return StoreError(f"{path}: the database failed: {cause}")

    # files beside it

    @property
    def _beside(self) -> Path:
        return Path(f"{self.path}.index")

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        """Keep a file beside the store; nothing can be erased while it is written."""
        return await self._write(self._keep, scope, name, epoch, parts)

    def _keep(
        self, db: sa.Connection, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        now = memories.state(db, scope)
        if not now.scope_id or now.epoch != epoch:
            return False
        beside.write(self._beside, now.scope_id, name, parts)
        return True

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        """The file beside the store, if there is one."""
        number = (await self.scope_version(scope)).scope_id
        return await to_thread.run_sync(
            self._translated, lambda: beside.read(self._beside, number, name)
        )

    # erasing

    def _erase(
        self, db: sa.Connection, scope: Scope, session: int | None, memory: int | None
    ) -> tuple[ForgetReport, set[str]]:
        scope_id = memories.state(db, scope).scope_id
        erased = erase.forget(db, scope, session, memory)
        # While no other process can write: none can put back what was made before.
        beside.erase(self._beside, scope_id)
        db.execute(t.setting.delete().where(t.setting.c.name == _ERASING))
        db.execute(t.setting.insert().values(name=_ERASING, value=token_hex(8)))
        return erased

    def _unfinished(self, db: sa.Connection) -> str | None:
        """Tells the last erasing from all others, until the files are clean of it."""
        query = sa.select(t.setting.c.value).where(t.setting.c.name == _ERASING)
        return db.execute(query).scalar_one_or_none()

    def _settle(self, engine: sa.Engine) -> None:
        """Finish an erasing that was cut short, or that a long read such as this one held up."""
        with engine.connect() as db:
            unfinished = self._unfinished(db)
        if unfinished:
            self._clean(engine, _SHORT_WAIT)

    def _damage(self, db: sa.Connection) -> list[str]:
        faults = [str(row[0]) for row in db.exec_driver_sql("PRAGMA quick_check(5)")]
        return [fault for fault in faults if fault != "ok"]

    def _scrub(self, engine: sa.Engine, texts: set[str]) -> bool:
        self._clean(engine, _WAIT)
        found = traces.find(traces.blocks(self.files), traces.probes(texts))
        with self._reading(engine) as db:  # the same words may stand in something that stays
            return traces.find(_staying(db), found) == found

    def _clean(self, engine: sa.Engine, wait: float) -> None:
        """Rewrite the file without what was deleted, and empty the write-ahead log."""
        with self._writer, engine.connect() as db:
            erasing = self._unfinished(db)
            try:
                db.exec_driver_sql("VACUUM")
            except exc.OperationalError as error:
                # No room for a second copy, or a reader stands in the way: what was deleted is
                # overwritten with zeros all the same, and the search afterwards has the last word.
                if not _is_busy(error) and _code(error) != sqlite3.SQLITE_FULL:
                    raise
        if self._empty_log(wait):
            with self._writing(engine) as db:  # what was erased meanwhile has a cleaning of its own
                name, value = t.setting.c.name, t.setting.c.value
                db.execute(t.setting.delete().where(name == _ERASING, value == erasing))

    def _empty_log(self, wait: float) -> bool:
        """Move the log into the file; False when readers anywhere hold on to it too long.

        Whoever wants to write is let in between the tries.
        """
        deadline = time.monotonic() + wait
        with closing(self._open_file()) as db:
            db.execute(f"PRAGMA busy_timeout={_TRY * 1000:.0f}")
            while True:
                with self._writer:
                    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                if not busy:
                    return True
                if time.monotonic() > deadline:
                    return False
                time.sleep(_TRY)


_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space, then try again",
    sqlite3.SQLITE_READONLY: "it can't be written to; change its permissions or move it",
    sqlite3.SQLITE_CANTOPEN: "it can't be opened; check the path and its permissions",
    sqlite3.SQLITE_IOERR: "the disk failed or a limit on file sizes was met; check the disk",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; bring back a backup or an export",
    sqlite3.SQLITE_BUSY: f"another process kept it locked for {_WAIT:.0f} s; try again",
    sqlite3.SQLITE_LOCKED: "another connection kept it locked; try again",
    sqlite3.SQLITE_NOMEM: "memory ran out; close something, then try again",
}


def _code(error: exc.DBAPIError) -> int:
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF


def _is_busy(error: exc.DBAPIError) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _in_transaction(db: sa.Connection) -> bool:
    return bool(getattr(db.connection.dbapi_connection, "in_transaction", False))


def _staying(db: sa.Connection) -> Iterator[bytes]:
    """All text that stands in the database, the schema's own included, block by block."""
    columns = (*erase.TEXT_COLUMNS, *erase.NAME_COLUMNS)
    queries: list[sa.Executable] = [sa.text("SELECT name, sql FROM sqlite_master")]
    for table in t.metadata.tables.values():
        if here := [column for column in columns if column.table is table]:
            queries.append(sa.select(*here))
    for query in queries:
        for rows in db.execute(query).partitions(_ROWS):
            yield "\0".join(text for row in rows for text in row if text).encode()
