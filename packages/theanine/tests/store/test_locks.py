"""No operation may close a file of an open store: POSIX would release the process's locks on it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import theanine
from theanine.client.sync import Client
from theanine.errors import StoreUnavailable
from theanine.store.sqlite import SqliteStore

DAY = datetime(2024, 5, 1, tzinfo=UTC)
SECOND_PROCESS = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("SELECT count(*) FROM sqlite_master").fetchone()
db.close()
"""


def locks_on(file: Path) -> int:
    """Return how many locks this process holds on a file."""
    mark, pid = f":{file.stat().st_ino} ", f" {os.getpid()} "
    lines = Path("/proc/locks").read_text("ascii").splitlines()
    return sum(mark in line and pid in line for line in lines)


def export(client: Client, folder: Path) -> None:
    with (folder / "export.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in client.export())


def copy(client: Client, folder: Path) -> None:
    theanine.copy_store(folder / "memory.db", folder / "copy.db")


def open_again(client: Client, folder: Path) -> None:
    with theanine.open(folder / "memory.db") as other:
        other.user("ana").add("I said this over another client.")


OPERATIONS: dict[str, Callable[[Client, Path], object]] = {
    "add": lambda client, _: client.user("ana").add("I moved to Porto."),
    "recall": lambda client, _: client.user("ana").recall("Where do I live?"),
    "hear": lambda client, _: client.user("ana").session("thread").hear("Hello."),
    "end": lambda client, _: client.user("ana").session("thread").end(),
    "memories": lambda client, _: list(client.user("ana").memories()),
    "forget_session": lambda client, _: client.user("cleo").forget(session=1),
    "forget_all": lambda client, _: client.user("bob").forget_all(),
    "rebuild": lambda client, _: client.rebuild(),
    "export": export,
    "copy": copy,
    "open_again": open_again,
    "doctor": lambda client, _: client.check(),
}


@pytest.mark.skipif(sys.platform != "linux", reason="counts locks in /proc/locks")
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_keeps_the_locks_of_the_process(name: str, tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with theanine.open(store) as client:
        for user in ("ana", "bob", "cleo"):
            client.user(user).add(f"I am {user}, and I keep a secret garden.", at=DAY)
        if not locks_on(store):
            pytest.skip("this system does not show locks")
        before, log = locks_on(store), (tmp_path / "memory.db-wal").stat().st_ino
        OPERATIONS[name](client, tmp_path)
        client.user("ana").add("I keep bees.")
        assert locks_on(store) == before
        subprocess.run([sys.executable, "-c", SECOND_PROCESS, str(store)], check=True)
        assert (tmp_path / "memory.db-wal").stat().st_ino == log
        client.user("ana").add("I sail on Sundays.")
    with theanine.open(store) as client:
        assert "I sail on Sundays." in [turn.text for turn in client.user("ana").turns()]


@pytest.mark.anyio
@pytest.mark.parametrize("tail", ["", "-wal"])
async def test_a_store_whose_file_was_replaced_says_so(tail: str, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    await store.open()
    store.check_files()
    (tmp_path / f"memory.db{tail}").rename(tmp_path / "moved")
    with pytest.raises(StoreUnavailable, match="was deleted or replaced"):
        store.check_files()
    (tmp_path / "moved").rename(tmp_path / f"memory.db{tail}")
    store.check_files()
    await store.close()


OPENING = {"open", "read_bytes", "read_text", "write_bytes", "write_text", "touch"}


def test_the_store_opens_no_file_of_sqlite_itself() -> None:
    """Only files beside the database, and those of /proc, are opened in this process."""
    folder = Path(theanine.__file__).parent / "store"
    found = [
        f"{file.relative_to(folder)}:{call.lineno}"
        for file in folder.rglob("*.py")
        if file.name not in ("sidecar_files.py", "processes.py")
        for call in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(call, ast.Call)
        and (
            (isinstance(call.func, ast.Name) and call.func.id == "open")
            or (isinstance(call.func, ast.Attribute) and call.func.attr in OPENING)
        )
    ]
    assert not found, found
