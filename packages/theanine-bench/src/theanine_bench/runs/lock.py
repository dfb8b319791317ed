"""One process at a time in a run's folder: two would pay for the same answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from theanine.errors import SettingsError
from theanine.store.processes import process_holder

LOCK = "lock.db"


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Keep others out until it is left, or this process dies: the lock goes with it.

    Raises SettingsError, naming the process, where another is in it.
    """
    with closing(sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None)) as lock:
        _take(lock, folder)
        lock.execute("CREATE TABLE IF NOT EXISTS holder (name TEXT)")
        lock.execute("DELETE FROM holder")
        lock.execute("INSERT INTO holder VALUES (?)", (process_holder(),))
        lock.execute("COMMIT")
        _take(lock, folder)
        yield


def _take(lock: sqlite3.Connection, folder: Path) -> None:
    """Others can still read who holds it."""
    try:
        lock.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise SettingsError(f"{folder} can't be written to: {error}") from None
        raise SettingsError(
            f"{folder} holds a run that another process is at work on{_holder(lock)}; wait until "
            "it is done, or name another folder"
        ) from None


def _holder(lock: sqlite3.Connection) -> str:
    """Its process in brackets, as that wrote it down, or nothing."""
    try:
        row = lock.execute("SELECT name FROM holder").fetchone()
    except sqlite3.OperationalError:  # it has not written it yet
        return ""
    return f" ({row[0]})" if row else ""
