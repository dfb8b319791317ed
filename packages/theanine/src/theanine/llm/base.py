"""The ports to language models and embedders: what the rest of theanine knows of them."""

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
    """What a chat model answered, before anything is made of it.

    Attributes:
        text: the words; may be empty.
        input_tokens, output_tokens: as the provider counted them.
        cost: US dollars, or None when the price is unknown.
        finish: why it stopped: ``stop``, ``length``, ``content_filter`` or the provider's own word.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    finish: str = "stop"


class ChatModel(Protocol):
    """One request in, one reply out. No retries, no parsing: that is ``chat.Chat``'s work."""

    @property
    def name(self) -> str:
        """The model's full name, such as ``openai:gpt-4o-mini``."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes its answers, JSON-ready, such as temperature and base URL."""
        ...

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> RawReply:
        """Ask once. ``schema`` is the JSON schema of the wanted reply, or None for plain text.

        Raises ModelUnavailable for what may pass (rate limit, 5xx, time-out, dropped connection)
        and ModelRejected for what will not (key, model name, bad request).
        """
        ...


@runtime_checkable
class Closable(Protocol):
    """A chat model or an embedder that holds connections open between calls."""

    async def close(self) -> None:
        """Let go of the connections; it is not used afterwards."""
        ...
