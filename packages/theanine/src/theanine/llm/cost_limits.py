"""Refuse a call before it passes a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from theanine.errors import BudgetExceeded, SettingsError
from theanine.llm.limits import Limits
from theanine.store.base import Store
from theanine.store.values import CostLine
from theanine.types import Scope


class CostLimits:
    """Holds the calls of one process to the budgets; what other processes spent counts as well."""

    def __init__(self, limits: Limits, store: Store) -> None:
        self._limits = limits
        self._store = store
        self._under_way: Counter[tuple[Scope, int | None]] = Counter()

    @property
    def needs_tokens(self) -> bool:
        """Whether any budget asks how long a prompt is."""
        limits = self._limits
        bounds = (limits.tokens_per_call, limits.tokens_per_session, limits.tokens_per_scope)
        return any(bound is not None for bound in bounds)

    @asynccontextmanager
    async def granted(
        self, scope: Scope, session: int | None, tokens: int, what: str
    ) -> AsyncGenerator[None]:
        """Let a call with a prompt of so many tokens run, and count them as used while it does.

        Raises BudgetExceeded if the call would pass a budget, and SettingsError when a money budget
        meets a model whose price is unknown.
        """
        self._under_way[scope, session] += tokens
        try:
            await self._check(scope, session, tokens, what)
            yield
        finally:
            self._under_way[scope, session] -= tokens

    async def _check(self, scope: Scope, session: int | None, tokens: int, what: str) -> None:
        limits = self._limits
        _within("tokens_per_call", tokens, limits.tokens_per_call, what)
        if not self._counts_sums():
            return
        spent = await self._store.costs(scope)
        pending = sum(n for (where, _), n in self._under_way.items() if where == scope)
        _within("tokens_per_scope", _tokens(spent) + pending, limits.tokens_per_scope, what)
        _affordable("money_per_scope", spent, limits.cost_per_scope, what)
        if session is None:
            return
        here = [line for line in spent if line.session == session]
        used = _tokens(here) + self._under_way[scope, session]
        _within("tokens_per_session", used, limits.tokens_per_session, what)
        _affordable("money_per_session", here, limits.cost_per_session, what)

    def _counts_sums(self) -> bool:
        limits = self._limits
        bounds = (limits.tokens_per_session, limits.tokens_per_scope)
        money = (limits.cost_per_session, limits.cost_per_scope)
        return any(bound is not None for bound in (*bounds, *money))


def _tokens(lines: Sequence[CostLine]) -> int:
    return sum(line.input_tokens + line.output_tokens for line in lines)


def _within(name: str, used: int, limit: int | None, what: str) -> None:
    if limit is not None and used > limit:
        raise BudgetExceeded(
            f"{what} was not asked: with this call {name} would come to about {used:,} tokens "
            f"of {limit:,}. Raise {name} and run it again: it resumes here"
        )


def _affordable(name: str, lines: Sequence[CostLine], limit: float | None, what: str) -> None:
    if limit is None:
        return
    unpriced = sorted({line.model for line in lines if line.cost is None and _tokens([line])})
    if unpriced:
        raise SettingsError(
            f"{name} can't be kept: the price of {', '.join(unpriced)} is unknown. "
            "Set a budget in tokens instead"
        )
    used = sum(line.cost or 0.0 for line in lines)
    if used >= limit:
        raise BudgetExceeded(
            f"{what} was not asked: {name} is used up, ${used:.4f} of ${limit:.4f}. "
            f"Raise {name} and run it again: it resumes here"
        )
