"""Workers in this process: whose turn it is, what fails, and what else they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

import theanine
from theanine.errors import BadInput, EmbedderMismatch, SettingsError
from theanine.methods.registry import open_method
from theanine.remembering.remember import MAX_ATTEMPTS
from theanine.store.processes import process_holder
from theanine.store.sqlite import SqliteStore
from theanine.testing import ScriptedServer, answer, status
from theanine.types import MemoryBatch, Scope, Utterance

pytestmark = pytest.mark.anyio

START = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


class Picky:
    """A method that raises errors of its own for some words."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self._method, self._error = open_method("theanine"), error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    async def remember(self, session: Any, turns: Any, imported: Any, context: Any) -> MemoryBatch:
        if "poison" in str(turns):
            raise self._error()
        return await self._method.remember(session, turns, imported, context)


async def say(client: theanine.AsyncClient, user: str, *texts: str) -> None:
    """Log one ended session for each text."""
    for number, text in enumerate(texts):
        await client.user(user).add(text, at=START + timedelta(days=number))


def later(path: str, **options: Any) -> theanine.AsyncClient:
    return theanine.aopen(path, remembering="later", **options)


async def test_a_worker_remembers_all_users_and_takes_turns(path: str) -> None:
    order: list[str] = []
    async with later(path) as client:
        await say(client, "busy", *(f"I saw ship {number} at the pier." for number in range(30)))
        for user in ("ana", "ben"):
            await say(client, user, "I keep bees on the roof.", "I sold the bees.")
        worker = client.worker(
            concurrency=1, progress=lambda report: order.append(report.scope.user)
        )
        await worker.run(once=True)
        assert await client.pending() == []
        assert Counter(order) == {"busy": 30, "ana": 2, "ben": 2}
        assert max(order.index("ana"), order.index("ben")) < 12, "nobody waits for the busy one"
        assert len(await client.user("ana").memories()) == 2


async def test_a_stopped_worker_finishes_the_session_and_runs_no_more(path: str) -> None:
    async with later(path) as client:
        await say(client, "ana", *(f"I saw ship {number}." for number in range(20)))
        worker = client.worker(poll=0.1, progress=lambda _: worker.stop())
        with anyio.fail_after(20):
            await worker.run()
        assert len(await client.pending()) == 19
        assert await client.worker().run(once=True) is None
        assert await client.pending() == []


async def test_a_worker_sees_what_ends_while_it_runs(path: str) -> None:
    async with later(path) as client, later(path) as application:
        done = anyio.Event()
        worker = client.worker(poll=0.05, progress=lambda _: done.set())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run)
            with anyio.fail_after(20):
                await say(application, "ana", "I keep bees on the roof.")
                await done.wait()
            worker.stop()


@pytest.mark.parametrize("error", [lambda: KeyError("tea"), lambda: BadInput("no tea")])
async def test_what_fails_for_ever_is_set_aside_and_holds_nobody_up(
    path: str, error: Callable[[], Exception]
) -> None:
    reports: list[theanine.RememberReport] = []
    async with later(path, method=Picky(error)) as client:
        await say(client, "ana", "poison", "I keep bees on the roof.")
        await say(client, "ben", "I sold the boat.")
        for attempt in range(1, MAX_ATTEMPTS + 1):
            await client.worker(progress=reports.append).run(once=True)
            [failed] = [item for item in await client.pending() if item.session == 1]
            assert failed.attempts == attempt
            later_one = [item for item in await client.pending() if item.session == 2]
            assert bool(later_one) == (attempt < 3), "after three, it holds nobody up"
            assert await client.user("ben").pending() == []
            if attempt < MAX_ATTEMPTS:
                assert (failed.state, failed.due) == ("failed", False)
                seen = len(reports)
                await client.worker(progress=reports.append).run(once=True)
                assert len(reports) == seen, "it waits for its time"
                await make_due(path)
        [failed] = await client.pending()
        assert (failed.state, "tea" in (failed.failure or "")) == ("set aside", True)
        assert [report.set_aside for report in reports if report.failure][-1]
        await make_due(path)
        await client.worker(progress=reports.append).run(once=True)
        assert len(reports) == MAX_ATTEMPTS + 2
        assert await client.user("ana").retry_remembering(1) == 1
        await client.worker().run(once=True)
        assert [item.attempts for item in await client.pending()] == [1]
        assert await client.user("ana").cancel_remembering(1)
        assert await client.pending() == []
        assert [item.state for item in await client.pending(cancelled=True)] == ["cancelled"]
        assert await client.remember() == []
        [session] = await client.user("ana").sessions(search="poison")
        assert session.set_aside == "cancelled"
    async with later(path) as repaired:
        assert await repaired.retry_remembering() == 1
        await repaired.worker().run(once=True)
        assert await repaired.pending(cancelled=True) == []


