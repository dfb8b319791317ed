"""The store's contract for erasures while others work with the erased data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from theanine.errors import LeaseLost, Stale
from theanine.store import Store
from theanine.store.processes import lease_holder, process_holder
from theanine.types import MemoryBatch, Scope, Transcript, Utterance

pytestmark = pytest.mark.anyio

ANA, AT, METHOD = Scope("ana"), datetime(2024, 3, 1, 9, 30, tzinfo=UTC), "m"
HOUR = timedelta(hours=1)
ME = lease_holder()
SECRET = "cormorant-4417"


async def log(store: Store, *keys: str) -> None:
    for key in keys:
        utterance_at = [Utterance(text=f"I said {key}: {SECRET}.", speaker="Ana", at=AT)]
        await store.log_transcript(ANA, Transcript(key=key, turns=utterance_at, at=AT), METHOD)


async def test_forgetting_revokes_the_lease(store: Store) -> None:
    await log(store, "a", "b")
    lease = await store.acquire_lease(ANA, ME, HOUR) or 0
    await store.forget(ANA, session=1)
    assert not await store.renew_lease(ANA, lease, HOUR)
    options: dict[str, Any] = {"embedder": "test", "lease": lease, "at": AT}
    with pytest.raises(LeaseLost):
        await store.commit_batch(ANA, 2, METHOD, MemoryBatch(), **options)


@pytest.mark.parametrize("forgotten", [False, True])
async def test_a_failure_quotes_no_erased_text(store: Store, forgotten: bool) -> None:
    await log(store, "a", "b")
    epoch = (await store.scope_version(ANA)).epoch
    if forgotten:
        await store.forget(ANA, session=1)
    lease = await store.acquire_lease(ANA, ME, HOUR) or 0
    reason = f"it said {SECRET}"
    await store.record_failure(ANA, 2, METHOD, reason, lease=lease, epoch=epoch)
    [kept] = [item.failure for item in await store.pending(METHOD) if item.session == 2]
    assert kept is not None
    assert (SECRET in kept) is not forgotten


async def test_replies_based_on_erased_memories_are_not_logged(store: Store) -> None:
    await log(store, "a")
    session = await store.start_session(ANA, AT, holder=process_holder())
    asked = Utterance(text="What did I say?", speaker="Ana", at=AT)
    reply = Utterance(text=f"You said {SECRET}.", speaker="assistant", at=AT, role="assistant")
    epoch = (await store.scope_version(ANA)).epoch
    await store.append_turns(ANA, session, [asked], epoch=epoch)
    await store.forget(ANA, session=1)
    with pytest.raises(Stale, match="forgotten or replaced"):
        await store.append_turns(ANA, session, [reply], epoch=epoch)
    await store.append_turns(
        ANA, session, [asked]
    )  # what a person says stands, whatever was forgotten
    assert [turn.text for turn in await store.turns(ANA)] == [asked.text] * 2


async def test_a_scope_made_anew_has_an_epoch_of_its_own(store: Store) -> None:
    await log(store, "a")
    epoch = (await store.scope_version(ANA)).epoch
    await store.forget(ANA)
    session = await store.start_session(ANA, AT, holder=process_holder())
    assert (await store.scope_version(ANA)).epoch != epoch
    reply = Utterance(text=f"You said {SECRET}.", speaker="assistant", at=AT, role="assistant")
    with pytest.raises(Stale, match="forgotten or replaced"):
        await store.append_turns(ANA, session, [reply], epoch=epoch)


async def test_a_reply_may_be_the_first_turn_of_a_scope(store: Store) -> None:
    epoch = (await store.scope_version(ANA)).epoch
    session = await store.start_session(ANA, AT, holder=process_holder())
    reply = Utterance(text="Good day.", speaker="assistant", at=AT, role="assistant")
    assert await store.append_turns(ANA, session, [reply], epoch=epoch)
