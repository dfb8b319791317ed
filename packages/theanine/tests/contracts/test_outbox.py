"""The outbox of webhooks in every SQL store: what is committed is in it, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from theanine.errors import BadInput, NotFound, StoreError
from theanine.store import Store
from theanine.store.postgres import PostgresStore
from theanine.store.processes import lease_holder
from theanine.store.sql import outbox, webhooks
from theanine.store.sql import schema as t
from theanine.store.sql.outbox import Outcome
from theanine.store.sql.store import SqlStore
from theanine.types import Scope, Transcript, Utterance
from theanine_server.operations import begin_forgetting, load_operation

pytestmark = pytest.mark.anyio

ANA, BEN = Scope("ana"), Scope("ben", tenant="other")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
URL = "https://example.com/hook"


def transcript(key: str, text: str = "I live in Lisbon.") -> Transcript:
    return Transcript(key=key, turns=[Utterance(text=text, speaker="Ana", at=AT)], at=AT)


async def create(store: SqlStore, tenant: str = "default", **options: Any) -> str:
    options = {"kinds": webhooks.WEBHOOK_KINDS, **options}
    made, secret = await store.write_concurrently(
        True, webhooks.create_webhook, tenant, name="app", url=URL, at=AT, **options
    )
    assert secret not in repr(made)
    return made.id


async def waiting(store: SqlStore, webhook: str) -> list[str]:
    """Return the kinds of what waits, the first one first."""
    listed = await store.read(webhooks.list_deliveries, webhook, "waiting", None, 100)
    return [delivery.kind for delivery in reversed(listed)]


async def take(store: SqlStore, webhook: str) -> outbox.HeldWebhook | None:
    due = dict(await store.read(outbox.find_due))
    if webhook not in due:
        return None
    return await store.write_concurrently(
        False, outbox.take_webhook, webhook, due[webhook], lease_holder()
    )


@pytest.fixture
def sql(store: Store) -> SqlStore:
    assert isinstance(store, SqlStore)
    return store


async def test_what_is_committed_waits_for_the_tenants_webhooks(sql: SqlStore) -> None:
    await sql.log_transcript(ANA, transcript("before"), "m")
    webhook, bens = await create(sql), await create(sql, "other", user="ben")
    anas = await create(sql, agent="another")
    await sql.log_transcript(ANA, transcript("one"), "m")
    assert await waiting(sql, webhook) == ["sessions.started", "turns.stored"]
    await sql.log_transcript(BEN, transcript("one"), "m")
    await sql.log_transcript(Scope("cy", tenant="other"), transcript("one"), "m")
    assert await waiting(sql, bens) == ["sessions.started", "turns.stored"]
    assert await waiting(sql, anas) == []
    await sql.forget(ANA)
    assert (await waiting(sql, webhook))[2:] == ["data.forgotten"]
    [loaded] = await sql.read(webhooks.load_webhooks, "other")
    assert (loaded.id, loaded.user, loaded.waiting) == (bens, "ben", 2)
    with pytest.raises(NotFound):
        await sql.read(webhooks.load_webhook, "other", webhook)


async def test_what_is_hidden_and_then_erased_is_told_twice(sql: SqlStore) -> None:
    webhook = await create(sql, kinds=["data.forgotten", "operation.ended"])
    await sql.log_transcript(ANA, transcript("one"), "m")
    begin = partial(begin_forgetting, session=1, memory=None, at=AT, pause=timedelta())
    operation = await sql.write(begin, ANA)
    assert await waiting(sql, webhook) == ["data.forgotten"]
    [receipt] = await sql.erase_due()
    assert receipt.turns == 1 and await sql.erase_due() == []
    assert await waiting(sql, webhook) == ["data.forgotten", "data.forgotten", "operation.ended"]
    ended = await sql.read(load_operation, ANA.tenant, operation.id)
    assert (ended.state, ended.tries) == ("succeeded", 1)


async def test_what_is_undone_is_told_to_nobody(sql: SqlStore) -> None:
    webhook = await create(sql)
    await sql.log_transcript(ANA, transcript("one"), "m")
    with pytest.raises(BadInput):
        await sql.log_transcript(ANA, transcript("one", "Something else."), "m")
    with pytest.raises((NotFound, StoreError, BadInput)):
        await sql.append_turns(ANA, 99, [Utterance(text="Hello.", speaker="Ana", at=AT)])
    assert await waiting(sql, webhook) == ["sessions.started", "turns.stored"]


async def test_one_process_at_a_time_sends_to_a_webhook(sql: SqlStore) -> None:
    webhook = await create(sql)
    assert await take(sql, webhook) is None
    await sql.log_transcript(ANA, transcript("one"), "m")
    first = await take(sql, webhook)
    assert first is not None and first.url == URL and len(first.secrets) == 1
    assert await take(sql, webhook) is None, "it is held"
    stale = await sql.write_concurrently(
        False, outbox.take_webhook, webhook, first.number - 1, lease_holder()
    )
    assert stale is None, "it was found before it was taken"

    def expire(db: sa.Connection) -> None:
        db.execute(t.webhook.update().values(until=0))

    await sql.write(expire)
    second = await take(sql, webhook)
    assert second is not None and second.number == first.number + 1
    messages = await sql.read(outbox.load_due, webhook, 10)
    failed = [Outcome(message=each, status=500, error="answered 500") for each in messages]
    assert not await sql.write_concurrently(False, outbox.store_outcomes, first, failed)
    assert (await sql.read(webhooks.load_webhook, "default", webhook)).failing_since is None
    delivered = [Outcome(message=each, status=204) for each in messages]
    assert await sql.write_concurrently(False, outbox.store_outcomes, second, delivered)
    assert await waiting(sql, webhook) == []
    assert not await sql.write_concurrently(False, outbox.store_outcomes, second, [])


async def test_failures_postpone_a_webhook_and_end_it(sql: SqlStore) -> None:
    webhook = await create(sql, kinds=["turns.stored"])
    await sql.log_transcript(ANA, transcript("one"), "m")
    pauses = list[timedelta]()

    def hurry(db: sa.Connection) -> None:
        db.execute(t.webhook.update().values(not_before=None))
        db.execute(t.webhook_delivery.update().values(not_before=0))

    for tries in range(1, outbox.TRIES + 1):
        taken = await take(sql, webhook)
        assert taken is not None
        [message] = await sql.read(outbox.load_due, webhook, 10)
        outcomes = [Outcome(message=message, error="no connection")]
        assert not await sql.write_concurrently(False, outbox.store_outcomes, taken, outcomes)
        assert await take(sql, webhook) is None, "it pauses"
        delivery = await sql.read(webhooks.load_delivery, webhook, message.id)
        assert (delivery.tries, delivery.error) == (tries, "no connection")
        if tries < outbox.TRIES:
            assert delivery.next_try_at is not None and delivery.tried_at is not None
            pauses.append(delivery.next_try_at - delivery.tried_at)
            await sql.write(hurry)
    [failed] = await sql.read(webhooks.list_deliveries, webhook, "failed", None, 10)
    assert failed.tries == outbox.TRIES and failed.next_try_at is None
    assert pauses[0] < pauses[1] < pauses[2] < pauses[3]
    days = sum(pauses, timedelta())
    assert timedelta(days=1.5) < days < outbox.FAILING, "it is given up before it is disabled"
    await sql.write_concurrently(True, webhooks.retry_delivery, webhook, failed.id)
    taken = await take(sql, webhook)
    assert taken is not None
    [message] = await sql.read(outbox.load_due, webhook, 10)
    gone = [Outcome(message=message, status=410, error="answered 410")]
    assert not await sql.write_concurrently(False, outbox.store_outcomes, taken, gone)
    assert (await sql.read(webhooks.load_webhook, "default", webhook)).disabled == "gone"
    await sql.log_transcript(ANA, transcript("two"), "m")
    assert await waiting(sql, webhook) == ["turns.stored"], "it is told no more"


async def test_too_much_that_waits_disables_a_webhook(sql: SqlStore) -> None:
    webhook, other = await create(sql), await create(sql, kinds=["turns.stored"])
    await sql.log_transcript(ANA, transcript("one"), "m")
    await sql.write(outbox.clean, most=1)
    by_id = {each.id: each for each in await sql.read(webhooks.load_webhooks, "default")}
    assert by_id[webhook].disabled == "backlog" and by_id[other].disabled is None
    await sql.write_concurrently(True, webhooks.delete_webhook, "default", webhook)
    assert await waiting(sql, webhook) == []


async def test_a_scope_sees_its_tenants_webhooks_alone(sql: SqlStore) -> None:
    if not isinstance(sql, PostgresStore) or await sql.find_bypass():
        pytest.skip("there is no row-level security")
    await create(sql)
    other = await create(sql, "other")
    await sql.log_transcript(ANA, transcript("one"), "m")
    await sql.log_transcript(BEN, transcript("one"), "m")

    def look(db: sa.Connection, scope: Scope) -> set[str]:
        return {
            tenant
            for table in (t.webhook, t.webhook_delivery)
            for tenant in db.execute(sa.select(table.c.tenant)).scalars()
        }

    assert await sql.read(look, ANA) == {"default"}
    assert await sql.read(look, BEN) == {"other"}

    def tell(db: sa.Connection, scope: Scope) -> None:
        outbox.add_test(db, "other", other)

    with pytest.raises(StoreError, match="row-level security"):
        await sql.write(tell, ANA)
