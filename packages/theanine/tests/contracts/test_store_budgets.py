"""Budgets of model calls hold over processes, tasks, kills and cancellations."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from textwrap import dedent
from typing import Any

import anyio
import pytest

from support.asking import ANA, NOON, PLAIN, chat, limited, serving
from theanine.errors import BudgetExceeded
from theanine.llm.base import RawReply, RequestOptions
from theanine.llm.chat import Chat, ScopedChat
from theanine.llm.gather import gather
from theanine.llm.limits import Limits
from theanine.llm.open import open_chat
from theanine.store import Store, process_holder
from theanine.store.values import JournalEntry, Reservation, Spending
from theanine.testing import ScriptedModel, ScriptedServer
from theanine.testing.faults import Reply
from theanine.types import Scope

pytestmark = pytest.mark.anyio

HERE = process_holder()
LONG = timedelta(minutes=5)
ASKING = """
    import asyncio, sys
    from datetime import UTC, datetime
    from random import Random
    from theanine.errors import BudgetExceeded
    from theanine.llm.chat import Chat
    from theanine.llm.limits import Limits
    from theanine.llm.open import open_chat
    from theanine.llm.prompt import PromptTemplate
    from theanine.store import open_store
    from theanine.types import Scope

    STEP = PromptTemplate("plain", 1, "Say something about $words.", str)

    async def main(location, url, number):
        store = open_store(location)
        await store.open()
        limits = Limits(tokens_per_scope=1_200)
        clock = lambda: datetime(2024, 3, 1, 12, tzinfo=UTC)
        model = open_chat("openai:gpt-4o-mini", base_url=url)
        caller = Chat(model, store, clock, limits, Random(1)).for_scope(Scope("ana"))
        try:
            for question in range(100):
                await caller.ask(STEP, words=f"hat {question} of shop {number}")
        except BudgetExceeded as error:
            print(error)
        finally:
            await model.close()
            await store.close()

    asyncio.run(main(*sys.argv[1:]))
