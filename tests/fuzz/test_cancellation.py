"""Every public call is cancelled at each of its awaits; then the log and the objects agree."""

from __future__ import annotations

import asyncio
import inspect
import random
import shutil
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from support.cancelling import MANNERS, Manner, run_cancelled
from support.fuzzing import SCALE
from theanine import AsyncClient, AsyncLiveSession, AsyncUserMemory, History, Transcript, Utterance
from theanine.errors import StoreError
from theanine.testing import ScriptedServer, answer

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

AT = datetime(2024, 5, 8, 12, tzinfo=UTC)
BEES = Utterance(text="I keep bees.", speaker="ana", at=AT)
HISTORY = History(name="ana", transcripts=[Transcript(key="old", at=AT, turns=[BEES])])
MODEL = "openai:gpt-4o-mini"

Work = Coroutine[Any, Any, object]


async def read_stream(live: AsyncLiveSession) -> None:
    async for _ in live.reply(stream=True):
        pass


async def leave(live: AsyncLiveSession) -> None:
    async with live:
        await live.say("Good night.")


async def read_export(client: AsyncClient | AsyncUserMemory) -> None:
    async for _ in client.export():
        pass


async def restore(client: AsyncClient) -> None:
    await client.restore([record async for record in client.export()])


async def start_remembering(client: AsyncClient | AsyncUserMemory) -> None:
    await client.start_remembering()


CLIENT: dict[str, Callable[[AsyncClient], Work]] = {
    "check": lambda client: client.check(),
    "forget_all": lambda client: client.user("ben").forget_all(),
    "estimate": lambda client: client.estimate(),
    "export": lambda client: read_export(client),
    "expire": lambda client: client.expire(),
    "pending": lambda client: client.pending(),
    "costs": lambda client: client.costs(),
    "rebuild": lambda client: client.rebuild(again=True),
    "retry_remembering": lambda client: client.retry_remembering(),
    "reembed": lambda client: client.reembed(),
    "remember": lambda client: client.remember(),
    "restore": lambda client: restore(client),
    "retention": lambda client: client.retention(),
    "set_retention": lambda client: client.set_retention(None),
    "start_remembering": lambda client: start_remembering(client),
    "stored_embedder": lambda client: client.stored_embedder(),
    "users": lambda client: client.users(),
}
USER: dict[str, Callable[[AsyncUserMemory], Work]] = {
    "add": lambda user: user.add("I like tea.", session="web"),
    "correct": lambda user: user.correct(1, "Ana keeps goats."),
    "costs": lambda user: user.costs(),
    "estimate": lambda user: user.estimate(),
    "expire": lambda user: user.expire(),
    "export": lambda user: read_export(user),
    "forget": lambda user: user.forget(session=1),
    "get": lambda user: user.get(1),
    "explain": lambda user: user.explain("What about the boat?"),
    "history": lambda user: user.history(1),
    "links": lambda user: user.links(),
    "log": lambda user: user.log(HISTORY),
    "marks": lambda user: user.marks(),
    "memories": lambda user: user.memories(),
    "pending": lambda user: user.pending(),
    "pin": lambda user: user.pin(1),
    "profile": lambda user: user.profile(),
    "rebuild": lambda user: user.rebuild(again=True),
    "retry_remembering": lambda user: user.retry_remembering(),
    "cancel_remembering": lambda user: user.cancel_remembering(2),
    "recall": lambda user: user.recall("What about the boat?"),
    "remember": lambda user: user.remember(),
    "reply": lambda user: user.reply("What about the boat?"),
    "search": lambda user: user.search("What about the boat?"),
    "sessions": lambda user: user.sessions(),
    "set_retention": lambda user: user.set_retention(timedelta(days=99_999)),
    "set_time_zone": lambda user: user.set_time_zone("Europe/Rome"),
    "settings": lambda user: user.settings(),
    "start_remembering": lambda user: start_remembering(user),
    "timelines": lambda user: user.timelines(),
    "turns": lambda user: user.turns(),
    "unpin": lambda user: user.unpin(1),
    "warm_up": lambda user: user.warm_up(),
}
LIVE: dict[str, Callable[[AsyncLiveSession], Work]] = {
    "add": lambda live: live.add([{"role": "user", "content": "I like tea."}]),
    "add_alone": lambda live: live.add_alone("I like tea."),
    "end": lambda live: live.end(),
    "hear": lambda live: live.hear("I like tea."),
    "messages": lambda live: live.messages(),
    "recall": lambda live: live.recall(),
    "reply": lambda live: live.reply(),
    "say": lambda live: live.say("Do you?"),
    "system": lambda live: live.system(),
    "turns": lambda live: live.turns(),
    "reply(stream)": lambda live: read_stream(live),
    "with": lambda live: leave(live),
}
SHORT = [f"AsyncLiveSession.{name}" for name in ("hear", "end", "with", "reply(stream)")]
"""Calls that are tried in the suite, too."""
ALL = [
    *(f"AsyncClient.{name}" for name in CLIENT),
    *(f"AsyncUserMemory.{name}" for name in USER),
    *(f"AsyncLiveSession.{name}" for name in LIVE),
]


