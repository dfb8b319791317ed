"""The port to chat models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request to a chat model."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """A chat model's reply before parsing.

    Attributes:
        text: may be empty.
        input_tokens, output_tokens: as counted by the provider.
        cost: US dollars, or None when the price is unknown.
        finish: why the model stopped: ``stop``, ``length``, ``content_filter``, ``refusal``,
            ``error`` or the provider's own term.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    finish: str = "stop"


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
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> RawReply:
        """Send one request. ``schema`` is the reply's JSON schema, or None for plain text.

        Raises:
            ModelUnavailable: a retry may help (rate limit, 5xx, time-out, dropped connection).
            ModelRejected: a retry won't help (key, model name, bad request).
        """
        ...


@runtime_checkable
class Closable(Protocol):
    """A chat model or an embedder that keeps connections open between calls."""

    async def close(self) -> None:
        """Close the connections; no call follows."""
        ...


@runtime_checkable
class PricedModel(Protocol):
    """A chat model whose price is known before a call."""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the price of so many tokens in US dollars; None when it is unknown."""
        ...
