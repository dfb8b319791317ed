"""The store's contract for threads: sessions under an application's key, from many processes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from theanine.errors import BadInput
from theanine.store import Store
from theanine.store.values import Continued, Listing
from theanine.types import Scope, Utterance

pytestmark = pytest.mark.anyio

ANA, BO, AT, METHOD = Scope("ana"), Scope("bo"), datetime(2026, 3, 1, 9, tzinfo=UTC), "m"
PAUSE = timedelta(minutes=30)


def said(text: str, minute: float = 0, **more: Any) -> Utterance:
    return Utterance(text=text, speaker="Ana", at=AT + timedelta(minutes=minute), **more)


async def tell(store: Store, *utterances: Utterance, **more: Any) -> Continued:
    options: dict[str, Any] = {"method": METHOD, "pause": PAUSE, **more}
    return await store.continue_thread(ANA, "thread-42", utterances, **options)


async def test_a_thread_is_continued_until_its_session_ends(store: Store) -> None:
    first = await tell(store, said("One."))
    second = await tell(store, said("Two.", 1))
    assert first.session == second.session == await store.open_session(ANA, "thread-42")
    assert await store.open_session(BO, "thread-42") is None
    assert await store.end_session(ANA, 1, None, METHOD)
    assert await store.open_session(ANA, "thread-42") is None
    third = await tell(store, said("Three.", 2))
    assert (third.session, third.ended) == (2, None)
    sessions = await store.sessions(ANA, METHOD)
    assert [(s.thread, s.turn_count, s.ended_at) for s in sessions] == [
        ("thread-42", 2, AT + timedelta(minutes=1)),
        ("thread-42", 1, None),
    ]
    assert [item.session for item in await store.pending(METHOD)] == [1]


async def test_a_pause_ends_the_session(store: Store) -> None:
    await tell(store, said("One."))
    at_the_end = AT + PAUSE
    assert await store.open_session(ANA, "thread-42", at_the_end) == 1
    assert await store.open_session(ANA, "thread-42", at_the_end + timedelta(seconds=1)) is None
    assert (await tell(store, said("Two.", 30))).session == 1
    after = await tell(store, said("Three.", 61))
    assert (after.session, after.ended) == (2, 1)
    assert [item.session for item in await store.pending(METHOD)] == [1]
    assert (await tell(store, said("Four.", 999), pause=None)).session == 3, "the first turn set it"


async def test_a_worker_ends_what_has_paused(store: Store) -> None:
    await tell(store, said("One."))
    await store.continue_thread(ANA, "for-ever", [said("One.")], method=METHOD)
    await store.start_session(BO, AT)
    assert await store.end_idle_sessions(None, AT + PAUSE, METHOD) == []
    late = AT + PAUSE + timedelta(seconds=1)
    assert await store.end_idle_sessions(BO, late, METHOD) == []
    assert await store.end_idle_sessions(None, late, METHOD) == [(ANA, 1)]
    assert await store.end_idle_sessions(None, late, METHOD) == []
    assert [item.session for item in await store.pending(METHOD)] == [1]
    assert await store.open_session(ANA, "for-ever", late) == 2


async def test_turns_of_a_thread_are_those_of_all_its_sessions(store: Store) -> None:
    await tell(store, said("Be kind.", role="system"), said("One.", key="m1"))
    await store.continue_thread(ANA, "other", [said("Else.")], method=METHOD)
    await store.end_session(ANA, 1, None, METHOD)
    await tell(store, said("Two.", 1))

    async def texts(**options: Any) -> list[str]:
        turns = await store.turns(ANA, thread="thread-42", **options)
        listed = await store.list_turns(ANA, Listing(), thread="thread-42")
        assert {turn.id for turn in turns} <= {turn.id for turn in listed} == {1, 2, 4}
        return [turn.text for turn in turns]

    assert await texts() == ["Be kind.", "One.", "Two."]
    assert await texts(last=2) == ["One.", "Two."]
    assert await texts(after=2) == ["Two."]
    assert await texts(role="system", last=1) == ["Be kind."]
    assert await texts(key="m1") == ["One."]
    assert await store.turns(BO, thread="thread-42") == []
    sessions = await store.list_sessions(ANA, Listing(), METHOD, thread="thread-42")
    assert [session.id for session in sessions] == [1, 3]
    report = await store.forget(ANA, thread="thread-42")
    assert (report.sessions, report.turns) == (2, 3)
    assert [turn.text for turn in await store.turns(ANA)] == ["Else."]


@pytest.mark.parametrize(
    "name", ["it's", "back\\slash\\", "100 %(key)s", "$1 :thread", "日本", "E'x'"]
)
async def test_turns_of_a_thread_with_any_name_are_found(store: Store, name: str) -> None:
    for thread in (name, "other"):
        await store.continue_thread(ANA, thread, [said(f"Hi, {thread}.", key=name)], method=METHOD)
    assert [turn.id for turn in await store.turns(ANA, thread=name, key=name)] == [1]
    assert [turn.id for turn in await store.turns(ANA, thread=name, last=5)] == [1]
    assert await store.turns(ANA, thread=name, key=f"{name}'") == []


async def test_what_the_thread_has_is_left_out(store: Store) -> None:
    history = [said("One."), said("Two."), said("Yes.")]
    await tell(store, *history, resent=True)
    again = await tell(store, *history, said("Yes."), resent=True)
    assert ([turn.text for turn in again.turns], len(again.known)) == (["Yes."], 3)
    await store.end_session(ANA, 1, None, METHOD)
    later = await tell(store, *history, said("Yes."), said("New.", 5), resent=True)
    assert [turn.text for turn in later.turns] == ["New."], "also what earlier sessions have"
    assert (await tell(store, said("New.", 6))).known == (), "one message is new"
    unchanged = await tell(store, said("New.", 5), said("New.", 6), resent=True)
    assert (unchanged.turns, unchanged.session) == ((), 2)


async def test_a_message_with_an_id_is_logged_once(store: Store) -> None:
    await tell(store, said("Yes.", key="m1"))
    assert [each.text for each in (await tell(store, said("Yes.", key="m1"))).known] == ["Yes."]
    await store.end_session(ANA, 1, None, METHOD)
    both = await tell(store, said("Yes.", key="m1"), said("Yes.", key="m2"), resent=True)
    assert [turn.key for turn in both.turns] == ["m2"]
    with pytest.raises(BadInput, match="two messages have the id 'm3'"):
        await tell(store, said("A.", key="m3"), said("B.", key="m3"))


async def test_a_message_that_is_known_by_its_words_needs_no_id(store: Store) -> None:
    await tell(store, said("One."), said("Two."))
    history = [said("One.", key="a"), said("Two.", key="b"), said("Three.", key="c")]
    assert [turn.key for turn in (await tell(store, *history, resent=True)).turns] == ["c"]


async def test_instructions_are_logged_when_they_change(store: Store) -> None:
    async def instruct(instruction: str, *texts: str) -> list[str]:
        turns = [said(instruction, role="system"), *map(said, texts)]
        return [turn.text for turn in (await tell(store, *turns, resent=True)).turns]

    assert await instruct("Be kind.", "One.") == ["Be kind.", "One."]
    assert await instruct("Be kind.", "One.", "Two.") == ["Two."]
    assert await instruct("Be brief.", "One.", "Two.") == ["Be brief."]
    assert await instruct("Be brief.", "One.", "Two.", "Three.") == ["Three."]


@pytest.mark.parametrize("size", [100, 100_000])
async def test_content_is_kept_and_compared(store: Store, size: int) -> None:
    def shown(fill: str) -> Utterance:
        url = f"data:image/png;base64,{fill * size}"
        return said("[image]", content=({"type": "image_url", "image_url": {"url": url}},))

    one, other = shown("a"), shown("b")
    start = (said("Hello."), said("Look."))
    await tell(store, *start, one, resent=True)
    again = await tell(store, *start, one, said("Nice."), resent=True)
    assert [turn.text for turn in again.turns] == ["Nice."]
    edited = await tell(store, *start, other, resent=True)
    assert [turn.content for turn in edited.turns] == [other.content]
    assert {turn.content for turn in await store.turns(ANA, session=1)} == {()}
    turns = await store.turns(ANA, session=1, with_content=True)
    assert [turn.content for turn in turns] == [(), (), one.content, (), other.content]


async def test_arriving_turns_are_put_after_faster_ones(store: Store) -> None:
    await tell(store, said("From a faster process.", 1))
    late = await tell(store, said("Late."), arriving=True)
    assert late.turns[0].at == AT + timedelta(minutes=1)


async def test_a_turn_that_says_an_earlier_time_keeps_it(store: Store) -> None:
    await tell(store, said("On time.", 1))
    late = await tell(store, said("Late."))
    assert (late.turns[0].at, late.previous) == (AT, 1)
    after = await tell(store, said("Afterwards.", 2))
    assert (after.turns[0].at, after.previous) == (AT + timedelta(minutes=2), 2)


async def test_concurrent_first_turns_open_one_session(store: Store) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(lambda n=number: tell(store, said(f"Turn {n}."), arriving=True))
    [session] = await store.sessions(ANA, METHOD)
    assert session.turn_count == 20


async def test_messages_in_a_session_of_their_own(store: Store) -> None:
    result = await store.continue_thread(
        ANA, None, [said("One."), said("Two.", 5)], method=METHOD, end=True
    )
    [session] = await store.sessions(ANA, METHOD)
    assert (session.id, session.thread) == (result.session, None)
    assert session.ended_at == AT + timedelta(minutes=5)
    assert [item.session for item in await store.pending(METHOD)] == [session.id]


async def test_threads_and_content_survive_an_export(store: Store, tmp_path: Any) -> None:
    from .conftest import STORES

    part = {"type": "image_url", "image_url": {"url": "https://example.org/ä.png"}}
    await tell(store, said("[image]", content=(part,)), said("7", role="tool"))
    await store.continue_thread(ANA, None, [said("Alone.")], method=METHOD, end=True)
    records = [record async for record in store.export()]
    copy = STORES["sqlite"].make(tmp_path / "copy")
    await copy.open()
    await copy.restore(records)
    assert [record async for record in copy.export()] == records
    assert (await tell(copy, said("More.", 1))).session == 1
    await copy.close()


async def test_forgetting_erases_content_and_threads(store: Store) -> None:
    secret = {"type": "image_url", "image_url": {"url": "https://example.org/cormorant-4417.png"}}
    await tell(store, said("[image]", content=(secret,)))
    report = await store.forget(ANA, session=1)
    assert report.verified or report.remaining
    assert (await tell(store, said("Again.", 1))).session == 2
