"""The store in one SQLite file: the default."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from errno import ENOSPC
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import sqlalchemy as sa
from anyio import to_thread
from sqlalchemy import exc, pool

from theanine.errors import (
    NotAStore,
    NotFound,
    SettingsError,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from theanine.private_files import touch
from theanine.store import sidecar_files
from theanine.store.sql import erasure, upgrade
from theanine.store.sql import schema as t
from theanine.store.sql.database import P, T, Work
from theanine.store.sql.memories import load_scope_version
from theanine.store.sql.scopes import cache_numbers
from theanine.store.sql.store import SqlStore
from theanine.store.values import ScopeVersion
from theanine.types import Scope

if TYPE_CHECKING:
    from theanine.store.residue_scan import Probes

APPLICATION_ID = 0x74686561
"""Identifies our files: "thea" in SQLite's header."""

# Seconds.
_BUSY_TIMEOUT = 30.0  # of a writer that waits for another process
_RETRY_INTERVAL = 0.02
_SHORT_TIMEOUT = 1.0  # of finishing an erasure when the store is opened or an export ends
_CHECKPOINT_TIMEOUT = 0.05  # of one attempt, during which writers wait

_SCAN_ROWS = 500  # fetched at a time
_MAX_VERSIONS = 10_000  # cached scopes
_ERASING = "erasing"  # the setting is made with the deletion and removed once the files are clean


