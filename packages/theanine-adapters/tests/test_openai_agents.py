"""The OpenAI Agents SDK's session: items as they were added, and recall in the request alone."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.fuzzing import cases
from theanine.errors import BadInput, StoreError
from theanine.llm.base import ToolCall
from theanine.testing import Reply, ScriptedServer, status
from theanine.testing.script import Script

pytest.importorskip("agents", reason="openai-agents is not installed (make extras)")

import anyio
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    function_tool,
)
from agents.memory import Session
from openai import APIError, AsyncOpenAI

from theanine_adapters.openai_agents import TheanineSession

FEAR = "I'm terrified of ships since the storm."
QUESTION = "Shall we book that cruise on a ship?"
JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.sampled_from(["", "a\0b", "\ud800", "x"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=4,
)
ITEMS = st.one_of(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant", "system", "developer", "critic"]),
        st.one_of(
            st.text(max_size=9),
            st.just([{"type": "input_text", "text": "look"}, {"type": "input_image"}]),
            JSON,
        ),
    ),
    st.sampled_from(
        [
            {"type": "reasoning", "id": "r1", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "done"},
            {"type": "item_reference", "id": "i1"},
        ]
    ),
    st.dictionaries(st.text(min_size=1, max_size=4), JSON, max_size=3),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(ITEMS, max_size=3)),
        st.tuples(st.just("get"), st.one_of(st.none(), st.integers(0, 4))),
        st.tuples(st.sampled_from(["pop", "clear"]), st.none()),
    ),
    max_size=8,
)


@asynccontextmanager
async def scripted(script: Script, **options: Any) -> AsyncGenerator[tuple[Agent, ScriptedServer]]:
    """An agent, and the server that answers it."""
    with ScriptedServer(script) as server:
        url = server.base_url
        async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
            model = OpenAIChatCompletionsModel("test", client)
            yield Agent(name="Agent", model=model, **options), server


def config(session: TheanineSession) -> RunConfig:
    return RunConfig(call_model_input_filter=session.recall, tracing_disabled=True)


def said(ana: theanine.UserMemory, thread: str) -> list[str]:
    return [turn.text for turn in ana.turns(thread=thread)]


def repaired(items: Any) -> Any:
    """Return items as they are stored: without NUL and halves of characters."""
    return json.loads(re.sub(r"\\u0000|\\ud800(?!\\ud[c-f])", r"\\ufffd", json.dumps(items)))


@pytest.mark.parametrize("client", ["store"], indirect=True)  # a service takes minutes
@pytest.mark.fuzz
@cases(15)
@given(steps=STEPS)
def test_as_the_sdks_own_session(
    ana: theanine.UserMemory, steps: Sequence[tuple[str, Any]]
) -> None:
    async def compare() -> None:
        ours, theirs = TheanineSession(f"chat {len(ana.turns())}", ana), SQLiteSession("chat")
        await ours.clear_session()
        for step, value in steps:
            for session in (ours, theirs):
                if step == "add":
                    await session.add_items(value)
            if step == "clear":
                await ours.clear_session()
                await theirs.clear_session()
            if step == "pop":
                assert await ours.pop_item() == repaired(await theirs.pop_item())
            limit = value if step == "get" else None
            assert await ours.get_items(limit) == repaired(await theirs.get_items(limit))
        theirs.close()

    anyio.run(compare)


@pytest.mark.anyio
async def test_it_is_a_session_of_the_sdk(ana: theanine.UserMemory) -> None:
    session = TheanineSession("chat", ana, session_settings=SessionSettings(limit=1))
    assert isinstance(session, Session)
    await session.add_items([{"role": "user", "content": words} for words in ("one", "two")])
    assert await session.get_items() == [{"role": "user", "content": "two"}]
    with pytest.raises(BadInput, match="the item can't be stored as JSON"):
        await session.add_items([{"role": "user", "content": "three", "at": object()}])
    assert said(ana, "chat") == ["one", "two"]


@pytest.mark.server
@pytest.mark.anyio
async def test_the_recollection_follows_the_newest_words_and_is_not_kept(
    ana: theanine.UserMemory,
) -> None:
    async with scripted(["Take the train.", "At nine."]) as (agent, server):
        session = TheanineSession("trip", ana)
        for words in (QUESTION, "When does that ship leave?"):
            await Runner.run(agent, words, session=session, run_config=config(session))
        first, second = (request["messages"] for request in server.requests)
    words, _, block = str(first[-1]["content"]).partition("\n\n")
    assert words == QUESTION and "<<<remembered" in block and "terrified" in block
    assert second[0]["content"] == QUESTION and "terrified" in str(second[-1]["content"])
    assert "remembered" not in str(await session.get_items())
    assert said(ana, "trip") == [
        QUESTION,
        "Take the train.",
        "When does that ship leave?",
        "At nine.",
    ]
    [fear] = [memory.id for memory in ana.memories() if "terrified" in memory.text]
    replies = [turn for turn in ana.turns(thread="trip") if turn.role == "assistant"]
    assert [reply.recalled for reply in replies] == [(fear,)] * 2


@pytest.mark.server
@pytest.mark.anyio
async def test_one_recall_serves_all_requests_of_a_message(ana: theanine.UserMemory) -> None:
    @function_tool
    def find_trips(to: str) -> str:
        """Find trips."""
        return f"a ferry to {to} at nine"

    call = ToolCall(id="c1", name="find_trips", arguments={"to": "Vis"})
    script = [Reply(tool_calls=(call,)), "There's a ferry at nine."]
    async with scripted(script, tools=[find_trips]) as (agent, server):
        session = TheanineSession("trip", ana)
        await Runner.run(agent, QUESTION, session=session, run_config=config(session))
        first, second = (request["messages"] for request in server.requests)
    assert second[: len(first)] == first and "terrified" in str(first[-1])
    assert said(ana, "trip") == [
        QUESTION,
        '[called find_trips(to="Vis")]',
        "a ferry to Vis at nine",
        "There's a ferry at nine.",
    ]


@pytest.mark.server
@pytest.mark.anyio
async def test_a_streamed_run_is_kept_once(ana: theanine.UserMemory) -> None:
    async with scripted("Take the train.") as (agent, _):
        session = TheanineSession("trip", ana)
        run = Runner.run_streamed(agent, QUESTION, session=session, run_config=config(session))
        async for _ in run.stream_events():
            pass
    assert said(ana, "trip") == [QUESTION, "Take the train."]


@pytest.mark.server
@pytest.mark.anyio
async def test_a_run_that_failed_can_be_repeated(ana: theanine.UserMemory) -> None:
    async with scripted([status(500), "Take the train."]) as (agent, _):
        session = TheanineSession("trip", ana)
        with pytest.raises(APIError):
            await Runner.run(agent, QUESTION, session=session, run_config=config(session))
        kept = await session.get_items()
        await session.clear_session()
        await Runner.run(agent, QUESTION, session=session, run_config=config(session))
    assert kept in ([], [{"role": "user", "content": QUESTION}])  # the SDK decides
    assert said(ana, "trip") == [QUESTION, "Take the train."]


@pytest.mark.anyio
async def test_an_agent_goes_on_without_a_recollection_unless_it_is_strict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
    async with scripted("Take the train.") as (agent, _):
        session = TheanineSession("trip", ana)
        with caplog.at_level(logging.ERROR):
            run = await Runner.run(agent, QUESTION, run_config=config(session))
        assert run.final_output == "Take the train."
        assert "memory failed, so nothing was recalled" in caplog.text
        strict = TheanineSession("trip", ana, strict=True)
        with pytest.raises(StoreError, match="this client is closed"):
            await Runner.run(agent, QUESTION, run_config=config(strict))
        with pytest.raises(StoreError, match="this client is closed"):
            await Runner.run(agent, QUESTION, session=session)


@pytest.mark.anyio
async def test_with_the_handle_of_aopen(tmp_path: Path) -> None:
    async with theanine.aopen(tmp_path / "memory.db") as client:
        session = TheanineSession("chat", client.user("ana"))
        await session.add_items([{"role": "user", "content": "one"}])
        assert await session.pop_item() == {"role": "user", "content": "one"}
        assert await session.pop_item() is None
