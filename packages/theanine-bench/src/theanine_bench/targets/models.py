"""Wrappers of chat models that runs need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theanine.errors import ModelRejected
from theanine.llm.base import (
    DEFAULT_REQUEST,
    ChatModel,
    Closable,
    Message,
    RawReply,
    RequestOptions,
)


class ModelWrapper:
    """Base class for chat-model wrappers; delegates every call."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The inner model's settings."""
        return self._inner.settings

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Return the inner model's reply."""
        return await self._inner.complete(messages, schema, options)

    async def close(self) -> None:
        """Close the inner model's connections, if it has any."""
        if isinstance(self._inner, Closable):
            await self._inner.close()


class RecordedModel:
    """A model of which only journalled replies exist: every new request is rejected.

    It has the name and settings of the recorded model, as both are in the journal's key.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self._name, self._settings = name, dict(settings)

    @property
    def name(self) -> str:
        """The recorded model's name."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The recorded model's settings."""
        return self._settings

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Raises ModelRejected."""
        raise ModelRejected(
            f"the run's journal has no reply of {self._name} to this request: "
            f"{messages[0].text[:80]!r}"
        )
