"""A reply that only repeats what was recalled is asked for again, by the user's words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.asking import ANA, PLAIN, chat, limited, opened
from theanine.errors import UnusableReply
from theanine.fences import append_remembered
from theanine.llm.base import Message, RawReply
from theanine.store import Store
from theanine.testing import ScriptedModel

pytestmark = pytest.mark.anyio
ECHO = RawReply(text="<<<remembered\n- Ana fears ships.", finish="length")
MESSAGES = [
    Message("system", "You are Tea."),
    Message("user", append_remembered("Shall we sail?", ["Ana fears ships."])),
]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as store:
        yield store


async def test_an_echo_is_asked_for_again_without_quoting_it(store: Store) -> None:
    model = ScriptedModel([ECHO, "Better not."])
    caller = chat(model, store).for_scope(ANA)
    (reply,) = [piece async for piece in caller.converse(PLAIN, MESSAGES)]
    assert isinstance(reply, RawReply)
    assert (reply.text, reply.finish) == ("Better not.", "stop")
    first, second = model.prompts
    assert second == f"{first}\n\n(nothing)\n\nAnswer this in your own words: Shall we sail?"
    assert caller.usage.calls == 2


async def test_an_echo_each_time_is_a_visible_failure(store: Store) -> None:
    model = ScriptedModel(ECHO)
    caller = chat(model, store, limited(reply_retries=2)).for_scope(ANA)
    with pytest.raises(UnusableReply, match="it repeats what was recalled"):
        _ = [piece async for piece in caller.converse(PLAIN, MESSAGES)]
    assert len(model.prompts) == 3


async def test_a_refusal_of_the_provider_is_not_asked_again(store: Store) -> None:
    model = ScriptedModel(RawReply(text="", finish="content_filter"))
    with pytest.raises(UnusableReply, match="content filter"):
        _ = [piece async for piece in chat(model, store).for_scope(ANA).converse(PLAIN, MESSAGES)]
    assert len(model.prompts) == 1
