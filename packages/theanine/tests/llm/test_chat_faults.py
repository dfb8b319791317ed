"""What a provider can do wrong, over real HTTP: retried within bounds, or a visible failure."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.asking import (
    ANA,
    BOX,
    GOOD,
    PLAIN,
    Box,
    costs,
    limited,
    opened,
    over_http,
    serving,
)
from theanine.errors import ModelRejected, ModelUnavailable, UnusableReply
from theanine.store import Store
from theanine.testing import (
    Outcome,
    Reply,
    big,
    delay,
    drop,
    empty,
    prose,
    refusal,
    status,
    truncate,
)
from theanine.testing.faults import Status

pytestmark = pytest.mark.anyio
BOXED = Box(things=["hat", "cat"], count=2)
SLOW = delay(3.0, GOOD)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as store:
        yield store


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "failed"),
    [
        pytest.param(status(429, retry_after=0.1), 1, id="429"),
        pytest.param(status(500), 1, id="500"),
        pytest.param(status(503), 1, id="503"),
        pytest.param(drop(), 1, id="dropped connection"),
        pytest.param(SLOW, 1, id="time-out"),
        pytest.param(truncate(20, GOOD), 0, id="truncated JSON, finish length"),
        pytest.param(truncate(20, GOOD, "stop"), 0, id="truncated JSON, finish stop"),
        pytest.param('{"things": "hat"}', 0, id="wrong schema"),
        pytest.param(empty(), 0, id="empty"),
        pytest.param(refusal(), 0, id="refusal"),
        pytest.param("I'm sorry, I can't do that.", 0, id="refusal in words"),
        pytest.param(prose(), 0, id="prose"),
        pytest.param(big(100), 0, id="100 kB of braces"),
        pytest.param(big(100, "x"), 0, id="100 kB of words"),
        pytest.param(f"{GOOD}\n{GOOD}", 0, id="two objects"),
    ],
)
async def test_one_fault_is_recovered(fault: Outcome, failed: int, store: Store) -> None:
    with serving([fault, GOOD]) as server:
        limits = limited(timeout=1) if fault is SLOW else limited()
        caller = over_http(server, store, limits).for_scope(ANA, 1)
        assert await caller.ask(BOX, words="a hat and a cat") == BOXED
    assert len(server.calls) == 2
    assert caller.usage.failed == failed
    assert caller.usage.calls == 2
    line = (await costs(store))["box"]
    assert (line.calls, line.failed, line.session) == (2, failed, 1)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (status(429, retry_after=0.05), "status 429"),
        (status(500), "status 500"),
        (drop(), "gpt-4o-mini"),
        (SLOW, "did not reply within 0.1 s"),
    ],
)
async def test_no_answer_is_a_visible_failure_and_the_next_run_asks_again(
    fault: Outcome, says: str, store: Store
) -> None:
    with serving([fault] * 3) as server:
        limits = limited(retries=2, timeout=0.1 if fault is SLOW else 30)
        with pytest.raises(ModelUnavailable, match="after 3 attempts") as caught:
            await over_http(server, store, limits).for_scope(ANA, 1).ask(PLAIN, words="hats")
        assert says in str(caught.value)
        assert len(server.calls) == 3
        assert (await costs(store))["plain"].failed == 3
        server.script("Hats are round.")
        assert await over_http(server, store).for_scope(ANA).ask(PLAIN, words="hats")
        assert len(server.calls) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (truncate(20, GOOD), "cut off at the model's token limit"),
        (truncate(20, GOOD, "stop"), "broken or cut off"),
        ('{"things": "hat"}', "things: Input should be a valid list; count: Field required"),
        (empty(), "is empty"),
        (refusal(), "the model refused"),
        (Reply(text=GOOD, finish="content_filter"), "content filter"),
        ("Sorry, but I can't.", "looks like a refusal"),
        (prose(), "holds no JSON object"),
        (big(10), "JSON"),
        (big(100), "cut off at the model's token limit"),
    ],
)
async def test_a_reply_that_stays_unusable_ends_after_two_repairs(
    fault: Outcome, says: str, store: Store
) -> None:
    with serving([fault] * 3) as server:
        with pytest.raises(UnusableReply) as caught:
            await over_http(server, store).for_scope(ANA, 1).ask(BOX, words="a hat")
        assert says in str(caught.value)
        assert "box@1" in str(caught.value)
        assert "openai:gpt-4o-mini" in str(caught.value)
        assert len(server.calls) == 3
        assert (await costs(store))["box"].failed == 3
        assert all(len(json.dumps(request)) < 20_000 for request in server.requests)
        server.script(GOOD)
        caller = over_http(server, store).for_scope(ANA, 1)
        assert await caller.ask(BOX, words="a hat") == BOXED
        assert caller.usage.replayed == 0


async def test_the_repair_names_the_fault_and_shows_the_reply(store: Store) -> None:
    with serving(['{"things": []}', GOOD]) as server:
        await over_http(server, store).for_scope(ANA).ask(BOX, words="a hat")
    task, reply, again = server.requests[1]["messages"]
    assert task == server.requests[0]["messages"][0]
    assert (reply["role"], reply["content"]) == ("assistant", '{"things": []}')
    assert "count: Field required" in again["content"]


async def test_a_check_can_reject_a_valid_reply(store: Store) -> None:
    with serving(['{"things": [], "count": 7}', GOOD]) as server:
        answer = (
            await over_http(server, store)
            .for_scope(ANA)
            .ask(
                BOX,
                check=lambda box: None if box.count == len(box.things) else "the count is wrong",
                words="a hat",
            )
        )
    assert answer == BOXED
    assert "the count is wrong" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (status(401, message="bad key"), "OPENAI_API_KEY"),
        (status(404, message="no such model"), "model's name"),
        (status(400, message="bad request"), "bad request"),
        (Status(429, None, "pay first", "insufficient_quota"), "quota"),
        (Status(400, None, "too long", "context_length_exceeded"), "too long"),
    ],
)
async def test_permanent_errors_are_not_retried(fault: Outcome, says: str, store: Store) -> None:
    with serving([fault]) as server:
        with pytest.raises(ModelRejected, match=says):
            await over_http(server, store).for_scope(ANA, 1).ask(PLAIN, words="hats")
        assert len(server.calls) == 1
    assert (await costs(store))["plain"].failed == 1


async def test_a_base_url_without_its_path_is_explained(store: Store) -> None:
    with serving([status(404)]) as server:
        address = server.base_url.removesuffix("/v1")
        with pytest.raises(ModelRejected, match=f"that is {address}/v1"):
            await over_http(server, store, base_url=address).for_scope(ANA).ask(PLAIN, words="hats")


async def test_the_wait_that_the_provider_asks_for_is_kept_and_capped(store: Store) -> None:
    with serving([status(429, retry_after=0.2), status(429, retry_after=600), "Hats."]) as server:
        started = time.monotonic()
        await over_http(server, store).for_scope(ANA).ask(PLAIN, words="hats")
        took = time.monotonic() - started
    assert took >= 0.2 + 0.3  # and not 600


async def test_patience_bounds_all_tries_together(store: Store) -> None:
    with serving([status(503)] * 50) as server:
        limits = limited(retries=40, first_wait=0.1, max_wait=0.1, patience=0.3)
        with pytest.raises(ModelUnavailable):
            await over_http(server, store, limits).for_scope(ANA).ask(PLAIN, words="hats")
    assert 1 <= len(server.calls) < 40


async def test_an_unreachable_server(store: Store) -> None:
    with serving(None) as server:
        pass
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1"):
        await over_http(server, store, limited(retries=1)).for_scope(ANA).ask(PLAIN, words="hats")


async def test_unencodable_characters_are_replaced(store: Store) -> None:
    with serving(lambda request: request["messages"][0]["content"]) as server:
        reply = await over_http(server, store).for_scope(ANA).ask(PLAIN, words="\ud800 and \x00")
    assert reply.endswith("\ufffd and \ufffd.")
