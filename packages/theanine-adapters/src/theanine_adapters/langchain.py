"""LangChain: a middleware that gives an agent a user's memory.

::

    agent = create_agent(model, middleware=[TheanineMiddleware(client.user("ana"))])
    agent.invoke({"messages": [{"role": "user", "content": "Shall we book that cruise?"}]})
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Unpack

from theanine.client.options import RecallArguments
from theanine.types import Message
from theanine_adapters.conversation import Conversation, Conversations, append_text
from theanine_adapters.handles import (
    Call,
    UserHandle,
    call,
    call_now,
    needs_extra,
    run_now,
)

with needs_extra("langchain"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage, HumanMessage, convert_to_openai_messages


class TheanineMiddleware(AgentMiddleware):
    """Logs a conversation and puts what matters of earlier ones into its prompts.

    Before the model is called, the messages so far are logged, and the recollection goes after the
    words of the newest human message of that request alone: the state, and so the next turn's
    prompt, never has it. For one message of the user memory is asked once, however many calls of
    tools follow. When the agent is done, its replies and calls of tools are logged. Messages that
    are logged already, also by a run that failed, are not logged again.

    Args:
        user: the handle of the user, or a function that returns it for the run's ``Runtime``, such
            as ``lambda runtime: client.user(runtime.context.user)``. For ``invoke`` it must be of
            ``theanine.open``; for ``ainvoke`` either will do.
        session: key of the session of runs without a ``thread_id``; with one, that is the key.
        strict: raise what goes wrong with memory; otherwise it is logged as an error, and the agent
            goes on without it.
        options: options of each recall, as in ``user.recall``.
    """

    def __init__(
        self,
        user: UserHandle | Callable[[Any], UserHandle],
        *,
        session: str = "langchain",
        strict: bool = False,
        **options: Unpack[RecallArguments],
    ) -> None:
        super().__init__()
        self._user, self._session = user, session
        self._conversations = Conversations(options, strict)

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        """Log the messages so far, and add what matters to the newest of the user."""
        return handler(run_now(self._prepare(request, call_now)))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Log the messages so far, and add what matters to the newest of the user."""
        return await handler(await self._prepare(request, call))

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Log what the agent said and did."""
        run_now(self._conversation(runtime).record(_messages(state["messages"]), call_now))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Log what the agent said and did."""
        await self._conversation(runtime).record(_messages(state["messages"]), call)

    async def _prepare(self, request: ModelRequest, call: Call) -> ModelRequest:
        conversation = self._conversation(request.runtime)
        await conversation.record(_messages(request.messages), call)
        humans = [
            position
            for position, message in enumerate(request.messages)
            if isinstance(message, HumanMessage)
        ]
        if not humans:
            return request
        newest = request.messages[humans[-1]]
        asked = (len(humans), newest.id, str(newest.content))
        block = await conversation.recall(asked, len(request.messages), call)
        if not block:
            return request
        messages = [*request.messages]
        content = append_text(newest.content, block)
        messages[humans[-1]] = newest.model_copy(update={"content": content})
        return request.override(messages=messages)

    def _conversation(self, runtime: Any) -> Conversation:
        user = self._user(runtime) if callable(self._user) else self._user
        running = runtime.execution_info
        return self._conversations.get(user, (running and running.thread_id) or self._session)


def _messages(messages: Sequence[AnyMessage]) -> Sequence[Message]:
    converted = convert_to_openai_messages(messages)
    return converted if isinstance(converted, list) else [converted]
