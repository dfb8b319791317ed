"""A lock on a run's folder: two processes at once would pay for the same answers twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from theanine.errors import SettingsError
from theanine.private_files import touch
from theanine.store.processes import process_holder

LOCK = "lock.db"


@contextmanager
def lock_folder(folder: Path) -> Generator[None]:
    """Lock the folder; the lock is released on exit or when this process dies.

    Raises SettingsError, naming the process, where another one holds it.
    """
    file = folder / LOCK
    with suppress(OSError):  # SQLite reports it
        touch(file)
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as lock:
        _begin(lock, folder)
        lock.execute("CREATE TABLE IF NOT EXISTS holder (name TEXT)")
        lock.execute("DELETE FROM holder")
        lock.execute("INSERT INTO holder VALUES (?)", (process_holder(),))
        lock.execute("COMMIT")  # so that others can read the holder's name
        _begin(lock, folder)
        yield


def _begin(lock: sqlite3.Connection, folder: Path) -> None:
    """Begin the write transaction that is the lock."""
    try:
        lock.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise SettingsError(f"{folder} is not writable: {error}") from None
        raise SettingsError(
            f"{folder} is in use by another process{_holder(lock)}; wait until it has finished, "
            "or name another folder"
        ) from None


def _holder(lock: sqlite3.Connection) -> str:
    """Return the holder's name in parentheses, or an empty text."""
    try:
        row = lock.execute("SELECT name FROM holder").fetchone()
    except sqlite3.OperationalError:  # not written yet
        return ""
    return f" ({row[0]})" if row else ""