class _FileConnection(sqlite3.Connection):
    """A connection whose unfinished selects end with their transaction.

    An error while rows are read, such as of a damaged value, leaves the select open as long as the
    error is kept anywhere. An open select keeps VACUUM from running and the log from being emptied.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cursors = WeakSet[sqlite3.Cursor]()

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        """Return a new cursor."""
        cursor: sqlite3.Cursor = super().cursor(factory)
        self._cursors.add(cursor)
        return cursor

    def rollback(self) -> None:
        """Undo the open transaction, if there is one, and close all cursors."""
        for cursor in list(self._cursors):
            cursor.close()
        super().rollback()


class SqliteStore(SqlStore):
    """A store in one file with its write-ahead log, shared by any number of processes and threads.

    Every commit is on disk before a call returns (``synchronous=FULL``); only memories that can be
    made again without a model may be so with the next one. Erased content is overwritten
    (``secure_delete``).
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        super().__init__(str(path))
        if not str(path) or str(path) == ":memory:":
            raise SettingsError("a store needs a file; name one, such as memory.db")
        self.path = Path(path).expanduser().absolute()  # wherever the process goes later
        self._read_only = read_only
        self._writer = threading.Lock()
        self._quick_lock = threading.Lock()
        self._quick_connection: sa.Connection | None = None
        self._uri = ""  # set for a store that can only be read
        self._opened: list[tuple[int, int] | None] = []  # the files on disk when it was opened
        self._data_version: int | None = None
        self._scope_versions: dict[Scope, ScopeVersion] = {}
        self._scope_numbers: dict[Scope, int] = {}

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of the database that may have content."""
        name = str(self.path)
        return (self.path, *(Path(name + tail) for tail in ("-wal", "-shm", "-journal")))

    # opening

    def _connect(self) -> sa.Engine:
        self._check_path()
        self._uri = self._read_only_uri()
        if not self.path.exists():
            # For its owner alone, as its log will be. What can't be written, SQLite reports.
            with suppress(OSError):
                touch(self.path)
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
                if self._uri:
                    self._check_schema(db)
                else:
                    self._use_wal(db)
                    self._migrate(db)
            self._finish_erasing(engine)
        except BaseException:
            engine.dispose()
            raise
        self._opened = self._identify_files()
        return engine

    def _identify_files(self) -> list[tuple[int, int] | None]:
        """Return device and inode of the database, its log and the log's index."""
        return [_identify(file) for file in self.files[:3]]

    def check_files(self) -> None:
        # While a connection is open, SQLite itself neither replaces nor deletes any of them.
        if not self._uri and self._opened and self._identify_files() != self._opened:
            raise StoreUnavailable(
                f"{self.path} or its log was deleted or replaced while it was open; what is "
                "written now goes to the old file: restart this process"
            )

    def _load_tables(self) -> upgrade.Tables:
        if not self.path.exists() or not self.path.stat().st_size:
            return upgrade.Tables(None)
        engine = sa.create_engine("sqlite://", creator=self._open_file, poolclass=pool.NullPool)
        with engine.connect() as db:
            self._check_owner(db)
            revision = upgrade.load_revision(db)
        with closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as alone:
            alone.execute("PRAGMA locking_mode=EXCLUSIVE")
            try:
                alone.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                return upgrade.Tables(revision, ("another process of this machine",))
            alone.execute("ROLLBACK")
        return upgrade.Tables(revision)

    def _open_file(self) -> sqlite3.Connection:
        # isolation_level=None: transactions begin only where BEGIN is executed below.
        db = sqlite3.connect(
            self._uri or self.path,
            timeout=_BUSY_TIMEOUT,
            isolation_level=None,
            check_same_thread=False,
            uri=bool(self._uri),
            factory=_FileConnection,
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
        if not folder.is_dir():
            raise NotFound(
                f"there is no folder {folder} for the store {path.name}; make it, or check the path"
            )
        if not path.exists() and not os.access(folder, os.W_OK | os.X_OK):
            raise StoreError(
                f"the folder {folder} is not writable; change its permissions or choose another "
                "folder"
            )
        if self._read_only and not (path.exists() and path.stat().st_size):
            raise NotFound(f"there is no store at {path}")
        if path.exists() and not os.access(path, os.R_OK):
            raise StoreError(f"{path} is not readable; change its permissions")

    def _read_only_uri(self) -> str:
        """Return the URI of a store that can only be read, such as a backup, else an empty text."""
        path = self.path
        in_writable_folder = os.access(path.parent, os.W_OK | os.X_OK)
        writable = in_writable_folder and os.access(path, os.W_OK)
        if not self._read_only and (writable or not path.exists()):
            return ""
        immutable = ""
        if not in_writable_folder:  # where SQLite can't make the index of its log, nor locks
            _, log, index, _ = self.files
            if not (log.exists() and log.stat().st_size):
                immutable = "&immutable=1"
            elif not index.exists():
                raise StoreError(
                    f"{path} is read-only and was not closed: its newest changes are in {log}; "
                    "copy both to a writable folder"
                )
        return f"{path.absolute().as_uri()}?mode=ro{immutable}"

    def _check_schema(self, db: sa.Connection) -> None:
        """Raise StoreError for a read-only store that would have to be migrated."""
        if self._read_only:
            self._require_revision(db)
        elif upgrade.load_revision(db) != upgrade.HEAD:
            raise StoreError(
                f"{self.path} is read-only and of another version of theanine; copy it to a "
                "writable folder, where it is migrated when it is opened"
            )

    def _check_owner(self, db: sa.Connection) -> None:
        """Raise NotAStore for a database of another application, before anything is changed."""
        # In this order: another process may create the tables, and the mark with them, in between.
        tables = db.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        mark = db.exec_driver_sql("PRAGMA application_id").scalar_one()
        if mark == APPLICATION_ID:
            return
        if mark or tables:
            raise NotAStore(
                f"{self.path} is another application's SQLite database; name another file"
            )

    def _use_wal(self, db: sa.Connection) -> None:
        """Switch to WAL mode, which needs exclusive access that SQLite does not wait for."""
        deadline = time.monotonic() + _BUSY_TIMEOUT
        while True:
            try:
                db.exec_driver_sql("PRAGMA journal_mode=WAL")
                return
            except exc.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_INTERVAL)

    def _migrate(self, db: sa.Connection) -> None:
        if upgrade.load_revision(db) == upgrade.HEAD:
            return
        db.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            # Another process may have changed it before the lock was acquired.
            self._check_owner(db)
            upgrade.migrate(db, str(self.path))
            db.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
            db.exec_driver_sql("COMMIT")
        except BaseException:
            if getattr(db.connection.dbapi_connection, "in_transaction", False):
                db.exec_driver_sql("ROLLBACK")
            raise

    # transactions

    @contextmanager
    def _read_transaction(
        self, engine: sa.Engine, scope: Scope | None = None
    ) -> Generator[sa.Connection]:
        with engine.connect() as db:
            db.exec_driver_sql("BEGIN")
            yield cache_numbers(db, {})

    @contextmanager
    def _write_transaction(
        self,
        engine: sa.Engine,
        durable: bool = True,
        scope: Scope | None = None,
        *,
        alone: bool = True,
    ) -> Generator[sa.Connection]:
        if self._uri:
            raise StoreError(_READ_ONLY.format(self.path))
        with self._writer, engine.connect() as db:
            if not durable:
                db.exec_driver_sql("PRAGMA synchronous=NORMAL")
            try:
                # IMMEDIATE waits for the write lock at once; upgrading a read lock would not wait.
                db.exec_driver_sql("BEGIN IMMEDIATE")
                yield cache_numbers(db, {})
                db.commit()
            finally:
                if not durable:
                    db.rollback()  # the setting can't be changed inside a transaction
                    db.exec_driver_sql("PRAGMA synchronous=FULL")

    async def _read_quickly(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        # In WAL mode readers never wait, and a few rows take less time than a change of thread.
        engine = self.engine

        def run() -> T:
            with self._quick_lock:
                if self._quick_connection is None:
                    self._quick_connection = cache_numbers(engine.connect(), self._scope_numbers)
                db = self._quick_connection
                raw: Any = db.connection.driver_connection
                try:
                    raw.execute("BEGIN")
                    self._drop_outdated(raw)
                    return work(db, *args, **kwargs)
                except sqlite3.Error as error:
                    raise exc.DBAPIError.instance(None, None, error, sqlite3.Error) from error
                finally:
                    db.rollback()
                    raw.rollback()  # if nothing was done through SQLAlchemy

        return self._run(run)

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        """Return the version, cached until any connection of any process commits."""
        return await self._read_quickly(self._cached_version, scope)

    def _drop_outdated(self, raw: sqlite3.Connection) -> None:
        """Empty the caches if any connection of any process has committed, or if they are full."""
        data_version = raw.execute("PRAGMA data_version").fetchone()[0]
        if data_version != self._data_version or len(self._scope_numbers) >= _MAX_VERSIONS:
            self._scope_versions.clear()
            self._scope_numbers.clear()
            self._data_version = data_version

    def _cached_version(self, db: sa.Connection, scope: Scope) -> ScopeVersion:
        if (version := self._scope_versions.get(scope)) is None:
            version = self._scope_versions[scope] = load_scope_version(db, scope)
        return version

    async def close(self) -> None:
        """Release all connections."""
        self._scope_versions.clear()
        self._scope_numbers.clear()
        self._data_version = None
        if self._process == os.getpid():
            with self._quick_lock:
                if self._quick_connection is not None:
                    self._quick_connection.close()
        self._quick_connection = None
        await super().close()

    def _translate_error(self, error: Exception) -> Exception:
        cause = getattr(error, "orig", error)
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        path = self.path
        if code == sqlite3.SQLITE_NOTADB:
            return NotAStore(f"{path} is not an SQLite database; name another file")
        advice = _ADVICE.get(code)
        if advice:
            return _KINDS.get(code, StoreError)(f"{path}: {advice} ({cause})")
        if isinstance(error, OSError) and error.errno == ENOSPC:
            return StoreFull(f"{path}: {_ADVICE[sqlite3.SQLITE_FULL]} ({error})")
        if isinstance(error, OSError):
            return StoreError(f"{path} can't be used: {error}; choose another file")
        return StoreError(f"{path}: database error: {cause}")

    # sidecar files

    @property
    def _sidecar_folder(self) -> Path:
        return Path(f"{self.path}.index")

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        """Write a file next to the store, in a transaction so that nothing is erased meanwhile."""

        def write(db: sa.Connection) -> bool:
            version = load_scope_version(db, scope)
            if not version.scope_id or version.epoch != epoch:
                return False
            sidecar_files.write_file(self._sidecar_folder, version.scope_id, name, parts)
            return True

        return await self.write(write)

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        """Return the content of a file next to the store, or None."""
        path = sidecar_files.file_path(
            self._sidecar_folder, (await self.scope_version(scope)).scope_id, name
        )

        def read() -> bytes | None:
            return self._run(lambda: sidecar_files.read_file(path))

        return read() if sidecar_files.is_small(path) else await to_thread.run_sync(read)

    # erasing

    def _note_erasure(self, db: sa.Connection, scope_ids: Sequence[int]) -> None:
        # Inside the transaction, so that no other process can write an outdated file afterwards.
        for scope_id in scope_ids:
            sidecar_files.delete_files(self._sidecar_folder, scope_id)
        db.execute(t.setting.delete().where(t.setting.c.name == _ERASING))
        db.execute(t.setting.insert().values(name=_ERASING, value=token_hex(8)))

    def _load_erasing(self, db: sa.Connection) -> str | None:
        """Return the id of the last erasure, or None if the files are clean."""
        query = sa.select(t.setting.c.value).where(t.setting.c.name == _ERASING)
        return db.execute(query).scalar_one_or_none()

    def _finish_erasing(self, engine: sa.Engine) -> None:
        """Complete an erasure that was interrupted or that a long read has delayed."""
        if self._uri:
            return
        with engine.connect() as db:
            unfinished = self._load_erasing(db)
        if unfinished:
            self._clean_files(engine, _SHORT_TIMEOUT)

    def _find_damage(self, db: sa.Connection) -> list[str]:
        faults = [str(row[0]) for row in db.exec_driver_sql("PRAGMA quick_check(5)")]
        return [fault for fault in faults if fault != "ok"]

    def _scrub_files(self, engine: sa.Engine, probes: Probes, scope_id: int) -> bool:
        from theanine.store.residue_scan import read_blocks  # most commands erase nothing

        self._clean_files(engine, _BUSY_TIMEOUT)
        remaining = probes.find(read_blocks(self.files))
        with self._read_transaction(
            engine
        ) as db:  # data that was not erased may have the same text
            return len(remaining.find(_read_texts(db))) == len(remaining)

    def _clean_files(self, engine: sa.Engine, timeout: float) -> None:
        """Rewrite the file without deleted content, and empty the write-ahead log."""
        with self._writer, engine.connect() as db:
            erasing = self._load_erasing(db)
            try:
                db.exec_driver_sql("VACUUM")
            except exc.OperationalError as error:
                # The disk is full or a reader is active. Deleted content is overwritten with zeros
                # anyway, and the scan afterwards decides.
                if not _is_busy(error) and _code(error) != sqlite3.SQLITE_FULL:
                    raise
        if self._empty_log(timeout):
            with self._write_transaction(engine) as db:  # a later erasure cleans by itself
                name, value = t.setting.c.name, t.setting.c.value
                db.execute(t.setting.delete().where(name == _ERASING, value == erasing))

    def _empty_log(self, timeout: float) -> bool:
        """Checkpoint and truncate the write-ahead log; False if readers prevent it until timeout.

        Writers can proceed between the attempts.
        """
        deadline = time.monotonic() + timeout
        with closing(self._open_file()) as db:
            db.execute(f"PRAGMA busy_timeout={_CHECKPOINT_TIMEOUT * 1000:.0f}")
            while True:
                with self._writer:
                    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                if not busy:
                    return True
                if time.monotonic() > deadline:
                    return False
                time.sleep(_CHECKPOINT_TIMEOUT)


_READ_ONLY = (
    "{} can only be read: the file or its folder is read-only; to change it, copy it to a writable "
    "folder or change the permissions"
)
_KINDS: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_BUSY: StoreUnavailable,
    sqlite3.SQLITE_LOCKED: StoreUnavailable,
}
_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space, then try again: nothing was stored",
    sqlite3.SQLITE_READONLY: "the file is read-only; change its permissions or move it",
    sqlite3.SQLITE_CANTOPEN: "the file can't be opened; check the path and its permissions",
    sqlite3.SQLITE_IOERR: "the disk failed or a file size limit was reached; check the disk",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore a backup or an export",
    sqlite3.SQLITE_BUSY: f"another process kept it locked for {_BUSY_TIMEOUT:.0f} s; try again",
    sqlite3.SQLITE_LOCKED: "another connection kept it locked; try again",
    sqlite3.SQLITE_NOMEM: "out of memory; close other programs, then try again",
}


def _identify(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _code(error: exc.DBAPIError) -> int:
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF


def _is_busy(error: exc.DBAPIError) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _read_texts(db: sa.Connection) -> Iterator[bytes]:
    """Yield all text in the database, including the schema's own, block by block."""
    columns = (*erasure.TEXT_COLUMNS, *erasure.NAME_COLUMNS)
    queries: list[sa.Executable] = [sa.text("SELECT name, sql FROM sqlite_master")]
    for table in t.metadata.tables.values():
        if text_columns := [column for column in columns if column.table is table]:
            queries.append(sa.select(*text_columns))
    for query in queries:
        for rows in db.execute(query).partitions(_SCAN_ROWS):
            yield "\0".join(text for row in rows for text in row if text).encode()
