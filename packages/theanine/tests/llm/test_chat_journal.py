"""What is paid for is kept before it is used, replayed after a crash, and never paid again."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from support.asking import ANA, BOX, GOOD, PLAIN, chat, costs, limited, opened, over_http, serving
from theanine.errors import BudgetExceeded, ModelRejected, SettingsError, UnusableReply
from theanine.llm.base import RawReply
from theanine.llm.chat import ScopedChat
from theanine.llm.gather import gather
from theanine.store import Store
from theanine.testing import ScriptedModel, ScriptedServer
from theanine.tokenizer import count_tokens
from theanine.types import Scope, Usage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as store:
        yield store


async def test_the_same_question_is_paid_once(store: Store) -> None:
    with serving("Hats are round.") as server:
        first, second = (over_http(server, store).for_scope(ANA, 1) for _ in range(2))
        assert await first.ask(PLAIN, words="hats") == await second.ask(PLAIN, words="hats")
    assert len(server.calls) == 1
    assert (first.usage.calls, first.usage.replayed) == (1, 0)
    assert second.usage == Usage(replayed=1)


async def test_another_scope_prompt_version_model_or_setting_takes_another_call(
    store: Store,
) -> None:
    await store.start_session(Scope("bob"), (await store.sessions(ANA, "m"))[0].started_at)
    model = ScriptedModel("Hats.")
    await chat(model, store).for_scope(ANA).ask(PLAIN, words="hats")
    await chat(model, store).for_scope(Scope("bob")).ask(PLAIN, words="hats")
    await chat(model, store).for_scope(ANA).ask(PLAIN, words="cats")
    await chat(model, store).for_scope(ANA).ask(replace(PLAIN, version=2), words="hats")
    assert len(model.prompts) == 4
    other = ScriptedModel("Hats.", name="another")
    await chat(other, store).for_scope(ANA).ask(PLAIN, words="hats")
    assert len(other.prompts) == 1


async def test_a_repair_that_was_paid_before_a_crash_is_replayed(store: Store) -> None:
    class Crash(Exception):
        """The process dies here."""

    def dies(_: object) -> str | None:
        raise Crash

    model = ScriptedModel(["prose", GOOD])
    with pytest.raises(Crash):
        await chat(model, store).for_scope(ANA, 1).ask(BOX, check=dies, words="a hat")
    assert len(model.prompts) == 2
    again = chat(model, store).for_scope(ANA, 1)
    assert (await again.ask(BOX, words="a hat")).count == 2
    assert len(model.prompts) == 2
    assert again.usage == Usage(replayed=2)


async def test_a_replay_keeps_the_error_of_a_cut_off_reply(store: Store) -> None:
    model = ScriptedModel([RawReply(text="Ha", finish="length")])
    with pytest.raises(ModelRejected, match="no answer for"):
        await chat(model, store).for_scope(ANA).ask(PLAIN, words="hats")
    model = ScriptedModel(["Hats are round."])
    caller = chat(model, store).for_scope(ANA)
    assert await caller.ask(PLAIN, words="hats") == "Hats are round."
    assert caller.usage.replayed == 1


async def test_cancelling_while_the_journal_is_written_keeps_the_entry(store: Store) -> None:
    model = ScriptedModel("Hats are round.")
    with anyio.CancelScope() as scope:

        async def cancel_soon() -> None:
            while not model.prompts:
                await anyio.lowlevel.checkpoint()
            scope.cancel()

        await gather(
            [partial(chat(model, store).for_scope(ANA).ask, PLAIN, words="hats"), cancel_soon]
        )
    caller = chat(model, store).for_scope(ANA)
    await caller.ask(PLAIN, words="hats")
    assert len(model.prompts) == 1


async def test_the_journal_shows_the_raw_replies_of_a_failure(store: Store, tmp_path: Path) -> None:
    model = ScriptedModel(["one", "two", "three"])
    with pytest.raises(UnusableReply) as caught:
        await chat(model, store).for_scope(ANA, 1).ask(BOX, words="a hat")
    assert caught.value.raw == "three"
    with sqlite3.connect(tmp_path / "memory.db") as db:
        rows = db.execute("select reply, rejected, error, touches from journal").fetchall()
    assert {row[0] for row in rows} == {"one", "two", "three"}
    assert all(rejected and "no JSON" in error for _, rejected, error, _ in rows)
    assert {row[3] for row in rows} == {"[1]"}


async def test_concurrency_is_bounded_over_all_callers(store: Store) -> None:
    with serving("Hats.", latency=0.1) as server:
        talk = over_http(server, store, limited(concurrency=3))
        most = 0

        async def watch() -> None:
            nonlocal most
            for _ in range(40):
                most = max(most, sum(call.outcome == "open" for call in server.calls))
                await anyio.sleep(0.01)

        asks = [partial(talk.for_scope(ANA).ask, PLAIN, words=f"hat {n}") for n in range(9)]
        await gather([*asks, watch])
    assert len(server.calls) == 9
    assert most == 3


async def test_tokens_and_cost_are_what_the_provider_says(store: Store) -> None:
    with ScriptedServer("Hats are round.") as server:
        caller = over_http(server, store).for_scope(ANA, 1)
        await caller.ask(PLAIN, words="hats")
    prompt = server.requests[0]["messages"][0]["content"]
    assert caller.usage.input_tokens == count_tokens(prompt)
    assert caller.usage.output_tokens == count_tokens("Hats are round.")
    assert caller.usage.cost is not None
    assert 0 < caller.usage.cost < 0.001
    line = (await costs(store))["plain"]
    assert line.cost == pytest.approx(caller.usage.cost)
    assert line.input_tokens == caller.usage.input_tokens


def test_usage_adds_up_and_an_unknown_price_stays_unknown() -> None:
    usage = Usage(calls=1, input_tokens=10, output_tokens=2, cost=0.25, seconds=1.5)
    assert usage + usage == Usage(calls=2, input_tokens=20, output_tokens=4, cost=0.5, seconds=3.0)
    assert (usage + Usage(calls=1, cost=None) + usage).cost is None
    assert (Usage() + usage) == usage


async def _spend(caller: ScopedChat) -> None:
    for number in range(9):
        await caller.ask(PLAIN, words=f"cap {number}")


async def _fill(caller: ScopedChat, count: int) -> int:
    for number in range(count):
        try:
            await caller.ask(PLAIN, words=f"hat {number}")
        except BudgetExceeded:
            return number
    return count


async def test_a_prompt_over_the_budget_of_a_call_is_not_sent(store: Store) -> None:
    model = ScriptedModel("Hats.")
    caller = chat(model, store, limited(tokens_per_call=40)).for_scope(ANA)
    await caller.ask(PLAIN, words="hats")
    with pytest.raises(BudgetExceeded, match=r"tokens_per_call .* of 40"):
        await caller.ask(PLAIN, words="hats " * 100)
    assert len(model.prompts) == 1


async def test_token_budgets_of_session_and_scope_hold_over_runs(store: Store) -> None:
    model = ScriptedModel("Hats are round.")
    limits = limited(tokens_per_session=120, tokens_per_scope=200)
    done = await _fill(chat(model, store, limits).for_scope(ANA, 1), 50)
    assert 2 <= done < 10
    with pytest.raises(BudgetExceeded, match="tokens_per_session"):
        await (
            chat(model, store, limits)
            .for_scope(ANA, 1)
            .ask(PLAIN, words="caps, more caps and hats")
        )
    more = await _fill(chat(model, store, limits).for_scope(ANA), 50)
    assert done < more < 15
    with pytest.raises(BudgetExceeded, match="tokens_per_scope"):
        await chat(model, store, limits).for_scope(ANA).ask(PLAIN, words="caps, more caps and hats")
    spent = sum(line.input_tokens + line.output_tokens for line in await store.costs(ANA))
    assert spent <= 200 + 20


async def test_calls_under_way_count_against_the_budget(store: Store) -> None:
    with serving("Hats.", latency=0.1) as server:
        caller = over_http(server, store, limited(tokens_per_scope=60)).for_scope(ANA)
        asks = [partial(caller.ask, PLAIN, words=f"hat {n}") for n in range(8)]
        with pytest.raises(BudgetExceeded):
            await gather(asks)
    assert len(server.calls) <= 4  # 15 tokens each, and all eight would be 120


async def test_a_cost_budget_stops_further_calls(store: Store) -> None:
    model = ScriptedModel([RawReply(text="Hats.", cost=0.03)] * 9)
    limits = limited(cost_per_session=0.05, cost_per_scope=0.1)
    assert await _fill(chat(model, store, limits).for_scope(ANA, 1), 9) == 2
    with pytest.raises(BudgetExceeded, match=r"cost_per_session is used up, \$0.06"):
        await (
            chat(model, store, limits)
            .for_scope(ANA, 1)
            .ask(PLAIN, words="caps, more caps and hats")
        )
    with pytest.raises(BudgetExceeded, match="cost_per_scope"):
        await _spend(chat(model, store, limits).for_scope(ANA))
    assert len(model.prompts) == 4


async def test_a_cost_budget_needs_a_known_price(store: Store) -> None:
    model = ScriptedModel([RawReply(text="Hats.", cost=None, input_tokens=9)] * 9)
    caller = chat(model, store, limited(cost_per_scope=1.0)).for_scope(ANA)
    await caller.ask(PLAIN, words="hats")
    with pytest.raises(SettingsError, match="price of scripted is unknown"):
        await caller.ask(PLAIN, words="cats")


async def test_what_is_in_the_journal_is_free_even_over_budget(store: Store) -> None:
    model = ScriptedModel("Hats.")
    await chat(model, store).for_scope(ANA).ask(PLAIN, words="hats")
    over = chat(model, store, limited(tokens_per_scope=1)).for_scope(ANA)
    assert await over.ask(PLAIN, words="hats") == "Hats."