def call(name: str, client: AsyncClient, user: AsyncUserMemory, live: AsyncLiveSession) -> Work:
    kind, _, method = name.partition(".")
    if kind == "AsyncClient":
        return CLIENT[method](client)
    return USER[method](user) if kind == "AsyncUserMemory" else LIVE[method](live)


def test_every_public_call_is_here() -> None:
    for kind, calls in (
        (AsyncClient, CLIENT.keys()),
        (AsyncUserMemory, USER.keys() | {"forget_all"}),
        (AsyncLiveSession, LIVE.keys()),
    ):
        public = {
            name
            for name, method in inspect.getmembers(kind)
            if not name.startswith("_")
            and (inspect.iscoroutinefunction(method) or name in ("export", "start_remembering"))
        }
        assert public - {"close"} <= calls


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a remembered session, a pending one, and another user's."""
    path = tmp_path_factory.mktemp("prepared") / "memory.db"
    with theanine.open(path) as client:
        with client.user("ana").session() as live:
            live.hear("I sold the boat because the engine died.", at=AT)
        with client.user("ben").session() as live:
            live.hear("I bought a boat.", at=AT)
        later = client.user("ana").session()
        later.hear("I repaired the boat.", at=AT + timedelta(days=1))
        later.end(remember=False)
    return path


@asynccontextmanager
async def opened(path: Path, url: str) -> AsyncGenerator[AsyncClient]:
    async with theanine.aopen(path, model=MODEL, memory_model="local", base_url=url) as client:
        yield client


async def cancel_and_compare(path: Path, url: str, name: str, at: int, manner: Manner) -> bool:
    """Cancel a call at its n-th await, compare, and go on; return whether it had that many."""
    async with opened(path, url) as client:
        user = client.user("ana")
        live = user.session()
        await live.hear("What about the boat?")
        reached = await run_cancelled(call(name, client, user, live), at, manner)
        mine = [turn.id for turn in await live.turns()]
        shown = [message["content"] for message in await live.messages()]
        logged = [] if live.id is None else await user.turns(session=live.id)
        assert mine == [turn.id for turn in logged]
        assert shown == [turn.text for turn in logged]
        turn = await live.hear("Still there?")
        assert [each.id for each in await live.turns()] == [*mine, turn.id]
        await live.end()
        assert all(session.ended_at for session in await user.sessions() if session.thread is None)
        assert all(report.failure is None for report in await client.remember())
        assert await client.pending() == []
        assert await client.check() == ""
        memories = [(memory.source_turns, memory.text) for memory in await user.memories()]
        assert len(set(memories)) == len(memories)
    return reached


async def close_and_compare(path: Path, url: str, at: int, manner: Manner) -> bool:
    """Cancel opening, a turn or closing; afterwards the store is closed."""
    client = theanine.aopen(path, model=MODEL, memory_model="local", base_url=url)

    async def use() -> None:
        async with client:
            await client.user("ana").add("I like tea.")

    reached = await run_cancelled(use(), at, manner)
    with pytest.raises(StoreError, match="not open"):
        await client.users()
    return reached


async def cancel_everywhere(
    prepared: Path, folder: Path, compare: Callable[[Path, int], Coroutine[Any, Any, bool]]
) -> int:
    """Cancel at each await, in the suite at the 1st, 2nd, 4th and so on; count the cases."""
    at, cases = 1, 0
    while True:
        folder.mkdir()
        path = Path(shutil.copy(prepared, folder))
        reached = await compare(path, at)
        shutil.rmtree(folder)
        cases += 1
        if not reached:
            return cases
        at += 1 if SCALE > 1 else at


@pytest.mark.parametrize("manner", MANNERS if SCALE > 1 else MANNERS[1:])
@pytest.mark.parametrize("name", ALL if SCALE > 1 else SHORT)
def test_a_call_can_be_cancelled_anywhere(
    name: str, manner: Manner, prepared: Path, tmp_path: Path
) -> None:
    with ScriptedServer(answer) as server:

        async def compare(path: Path, at: int) -> bool:
            return await cancel_and_compare(path, server.base_url, name, at, manner)

        asyncio.run(cancel_everywhere(prepared, tmp_path / "s", compare))


@pytest.mark.parametrize("manner", MANNERS)
def test_opening_and_closing_can_be_cancelled_anywhere(
    manner: Manner, prepared: Path, tmp_path: Path
) -> None:
    async def compare(path: Path, at: int) -> bool:
        return await close_and_compare(path, "http://127.0.0.1:9/v1", at, manner)

    asyncio.run(cancel_everywhere(prepared, tmp_path / "s", compare))


@pytest.mark.parametrize("key", [None, "web"])
def test_concurrent_first_turns_open_one_session(key: str | None, tmp_path: Path) -> None:
    async def hear_at_once() -> None:
        async with theanine.aopen(tmp_path / "memory.db") as client:
            user = client.user("ana")
            live = user.session(key)
            tasks = [asyncio.create_task(live.hear(f"Number {number}.")) for number in range(20)]
            for task in random.Random(3).sample(tasks, 6):
                await asyncio.sleep(0.001)
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)
            [session] = await user.sessions()
            turns = await user.turns(session=session.id)
            assert await live.turns() == turns
            assert {t.result().text for t in tasks if not t.cancelled()} <= {t.text for t in turns}
            assert len(turns) == len({turn.text for turn in turns}) >= 14

    asyncio.run(hear_at_once())
