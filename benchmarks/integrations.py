"""What each integration adds to a turn: tokens, and milliseconds beside the bare framework.

``python benchmarks/integrations.py`` (after `make extras`) prints the tables; with ``--write``,
they go into docs/integrations/README.md. The chat models are scripted and answer at once.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from figures import median

import theanine
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.testing import ScriptedServer
from theanine.tokenizer import count_tokens

PAGE = Path(__file__).parents[1] / "docs" / "integrations" / "README.md"
HEARD = 20
"""User turns that are said to each agent, after all before them were remembered."""
ANSWER = "I see. Tell me more about it."
STORED = 100
"""Items or entries in a store when its operations are measured."""

Ask = Callable[[str], Awaitable[None]]
Seconds = list[float]


def conversation() -> tuple[theanine.History, list[str]]:
    """The bundled conversation without its last sessions, and what the user says in these."""
    (history,) = read_histories(HARBOUR).histories
    said = [turn.text for each in history.transcripts for turn in each.turns if turn.role == "user"]
    past = theanine.History(name=history.name, transcripts=history.transcripts[:-3])
    return past, said[-HEARD:]


async def agents(server: ScriptedServer, user: theanine.UserMemory | None) -> dict[str, Ask]:
    """An agent of each framework, bare or with the memory of a user."""
    from agents import Agent as OpenAIAgent
    from agents import OpenAIChatCompletionsModel, RunConfig, Runner, SQLiteSession
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import Memory
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from theanine.integrations.langchain import TheanineMiddleware
    from theanine.integrations.llama_index import TheanineMemory
    from theanine.integrations.openai_agents import TheanineSession
    from theanine.integrations.pydantic_ai import TheanineMemory as Capability

    client = AsyncOpenAI(base_url=server.base_url, api_key="none")
    chat = ChatOpenAI(model="test", base_url=server.base_url, api_key="none")
    middleware = [TheanineMiddleware(user)] if user else []
    chain = create_agent(chat, middleware=middleware, checkpointer=InMemorySaver())

    async def langchain(words: str) -> None:
        message = {"messages": [{"role": "user", "content": words}]}
        await chain.ainvoke(message, {"configurable": {"thread_id": "langchain"}})

    agent = OpenAIAgent(name="Agent", model=OpenAIChatCompletionsModel("test", client))
    session = TheanineSession("openai", user) if user else SQLiteSession("openai")
    recall = session.recall if isinstance(session, TheanineSession) else None
    config = RunConfig(call_model_input_filter=recall, tracing_disabled=True)

    async def openai_agents(words: str) -> None:
        await Runner.run(agent, words, session=session, run_config=config)

    model = OpenAIChatModel("test", provider=OpenAIProvider(openai_client=client))
    capable = Agent(model, capabilities=[Capability(user, session="pydantic")] if user else [])
    history: list[Any] = []

    async def pydantic_ai(words: str) -> None:
        history[:] = (await capable.run(words, message_history=history)).all_messages()

    options: Any = {"tokenizer_fn": str.split}
    memory = Memory.from_defaults(session_id="llama", **options)
    if user:
        memory = TheanineMemory.for_user(user, session_id="llama", memory=options)

    async def llama_index(words: str) -> None:
        await memory.aput(ChatMessage(role="user", content=words))
        messages = await memory.aget()
        sent = [{"role": str(each.role.value), "content": each.content} for each in messages]
        await client.chat.completions.create(model="test", messages=sent)  # type: ignore[arg-type]
        await memory.aput(ChatMessage(role="assistant", content=ANSWER))

    return {
        "LangChain": langchain,
        "OpenAI Agents SDK": openai_agents,
        "pydantic-ai": pydantic_ai,
        "LlamaIndex": llama_index,
    }


async def per_turn() -> list[list[str]]:
    """Rows of tokens and times for the frameworks that hold a conversation."""
    past, said = conversation()
    rows: list[list[str]] = []
    with ScriptedServer(ANSWER) as server, TemporaryDirectory() as folder:
        bare = await agents(server, None)
        for name in bare:
            # Each in a store of its own, so that none recalls what another was told.
            with theanine.open(Path(folder) / f"{name}.db") as client:
                user = client.user("ana")
                user.log(past)
                client.remember()
                user.recall(said[0])
                ask = (await agents(server, user))[name]
                without = [await _seconds(bare[name], words) for words in said]
                seen = len(server.requests)
                taken = [await _seconds(ask, words) for words in said]
                added = [
                    count_tokens(_newest(request["messages"])) - count_tokens(words)
                    for request, words in zip(server.requests[seen:], said, strict=True)
                ]
            rows.append(
                [
                    name,
                    f"{median(added):.0f}",
                    f"{max(added)}",
                    f"{sum(tokens > 0 for tokens in added)} of {len(added)}",
                    f"{1_000 * median(without):.0f}",
                    f"{1_000 * median(taken):.0f}",
                ]
            )
    return rows


async def _seconds(ask: Ask, words: str) -> float:
    started = time.perf_counter()
    await ask(words)
    return time.perf_counter() - started


def _newest(messages: Sequence[Any]) -> str:
    content = messages[-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def per_operation() -> list[list[str]]:
    """Rows of times for what frameworks store."""
    facts = [f"Fact {number}: Ana likes dish {number * 7}." for number in range(STORED)]
    with TemporaryDirectory() as folder, theanine.open(Path(folder) / "memory.db") as client:
        return [
            *_langgraph(client.user("graph"), facts),
            *_memory_tool(client.user("files"), facts, folder),
            *_transcripts(client.user("claude"), facts),
        ]


def _langgraph(user: theanine.UserMemory, facts: Sequence[str]) -> list[list[str]]:
    from langgraph.store.memory import InMemoryStore

    from theanine.integrations.langgraph import TheanineStore

    place, query = ("facts",), "Which dish does Ana like?"
    steps: dict[str, tuple[Callable[[Any, int], object], int]] = {
        "put": (lambda store, n: store.put(place, str(n), {"text": facts[n]}), STORED),
        "get": (lambda store, n: store.get(place, str(n)), STORED),
        "search": (lambda store, n: store.search(place, query=query), 20),
        "delete": (lambda store, n: store.delete(place, str(n)), 5),
    }
    both = (TheanineStore(user), InMemoryStore())
    return [_compare(f"LangGraph: {name}", step, both, n) for name, (step, n) in steps.items()]


def _memory_tool(user: theanine.UserMemory, facts: Sequence[str], folder: str) -> list[list[str]]:
    from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

    from theanine.integrations.anthropic import TheanineMemoryTool

    def run(command: str, **fields: Any) -> Callable[[Any, int], object]:
        return lambda tool, n: tool.call(
            {"command": command, "path": f"/memories/{n}.md", **fields}
        )

    steps = {"create": run("create", file_text=facts[0]), "view": run("view", view_range=None)}
    both = (TheanineMemoryTool(user), BetaLocalFilesystemMemoryTool(folder))
    return [
        _compare(f"Anthropic's memory tool: {name}", step, both, 50) for name, step in steps.items()
    ]


def _transcripts(user: theanine.UserMemory, facts: Sequence[str]) -> list[list[str]]:
    from claude_agent_sdk import InMemorySessionStore

    from theanine.integrations.claude_agent_sdk import TheanineSessionStore

    key = {"project_key": "trips", "session_id": "s"}

    def append(store: Any, number: int) -> None:
        message = {"role": "user", "content": facts[number]}
        entry = {"type": "user", "uuid": f"u{number}", "message": message}
        asyncio.run(store.append(key, [entry]))

    def load(store: Any, number: int) -> None:
        asyncio.run(store.load(key))

    both = (TheanineSessionStore(user), InMemorySessionStore())
    steps = {"append": append, "load": load}
    return [_compare(f"Claude Agent SDK: {name}", step, both, 50) for name, step in steps.items()]


def _compare(
    name: str, step: Callable[[Any, int], object], both: tuple[Any, Any], times: int
) -> list[str]:
    taken: list[Seconds] = [[], []]
    for seconds, each in zip(taken, both, strict=True):
        for number in range(times):
            started = time.perf_counter()
            step(each, number)
            seconds.append(time.perf_counter() - started)
    return [name, *(f"{1_000 * median(seconds):.2f}" for seconds in taken)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of Markdown; all but the first column are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(" | ".join(line) for line in lines)


def write(page: Path, mark: str, text: str) -> None:
    """Put a text between the comments ``<!-- mark -->`` and ``<!-- /mark -->`` of a page."""
    old = page.read_text("utf-8")
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.S)
    page.write_text(pattern.sub(lambda m: f"{m[1]}\n{text}\n\n{m[2]}", old), "utf-8")


def main() -> None:
    """Measure, and print or write the tables."""
    turns = table(
        ["Per turn", "tokens, median", "maximum", "turns with any", "ms, bare", "ms, with memory"],
        asyncio.run(per_turn()),
    )
    operations = table(["Operation, ms", "with theanine", "the framework's own"], per_operation())
    if "--write" in sys.argv:
        write(PAGE, "figures", f"{turns}\n\n{operations}")
    else:
        print(f"{turns}\n\n{operations}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
