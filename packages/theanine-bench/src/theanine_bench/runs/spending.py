"""What a run has spent, added up reply by reply: to sum the journal takes longer as it grows.

No call is begun beyond the budget; those under way can pass it by their own cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theanine.errors import BudgetExceeded, SettingsError
from theanine.llm.base import ChatModel, Message, PricedModel, RawReply
from theanine.store import Store
from theanine_bench.runs.setup import PassingModel


class Spending:
    """Dollars that a run has spent, in this process and before.

    Attributes:
        most: at which no further call is begun, or None.
        total: None as soon as a reply has no known price.
    """

    def __init__(self, most: float | None = None) -> None:
        self.most = most
        self.total: float | None = 0.0

    @property
    def over(self) -> str:
        """Why no further call may begin, or empty."""
        if self.most is None:
            return ""
        if self.total is None:
            return "a model's price is unknown, so no budget in dollars can be kept"
        if self.total < self.most:
            return ""
        return f"the budget of ${self.most:,.12g} is spent (${self.total:,.4f})"

    def check(self, *models: ChatModel | None) -> None:
        """Raises SettingsError where a budget is set and one of them is known to have no price."""
        if not any(models):
            self.most = None  # nothing can cost anything
        for model in models if self.most is not None else ():
            if isinstance(model, PricedModel) and model.price(1, 1) is None:
                raise SettingsError(
                    f"the price of {model.name} is unknown, so no budget in dollars can be kept"
                )

    async def resume(self, store: Store) -> None:
        """Begin with what the journal says. To be called before the first reply."""
        for line in await store.costs():
            self.add(line.cost)

    def add(self, cost: float | None) -> None:
        """One more."""
        self.total = None if self.total is None or cost is None else self.total + cost

    def watch(self, model: ChatModel) -> ChatModel:
        """The same model, each reply of which is added. Raises BudgetExceeded beyond ``most``."""
        return _Watched(model, self)


class _Watched(PassingModel):
    def __init__(self, inner: ChatModel, spending: Spending) -> None:
        super().__init__(inner)
        self._spending = spending

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> RawReply:
        if why := self._spending.over:
            raise BudgetExceeded(why)
        reply = await super().complete(messages, schema)
        self._spending.add(reply.cost)
        return reply
