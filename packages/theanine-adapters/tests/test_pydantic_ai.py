"""pydantic-ai's capability: recall in the newest user prompt, everything logged once."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.errors import StoreError

pytest.importorskip("pydantic_ai.capabilities", reason="pydantic-ai is not installed")

from pydantic_ai import Agent, BinaryContent, ModelHTTPError
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from theanine_adapters.pydantic_ai import TheanineMemory

pytestmark = pytest.mark.anyio
FEAR = "I'm terrified of ships since the storm."
QUESTION = "Shall we book that cruise on a ship?"


class Scripted:
    """A model that answers by a list, in which an exception is raised."""

    def __init__(self, *replies: Any) -> None:
        self.replies, self.seen = replies, list[list[ModelMessage]]()
        self.model = FunctionModel(self.answer, stream_function=self.stream)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.seen.append([*messages])
        reply = self.replies[len(self.seen) - 1]
        if isinstance(reply, Exception):
            raise reply
        return ModelResponse(parts=[TextPart(reply)] if isinstance(reply, str) else reply)

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for part in self.answer(messages, info).parts:
            if isinstance(part, TextPart):
                for letter in part.content:
                    yield letter
            elif isinstance(part, ToolCallPart):
                yield {0: DeltaToolCall(part.tool_name, part.args_as_json_str())}

    def prompts(self, request: int) -> list[Any]:
        parts = [part for message in self.seen[request] for part in message.parts]
        return [part.content for part in parts if part.part_kind == "user-prompt"]


def said(ana: theanine.UserMemory, thread: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in ana.turns(thread=thread)]


async def test_the_recollection_follows_the_newest_words_and_is_not_kept(
    ana: theanine.UserMemory,
) -> None:
    scripted = Scripted([ThinkingPart("Ships?"), TextPart("Take the train.")], "At nine.")
    agent = Agent(scripted.model, capabilities=[TheanineMemory(ana)])
    first = await agent.run(QUESTION, conversation_id="trip")
    history = first.all_messages()
    second = await agent.run("When does that ship leave?", message_history=history)
    [prompt] = scripted.prompts(0)
    words, _, block = prompt.partition("\n\n")
    assert words == QUESTION and "<<<remembered" in block and "terrified" in block
    replayed, newest = scripted.prompts(1)
    assert replayed == QUESTION and "terrified" in newest
    assert "remembered" not in str(second.all_messages())
    assert said(ana, "trip") == [
        ("user", QUESTION),
        ("assistant", "Take the train."),
        ("user", "When does that ship leave?"),
        ("assistant", "At nine."),
    ]
    [fear] = [memory.id for memory in ana.memories() if "terrified" in memory.text]
    replies = [turn for turn in ana.turns(thread="trip") if turn.role == "assistant"]
    assert [reply.recalled for reply in replies] == [(fear,)] * 2


async def test_one_recall_serves_all_requests_of_a_prompt(ana: theanine.UserMemory) -> None:
    call = ToolCallPart("find_trips", {"to": "Vis"}, "c1")
    scripted = Scripted([call], "There's a ferry at nine.")
    agent = Agent(scripted.model, capabilities=[TheanineMemory(ana, session="trip")])

    @agent.tool_plain
    def find_trips(to: str) -> str:
        return f"a ferry to {to} at nine"

    await agent.run([QUESTION, ImageUrl("https://example.org/ship.png")])
    assert scripted.prompts(1) == scripted.prompts(0)
    [(words, _, block)] = scripted.prompts(0)
    assert words == QUESTION and "terrified" in block
    assert said(ana, "trip") == [
        ("user", f"{QUESTION}\n[image]"),
        ("tool", '[called find_trips(to="Vis")]'),
        ("tool", "a ferry to Vis at nine"),
        ("assistant", "There's a ferry at nine."),
    ]


async def test_a_run_that_failed_is_repeated_without_doubles(ana: theanine.UserMemory) -> None:
    scripted = Scripted(ModelHTTPError(500, "test"), "Take the train.")
    agent = Agent(scripted.model, capabilities=[TheanineMemory(ana, session="trip")])
    with pytest.raises(ModelHTTPError):
        await agent.run(QUESTION)
    await agent.run(QUESTION)
    assert said(ana, "trip") == [("user", QUESTION), ("assistant", "Take the train.")]


async def test_a_streamed_run_is_logged(ana: theanine.UserMemory) -> None:
    scripted = Scripted("Take the train.")
    agent = Agent(scripted.model, capabilities=[TheanineMemory(ana, session="trip")])
    async with agent.run_stream(QUESTION) as run:
        await run.get_output()
    assert "terrified" in scripted.prompts(0)[0]
    assert said(ana, "trip") == [("user", QUESTION), ("assistant", "Take the train.")]


async def test_nothing_relevant_nothing_added(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        scripted = Scripted("Hi.")
        agent = Agent(scripted.model, capabilities=[TheanineMemory(client.user("bo"))])
        picture = BinaryContent(b"PNG", media_type="image/png")
        await agent.run(["Hello!", picture])
        assert scripted.prompts(0) == [["Hello!", picture]]
        [heard, _] = client.user("bo").turns(with_content=True)
        assert heard.content[1]["image_url"]["url"].startswith("data:image/png;base64,")


async def test_the_user_is_found_for_each_run(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        scripted = Scripted("Hi Ana.", "Hi Bo.")
        agent = Agent(
            scripted.model,
            deps_type=str,
            capabilities=[TheanineMemory(lambda ctx: client.user(ctx.deps))],
        )
        await agent.run("I'm Ana.", deps="ana")
        await agent.run("I'm Bo.", deps="bo")
        assert [turn.text for turn in client.user("ana").turns()] == ["I'm Ana.", "Hi Ana."]
        assert [turn.text for turn in client.user("bo").turns()] == ["I'm Bo.", "Hi Bo."]


async def test_an_agent_goes_on_without_memory_unless_it_is_strict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
    scripted = Scripted("Take the train.", "Never.")
    with caplog.at_level(logging.ERROR):
        result = await Agent(scripted.model, capabilities=[TheanineMemory(ana)]).run(QUESTION)
    assert result.output == "Take the train."
    assert "memory failed, so nothing was recalled; the run goes on" in caplog.text
    strict = Agent(scripted.model, capabilities=[TheanineMemory(ana, strict=True)])
    with pytest.raises(StoreError, match="this client is closed"):
        await strict.run(QUESTION)


async def test_with_the_handle_of_aopen(tmp_path: Path) -> None:
    async with theanine.aopen(tmp_path / "memory.db") as client:
        scripted = Scripted("Take the train.")
        memory = TheanineMemory(client.user("ana"), session="trip", budget=100)
        await Agent(scripted.model, capabilities=[memory]).run(QUESTION)
        assert len(await client.user("ana").turns(thread="trip")) == 2
