"""The store's contract for leases, and for sessions that fail, are set aside or cancelled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.conftest import StoreCase
from theanine.errors import BadInput, LeaseLost, NotFound
from theanine.store import Store
from theanine.store.processes import is_dead, process_holder
from theanine.types import Memory, MemoryBatch, NewMemory, Scope, Transcript, Utterance

pytestmark = pytest.mark.anyio

ANA, BEN, CLEO = Scope("ana"), Scope("ben"), Scope("cleo", "other", "customer")
AT, METHOD = datetime(2024, 3, 1, 9, 30, tzinfo=UTC), "m"
HOUR, EXPIRED = timedelta(hours=1), timedelta(0)


async def log(store: Store, scope: Scope, *keys: str, method: str = METHOD) -> None:
    for day, key in enumerate(keys):
        at = AT + timedelta(days=day)
        said = [Utterance(text=f"I said {key}.", speaker="Ana", at=at)]
        await store.log_transcript(scope, Transcript(key=key, turns=said, at=at), method)


async def take(store: Store, holder: str = "me", lasting: timedelta = HOUR) -> int:
    number = await store.acquire_lease(ANA, holder, lasting)
    assert number is not None
    return number


async def commit(store: Store, lease: int, session: int = 1) -> list[Memory]:
    made = MemoryBatch(
        memories=[NewMemory(text="Tea.", at=AT, source_turns=(session,))],
        vectors=np.eye(1, 4, dtype=np.float32),
    )
    return await store.commit_batch(ANA, session, METHOD, made, embedder="test", lease=lease, at=AT)


async def fail(store: Store, lease: int, session: int = 1, **more: Any) -> None:
    await store.record_failure(ANA, session, METHOD, "no answer", lease=lease, **more)


async def states(store: Store) -> list[tuple[int, str, int]]:
    listed = await store.pending(METHOD, ANA, cancelled=True)
    return [(item.session, item.state, item.attempts) for item in listed]


# leases


async def test_each_taking_has_a_higher_number_and_only_the_latest_counts(store: Store) -> None:
    await log(store, ANA, "a")
    first = await take(store)
    assert await store.acquire_lease(ANA, "another", HOUR) is None
    assert await store.renew_lease(ANA, first, HOUR)
    second = await take(store)  # the same name back, such as after a restart
    assert second > first
    assert not await store.renew_lease(ANA, first, HOUR)
    await store.release_lease(ANA, first)
    assert await store.acquire_lease(ANA, "another", HOUR) is None, "it was not its to release"
    await store.release_lease(ANA, second)
    third = await take(store, "another")
    assert third > second
    assert await store.acquire_lease(BEN, "me", HOUR) is None, "nobody knows this user"


async def test_an_expired_lease_is_lost_even_if_nobody_took_it(store: Store) -> None:
    await log(store, ANA, "a")
    lease = await take(store, lasting=EXPIRED)
    assert not await store.renew_lease(ANA, lease, HOUR)
    with pytest.raises(LeaseLost):
        await commit(store, lease)
    with pytest.raises(LeaseLost):
        await fail(store, lease)
    assert await states(store) == [(1, "waiting", 0)]


async def test_who_wakes_after_the_lease_writes_nothing(store: Store) -> None:
    await log(store, ANA, "a")
    stopped = await take(store, "stopped", EXPIRED)
    other = await take(store, "another")
    with pytest.raises(LeaseLost):
        await commit(store, stopped)
    with pytest.raises(LeaseLost):
        await fail(store, stopped)
    assert await states(store) == [(1, "running", 0)]
    assert len(await commit(store, other)) == 1
    with pytest.raises(LeaseLost):
        await commit(store, stopped)
    assert len(await store.memories(ANA)) == 1


async def test_a_lease_of_a_forgotten_user_is_none_of_a_new_one_of_that_name(store: Store) -> None:
    await log(store, ANA, "a")
    lease = await take(store)
    await store.forget(ANA)
    await log(store, ANA, "a")
    await take(store, "another")
    with pytest.raises(LeaseLost):
        await commit(store, lease)
    assert not await store.renew_lease(ANA, lease, HOUR)


async def test_a_name_alone_makes_nobody_dead(store: Store) -> None:
    """Two containers with one host name number their processes alike."""
    await log(store, ANA, "a")
    machine, _, started = process_holder().rsplit(":", 2)
    other = f"{machine}0:{2**22 + 7}:{started}"  # of another pid namespace, where it may well live
    assert not is_dead(other)
    await take(store, other)
    assert await store.acquire_lease(ANA, process_holder(), HOUR) is None
    assert (await store.due_scopes(METHOD, limit=9))[0] == []


async def test_a_dead_holder_counts_in_a_file_only(store: Store, store_case: StoreCase) -> None:
    await log(store, ANA, "a")
    machine, _, started = process_holder().rsplit(":", 2)
    dead = f"{machine}:{2**22 + 7}:{started}/1"
    assert is_dead(dead)
    lease = await take(store, dead)
    assert (await store.due_scopes(METHOD, limit=9))[0] == [ANA] * store_case.files
    taken = await store.acquire_lease(ANA, "me", HOUR)
    assert taken == (lease + 1 if store_case.files else None)


async def test_tasks_of_the_store_are_claimed_once_in_their_time(store: Store) -> None:
    assert await store.claim_task("sweep", HOUR)
    assert not await store.claim_task("sweep", HOUR)
    assert await store.claim_task("sweep", EXPIRED)
    assert await store.claim_task("another", HOUR)
    assert abs(await store.now() - datetime.now(UTC)) < HOUR


# whose turn it is


async def test_scopes_are_walked_in_pages(store: Store) -> None:
    for scope in (ANA, BEN, CLEO):
        await log(store, scope, "a", "b", "c")
    first, after = await store.due_scopes(METHOD, limit=2)
    assert (first, after) == ([ANA, BEN], 2)
    assert await store.due_scopes(METHOD, after=after, limit=2) == ([CLEO], 0)
    lease = await take(store)
    assert (await store.due_scopes(METHOD, limit=9))[0] == [BEN, CLEO], "the lease is held"
    for session in (1, 2, 3):
        await commit(store, lease, session)
    await store.release_lease(ANA, lease)
    assert (await store.due_scopes(METHOD, limit=9))[0] == [BEN, CLEO], "all is remembered"


async def test_what_was_ended_for_another_method_is_found_by_reading_all(store: Store) -> None:
    await log(store, ANA, "a", method="other")
    await log(store, BEN, "a")
    assert (await store.due_scopes(METHOD, limit=9))[0] == [BEN]
    assert await store.unmarked_scopes(METHOD, limit=1) == ([ANA], 1)
    assert await store.unmarked_scopes(METHOD, limit=1, after=1) == ([], 0)
    assert [item.session for item in await store.pending(METHOD, ANA)] == [1]
    await store.mark_pending(ANA, METHOD)
    assert await store.unmarked_scopes(METHOD, limit=1) == ([], 0)
    assert (await store.due_scopes(METHOD, limit=9))[0] == [ANA, BEN]


async def test_a_failed_session_waits_and_holds_up_others_if_it_should(store: Store) -> None:
    await log(store, ANA, "a", "b")
    lease = await take(store)
    await fail(store, lease, retry_in=HOUR, holds_up=True)
    await store.release_lease(ANA, lease)
    assert (await store.due_scopes(METHOD, limit=9))[0] == []
    first, second = await store.pending(METHOD, ANA)
    assert (first.state, first.due, second.state, second.due) == ("failed", False, "waiting", False)
    assert first.retry_at is not None
    assert HOUR * 0.9 < first.retry_at - await store.now() < HOUR * 1.1
    lease = await take(store)
    await fail(store, lease, retry_in=EXPIRED)
    await store.release_lease(ANA, lease)
    assert (await store.due_scopes(METHOD, limit=9))[0] == [ANA]


async def test_a_session_set_aside_is_visible_and_tried_again_on_request(store: Store) -> None:
    await log(store, ANA, "a", "b")
    lease = await take(store)
    await commit(store, lease, 2)
    await fail(store, lease, retry_in=EXPIRED)
    await fail(store, lease)
    await store.release_lease(ANA, lease)
    assert await states(store) == [(1, "set aside", 2)]
    assert [item.failure for item in await store.pending(METHOD)] == ["no answer"]
    assert await store.pending(METHOD, ANA, set_aside=False) == []
    assert (await store.due_scopes(METHOD, limit=9))[0] == []
    [session] = await store.sessions(ANA, METHOD, ids=[1])
    assert session.set_aside == "failed"
    assert await store.retry_sessions(ANA, METHOD) == 1
    assert await states(store) == [(1, "waiting", 0)]
    assert (await store.due_scopes(METHOD, limit=9))[0] == [ANA]
    assert await store.retry_sessions(ANA, METHOD) == 0


@pytest.mark.parametrize("state", ["waiting", "running", "failed", "set aside", "cancelled"])
async def test_every_state_can_be_cancelled_and_retried(store: Store, state: str) -> None:
    await log(store, ANA, "a")
    lease = await take(store, "me", EXPIRED if state == "waiting" else HOUR)
    if state == "failed":
        await fail(store, lease, retry_in=HOUR)
    if state == "set aside":
        await fail(store, lease)
    if state == "cancelled":
        assert await store.cancel_session(ANA, METHOD, 1)
    assert [item[1] for item in await states(store)] == [state]
    assert await store.cancel_session(ANA, METHOD, 1) is (state != "cancelled")
    assert [item[1] for item in await states(store)] == ["cancelled"]
    assert await store.pending(METHOD, ANA) == []
    with pytest.raises(LeaseLost):  # who is at it must not commit
        await commit(store, lease)
    assert await store.retry_sessions(ANA, METHOD, 1) == 1
    assert await states(store) == [(1, "waiting", 0)]
    lease = await take(store)
    assert await store.retry_sessions(ANA, METHOD, 1) == 1, "also while somebody is at it"
    with pytest.raises(LeaseLost):
        await commit(store, lease)
    assert len(await commit(store, await take(store))) == 1
    for change in (store.cancel_session, store.retry_sessions):
        with pytest.raises(BadInput, match="session 1 is remembered"):
            await change(ANA, METHOD, 1)


async def test_only_ended_sessions_are_cancelled_or_retried(store: Store) -> None:
    session = await store.start_session(ANA, AT, holder=process_holder())
    for change in (store.cancel_session, store.retry_sessions):
        with pytest.raises(BadInput, match="still open"):
            await change(ANA, METHOD, session)
        with pytest.raises(NotFound):
            await change(ANA, METHOD, 9)


async def test_exports_keep_what_was_set_aside(
    store: Store, store_case: StoreCase, tmp_path: Path
) -> None:
    await log(store, ANA, "a", "b", "c")
    await store.cancel_session(ANA, METHOD, 1)
    lease = await take(store)
    await fail(store, lease, 2)
    await fail(store, lease, 3, retry_in=HOUR)
    records = [record async for record in store.export()]
    other = store_case.make(tmp_path / "other")
    await other.open()
    await other.restore(records)
    assert await states(other) == [(1, "cancelled", 0), (2, "set aside", 1), (3, "failed", 1)]
    assert [item.due for item in await other.pending(METHOD, ANA, set_aside=False)] == [True]
    wrong = [{**record, "set_aside": "x"} for record in records if record.get("set_aside")]
    with pytest.raises(BadInput, match="unknown set_aside 'x'"):
        await other.restore(wrong, partial=True)
    await other.close()
