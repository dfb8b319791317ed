"""What a run has spent, added up reply by reply: to sum the journal takes longer as it grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theanine.models.base import ChatModel, Closable, Message, RawReply
from theanine.store import Store


class Spending:
    """Dollars that a run has spent, in this process and before.

    Attributes:
        total: None as soon as a reply has no known price.
    """

    def __init__(self) -> None:
        self.total: float | None = 0.0

    async def resume(self, store: Store) -> None:
        """Begin with what the journal says. To be called before the first reply."""
        for line in await store.costs():
            self.add(line.cost)

    def add(self, cost: float | None) -> None:
        """One more."""
        self.total = None if self.total is None or cost is None else self.total + cost

    def watch(self, model: ChatModel) -> ChatModel:
        """The same model, each reply of which is added."""
        return _Watched(model, self)


class _Watched:
    def __init__(self, inner: ChatModel, spending: Spending) -> None:
        self._inner, self._spending = inner, spending

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self._inner.settings

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> RawReply:
        reply = await self._inner.complete(messages, schema)
        self._spending.add(reply.cost)
        return reply

    async def close(self) -> None:
        if isinstance(self._inner, Closable):
            await self._inner.close()
