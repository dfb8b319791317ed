"""Notifications of a PostgreSQL server, which wake workers; they are hints that may not come."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import psycopg
import pytest

import theanine
from support import debian_postgres
from support.postgres import MISSING, database_url
from theanine.store import open_store
from theanine.store.notifications import CHANNEL, Listener
from theanine.testing.contract.histories import demo

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
    pytest.mark.slow,
    pytest.mark.anyio,
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_url(tmp_path)


async def log_session(url: str) -> None:
    """Log an ended session by a client of its own."""
    async with theanine.aopen(url, remembering="later") as client:
        await client.user("ana").add("I'm terrified of ships since the storm.")


async def test_a_worker_remembers_at_once_what_another_process_has_ended(url: str) -> None:
    async with theanine.aopen(url) as client:
        worker = client.worker(poll=3_600, progress=lambda _: worker.stop())
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(worker.run)
                await _wait_for_listener(url)
                await log_session(url)
        assert len(await client.user("ana").memories()) == 1


@pytest.fixture
async def listener(url: str) -> AsyncIterator[Listener]:
    """A listener of the store that has begun to listen."""
    store = open_store(url)
    await store.open()
    listener = store.listener()
    assert listener
    assert await listener.wait(60), "it listens from now on; what came before is looked for"
    assert not await listener.wait(0.1)
    yield listener
    await listener.close()
    await store.close()
    assert not _listeners(url)


async def _expect_notification(listener: Listener) -> None:
    started = time.monotonic()
    assert await listener.wait(60)
    assert time.monotonic() - started < 50


async def test_an_ended_session_and_one_that_is_retried_notify(
    url: str, listener: Listener
) -> None:
    await log_session(url)
    await _expect_notification(listener)
    async with theanine.aopen(url) as client:
        await client.user("ana").retry_remembering(1)
        await _expect_notification(listener)
        await client.user("ana").session("open").hear("Hello.")
    assert not await listener.wait(0.2), "nothing to remember"


async def test_a_transaction_of_many_sessions_notifies_once(url: str, listener: Listener) -> None:
    history = demo()
    async with theanine.aopen(url, remembering="later") as client:
        await client.user(history.name).log(history)
    await _expect_notification(listener)
    assert not await listener.wait(0.2)


async def test_a_lost_connection_is_opened_again(url: str, listener: Listener) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )
    assert not await listener.wait(0.2)
    await log_session(url)
    await _expect_notification(listener)


async def test_a_listener_that_is_cancelled_leaves_no_connection(url: str) -> None:
    async with theanine.aopen(url) as client:
        for delay in (0.0, 0.005, 0.01, 0.02, 0.3):
            with anyio.move_on_after(delay):
                await client.worker(poll=3_600).run()
        with anyio.fail_after(30):
            while _listeners(url):  # noqa: ASYNC110 (the server is another process)
                await anyio.sleep(0.05)


async def test_two_workers_of_one_client_are_both_notified(url: str) -> None:
    store = open_store(url)
    await store.open()
    listeners = [store.listener(), store.listener()]
    async with anyio.create_task_group() as tasks:
        for listener in listeners:
            assert listener
            assert await listener.wait(60)
            tasks.start_soon(_expect_notification, listener)
        await log_session(url)
    for listener in listeners:
        assert listener
        await listener.close()
    await store.close()


@pytest.mark.skipif(bool(debian_postgres.MISSING), reason=debian_postgres.MISSING)
async def test_through_a_pool_of_connections_nobody_listens(tmp_path: Path) -> None:
    store = open_store(debian_postgres.pooled_url(tmp_path))
    direct = debian_postgres.pooled_url(tmp_path, pooled=False)
    await store.open()
    listener = store.listener()
    assert listener
    started = time.monotonic()
    for _ in range(2):
        await log_session(direct)
        assert not await listener.wait(0.3)
    assert time.monotonic() - started > 0.5
    assert not _listeners(direct)
    await store.close()


def _listeners(url: str) -> int:
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE query = %s AND datname = current_database()"
    )
    with psycopg.connect(url) as db:
        [(count,)] = db.execute(query, [f"LISTEN {CHANNEL}"]).fetchall()
    return int(count)


async def _wait_for_listener(url: str) -> None:
    with anyio.fail_after(30):
        while not _listeners(url):  # noqa: ASYNC110 (the server is another process)
            await anyio.sleep(0.05)
