"""LlamaIndex: a memory, or a block of one, that recalls from a user's memory.

::

    memory = TheanineMemory.for_user(client.user("ana"), session_id="chat-1")
    response = await agent.run("Shall we book that cruise?", memory=memory)
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from theanine.client.options import RecallArguments
from theanine.messages.parts import as_json
from theanine.types import Message
from theanine_adapters.conversation import Conversation
from theanine_adapters.handles import UserHandle, call, needs_extra

with needs_extra("llama-index"):
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ImageBlock,
        MessageRole,
        TextBlock,
        ToolCallBlock,
    )
    from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
    from pydantic import PrivateAttr


class TheanineMemory(Memory):
    """A ``Memory`` that logs the chat in a user's memory, and recalls from it.

    Each message that is put is logged as well, whatever the queue of the framework keeps of it.
    ``get`` returns the chat with what matters of earlier ones after the words of the newest
    message of the user; the stored chat never has it. Memory is asked once for one message of the
    user. Blocks of the framework work as ever.
    """

    _conversation: Conversation = PrivateAttr()

    @classmethod
    def for_user(
        cls,
        user: UserHandle,
        *,
        session_id: str,
        strict: bool = False,
        memory: Mapping[str, Any] | None = None,
        **options: Unpack[RecallArguments],
    ) -> Self:
        """Return the memory of one chat.

        Args:
            user: the handle of the user; of ``theanine.open`` where the framework doesn't await.
            session_id: the framework's key of the chat, and that of the session.
            strict: raise what goes wrong with memory; otherwise it is logged as an error, and the
                chat goes on without it.
            memory: options of ``Memory.from_defaults``, such as ``token_limit``.
            options: options of each recall, as in ``user.recall``.
        """
        made = {"insert_method": InsertMethod.USER, **(memory or {})}
        chat = cls.from_defaults(session_id=session_id, **made)
        assert isinstance(chat, cls)
        chat._conversation = Conversation(user, session_id, options, strict)
        return chat

    async def aget(self, input: str | ChatMessage | None = None, **options: Any) -> list[Any]:
        """Return the chat, with what matters in the newest message of the user."""
        messages = await super().aget(input=input, **options)
        users = [at for at, each in enumerate(messages) if each.role == MessageRole.USER]
        if not users:
            return messages
        newest = messages[users[-1]]
        asked = (len(users), str(newest.content))
        block = await self._conversation.recall(asked, len(messages), call)
        if block:
            blocks = [*newest.blocks, TextBlock(text=f"\n\n{block}")]
            messages[users[-1]] = newest.model_copy(update={"blocks": blocks})
        return messages

    async def aput(self, message: ChatMessage) -> None:
        """Add a message to the chat, and log it."""
        await super().aput(message)
        await self._record()

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the chat, and log them."""
        await super().aput_messages(messages)
        await self._record()

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Replace the chat; what is new of it is logged, and the log keeps what was before."""
        await super().aset(messages)
        await self._record()

    async def _record(self) -> None:
        chat = await self.aget_all()
        await self._conversation.record(_written(chat), call)


class TheanineBlock(BaseMemoryBlock[str]):
    """A block for the framework's own ``Memory`` that recalls from a user's memory.

    The framework puts it where ``insert_method`` says, before the user's words: set
    ``InsertMethod.USER``. It gives blocks only what its queue drops, so that is all that is logged;
    :class:`TheanineMemory` logs everything. Nothing is put where nothing is relevant. A block of
    priority 0 is never cut: ``budget`` bounds it.
    """

    _conversation: Conversation = PrivateAttr()

    def __init__(
        self,
        user: UserHandle,
        *,
        session: str = "llama-index",
        name: str = "remembered",
        priority: int = 0,
        strict: bool = False,
        **options: Unpack[RecallArguments],
    ) -> None:
        super().__init__(name=name, priority=priority)
        self._conversation = Conversation(user, session, options, strict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **options: Any) -> str:
        """Return what matters for the newest messages."""
        dialogue = _written(messages or ())
        said = [str(each["content"]) for each in dialogue if each["role"] == "user"]
        if not said:
            return ""
        return await self._conversation.recall_for((len(said), said[-1]), dialogue, call)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Log what the queue of the framework drops."""
        await self._conversation.append(_written(messages), call)


def _written(messages: Sequence[ChatMessage]) -> list[Message]:
    """Return messages in the form of OpenAI's API."""
    return [_write(message) for message in messages]


def _write(message: ChatMessage) -> Message:
    parts: list[Message] = []
    calls: list[Message] = list(message.additional_kwargs.get("tool_calls") or ())
    for block in message.blocks:
        if isinstance(block, TextBlock):
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, ToolCallBlock):
            function = {"name": block.tool_name, "arguments": as_json(block.tool_kwargs)}
            calls.append({"id": block.tool_call_id, "type": "function", "function": function})
        elif isinstance(block, ImageBlock):
            parts.append({"type": "image_url", "image_url": {"url": str(block.url or "")}})
        else:
            parts.append({"type": block.block_type})
    role = message.role.value
    if role in ("tool", "function"):
        id_ = message.additional_kwargs.get("tool_call_id")
        return {"role": "tool", "tool_call_id": id_, "content": str(message.content or "")}
    role = {"model": "assistant", "chatbot": "assistant"}.get(role, role)
    return {"role": role, "content": parts, "tool_calls": calls}
