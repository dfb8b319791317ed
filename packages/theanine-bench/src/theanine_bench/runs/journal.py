"""A chat whose replies are kept in a journal of their own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from theanine.clock import system_clock
from theanine.llm.base import ChatModel
from theanine.llm.chat import Chat, ScopedChat
from theanine.llm.limits import Limits
from theanine.llm.prompt_folder import PromptFolder
from theanine.store import open_store
from theanine.types import Scope


@asynccontextmanager
async def journalled_chat(
    journal: Path,
    model: ChatModel,
    scope: Scope,
    *,
    limits: Limits | None = None,
    prompts: PromptFolder | None = None,
) -> AsyncGenerator[ScopedChat]:
    """Open a chat, and close it with its model.

    The same calls after a failure pay for nothing twice, as replies are kept in ``journal``.
    """
    store = open_store(str(journal))
    await store.open()
    chat = Chat(model, store, system_clock, limits, prompts=prompts)
    try:
        # The journal only keeps calls of known scopes.
        await store.start_session(scope, system_clock(), key=scope.user)
        yield chat.for_scope(scope)
    finally:
        await chat.close()
        await store.close()
