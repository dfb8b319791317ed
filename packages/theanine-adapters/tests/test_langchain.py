"""LangChain's middleware: recall in the newest human message, everything logged once."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, cast

import pytest

import theanine
from theanine.errors import StoreError

pytest.importorskip("langchain.agents", reason="langchain is not installed (make extras)")

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from theanine_adapters.langchain import TheanineMiddleware

FEAR = "I'm terrified of ships since the storm."
QUESTION = "Shall we book that cruise on a ship?"
CALL = AIMessage("", tool_calls=[{"name": "find_trips", "args": {"to": "Vis"}, "id": "c1"}])


class ScriptedModel(BaseChatModel):
    """Answers by a list, in which an exception is raised, and keeps what it was sent."""

    replies: list[Any]
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        self.seen.append(messages)
        reply = self.replies[len(self.seen) - 1]
        if isinstance(reply, Exception):
            raise reply
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])


def find_trips(to: str) -> str:
    """Find trips to a place."""
    return f"a ferry to {to} at nine"


def ask(words: str) -> Any:
    return {"messages": [{"role": "user", "content": words}]}


def in_thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def said(ana: theanine.UserMemory, thread: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in ana.turns(thread=thread)]


def test_the_recollection_follows_the_newest_words_and_is_not_kept(
    ana: theanine.UserMemory,
) -> None:
    model = ScriptedModel(replies=["Take the train.", "It's at nine."])
    agent = create_agent(
        model,
        system_prompt="Be brief.",
        middleware=[TheanineMiddleware(ana)],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(ask(QUESTION), in_thread("trip"))
    state = agent.invoke(ask("And when does that ship leave?"), in_thread("trip"))
    (system, first), (_, replayed, _, second) = model.seen
    assert system.content == "Be brief."
    words, _, block = str(first.content).partition("\n\n")
    assert words == QUESTION and "<<<remembered" in block and "terrified" in block
    assert replayed.content == QUESTION and "terrified" in str(second.content)
    assert [message.content for message in state["messages"]] == [
        QUESTION,
        "Take the train.",
        "And when does that ship leave?",
        "It's at nine.",
    ]
    assert said(ana, "trip") == [
        ("user", QUESTION),
        ("assistant", "Take the train."),
        ("user", "And when does that ship leave?"),
        ("assistant", "It's at nine."),
    ]
    replies = [turn for turn in ana.turns(thread="trip") if turn.role == "assistant"]
    [fear] = [memory.id for memory in ana.memories() if "terrified" in memory.text]
    assert [turn.recalled for turn in replies] == [(fear,)] * 2


def test_one_recall_serves_all_requests_of_a_message(ana: theanine.UserMemory) -> None:
    model = ScriptedModel(replies=[CALL, "There's a ferry at nine."])
    agent = create_agent(model, tools=[find_trips], middleware=[TheanineMiddleware(ana)])
    agent.invoke(ask(QUESTION))
    first, second = model.seen
    assert second[: len(first)] == first and "terrified" in str(first[-1].content)
    assert isinstance(second[-1], ToolMessage)
    assert said(ana, "langchain") == [
        ("user", QUESTION),
        ("tool", '[called find_trips(to="Vis")]'),
        ("tool", "a ferry to Vis at nine"),
        ("assistant", "There's a ferry at nine."),
    ]


def test_a_run_that_failed_is_repeated_without_doubles(ana: theanine.UserMemory) -> None:
    model = ScriptedModel(replies=[ConnectionError("down"), "Take the train.", "Really."])
    agent = create_agent(model, middleware=[TheanineMiddleware(ana)])
    with pytest.raises(ConnectionError, match="down"):
        agent.invoke(ask(QUESTION))
    state = agent.invoke(ask(QUESTION))
    history = [*state["messages"], HumanMessage("Really?")]  # without a checkpointer, all again
    agent.invoke({"messages": history})
    assert [words for _, words in said(ana, "langchain")] == [
        QUESTION,
        "Take the train.",
        "Really?",
        "Really.",
    ]


def test_nothing_relevant_nothing_added(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        bare, model = ScriptedModel(replies=["Hi."]), ScriptedModel(replies=["Hi."])
        create_agent(bare).invoke({"messages": [HumanMessage("Hello!", id="1")]})
        agent = create_agent(model, middleware=[TheanineMiddleware(client.user("bo"))])
        agent.invoke({"messages": [HumanMessage("Hello!", id="1")]})
        assert model.seen == bare.seen


def test_the_user_is_found_for_each_run(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        model = ScriptedModel(replies=["Hi Ana.", "Hi Bo."])
        agent: Any = create_agent(
            model,
            middleware=[TheanineMiddleware(lambda runtime: client.user(runtime.context))],
            context_schema=cast("Any", str),
        )
        agent.invoke(ask("I'm Ana."), context="ana")
        agent.invoke(ask("I'm Bo."), context="bo")
        assert [turn.text for turn in client.user("ana").turns()] == ["I'm Ana.", "Hi Ana."]
        assert [turn.text for turn in client.user("bo").turns()] == ["I'm Bo.", "Hi Bo."]


def test_an_agent_goes_on_when_the_client_is_opened_again(tmp_path: Path) -> None:
    model = ScriptedModel(replies=["Hi.", "Take the train."])
    users: list[theanine.UserMemory] = []
    memory = TheanineMiddleware(lambda _: users[-1], strict=True)
    agent = create_agent(model, middleware=[memory])
    for words in (FEAR, QUESTION):
        with theanine.open(tmp_path / "memory.db") as client:
            users.append(client.user("ana"))
            agent.invoke(ask(words))
            heard = len(users[-1].turns())
    assert heard == 4 and "terrified" in str(model.seen[1][-1].content)


def test_an_agent_goes_on_without_memory_unless_it_is_strict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
    model = ScriptedModel(replies=["Take the train.", "Never."])
    agent = create_agent(model, middleware=[TheanineMiddleware(ana)])
    with caplog.at_level(logging.ERROR):
        state = agent.invoke(ask(QUESTION))
    assert state["messages"][-1].content == "Take the train."
    assert "memory failed, so nothing was recalled; the run goes on" in caplog.text
    strict = create_agent(model, middleware=[TheanineMiddleware(ana, strict=True)])
    with pytest.raises(StoreError, match="this client is closed"):
        strict.invoke(ask(QUESTION))


@pytest.mark.anyio
async def test_with_await_on_either_handle(tmp_path: Path, ana: theanine.UserMemory) -> None:
    async with theanine.aopen(tmp_path / "memory.db") as client:
        for number, user in enumerate((client.user("ana"), ana)):
            model = ScriptedModel(replies=["Take the train."])
            agent = create_agent(
                model, middleware=[TheanineMiddleware(user, session=f"trip {number}", budget=200)]
            )
            await agent.ainvoke(ask(QUESTION))
            assert "terrified" in str(model.seen[0][-1].content)
            assert len(ana.turns(thread=f"trip {number}")) == 2
