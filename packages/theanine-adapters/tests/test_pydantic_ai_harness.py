"""The harness's memory store: as its InMemoryStore, and under its Memory capability."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.fuzzing import cases
from theanine.errors import BadInput

pytest.importorskip("pydantic_ai_harness.memory", reason="pydantic-ai-harness is not installed")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.memory import (
    InMemoryStore,
    Memory,
    MemoryConflictError,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
)

from theanine_adapters.pydantic_ai_harness import TheanineMemoryStore

PATHS = st.sampled_from(["a", "a/b", "a/c.md", "b", "../x", "a//b", ""])
STEPS = st.tuples(
    st.sampled_from(["read", "write", "delete", "list"]),
    PATHS,
    st.sampled_from(["", "one\n", "one\ntwo", "three"]),
    st.sampled_from(["current", "none", "stale"]),
    st.sampled_from([None, "new", "again", "clash"]),
    st.integers(0, 4),
)


class Caller:
    """Calls one of the two stores, whose versions are its own."""

    def __init__(self, store: Any) -> None:
        self.store, self.last = store, None

    async def step(self, number: int, step: Sequence[Any]) -> Any:
        name, path, text, version, operation, limit = step
        try:
            if name == "list":
                return await self.store.list_paths(path, limit=limit)
            if name == "read":
                file = await self.store.read(path, max_chars=limit)
                return file and (file.content, file.operation_id, file.truncated)
            file = await self.store.read(path, max_chars=9)
            expected = {"current": file and file.version, "none": None, "stale": "0"}[version]
            known = MemoryOperation(f"o{number}", f"{name} {path}") if operation else None
            results = [await self.change(name, path, text, expected, known)]
            if known and operation == "again":
                results.append(await self.change(name, path, text, expected, known))
                results.append(await self.store.get_operation(known))
            elif known and operation == "clash":
                other = MemoryOperation(known.id, "other")
                results.append(await self.change(name, path, text, expected, other))
            return [(result.version is None, result.replayed, result.existed) for result in results]
        except (ValueError, BadInput):
            return "refused"
        except (MemoryConflictError, MemoryOperationConflictError) as error:
            return type(error)

    async def change(self, name: str, path: str, text: str, expected: Any, known: Any) -> Any:
        if name == "write":
            return await self.store.write(path, text, expected_version=expected, operation=known)
        return await self.store.delete(path, expected_version=expected, operation=known)


@pytest.mark.fuzz
@cases(25)
@given(steps=st.lists(STEPS, max_size=10))
def test_as_the_store_in_memory(client: theanine.Client, steps: Sequence[Any]) -> None:
    user = client.user(f"user {len(client.users())}")
    ours, theirs = Caller(TheanineMemoryStore(user)), Caller(InMemoryStore())

    async def compare() -> None:
        for number, step in enumerate(steps):
            assert await ours.step(number, step) == await theirs.step(number, step), step

    anyio.run(compare)


@pytest.mark.anyio
async def test_under_the_harness_memory_capability(client: theanine.Client) -> None:
    ana = client.user("ana")
    store = TheanineMemoryStore(ana)
    assert isinstance(store, MemoryStore)
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append([*messages])
        if len(seen) == 1:
            names = [tool.name for tool in info.function_tools]
            assert "write_memory" in names, names
            fact = {"content": "Ana is terrified of ships since the storm."}
            return ModelResponse(parts=[ToolCallPart("write_memory", fact, "c1")])
        return ModelResponse(parts=[TextPart("Noted.")])

    agent = Agent(FunctionModel(answer), capabilities=[Memory(store=store)])
    await agent.run("I'm terrified of ships since the storm.")
    await agent.run("Shall we book that cruise on a ship?")
    assert "terrified of ships" in str(seen[-1])
    assert "terrified" in ana.recall("Shall we book that cruise on a ship?").text
    ana.forget_all()
    assert await store.list_paths(limit=9) == []
