"""What was hidden is erased without a service, by a worker, and exactly once through any kill."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import theanine
from server.conftest import write_to
from theanine.clock import system_clock
from theanine.errors import LeaseLost
from theanine.store import open_store
from theanine.store.sql import erasures
from theanine.store.sql import schema as t
from theanine.store.sql.store import SqlStore
from theanine.types import MemoryBatch, Scope
from theanine_server import operations as work
from theanine_server.operations import Operation

ANA = Scope("ana")
SAID = ("I moved to Split in May.", "My sister Bura bakes bread.", "I sail on Sundays.")
LIMIT = 300


@pytest.fixture
def location(tmp_path: Path) -> str:
    """A store in which ana has said three things that nobody has remembered yet."""
    path = str(tmp_path / "memory.db")
    say(path, SAID)
    return path


def say(location: str, texts: tuple[str, ...], user: str = "ana") -> None:
    with theanine.open(location, remembering="later") as client:
        for text in texts:
            client.user(user).add(text)


def in_store(location: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    return anyio.run(write_to, location, partial(function, *args, **kwargs))


def hide(location: str, session: int | None, pause: timedelta = timedelta()) -> Operation:
    found = {"session": session, "memory": None, "at": system_clock(), "pause": pause}
    return in_store(location, work.begin_forgetting, scope=ANA, **found)


def test_what_is_heard_in_a_hidden_session_is_hidden(location: str) -> None:
    with theanine.open(location) as client:
        ana = client.user("ana")
        ana.add("I have a boat called Tovar.", session="talk")
        [talk] = {turn.session for turn in ana.turns(search="Tovar")}
        hide(location, talk, timedelta(hours=1))
        ana.add("I am allergic to walnuts.", session="talk")
        assert "walnuts" not in str(ana.turns())
        assert "walnuts" not in str(ana.search("walnuts"))
        assert "walnuts" not in ana.recall("What is Ana allergic to?").text
        assert "walnuts" not in str(ana.profile())
        ana.add("I am allergic to peanuts.")
        assert "peanuts" in str(ana.search("peanuts"))
        assert "peanuts" in ana.recall("What is Ana allergic to?").text
        assert "peanuts" in str(ana.profile())


def load(location: str, operation: Operation) -> Operation:
    return in_store(location, work.load_operation, tenant=ANA.tenant, operation=operation.id)


def worker(location: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "theanine", "worker", "--once", "--store", location]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def work_once(location: str) -> str:
    with worker(location) as process:
        printed, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, printed
    return printed


def texts(location: str) -> str:
    """Return all turns and memories of ana."""
    with theanine.open(location) as client:
        ana = client.user("ana")
        return str([*ana.turns(), *ana.memories()])


def test_a_worker_erases_what_is_due_and_remembers_the_rest(location: str) -> None:
    erased, waiting = hide(location, 2), hide(location, 3, timedelta(hours=1))
    assert "session=2" not in work_once(location)
    ended = load(location, erased)
    [receipt] = ended.result["receipts"]
    assert (ended.state, receipt["turns"], receipt["verified"]) == ("succeeded", 1, True)
    assert b"bakes bread" not in Path(location).read_bytes()
    assert load(location, waiting).state == "waiting"
    assert "Split" in texts(location) and "Sundays" not in texts(location)


def test_a_hidden_session_is_not_remembered_until_it_is_shown_again(location: str) -> None:
    hidden = hide(location, 2, timedelta(hours=1))
    assert work_once(location).count("remembered") == 2
    with theanine.open(location) as client:
        assert client.user("ana").pending(cancelled=True) == []
        assert client.user("ana").remember() == []
    in_store(location, work.undo_forgetting, scope=ANA, operation=hidden.id, at=system_clock())
    assert work_once(location).count("remembered") == 1
    with theanine.open(location) as client:
        assert len(client.user("ana").memories()) == 3


def test_who_is_remembering_it_when_it_is_hidden_commits_nothing(location: str) -> None:
    async def run() -> None:
        store = open_store(location)
        await store.open()
        try:
            lease = await store.acquire_lease(ANA, "a worker", timedelta(minutes=5))
            assert lease is not None and isinstance(store, SqlStore)
            options = {"session": 2, "memory": None, "pause": timedelta(hours=1)}
            begin = partial(work.begin_forgetting, scope=ANA, at=system_clock(), **options)
            await store.write(begin)
            with pytest.raises(LeaseLost):
                await store.commit_batch(
                    ANA, 2, "theanine", MemoryBatch(), embedder="e", lease=lease, at=system_clock()
                )
        finally:
            await store.close()

    anyio.run(run)


def test_no_process_ends_what_another_one_is_erasing(location: str) -> None:
    hidden = hide(location, 2)
    due = in_store(location, erasures.find_due_erasure)
    assert in_store(location, erasures.take_erasure, due=due)
    assert not in_store(location, erasures.take_erasure, due=due), "it is taken"
    assert in_store(location, erasures.find_due_erasure) is None
    work_once(location)
    assert load(location, hidden).state == "running"


def test_a_process_that_was_thought_dead_ends_no_erasure(location: str) -> None:
    hidden = hide(location, 2)
    first = in_store(location, erasures.find_due_erasure)
    assert in_store(location, erasures.take_erasure, due=first)
    in_store(location, _let_time_pass)
    second = in_store(location, erasures.find_due_erasure)
    assert in_store(location, erasures.take_erasure, due=second)
    assert not in_store(location, erasures.renew_erasure, due=first)
    in_store(location, erasures.end_erasure, due=first, report=None)
    in_store(location, erasures.fail_erasure, due=first, error="late")
    now = load(location, hidden)
    assert (now.state, now.error, now.tries) == ("running", "", 2)
    in_store(location, _let_time_pass)
    work_once(location)
    ended = load(location, hidden)
    assert (ended.state, ended.result["turns"], ended.tries) == ("succeeded", 1, 3)


def test_what_is_gone_already_is_a_success_without_a_receipt(location: str) -> None:
    hidden = hide(location, 2, timedelta(hours=1))
    with theanine.open(location) as client:
        client.user("ana").forget(session=2)
    in_store(location, work.confirm_forgetting, scope=ANA, operation=hidden.id)
    work_once(location)
    ended = load(location, hidden)
    assert (ended.state, ended.result) == ("succeeded", {"receipts": []})
    assert "Split" in texts(location)


@pytest.mark.slow
def test_a_kill_after_the_erasure_loses_no_receipt(location: str) -> None:
    say(location, ("word " * 200_000,) * 4, user="bo")  # so that the files take time to clean
    hidden = [hide(location, session) for session in (1, 2, 3)]
    killed: set[str] = set()
    for _ in range(2 * len(hidden)):
        with worker(location) as process:
            while process.poll() is None:
                now = (load(location, each) for each in hidden if each.id not in killed)
                for each in now:
                    if each.state == "running" and "receipts" in each.result:
                        process.kill()  # between the erasure and the search of the files
                        killed.add(each.id)
        in_store(location, _let_time_pass)
        if all(load(location, each).state == "succeeded" for each in hidden):
            break
    for operation in hidden:
        ended = load(location, operation)
        assert ended.state == "succeeded"
        assert [receipt["turns"] for receipt in ended.result["receipts"]] == [1]
    assert killed
    assert texts(location) == "[]"
    assert not any(text.encode() in Path(location).read_bytes() for text in SAID)


def _let_time_pass(db: Any) -> None:
    """Have the time be over in which a process that was killed would have searched the files."""
    running = t.operation.c.state == "running"
    db.execute(t.operation.update().where(running).values(until=0))