"""


def start(location: str, server: ScriptedServer, number: int) -> subprocess.Popen[str]:
    """Start a process that asks until its budget of 1,200 tokens is used up."""
    command = [sys.executable, "-c", dedent(ASKING), location, server.base_url, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@asynccontextmanager
async def calling(
    store: Store, server: ScriptedServer, limits: Limits
) -> AsyncGenerator[ScopedChat]:
    model = open_chat("openai:gpt-4o-mini", base_url=server.base_url)
    assert model is not None
    chat = Chat(model, store, lambda: NOON, limits)
    try:
        yield chat.for_scope(ANA)
    finally:
        await chat.close()


def bounded_reply(request: Mapping[str, Any]) -> Reply:
    """Answer in 40 tokens, or in those that the request allows."""
    most = request.get("max_tokens") or request["max_completion_tokens"]
    finish = "length" if most < 40 else "stop"
    return Reply(text="Hats are round.", output_tokens=min(40, most), finish=finish)


async def spent(store: Store) -> int:
    return sum(line.input_tokens + line.output_tokens for line in await store.costs(ANA))


def reservation(tokens: int, holder: str = HERE) -> Reservation:
    return Reservation(session=None, holder=holder, tokens=tokens)


async def begun(server: ScriptedServer, calls: int = 1) -> None:
    """Wait until the server has so many calls."""
    while len(server.calls) < calls:  # noqa: ASYNC110 (the server runs in threads)
        await anyio.sleep(0.02)


async def test_a_reservation_counts_for_those_after_it_until_it_ends(store: Store) -> None:
    assert await store.reserve(ANA, reservation(5), LONG) == 0, "an unknown user has no journal"
    await store.start_session(ANA, NOON)
    first = await store.reserve(ANA, reservation(10), LONG)
    second = await store.reserve(ANA, reservation(20), LONG)
    assert 0 < first < second
    assert await store.spending(ANA, first) == Spending()
    assert (await store.spending(ANA, second)).reserved == (reservation(10),)
    assert await store.spending(Scope("bo"), second + 1) == Spending()
    entry = JournalEntry(key="k", step="s", version=1, model="m", input_tokens=7, at=NOON)
    await store.add_journal_entry(ANA, entry, first)
    after = await store.spending(ANA, second)
    assert (after.reserved, [line.input_tokens for line in after.costs]) == ((), [7])
    await store.release_reservation(ANA, second)
    assert (await store.spending(ANA, second + 1)).reserved == ()


async def test_a_reservation_of_a_lost_process_expires(store: Store) -> None:
    await store.start_session(ANA, NOON)
    name, pid, started = HERE.rsplit(":", 2)
    far, dead = f"{name}-other:{pid}:{started}", f"{name}:{pid}:{int(started) + 1}"
    number = await store.reserve(ANA, reservation(10, far), LONG)
    last = await store.reserve(ANA, reservation(10, dead), LONG) + 1
    assert (await store.spending(ANA, last)).reserved == (reservation(10, far),)
    await store.renew_reservation(ANA, number, timedelta(seconds=-1))
    assert (await store.spending(ANA, last)).reserved == ()
    await store.renew_reservation(ANA, number, LONG)
    assert len((await store.spending(ANA, last)).reserved) == 1, "it was only late"
    await store.renew_reservation(ANA, number, timedelta(seconds=-1))
    await store.reserve(ANA, reservation(1), LONG)
    await store.renew_reservation(ANA, number, LONG)
    assert (await store.spending(ANA, last)).reserved == (), "the next one has removed it"


async def test_forgetting_a_user_leaves_no_reservation(store: Store) -> None:
    await store.start_session(ANA, NOON)
    number = await store.reserve(ANA, reservation(10), LONG)
    await store.forget(ANA)
    await store.release_reservation(ANA, number)
    await store.start_session(ANA, NOON)
    assert (await store.spending(ANA, number + 1)).reserved == ()
    assert await store.check_integrity() == ""


@pytest.mark.slow
@pytest.mark.server
async def test_four_processes_keep_one_budget_and_use_it(
    store: Store,
) -> None:
    await store.start_session(ANA, NOON)
    with serving(bounded_reply, latency=0.02) as server, ExitStack() as stack:
        where = store.location
        processes = [stack.enter_context(start(where, server, n)) for n in range(4)]
        ends = [await anyio.to_thread.run_sync(process.communicate) for process in processes]
        assert [process.returncode for process in processes] == [0] * 4
    reasons = ("of 1,200 tokens. Raise tokens_per_scope", "tokens by a budget. Raise")
    assert all(any(reason in output for reason in reasons) for output, _ in ends)
    assert 0.8 * 1_200 <= await spent(store) <= 1_200
    numbers = {str(body["messages"][0]["content"])[-2] for body in server.answered}
    assert len(numbers) > 1, "more than one process called"


@pytest.mark.slow
@pytest.mark.server
async def test_a_killed_process_frees_its_budget(
    store: Store,
) -> None:
    await store.start_session(ANA, NOON)
    with serving("Hats.", latency=600) as server:
        with start(store.location, server, 1) as process:
            await begun(server)
            assert (await store.spending(ANA, sys.maxsize)).reserved != ()
            process.kill()
        server.latency = 0
        async with calling(store, server, limited(tokens_per_scope=1_200)) as asking:
            assert await asking.ask(PLAIN, words="hats") == "Hats."


@pytest.mark.server
async def test_a_cancelled_call_frees_its_budget_at_once(store: Store) -> None:
    await store.start_session(ANA, NOON)
    with serving("Hats.", latency=600) as server:
        limits = limited(tokens_per_scope=100)
        async with calling(store, server, limits) as asking, anyio.create_task_group() as tasks:
            tasks.start_soon(partial(asking.ask, PLAIN, words="hats"))
            await begun(server)
            [out] = (await store.spending(ANA, sys.maxsize)).reserved
            assert out.tokens > 1_000
            tasks.cancel_scope.cancel()
        assert await store.spending(ANA, sys.maxsize) == Spending()


@pytest.mark.server
async def test_concurrent_tasks_use_all_of_a_budget_and_no_more(store: Store) -> None:
    await store.start_session(ANA, NOON)
    with serving("Hats are round.", latency=0.02) as server:
        failures: list[str] = []
        async with calling(store, server, limited(tokens_per_scope=150)) as asking:

            async def ask(number: int) -> None:
                try:
                    await asking.ask(PLAIN, words=f"hat {number}")
                except BudgetExceeded as error:
                    failures.append(str(error))

            await gather([partial(ask, number) for number in range(12)])
        assert 0.8 * 150 <= await spent(store) <= 150
        assert len(failures) + len(server.answered) == 12
        assert (await store.spending(ANA, sys.maxsize)).reserved == ()


async def test_a_reply_cut_off_by_the_budget_is_not_used(store: Store) -> None:
    class Bounded(ScriptedModel):
        """Counts 40 tokens of a prompt, and ends a reply at its bound."""

        async def complete(self, *args: object, **options: object) -> RawReply:
            bounds = next(each for each in args if isinstance(each, RequestOptions))
            self.bounds = bounds.max_tokens
            return RawReply(
                text="Ha", input_tokens=40, output_tokens=bounds.max_tokens or 0, finish="length"
            )

    await store.start_session(ANA, NOON)
    model = Bounded("")
    asking = chat(model, store, limited(tokens_per_scope=100)).for_scope(ANA)
    with pytest.raises(BudgetExceeded, match=r"cut off after 8\d tokens by a budget"):
        await asking.ask(PLAIN, words="hats")
    with pytest.raises(BudgetExceeded, match="was not called"):
        await asking.ask(PLAIN, words="hats")


async def test_a_call_in_line_is_refused_when_its_patience_ends(store: Store) -> None:
    await store.start_session(ANA, NOON)
    await store.reserve(ANA, reservation(90), LONG)
    model = ScriptedModel("Hats.")
    limits = limited(tokens_per_scope=100, patience=0.05)
    with pytest.raises(BudgetExceeded, match="calls under way have reserved the rest"):
        await chat(model, store, limits).for_scope(ANA).ask(PLAIN, words="hats")
    assert model.prompts == []
    assert len((await store.spending(ANA, sys.maxsize)).reserved) == 1


async def test_without_a_budget_nothing_is_reserved(store: Store) -> None:
    await store.start_session(ANA, NOON)
    await store.reserve(ANA, reservation(90), LONG)
    model = ScriptedModel("Hats.")
    limits = limited(tokens_per_call=100)
    assert await chat(model, store, limits).for_scope(ANA).ask(PLAIN, words="hats") == "Hats."


@pytest.mark.server
async def test_a_cost_budget_is_reserved_by_price(store: Store) -> None:
    await store.start_session(ANA, NOON)
    with serving("Hats are round.", latency=0.02) as server:
        async with calling(store, server, limited(cost_per_scope=1.0)) as asking:
            await asking.ask(PLAIN, words="caps")
            each = asking.usage.cost
        assert each
        async with calling(store, server, limited(cost_per_scope=12 * each)) as asking:
            asks = [partial(asking.ask, PLAIN, words=f"hat {number}") for number in range(16)]
            with pytest.raises(BudgetExceeded, match="cost_per_scope"):
                await gather(asks)
        total = sum(line.cost or 0.0 for line in await store.costs(ANA))
        assert 2 * each < total <= 12 * each
