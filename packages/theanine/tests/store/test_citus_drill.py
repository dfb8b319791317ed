"""A worker dies and comes back, and users move to another, while they talk.

``make drill`` prints the counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Thread

import psycopg
import pytest

import theanine
from support import citus
from support.running import Terminal
from theanine.errors import StoreUnavailable, WriteUnconfirmed

pytestmark = [
    pytest.mark.skipif(bool(citus.MISSING), reason=citus.MISSING),
    pytest.mark.slow,
]

_USERS = 8
_ENOUGH = 120.0  # seconds in which everything here happens, however slow the machine


@pytest.fixture
def cluster() -> Iterator[citus.Cluster]:
    cluster = citus.start_cluster(workers=3)
    yield cluster
    cluster.stop()


@dataclass(slots=True)
class Writer:
    """Says one turn after the other as a user, each until it is acknowledged.

    Attributes:
        acknowledged: the ids of turns that are stored, as the client was told.
        errors: errors that said to try again, by their names.
        failure: the error that didn't, if any.
        waits_since: when the call that has not returned began, by the monotonic clock.
    """

    url: str
    user: str
    stop: Event
    acknowledged: list[str] = field(default_factory=list[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    failure: BaseException | None = None
    waits_since: float | None = None

    def run(self) -> None:
        try:
            with theanine.open(self.url) as client:
                live = client.user(self.user).session("thread")
                for number in count():
                    while not self._say(live, str(number)):
                        if self.stop.wait(0.1):
                            return
                    if self.stop.wait(0.02):
                        return
        except BaseException as error:  # noqa: BLE001 (what ends a thread is lost)
            self.failure = error

    def _say(self, live: theanine.LiveSession, id: str) -> bool:
        self.waits_since = time.monotonic()
        try:
            live.hear(f"Turn {id} of {self.user}.", id=id)
        except (StoreUnavailable, WriteUnconfirmed) as error:
            self.errors[type(error).__name__] += 1
            return False
        finally:
            self.waits_since = None
        self.acknowledged.append(id)
        return True


def wait_until(what: str, writers: list[Writer], reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _ENOUGH
    while not reached():
        for writer in writers:
            assert writer.failure is None, writer.failure
        assert time.monotonic() < deadline, f"never {what}: {writers}"
        time.sleep(0.05)


def test_a_dead_worker_and_a_rebalance_lose_no_turn(cluster: citus.Cluster, run: Terminal) -> None:
    url = cluster.url()
    ports = {cluster.port(worker): worker for worker in cluster.workers}

    def query(statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(url, autocommit=True) as db:
            done = db.execute(statement.encode())
            return done.fetchall() if done.description else []

    def place() -> dict[str, str]:
        """Return the worker of each user."""
        rows = query(
            'SELECT "user", nodeport FROM scope JOIN pg_dist_shard_placement ON shardid = '
            "get_shard_id_for_distribution_column('scope_state', scope.id)"
        )
        return {str(user): ports[int(str(port))] for user, port in rows}

    def hold_shards(worker: str, *, hold: bool) -> None:
        port = cluster.port(worker)
        query(f"SELECT citus_set_node_property('127.0.0.1', {port}, 'shouldhaveshards', {hold})")

    hold_shards("worker3", hold=False)
    run.bare("db", "distribute", "--shards", "8", "--store", url)
    query("CREATE ROLE theanine LOGIN")
    query("ALTER SCHEMA public OWNER TO theanine")
    for (table,) in query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        query(f'ALTER TABLE "{table}" OWNER TO theanine')
    owner = url.replace("postgres@", "theanine@")
    stop = Event()
    writers = [Writer(owner, f"user{number}", stop) for number in range(_USERS)]
    threads = [Thread(target=writer.run) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        _write_more(writers, 5)
        placed = place()
        assert set(placed.values()) == {"worker1", "worker2"}
        there = [writer for writer in writers if placed[writer.user] == "worker1"]
        elsewhere = [writer for writer in writers if placed[writer.user] == "worker2"]

        cluster.kill("worker1")
        wait_until("failed where it is dead", there, lambda: all(each.errors for each in there))
        _write_more(elsewhere, 10)
        assert not any(writer.errors for writer in elsewhere)
        refused, welcomed = _greet_new_users(owner)
        checked = run.bare("doctor", "--no-ask", "--store", url, fine=False)
        assert f"Start 127.0.0.1:{cluster.port('worker1')}" in checked.out

        cluster.start("worker1")
        _write_more(writers, 5)
        while_dead = sum((writer.errors for writer in writers), Counter[str]())

        hold_shards("worker3", hold=True)
        _kill_rebalance(url, owner, run)
        run.bare("db", "rebalance", "--store", url)  # Citus may have made the moves by itself
        _write_more(writers, 5)
        assert "worker3" in place().values()
    finally:
        stop.set()
        for thread in threads:
            thread.join()

    walls = run.bare("doctor", "--no-ask", "--store", owner, fine=False)
    assert "row-level security holds" in walls.out
    assert run.bare("db", "rebalance", "--store", url).out.startswith("Nothing to move")
    with theanine.open(url) as client:
        for writer in writers:
            stored = [turn.key for turn in client.user(writer.user).turns()]
            assert len(stored) == len(set(stored)), f"{writer.user} has a turn twice"
            assert set(writer.acknowledged) <= set(stored), f"{writer.user} has lost a turn"
            assert len(set(stored) - set(writer.acknowledged)) <= 1  # the last one
        for user in (*refused, *welcomed):
            assert [turn.text for turn in client.user(user).turns()] == ["Hello."]
    total = sum(len(writer.acknowledged) for writer in writers)
    errors = sum((writer.errors for writer in writers), Counter[str]())
    print(
        f"{_USERS} users, {len(there)} of them on the worker that died: {total} turns "
        f"acknowledged, each stored once. Errors to retry while it was dead: {dict(while_dead)}; "
        f"elsewhere: 0; during the rebalance: {dict(errors - while_dead)}. New users while it was "
        f"dead: {len(welcomed)} stored, {len(refused)} told to try again."
    )


def _write_more(writers: list[Writer], turns: int) -> None:
    """Wait until every writer has got that many more turns acknowledged."""
    goals = [len(writer.acknowledged) + turns for writer in writers]

    def reached() -> bool:
        return all(
            len(each.acknowledged) >= goal for each, goal in zip(writers, goals, strict=True)
        )

    wait_until("written", writers, reached)


def _kill_rebalance(url: str, owner: str, run: Terminal) -> None:
    """Start a rebalance, and kill the command as soon as it runs."""
    command = [sys.executable, "-c", "from theanine.cli import main; main()"]
    with subprocess.Popen([*command, "db", "rebalance", "--store", url], stderr=-1) as process:
        assert process.stderr is not None
        assert b"of 2 moves done" in process.stderr.readline()
        process.kill()
    checked = run.bare("doctor", "--no-ask", "--store", owner, fine=False)
    assert "Let `theanine db rebalance` come to its end" in checked.out


def _greet_new_users(url: str) -> tuple[list[str], list[str]]:
    """Let new users come until one was refused and one was stored; return both."""
    refused: list[str] = []
    welcomed: list[str] = []
    with theanine.open(url) as client:

        def stored(user: str) -> bool:
            try:
                client.user(user).session("thread").hear("Hello.", id="hello")
            except StoreUnavailable:
                return False
            return True

        for number in range(100):
            user = f"new{number}"
            if stored(user):
                welcomed.append(user)
            else:  # nothing of this user is left, so a new try may get another worker's shard
                refused.append(user)
                wait_until("stored", [], lambda user=user: stored(user))
            if refused and welcomed:
                break
    return refused, welcomed
