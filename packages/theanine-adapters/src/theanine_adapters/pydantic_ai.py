"""pydantic-ai: a capability that gives an agent a user's memory.

::

    agent = Agent("openai:gpt-4o-mini", capabilities=[TheanineMemory(client.user("ana"))])
    result = await agent.run("Shall we book that cruise?")
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

from theanine.client.options import RecallArguments
from theanine.types import Message, Scope
from theanine_adapters.conversation import CAPACITY, Conversation, append_text
from theanine_adapters.handles import UserHandle, call, needs_extra

with needs_extra("pydantic-ai"):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        BinaryContent,
        FileUrl,
        ImageUrl,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryPromptPart,
        TextContent,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserContent,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult


class TheanineMemory(AbstractCapability[Any]):
    """Logs a conversation and puts what matters of earlier ones into its requests.

    Before each request, what is new of the messages is logged, and the recollection goes after the
    words of the newest user prompt of that request alone: the history never has it. For one prompt
    memory is asked once, however many calls of tools follow. When the run is done, replies and
    calls of tools are logged. What is logged already is not logged again, also if the next run of
    this object in the session repeats one that failed.

    Args:
        user: the handle of the user, of either kind of client, or a function that returns it for
            the ``RunContext``, such as ``lambda ctx: client.user(ctx.deps.user)``.
        session: key of the session; the default is the run's ``conversation_id``, which is new for
            each run that is given neither one nor a ``message_history``.
        strict: raise what goes wrong with memory; otherwise it is logged as an error, and the run
            goes on without it.
        options: options of each recall, as in ``user.recall``.
    """

    def __init__(
        self,
        user: UserHandle | Callable[[RunContext[Any]], UserHandle],
        *,
        session: str | None = None,
        strict: bool = False,
        **options: Unpack[RecallArguments],
    ) -> None:
        self._user, self._session = user, session
        self._strict, self._options = strict, options
        self._failed: dict[tuple[Scope, str], Sequence[Message]] = {}

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a handle can't be named in a file."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """Return the memory of one run."""
        user = self._user(ctx) if callable(self._user) else self._user
        key = self._session or ctx.conversation_id or "pydantic-ai"
        conversation = Conversation(user, key, self._options, self._strict)
        conversation.go_on_from(self._failed.pop((user.scope, key), ()))

        def keep_failed() -> None:
            self._failed[user.scope, key] = conversation.recorded
            if len(self._failed) > CAPACITY:
                del self._failed[next(iter(self._failed))]

        return _MemoryOfRun(conversation, keep_failed)


class _MemoryOfRun(AbstractCapability[Any]):
    """The memory of one run, which is in one conversation."""

    def __init__(self, conversation: Conversation, keep_failed: Callable[[], None]) -> None:
        self._conversation, self._keep_failed = conversation, keep_failed

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        messages = [*request_context.messages]
        await self._conversation.record(_written(messages), call)
        prompts = [
            (position, message, part)
            for position, message in enumerate(messages)
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        ]
        if not prompts:
            return request_context
        position, request, prompt = prompts[-1]
        asked = (len(prompts), str(prompt.content))
        block = await self._conversation.recall(asked, len(messages), call)
        if not block:
            return request_context
        fuller = replace(prompt, content=append_text(prompt.content, block, plain=True))
        parts = [fuller if part is prompt else part for part in request.parts]
        messages[position] = replace(request, parts=parts)
        return replace(request_context, messages=messages)

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        await self._conversation.record(_written(result.all_messages()), call)
        return result

    async def on_run_error(
        self, ctx: RunContext[Any], *, error: BaseException
    ) -> AgentRunResult[Any]:
        self._keep_failed()
        raise error


def _written(messages: Iterable[ModelMessage]) -> list[Message]:
    """Return messages in the form of OpenAI's API; instructions and reasoning are left out."""
    return [message for each in messages for message in _write(each)]


def _write(message: ModelMessage) -> Iterator[Message]:
    if isinstance(message, ModelResponse):
        texts = [part.content for part in message.parts if isinstance(part, TextPart)]
        calls = [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]
        if texts or calls:
            yield {"role": "assistant", "content": "".join(texts), "tool_calls": calls}
        return
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            yield {"role": "user", "content": _content(part.content)}
        elif isinstance(part, ToolReturnPart):
            yield _result(part, part.model_response_str())
        elif isinstance(part, RetryPromptPart) and part.tool_name is not None:
            yield _result(part, part.model_response())


def _call(part: ToolCallPart) -> Message:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _result(part: ToolReturnPart | RetryPromptPart, text: str) -> Message:
    return {"role": "tool", "tool_call_id": part.tool_call_id, "content": text}


def _content(content: str | Sequence[UserContent]) -> str | list[Message]:
    return content if isinstance(content, str) else [*map(_content_part, content)]


def _content_part(part: UserContent) -> Message:
    if isinstance(part, (str, TextContent)):
        return {"type": "text", "text": part if isinstance(part, str) else part.content}
    if isinstance(part, ImageUrl):
        return {"type": "image_url", "image_url": {"url": part.url}}
    if isinstance(part, BinaryContent) and part.is_image:
        return {"type": "image_url", "image_url": {"url": part.data_uri}}
    if isinstance(part, FileUrl):
        return {"type": "file", "file": {"filename": part.url}}
    return {"type": str(getattr(part, "kind", "file"))}
