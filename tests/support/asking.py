"""Test prompts, and a chat over a real store and a scripted server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from pydantic import BaseModel

from theanine.llm.base import ChatModel
from theanine.llm.chat import Chat
from theanine.llm.limits import Limits
from theanine.llm.open import open_chat
from theanine.llm.prompt import PromptTemplate
from theanine.store import Store, open_store
from theanine.store.values import CostLine
from theanine.testing import Script, ScriptedServer
from theanine.types import Scope

ANA = Scope("ana")
NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
QUICK = Limits(first_wait=0.01, max_wait=0.3, timeout=30, patience=60)
"""Limits with short waits and enough time for a busy machine."""


class Box(BaseModel):
    """A reply schema with fields."""

    things: list[str]
    count: int


PLAIN = PromptTemplate("plain", 1, "Task: plain\n\nSay something about $words.", str)
BOX = PromptTemplate("box", 1, "Task: box\n\nGive the things in $words and their count.", Box)
_TALKS: list[Chat] = []

GOOD = '{"things": ["hat", "cat"], "count": 2}'


def clock() -> datetime:
    """Return noon."""
    return NOON


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Store]:
    """Return a store in which Ana has one session, number 1."""
    store = open_store(str(folder / "memory.db"))
    await store.open()
    try:
        if not await store.scopes():
            await store.start_session(ANA, NOON)
        yield store
    finally:
        while _TALKS:
            await _TALKS.pop().close()
        await store.close()


def over_http(
    server: ScriptedServer, store: Store, limits: Limits = QUICK, *, base_url: str | None = None
) -> Chat:
    """Return a chat that calls the server through the provider library."""
    model = open_chat("openai:gpt-4o-mini", base_url=base_url or server.base_url)
    assert model is not None
    _TALKS.append(chat(model, store, limits))
    return _TALKS[-1]


def chat(model: ChatModel, store: Store, limits: Limits = QUICK) -> Chat:
    """Return a chat over a model."""
    return Chat(model, store, clock, limits, Random(1))


async def costs(store: Store) -> dict[str, CostLine]:
    """Return the journal's sums by step."""
    return {line.step: line for line in await store.costs(ANA)}


def serving(script: Script | None, **options: float) -> ScriptedServer:
    """Return a scripted server, to be used in a ``with`` statement."""
    return ScriptedServer(script, latency=options.get("latency", 0.0))


def limited(**changes: float) -> Limits:
    """Return the test limits with some changed."""
    return replace(QUICK, **changes)
