"""Notifications of a PostgreSQL server, which wake workers; they are hints that may not come."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import psycopg
import pytest

import theanine
from support import debian_postgres
from support.postgres import MISSING, database_url
from theanine.store import Store, open_store
from theanine.store.notifications import CHANNEL

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


async def test_a_session_that_is_retried_is_a_notification(url: str) -> None:
    await log_session(url)
    async with theanine.aopen(url) as client:
        store = open_store(url)
        await store.open()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_expect_notification, store)
            await _wait_for_listener(url)
            await client.user("ana").retry_remembering(1)
        await store.close()


async def test_what_is_notified_before_somebody_waits_is_received(url: str) -> None:
    store = open_store(url)
    await store.open()
    assert not await store.wait_for_pending(0.1)
    await log_session(url)
    await _expect_notification(store)
    await store.close()


async def test_a_lost_connection_is_opened_again(url: str) -> None:
    store = open_store(url)
    await store.open()
    assert not await store.wait_for_pending(0.1)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        )
    assert not await store.wait_for_pending(0.5)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_expect_notification, store)
        await _wait_for_listener(url)
        await log_session(url)
    await store.close()


@pytest.mark.skipif(bool(debian_postgres.MISSING), reason=debian_postgres.MISSING)
async def test_through_a_pool_of_connections_nobody_listens(tmp_path: Path) -> None:
    store = open_store(debian_postgres.pooled_url(tmp_path))
    direct = debian_postgres.pooled_url(tmp_path, pooled=False)
    await store.open()
    started = time.monotonic()
    for _ in range(2):
        await log_session(direct)
        assert not await store.wait_for_pending(0.3)
    assert time.monotonic() - started > 0.5
    assert not _listeners(direct)
    await store.close()


async def _expect_notification(store: Store) -> None:
    started = time.monotonic()
    assert await store.wait_for_pending(60)
    assert time.monotonic() - started < 50


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
