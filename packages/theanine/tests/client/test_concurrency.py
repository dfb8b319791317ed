"""What happens while a client works: forgetting, a second client, cancellation, clocks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

import theanine
from theanine import Scope, Utterance
from theanine.store.processes import process_holder
from theanine.store.sqlite import SqliteStore
from theanine.testing import ScriptedServer, answer

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
SECRET = "cormorant-4417"
MODEL = "openai:gpt-4o-mini"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return the location of the store."""
    return str(tmp_path / "memory.db")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
def test_a_reply_is_generated_again_when_something_is_forgotten(path: str) -> None:
    knew: list[bool] = []
    with (
        ScriptedServer(answer) as server,
        theanine.open(path, method="session", model=MODEL, base_url=server.base_url) as client,
    ):
        with client.user("ana").session() as earlier:
            earlier.hear(f"My password is {SECRET}.")
        talk = client.user("ana").session()
        talk.hear("What is my password?")

        def forgetting(request: Mapping[str, Any]) -> str:
            knew.append(SECRET in str(request))
            if knew == [True]:
                assert client.user("ana").forget(session=1).verified
            return f"It is {SECRET}." if knew[-1] else "You never told me."

        server.script(forgetting)
        assert talk.reply().text == "You never told me."
        assert knew == [True, False]
        assert SECRET not in str(client.user("ana").turns())
    for file in Path(path).parent.glob("memory.db*"):
        assert SECRET.encode() not in file.read_bytes()


def test_unstorable_characters_in_a_reply_are_handled(path: str) -> None:
    """A JSON reply may contain escaped lone surrogates and NUL."""
    statements = [
        {"text": r"Ana loves ships \ud83d and \u0000 trains.", "speakers": ["Ana"], "turns": [1]}
    ]
    reply = json.dumps({"statements": statements}).replace("\\\\", "\\")
    with (
        ScriptedServer(lambda _: reply) as server,
        theanine.open(
            path, method="memory-retrieval", model=MODEL, base_url=server.base_url
        ) as client,
    ):
        for user in ("ana", "bo"):
            with client.user(user).session(speaker="Ana") as talk:
                talk.hear("I love ships and trains.")
            [memory] = client.user(user).memories()
            assert memory.text == "Ana loves ships \ufffd and \ufffd trains."


@pytest.mark.slow
def test_two_clients_of_one_process(path: str) -> None:
    """Like two requests of one server: no work is lost or paid twice."""
    with ScriptedServer(answer) as server:

        async def sessions(place: str) -> None:
            async with theanine.aopen(
                path, method="memory-retrieval", model=MODEL, base_url=server.base_url
            ) as client:
                for number in range(4):
                    async with client.user("ana").session() as talk:
                        await talk.hear(f"I saw the {place} {number} from the train.")

        async def all_at_once() -> None:
            async with anyio.create_task_group() as tasks:
                for place in ("harbour", "bridge", "castle"):
                    tasks.start_soon(sessions, place)

        anyio.run(all_at_once)
        assert len(server.calls) == 12
    with theanine.open(path) as client:
        assert client.user("ana").pending() == []
        assert len(client.user("ana").sessions()) == len(client.user("ana").memories()) == 12


@pytest.mark.anyio
async def test_a_cancelled_session_is_ended_and_remembered_by_the_next_run(path: str) -> None:
    async with theanine.aopen(path) as client:
        with anyio.CancelScope() as gone:
            async with client.user("ana").session() as talk:
                await talk.hear("I sold the boat because the engine died.")
                gone.cancel()
                await talk.reply()
        assert gone.cancelled_caught
        [session] = await client.user("ana").sessions()
        assert session.ended_at is not None
        assert [report.failure for report in await client.remember()] == [None]


@pytest.mark.anyio
async def test_a_cancelled_client_closes_its_store(path: str) -> None:
    client = theanine.aopen(path)
    with anyio.CancelScope() as gone:
        async with client:
            gone.cancel()
            await client.users()
    with pytest.raises(theanine.TheanineError, match="not open"):
        await client.users()


def test_a_client_that_was_never_entered_closes(path: str) -> None:
    anyio.run(theanine.aopen(path).close)
    assert not Path(path).exists()


def test_a_clock_set_back_loses_no_turn(path: str) -> None:
    times = iter([START, START - timedelta(seconds=3), START + timedelta(seconds=1)])
    last = START

    def clock() -> datetime:
        nonlocal last
        last = next(times, last)
        return last

    with theanine.open(path, clock=clock) as client:
        with client.user("ana").session() as talk:
            heard = [talk.hear(text).at for text in ("One.", "Two.", "Three.")]
        assert heard == [START, START, START + timedelta(seconds=1)]


def test_hearing_after_the_end_starts_a_new_session(path: str) -> None:
    with (
        ScriptedServer(answer) as server,
        theanine.open(path, method="no-memory", model=MODEL, base_url=server.base_url) as client,
    ):
        talk = client.user("ana").session()
        talk.hear("I love ships.")
        talk.end()
        talk.hear("Good morning.")
        talk.reply()
        assert "Good morning." in str(server.requests[-1])
        assert "ships" not in str(server.requests[-1])


@pytest.mark.slow
def test_a_program_without_close_still_exits(path: str) -> None:
    program = f"""
        import theanine
        client = theanine.open({path!r})
        dropped = theanine.open({path!r} + "2")
        del dropped
        talk = client.user("ana").session()
        talk.hear("I sold the boat.")
        """
    subprocess.run([sys.executable, "-c", dedent(program)], check=True, timeout=60)
    with theanine.open(path) as client:
        assert [report.failure for report in client.remember()] == [None]


@pytest.mark.slow
def test_an_orphaned_session_ends_at_its_last_turn(path: str) -> None:
    program = f"""
        import os, theanine
        from datetime import datetime
        client = theanine.open({path!r})
        client.user("ana").session().hear("I sold the boat.", at=datetime.fromisoformat("{START}"))
        os._exit(0)
        """
    subprocess.run([sys.executable, "-c", dedent(program)], check=True)
    with theanine.open(path) as client:
        [report] = client.remember()
        assert report.failure is None
        assert [item.ended_at for item in client.user("ana").sessions()] == [START]


@pytest.mark.anyio
async def test_a_session_that_another_machine_ended_goes_on_in_a_new_one(path: str) -> None:
    async with theanine.aopen(path) as client, theanine.aopen(path) as elsewhere:
        live = client.user("ana").session()
        await live.hear("I sold the boat.")
        store = SqliteStore(path)
        await store.open()
        await store.end_session(Scope("ana"), 1, None, "theanine")
        await store.close()
        assert len(await elsewhere.remember()) == 1
        await live.hear("I miss it.")
        assert [turn.text for turn in await live.turns()] == ["I miss it."]
        assert await client.remember() == [], "it is open, and this process lives"
        await live.end()
        assert len(await client.user("ana").sessions()) == 2


@pytest.mark.anyio
async def test_a_session_of_a_container_that_is_gone_is_ended_without_a_flag(path: str) -> None:
    host, pid, started = process_holder().rsplit(":", 2)
    holder = f"{host}0:{pid}:{started}"  # another pid namespace with the same id in it
    store = SqliteStore(path)
    await store.open()
    said = Utterance(text="I sold the boat.", speaker="ana", at=START)
    await store.continue_thread(Scope("ana"), None, [said], method="theanine", holder=holder)
    async with theanine.aopen(path) as client:
        assert await client.remember() == [], "it has just said that it lives"
        await store.renew_holder(holder, timedelta(0))
        assert [report.failure for report in await client.remember()] == [None]
    await store.close()
