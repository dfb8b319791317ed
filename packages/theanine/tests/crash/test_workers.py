"""Worker processes that are killed, stopped or asked to end while a model answers."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import theanine
from support.forking import Python
from support.postgres import MISSING, database_url
from support.running import START
from theanine.testing import ScriptedServer, answer

pytestmark = pytest.mark.slow

LEASE = 1.5
"""Seconds; long enough for a heartbeat on a busy machine, and nobody wants to wait for more."""
PATIENCE = 30.0
LONG = 20.0
"""Seconds of an answer that no test waits for."""
ON_SERVER = pytest.param("postgres", marks=pytest.mark.skipif(bool(MISSING), reason=MISSING))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer, latency=LONG) as server:
        yield server


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The location of a store with one session to remember."""
    kind = getattr(request, "param", "sqlite")
    location = database_url(tmp_path) if kind == "postgres" else str(tmp_path / "memory.db")
    with theanine.open(location, method="memory-retrieval", remembering="later") as client:
        client.user("ana").add("I sold the boat because the engine died.")
    return location


def start(store: str, server: ScriptedServer, *options: str) -> Python:
    model = ["--model", "openai:scripted", "--base-url", server.base_url]
    options = ("--method", "memory-retrieval", "--poll", "0.1", "--lease", str(LEASE), *options)
    environment = {"OPENAI_API_KEY": "none"}
    return Python(START, "worker", "--store", store, *model, *options, environment=environment)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def check_remembered_once(store: str) -> None:
    with theanine.open(store) as client:
        assert client.pending(cancelled=True) == []
        assert len(client.user("ana").memories()) == 1
        assert client.check() == ""


def move_to_another_machine(store: str) -> None:
    """Give the lease a holder of a machine that this one knows nothing of."""
    if "://" not in store:
        with sqlite3.connect(store, timeout=10) as db:
            db.execute(
                "UPDATE scope_state SET lease_holder = 'elsewhere:1:1' WHERE lease_holder <> ''"
            )
        db.close()


@pytest.mark.parametrize("store", ["sqlite", ON_SERVER], indirect=True)
def test_what_a_killed_worker_leaves_is_resumed_within_the_lease(
    store: str, server: ScriptedServer
) -> None:
    with start(store, server) as killed:
        wait_until(lambda: server.calls)
        move_to_another_machine(store)
        killed.kill()
        killed.wait()
    server.latency = 0.0
    with start(store, server) as another:
        assert another.stdout.readline().startswith("remembered user=ana session=1 ")
        another.terminate()
        assert another.wait() == 0
    check_remembered_once(store)


@pytest.mark.parametrize("store", ["sqlite", ON_SERVER], indirect=True)
def test_a_stopped_worker_that_wakes_after_its_lease_writes_nothing(
    store: str, server: ScriptedServer
) -> None:
    server.latency = LEASE
    with start(store, server) as stopped:
        wait_until(lambda: server.calls)
        stopped.send(signal.SIGSTOP)
        with start(store, server) as another:
            line = another.stdout.readline()
            assert line.startswith("remembered user=ana session=1 "), line
            stopped.send(signal.SIGCONT)
            line = stopped.stdout.readline()
            assert line.startswith("taken-over user=ana session=1 "), line
            for process in (stopped, another):
                process.terminate()
                assert process.wait() == 0
    check_remembered_once(store)


def test_the_file_frees_at_once_what_a_dead_process_holds(
    store: str, server: ScriptedServer
) -> None:
    with start(store, server, "--lease", "3600") as killed:
        wait_until(lambda: server.calls)
        killed.kill()
        killed.wait()
    server.latency = 0.0
    with start(store, server, "--once") as another:
        assert another.communicate()[0] == 0
    check_remembered_once(store)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_asked_to_end_finishes_its_session(
    store: str, server: ScriptedServer, number: int
) -> None:
    server.latency = 1.0
    with start(store, server) as process:
        wait_until(lambda: server.calls)
        process.send(number)
        code, out, err = process.communicate()
        assert (code, out.count("\n")) == (0, 1), (out, err)
        assert out.startswith("remembered user=ana session=1 seconds=")
        assert " memories=1 links=0 calls=1 cost=" in out
        assert "stopping: sessions in progress are finished first" in err
        assert err.endswith("theanine: 1 remembered\n")
    check_remembered_once(store)


def test_after_the_grace_the_lease_is_released(store: str, server: ScriptedServer) -> None:
    with start(store, server, "--grace", "0.2", "--lease", "3600") as process:
        wait_until(lambda: server.calls)
        process.terminate()
        assert process.wait() == 0
    with theanine.open(store) as client:
        assert [item.state for item in client.pending()] == ["waiting"]


def test_a_second_signal_leaves_at_once(store: str, server: ScriptedServer) -> None:
    with start(store, server, "--lease", "3600") as process:
        wait_until(lambda: server.calls)
        process.terminate()
        assert "second signal" in process.stderr.readline() + process.stderr.readline()
        process.interrupt()
        assert process.wait() == 130
    with theanine.open(store) as client:
        assert [item.state for item in client.pending()] == ["waiting"]
