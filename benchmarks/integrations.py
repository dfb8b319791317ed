"""What each integration adds to a turn: tokens, and milliseconds beside the bare framework.

``python benchmarks/integrations.py`` (after `make extras`) prints the tables; with ``--write``,
they go into docs/integrations/README.md. The chat models are scripted and answer at once. What asks
memory by tools and hooks, which have no bare framework beside them, is measured in CPU time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import subprocess
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

    from theanine_adapters.langchain import TheanineMiddleware
    from theanine_adapters.llama_index import TheanineMemory
    from theanine_adapters.openai_agents import TheanineSession
    from theanine_adapters.pydantic_ai import TheanineMemory as Capability

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


async def per_question() -> list[list[str]]:
    """Rows of tokens and CPU time of what asks memory without a framework: tools and hooks."""
    past, said = conversation()
    with TemporaryDirectory() as folder:
        store = Path(folder) / "memory.db"
        async with theanine.aopen(store) as client:
            user = client.user("ana")
            await user.log(past)
            await client.remember()
            rows = await _asked_by_tool(user, said)
        rows.append(_asked_by_hook(store, said))
    return rows


async def _asked_by_tool(user: Any, said: Sequence[str]) -> list[list[str]]:
    from mcp import Client

    from theanine_server.mcp.server import build_server

    tools: dict[str, Callable[[Sequence[str]], str]] = {
        "MCP: search": lambda results: results[0],
        "MCP: search and fetch of the first hit": "".join,
    }
    taken: dict[str, tuple[list[int], Seconds]] = {name: ([], []) for name in tools}
    async with Client(build_server(lambda context, right: user)) as client:

        async def call(name: str, **arguments: str) -> str:
            result: Any = await client.call_tool(name, arguments)
            return result.content[0].text

        await call("search", query=said[0])
        for words in said:
            started = time.process_time()
            results = [await call("search", query=words)]
            searched = time.process_time()
            if hits := json.loads(results[0])["results"]:
                results.append(await call("fetch", id=hits[0]["id"]))
            spent = (searched - started, time.process_time() - started)
            for (tokens, seconds), told, each in zip(
                taken.values(), tools.values(), spent, strict=True
            ):
                tokens.append(count_tokens(told(results)) if hits else 0)
                seconds.append(each)
        listed = [
            tool.model_dump(by_alias=True, exclude_none=True)
            for tool in (await client.list_tools()).tools
        ]
    size = count_tokens(json.dumps(listed, separators=(",", ":")))
    return [
        ["MCP: the list of tools, once a session", f"{size}", f"{size}", "", ""],
        *(_describe(name, *each) for name, each in taken.items()),
    ]


def _asked_by_hook(store: Path, said: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "theanine", "hook", "--user", "ana", "--store", str(store)]
    environment = {**os.environ, "XDG_STATE_HOME": str(store.parent), "THEANINE_HOOK_LIMIT": "60"}
    tokens: list[int] = []
    seconds: Seconds = []
    for words in said:
        event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": words}
        started = _cpu_of_children()
        answer = subprocess.run(
            command, input=json.dumps(event), env=environment, capture_output=True, text=True
        ).stdout
        seconds.append(_cpu_of_children() - started)
        added = json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""
        tokens.append(count_tokens(added))
    return _describe("Hook before a prompt", tokens, seconds)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _describe(name: str, tokens: Sequence[int], seconds: Seconds) -> list[str]:
    return [
        name,
        f"{median(tokens):.0f}",
        f"{max(tokens)}",
        f"{sum(each > 0 for each in tokens)} of {len(tokens)}",
        f"{1_000 * median(seconds):.0f}",
    ]


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

    from theanine_adapters.langgraph import TheanineStore

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

    from theanine_adapters.anthropic import TheanineMemoryTool

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

    from theanine_adapters.claude_agent_sdk import TheanineSessionStore

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
    """Measure, and print or write the tables; with ``--asking``, only that of tools and hooks."""
    questions = table(
        ["Asked by", "tokens, median", "maximum", "turns with any", "ms of CPU time"],
        asyncio.run(per_question()),
    )
    report("asking", questions)
    if "--asking" in sys.argv:
        return
    turns = table(
        ["Per turn", "tokens, median", "maximum", "turns with any", "ms, bare", "ms, with memory"],
        asyncio.run(per_turn()),
    )
    operations = table(["Operation, ms", "with theanine", "the framework's own"], per_operation())
    report("figures", f"{turns}\n\n{operations}")


def report(mark: str, text: str) -> None:
    """Print a text, or with ``--write`` put it into the page."""
    if "--write" in sys.argv:
        write(PAGE, mark, text)
    else:
        print(text)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
