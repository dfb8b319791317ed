"""Calls to language models: the journal, budgets, retries, and typed replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.llm.base import ChatModel, Closable, Message, PricedModel, RawReply
    from theanine.llm.chat import Chat, ScopedChat
    from theanine.llm.limits import Limits
    from theanine.llm.open import open_chat
    from theanine.llm.prompt import PromptTemplate, load_prompt

__all__ = [
    "Chat",
    "ChatModel",
    "Closable",
    "Limits",
    "Message",
    "PricedModel",
    "PromptTemplate",
    "RawReply",
    "ScopedChat",
    "load_prompt",
    "open_chat",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "base": "ChatModel Closable Message PricedModel RawReply",
        "chat": "Chat ScopedChat",
        "limits": "Limits",
        "open": "open_chat",
        "prompt": "PromptTemplate load_prompt",
    },
)