async def make_due(path: str) -> None:
    """Let the time until the next try pass."""
    store = SqliteStore(path)
    await store.open()
    with store.engine.begin() as db:
        db.exec_driver_sql("UPDATE remembering SET retry_at = 0 WHERE retry_at IS NOT NULL")
    await store.close()


async def test_an_outage_sets_nothing_aside_at_once(path: str) -> None:
    limits = theanine.Limits(retries=0, first_wait=0.01)
    with ScriptedServer(lambda _: status(503)) as server:
        options = {"model": "openai:x", "base_url": server.base_url, "limits": limits}
        async with later(path, method="memory-retrieval", **options) as client:
            await say(client, "ana", "I keep bees on the roof.")
            await client.worker().run(once=True)
            [failed] = await client.pending()
            assert (failed.state, failed.attempts) == ("failed", 1)
            server.script(answer)
            assert [report.failure for report in await client.remember()] == [None]


async def test_a_wrong_embedder_ends_the_worker(path: str) -> None:
    async with later(path) as client:
        await say(client, "ana", "I keep bees.")
        await client.remember()
    async with later(path, embedder="hash:64") as client:
        await say(client, "ana", "I sold the bees.")
        with pytest.raises(EmbedderMismatch, match="theanine reembed"):
            await client.worker().run()
        [waiting] = await client.pending()
        assert (waiting.attempts, waiting.state) == (0, "waiting")


async def test_sessions_of_another_method_are_found(path: str) -> None:
    async with later(path, method="exchange") as client:
        await say(client, "ana", "I keep bees.")
    async with later(path, method="theanine") as client:
        await client.worker().run(once=True)
        assert await client.pending() == []
        assert len(await client.user("ana").memories()) == 1


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_an_hour_off_takes_ends_and_forgets_nothing(path: str, hours: int) -> None:
    ana, now = Scope("ana"), datetime.now(UTC)
    async with later(path) as right:
        await right.set_retention(timedelta(minutes=30))
        await right.user("ana").add("I keep bees.", at=now - timedelta(seconds=2))
        await right.user("ben").session("thread").hear("I sold the boat.")
    store = SqliteStore(path)
    await store.open()
    lease = await store.acquire_lease(ana, "elsewhere:1:1", timedelta(minutes=2)) or 0
    wrong = now + timedelta(hours=hours)
    async with later(path, clock=lambda: wrong) as client:
        await client.worker().run(once=True)
        assert [item.state for item in await client.pending()] == ["running"]
        [session] = await client.user("ben").sessions()
        assert session.ended_at is None
        assert len(await client.user("ana").turns()) == 1
        assert await store.renew_lease(ana, lease, timedelta(0))
        await client.worker().run(once=True)
        assert await client.pending() == [], "the lease was over"
    await store.close()


async def test_sessions_that_were_left_are_ended_and_remembered(path: str) -> None:
    store = SqliteStore(path)
    await store.open()
    host, _, started = process_holder().rsplit(":", 2)
    for user, holder in (("ana", f"{host}:{2**22 + 7}:{started}"), ("ben", process_holder())):
        said = Utterance(text="I sold the boat.", speaker=user, at=START)
        await store.continue_thread(Scope(user), None, [said], method="theanine", holder=holder)
    said = Utterance(text="I keep bees.", speaker="cleo", at=START)
    pause = timedelta(minutes=5)
    await store.continue_thread(Scope("cleo"), "t", [said], method="theanine", pause=pause)
    await store.close()
    async with later(path) as client:
        await client.worker().run(once=True)
        ended = {
            user: [
                session.remembered_at is not None for session in await client.user(user).sessions()
            ]
            for user in ("ana", "ben", "cleo")
        }
        assert ended == {"ana": [True], "ben": [False], "cleo": [True]}


async def test_expired_turns_are_forgotten(path: str) -> None:
    async with later(path) as client:
        await client.set_retention(timedelta(days=30))
        await say(client, "ana", "I keep bees.")
        await client.worker().run(once=True)
        assert await client.user("ana").turns() == []


@pytest.mark.parametrize("wrong", [{"poll": 0}, {"concurrency": 0}, {"lease": 0.1}, {"grace": -1}])
async def test_numbers_out_of_range_are_refused(path: str, wrong: dict[str, Any]) -> None:
    async with later(path) as client:
        with pytest.raises(SettingsError, match="poll must be above 0"):
            client.worker(**wrong)
