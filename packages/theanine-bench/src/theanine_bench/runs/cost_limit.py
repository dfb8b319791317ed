"""The cost of a run so far, and its limit.

Costs are added reply by reply, because summing the journal takes longer as it grows. No call starts
beyond the limit, but calls under way can exceed it by their own cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theanine.errors import BudgetExceeded, SettingsError
from theanine.llm.base import (
    DEFAULT_REQUEST,
    ChatModel,
    Message,
    PricedModel,
    RawReply,
    RequestOptions,
)
from theanine.store import Store
from theanine_bench.targets.models import ModelWrapper


class CostLimit:
    """A run's cost in US dollars, in this process and before.

    Attributes:
        limit: the cost at which no further call starts, or None.
        total: None as soon as a reply has no known price.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.total: float | None = 0.0

    @property
    def exceeded(self) -> str:
        """Why no further call may start, or empty."""
        if self.limit is None:
            return ""
        if self.total is None:
            return "a model's price is unknown, so no cost limit can be kept"
        if self.total < self.limit:
            return ""
        return f"the cost limit of ${self.limit:,.12g} is reached (${self.total:,.4f})"

    def check(self, *models: ChatModel | None) -> None:
        """Raises SettingsError if there is a limit and a model is known to have no price."""
        if not any(models):
            self.limit = None  # nothing can cost anything
        for model in models if self.limit is not None else ():
            if isinstance(model, PricedModel) and model.price(1, 1) is None:
                raise SettingsError(
                    f"the price of {model.name} is unknown, so no cost limit can be kept"
                )

    async def load(self, store: Store) -> None:
        """Add what a store's journal has cost. To be called before the first reply."""
        for line in await store.costs():
            self.add(line.cost)

    def add(self, cost: float | None) -> None:
        """Add the cost of a reply; None if unknown."""
        self.total = None if self.total is None or cost is None else self.total + cost

    def wrap(self, model: ChatModel) -> ChatModel:
        """Return the model with each reply's cost added.

        Beyond the limit the wrapped model raises BudgetExceeded.
        """
        return _Metered(model, self)


class _Metered(ModelWrapper):
    def __init__(self, inner: ChatModel, limit: CostLimit) -> None:
        super().__init__(inner)
        self._limit = limit

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        if reason := self._limit.exceeded:
            raise BudgetExceeded(reason)
        reply = await super().complete(messages, schema, options)
        self._limit.add(reply.cost)
        return reply
