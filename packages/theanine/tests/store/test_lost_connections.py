"""What is acknowledged is there exactly once, whenever a connection or the server is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from time import sleep
from typing import TypeVar
from uuid import uuid4

import anyio
import pytest
import sqlalchemy as sa

import theanine
from support.debian_postgres import NO_PROGRAMS, Server
from support.proxy import Cut, CuttingProxy
from theanine.errors import StoreError, StoreUnavailable
from theanine.store import open_store
from theanine.store.sql.store import SqlStore

pytestmark = [pytest.mark.skipif(bool(NO_PROGRAMS), reason=NO_PROGRAMS), pytest.mark.slow]

T = TypeVar("T")
COMMIT = b"COMMIT\0"
WRITERS, TURNS = 4, 10


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that a test may kill, if it starts it again."""
    server = Server(fsync="off")  # for a killed process; the system lives on
    yield server
    server.remove()


@pytest.fixture
def url(server: Server) -> str:
    """The URL of a new store with two connections for each client."""
    url = server.create_database(f"t_{uuid4().hex}") + "?pool_size=2"
    theanine.open(url).close()
    return url


def repeat(call: Callable[[], T]) -> T:
    """Repeat a call while the store says that nothing was stored, for half a minute at most."""
    for _ in range(150):
        try:
            return call()
        except StoreUnavailable:
            sleep(0.2)
    return call()


def write(url: str, writer: int, turns: int = TURNS) -> None:
    """Log turns without ids. Each user has two writers, who overtake each other."""
    with repeat(lambda: theanine.open(url)) as client:
        session = client.user(f"user {writer % 2}").session(f"session {writer}")
        for number in range(turns):
            repeat(lambda text=f"Turn {number} of writer {writer}.": session.hear(text))


def write_at_once(url: str, meanwhile: Callable[[Event], object] = lambda done: None) -> None:
    """Have all writers write at once, and do something else until they are done."""
    done = Event()
    with ThreadPoolExecutor() as threads:
        other = threads.submit(meanwhile, done)
        writers = [threads.submit(write, url, writer) for writer in range(WRITERS)]
        try:
            for writer in writers:
                writer.result()
        finally:
            done.set()
        other.result()


def count_turns(url: str) -> Counter[str]:
    """Return how often each text is stored."""
    with theanine.open(url) as client:
        return Counter(
            turn.text for user in client.users() for turn in client.user(user.user).turns()
        )


EVERY_TURN = Counter(
    f"Turn {number} of writer {writer}." for number in range(TURNS) for writer in range(WRITERS)
)


def through(proxy: CuttingProxy, server: Server, url: str) -> str:
    return url.replace(f":{server.port}/", f":{proxy.port}/")


def test_a_commit_that_is_cut_is_done_once(server: Server, url: str) -> None:
    """The request is lost in half of the cases, the reply in the others: stored or not."""
    commits = count()

    def choose(data: bytes) -> Cut:
        if COMMIT not in data:
            return ""
        number = next(commits)
        return "" if number % 4 else "request" if number % 8 else "reply"

    with CuttingProxy(server.port, choose) as proxy:
        write_at_once(through(proxy, server, url))
    assert set(proxy.cuts) == {"request", "reply"}
    assert count_turns(url) == EVERY_TURN


def test_connections_are_cut_anywhere(server: Server, url: str) -> None:
    chance = random.Random(7)

    def choose(_: bytes) -> Cut:
        return chance.choice(("request", "reply")) if chance.random() < 0.03 else ""

    with CuttingProxy(server.port, choose) as proxy:
        write_at_once(through(proxy, server, url))
    assert set(proxy.cuts) == {"request", "reply"}
    assert count_turns(url) == EVERY_TURN


def test_ended_connections_lose_and_double_nothing(server: Server, url: str) -> None:
    ended = 0

    def end_connections(done: Event) -> None:
        nonlocal ended
        rounds = 0
        while rounds < 10 and not done.wait(0.02):  # often: a fast machine soon has written all
            connections = server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'theanine'"
            )
            ended += len(connections)
            if connections:
                rounds += 1
                done.wait(0.1)

    write_at_once(url, end_connections)
    assert ended
    assert count_turns(url) == EVERY_TURN


def test_a_killed_server_loses_and_doubles_nothing(server: Server, url: str) -> None:
    def kill_and_start(done: Event) -> None:
        for _ in range(3):
            server.kill()
            done.wait(0.2)
            server.start()
            done.wait(0.5)

    write_at_once(url, kill_and_start)
    assert count_turns(url) == EVERY_TURN


def test_a_server_that_was_restarted_between_calls_is_no_error(server: Server, url: str) -> None:
    with theanine.open(url) as client:
        client.user("ana").add("I keep bees on the roof.")
        server.stop()
        server.start()
        client.user("ana").add("I sold the boat.")
        server.kill()
        server.start()
        assert len(client.user("ana").turns()) == 2


def test_a_server_that_stays_away_is_named(server: Server, url: str) -> None:
    with theanine.open(url) as client:
        ana = client.user("ana")
        ana.add("I keep bees on the roof.")
        server.stop()
        try:
            with pytest.raises(StoreUnavailable, match="can't be reached"):
                ana.add("I sold the boat.")
        finally:
            server.start()
        ana.add("I bought a car.")
        assert [turn.text for turn in ana.turns()] == [
            "I keep bees on the roof.",
            "I bought a car.",
        ]


def test_calls_wait_for_a_connection_for_as_long_as_the_url_says(url: str) -> None:
    """Each of the records that are read keeps a connection."""
    with theanine.open(f"{url}&pool_timeout=1") as client:
        client.user("ana").add("I keep bees on the roof.")
        reading = [client.export() for _ in range(2)]
        for records in reading:
            next(records)
        with pytest.raises(StoreUnavailable, match=r"all 2 connections .* 1 s.* pool_size"):
            client.user("ana").turns()
        for records in reading:
            assert list(records)
        assert len(client.user("ana").turns()) == 1


@pytest.mark.parametrize(
    ("message", "passes"),
    [
        ("server closed the connection unexpectedly", True),
        ("failure on connection marked as essential: 127.0.0.1:5433", True),
        ("could not commit transaction for shard 102088 on at least one active node", True),
        ("cache lookup failed for type 7", False),
    ],
)
def test_a_lost_worker_that_citus_reports_as_internal_can_be_tried_again(
    url: str, message: str, passes: bool
) -> None:
    def fail(db: sa.Connection) -> None:
        raised = f"RAISE EXCEPTION '{message}' USING ERRCODE = 'XX000'"
        db.exec_driver_sql(f"DO $$ BEGIN {raised}; END $$")

    async def check() -> None:
        store = open_store(url)
        assert isinstance(store, SqlStore)
        await store.open()
        try:
            with pytest.raises(StoreError) as raised:
                await store.write(fail)
            assert isinstance(raised.value, StoreUnavailable) is passes
        finally:
            await store.close()

    anyio.run(check)
