"""Backups of a store in PostgreSQL, by the server's own programs, have all of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from time import sleep

import pytest

import theanine
from support.debian_postgres import NO_PROGRAMS, Server, make_accessible
from theanine.testing.contract.histories import demo

pytestmark = [pytest.mark.skipif(bool(NO_PROGRAMS), reason=NO_PROGRAMS), pytest.mark.slow]


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that archives its log."""
    server = Server(fsync="off", archive_mode="on", archive_command="cp %p ../archive/%f")
    make_accessible(server.folder / "archive")
    yield server
    server.remove()


def export(url: str) -> list[dict[str, object]]:
    with theanine.open(url) as client:
        return list(client.export())


def remember(url: str) -> list[dict[str, object]]:
    """Fill a store with turns, memories and vectors, and return its records."""
    with theanine.open(url) as client:
        client.user("ana").log(demo())
        client.user("ana").remember()
    with theanine.open(url, method="theanine-paper") as client:
        client.user("ana").recall("my boat")  # makes the vectors of memories
    records = export(url)
    assert {"turn", "memory", "vector"} <= {record["type"] for record in records}
    return records


def test_a_dump_is_restored_with_the_same_records(server: Server) -> None:
    url = server.create_database("first")
    expected = remember(url)
    dump = server.folder / "data" / "first.dump"
    # As the owner of the tables, whom row-level security binds.
    source = f"{url}?options=-c%20theanine.scope%3D*"
    server.run("pg_dump", "--enable-row-security", "-Fc", "-f", dump, source)
    url = server.create_database("second")
    server.run("pg_restore", "--exit-on-error", "-d", server.url("second", user="postgres"), dump)
    assert export(url) == expected
    with theanine.open(url) as client:  # as the role that owns the tables
        client.user("ana").add("I keep bees on the roof.")


def test_a_store_is_restored_to_a_point_in_time(server: Server) -> None:
    """What follows a base backup comes from the archived log, up to the mistake."""
    url = server.create_database("memory")
    base = server.folder / "base"
    server.run(
        "pg_basebackup", "-c", "fast", "-D", base, "-d", server.url("postgres", user="postgres")
    )
    expected = remember(url)
    server.execute("SELECT pg_create_restore_point('before the mistake')")
    with theanine.open(url) as client:
        client.user("ana").forget_all()
    server.execute("SELECT pg_switch_wal()")
    server.stop(signal.SIGINT)  # which archives the last of its log
    (base / "recovery.signal").touch()
    restored = Server(
        base,
        fsync="off",
        archive_mode="off",
        restore_command=f"cp {server.folder}/archive/%f %p",
        recovery_target_name="before the mistake",
        recovery_target_action="promote",
    )
    try:
        while restored.execute("SELECT pg_is_in_recovery()") == [(True,)]:
            sleep(0.05)
        assert export(restored.url("memory")) == expected
    finally:
        restored.remove()
