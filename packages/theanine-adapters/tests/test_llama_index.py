"""LlamaIndex's memory and its block: recall in the newest message, everything logged once."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.errors import StoreError

pytest.importorskip("llama_index.core.memory", reason="llama-index is not installed (make extras)")

from anyio import to_thread
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.memory import InsertMethod, Memory
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from theanine_adapters.llama_index import TheanineBlock, TheanineMemory

pytestmark = pytest.mark.anyio
FEAR = "I'm terrified of ships since the storm."
QUESTION = "Shall we book that cruise on a ship?"


@pytest.fixture
async def options() -> AsyncIterator[dict[str, Any]]:
    """Options of the framework: its default tokenizer is downloaded, its store is never closed."""
    engine = create_async_engine("sqlite+aiosqlite://", poolclass=StaticPool)
    yield {"tokenizer_fn": str.split, "async_engine": engine}
    await engine.dispose()


def said(ana: theanine.UserMemory, thread: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in ana.turns(thread=thread)]


def message(role: str, words: str) -> ChatMessage:
    return ChatMessage(role=role, content=words)


async def test_the_recollection_follows_the_newest_words_and_is_not_kept(
    ana: theanine.UserMemory, options: dict[str, Any]
) -> None:
    memory = TheanineMemory.for_user(ana, session_id="trip", memory=options)
    await memory.aput(message("user", QUESTION))
    [shown] = await memory.aget()
    words, _, block = str(shown.content).partition("\n\n")
    assert words.strip() == QUESTION and "<<<remembered" in block and "terrified" in block
    await memory.aput(message("assistant", "Take the train."))
    await memory.aput_messages([message("user", QUESTION), message("assistant", "The train.")])
    assert [str(each.content) for each in await memory.aget_all()] == [
        QUESTION,
        "Take the train.",
        QUESTION,
        "The train.",
    ]
    first, *_, newest, _ = await memory.aget()
    assert first.content == QUESTION and "terrified" in str(newest.content)
    assert said(ana, "trip") == [
        ("user", QUESTION),
        ("assistant", "Take the train."),
        ("user", QUESTION),
        ("assistant", "The train."),
    ]
    [fear] = [each.id for each in ana.memories() if "terrified" in each.text]
    [reply, _] = [turn for turn in ana.turns(thread="trip") if turn.role == "assistant"]
    assert reply.recalled == (fear,)


async def test_calls_of_tools_and_what_the_queue_drops_are_logged(
    ana: theanine.UserMemory, options: dict[str, Any]
) -> None:
    limits = {**options, "token_limit": 12, "token_flush_size": 4}
    memory = TheanineMemory.for_user(ana, session_id="trip", memory=limits)
    call = ToolCallBlock(tool_call_id="c1", tool_name="find_trips", tool_kwargs={"to": "Vis"})
    result = ChatMessage(role="tool", content="at nine", additional_kwargs={"tool_call_id": "c1"})
    turns = [message("user", QUESTION), ChatMessage(role="assistant", blocks=[call]), result]
    turns.append(message("assistant", "There's a ferry to Vis at nine."))
    for turn in turns:
        await memory.aput(turn)
    await memory.aset([message("user", "Begin again.")])
    assert said(ana, "trip") == [
        ("user", QUESTION),
        ("tool", '[called find_trips(to="Vis")]'),
        ("tool", "at nine"),
        ("assistant", "There's a ferry to Vis at nine."),
        ("user", "Begin again."),
    ]


async def test_a_block_of_the_frameworks_own_memory(
    ana: theanine.UserMemory, options: dict[str, Any]
) -> None:
    memory = Memory.from_defaults(
        session_id="trip",
        memory_blocks=[TheanineBlock(ana, session="dropped")],
        insert_method=InsertMethod.USER,
        token_limit=12,
        token_flush_size=4,
        **options,
    )
    await memory.aput(message("user", QUESTION))
    await memory.aput(message("assistant", "Take the train, which leaves at nine in the morning."))
    await memory.aput(message("user", "Is the ship at sea?"))
    shown = await memory.aget()
    assert "terrified" in str(shown[-1].content)
    assert ("user", QUESTION) in said(ana, "dropped")
    nothing = Memory.from_defaults(memory_blocks=[TheanineBlock(ana)], **options)
    assert await nothing.aget() == []


async def test_a_chat_goes_on_without_memory_unless_it_is_strict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, Any]
) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
    memory = TheanineMemory.for_user(ana, session_id="trip", memory=options)
    with caplog.at_level(logging.ERROR):
        await memory.aput(message("user", QUESTION))
        assert [each.content for each in await memory.aget()] == [QUESTION]
    assert "memory failed, so nothing was recalled" in caplog.text
    strict = TheanineMemory.for_user(ana, session_id="strict", strict=True, memory=options)
    with pytest.raises(StoreError, match="this client is closed"):
        await strict.aput(message("user", QUESTION))


async def test_where_the_framework_does_not_await(
    ana: theanine.UserMemory, options: dict[str, Any]
) -> None:
    memory = TheanineMemory.for_user(ana, session_id="trip", memory=options)
    await to_thread.run_sync(memory.put, message("user", QUESTION))
    assert "terrified" in str((await to_thread.run_sync(memory.get))[-1].content)
    assert said(ana, "trip") == [("user", QUESTION)]
