"""The port to chat models."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from theanine.llm.bounds import ReplyBounds

MessageRole = Literal["system", "user", "assistant", "tool"]


ReplyPrompt = Literal["chat", "transcript"]
"""The form of a reply's prompt: a chat whose turns are messages, or the dialogue quoted in one
message, as the papers have it and as a reply in anybody's place needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function of the application that the model may ask it to call.

    Attributes:
        name: the function's name.
        description: what it does, for the model.
        parameters: JSON schema of its arguments, an object.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the model asks the application for.

    Attributes:
        id: the provider's id of the call, which the tool's result refers to.
        name: the tool's name.
        arguments: its arguments, JSON-ready.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request to a chat model.

    Attributes:
        tool_calls: of the assistant: what it called after the text.
        result_of: of a tool: the call whose result the text is.
    """

    role: MessageRole
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    result_of: ToolCall | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what it has, as it is journalled."""
        fields: dict[str, Any] = {"role": self.role, "text": self.text}
        if self.tool_calls:
            fields["tool_calls"] = [asdict(call) for call in self.tool_calls]
        if self.result_of:
            fields["result_of"] = self.result_of.id
        return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Settings of one request; None leaves a setting to the model.

    Attributes:
        temperature: randomness of the choice of words; the providers' range is 0 to 2.
        max_tokens: maximum tokens of the reply, in place of the model's setting and of ``bounds``.
        stop: texts before which the reply ends.
        tools: tools that the model may ask for.
        bounds: the most that is needed of the reply.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    bounds: ReplyBounds | None = None


DEFAULT_REQUEST = RequestOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """A chat model's reply before parsing.

    Attributes:
        text: may be empty.
        input_tokens, output_tokens: as counted by the provider.
        cost: US dollars, or None when the price is unknown.
        finish: why the model stopped: ``stop``, ``length``, ``content_filter``, ``refusal``,
            ``error``, ``tool_call`` or the provider's own term.
        tool_calls: what the model asks the application to call.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    finish: str = "stop"
    tool_calls: tuple[ToolCall, ...] = ()


class ChatModel(Protocol):
    """One request in, one reply out; retries and parsing are done by :class:`.chat.Chat`."""

    @property
    def name(self) -> str:
        """The model's full name, such as ``openai:gpt-4o-mini``."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes its replies, JSON-ready, such as temperature and base URL."""
        ...

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Send one request. ``schema`` is the reply's JSON schema, or None for plain text.

        Raises:
            ModelUnavailable: a retry may help (rate limit, 5xx, time-out, dropped connection).
            ModelRejected: a retry won't help (key, model name, bad request).
        """
        ...


@runtime_checkable
class StreamingModel(Protocol):
    """A chat model that gives its reply while it is made."""

    def stream(
        self, messages: Sequence[Message], options: RequestOptions = DEFAULT_REQUEST
    ) -> AsyncGenerator[str | RawReply]:
        """Send one request; yield the text piece by piece and, last, the whole reply.

        Raises as :meth:`ChatModel.complete` does, also after the first pieces.
        """
        ...


@runtime_checkable
class Closable(Protocol):
    """A chat model or an embedder that keeps connections open between calls."""

    async def close(self) -> None:
        """Close the connections; no call follows."""
        ...


@runtime_checkable
class BoundedModel(Protocol):
    """A chat model that knows how long a reply can be."""

    def max_output(self, options: RequestOptions) -> int | None:
        """Return the maximum tokens of a reply, those of its reasoning included.

        None if there is no maximum.
        """
        ...


@runtime_checkable
class PricedModel(Protocol):
    """A chat model whose price is known before a call."""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the price of so many tokens in US dollars; None when it is unknown."""
        ...
