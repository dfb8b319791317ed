"""Limits on model calls, and the check that keeps calls within the budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from theanine.deprecation import renamed_fields
from theanine.errors import BudgetExceeded, SettingsError
from theanine.types import Scope, Usage

if TYPE_CHECKING:
    from theanine.store.base import Store
    from theanine.store.values import CostLine


@renamed_fields(
    constructor=True, money_per_session="cost_per_session", money_per_scope="cost_per_scope"
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Retry, concurrency and cost limits for model calls. A budget of None is unlimited.

    Budgets are checked before a call: the usage so far, of all processes, plus the estimated tokens
    of the prompts in flight and of the next one must fit. Replies count once they have arrived, so
    the last ones can exceed a budget by their own length.

    Attributes:
        concurrency: calls in flight at once, over all scopes.
        timeout: seconds to wait for one reply.
        retries: how often a call that brought no reply is repeated.
        reply_retries: the same for the next message of a conversation, for which somebody waits.
        recall_retries: the same for a call during a recall, which returns what it found as it is
            where the model gives nothing.
        first_wait: upper bound of the first pause between attempts in seconds; doubles each time.
        max_wait: longest pause in seconds, even if the provider asks for a longer one.
        patience: seconds for one call, including its retries and pauses.
        recall_patience: the same for a call during a recall.
        repairs: how often an unusable reply is returned to the model with a description of its
            error.
        tokens_per_call: tokens of one prompt.
        tokens_per_session: tokens of all prompts and replies for remembering one session.
        tokens_per_scope: tokens of all prompts and replies of one scope, over its lifetime.
        cost_per_session: US dollars for remembering one session.
        cost_per_scope: US dollars for one scope, over its lifetime.
    """

    concurrency: int = 8
    timeout: float = 60.0
    retries: int = 4
    reply_retries: int = 1
    recall_retries: int = 1
    first_wait: float = 1.0
    max_wait: float = 60.0
    patience: float = 300.0
    recall_patience: float = 20.0
    repairs: int = 2
    tokens_per_call: int | None = None
    tokens_per_session: int | None = None
    tokens_per_scope: int | None = None
    cost_per_session: float | None = None
    cost_per_scope: float | None = None

    def with_timeout(self, timeout: float | None) -> Limits:
        """Return the limits with this timeout, None for their own, and patience for two of it."""
        if timeout is None:
            return self
        return replace(
            self,
            timeout=timeout,
            patience=max(self.patience, 2 * timeout),
            recall_patience=max(self.recall_patience, timeout),
        )

    @property
    def for_recall(self) -> Limits:
        """The limits of a call during a recall."""
        patience = min(self.patience, self.recall_patience)
        return replace(self, retries=self.recall_retries, patience=patience)


class CostLimits:
    """Refuses calls that would exceed a budget, counting what other processes used as well."""

    def __init__(self, limits: Limits, store: Store) -> None:
        self._limits = limits
        self._store = store
        self._in_flight: Counter[tuple[Scope, int | None]] = Counter()
        self.needs_tokens = _any_set(
            limits.tokens_per_call, limits.tokens_per_session, limits.tokens_per_scope
        )
        """Whether any budget depends on the length of prompts."""
        self._needs_history = _any_set(
            limits.tokens_per_session,
            limits.tokens_per_scope,
            limits.cost_per_session,
            limits.cost_per_scope,
        )

    @asynccontextmanager
    async def reserve(
        self, scope: Scope, session: int | None, tokens: int, label: str
    ) -> AsyncGenerator[None]:
        """Reserve the tokens of a prompt for the duration of its call.

        Args:
            label: model and step, for error messages.

        Raises:
            BudgetExceeded: the call would exceed a budget.
            SettingsError: a cost budget is set, but the price of the model is unknown.
        """
        self._in_flight[scope, session] += tokens
        try:
            await self._check(scope, session, tokens, label)
            yield
        finally:
            self._in_flight[scope, session] -= tokens

    async def _check(self, scope: Scope, session: int | None, tokens: int, label: str) -> None:
        limits = self._limits
        _check_tokens("tokens_per_call", tokens, limits.tokens_per_call, label)
        if not self._needs_history:
            return
        lines = await self._store.costs(scope)
        pending = sum(n for (each, _), n in self._in_flight.items() if each == scope)
        _check_tokens("tokens_per_scope", _tokens(lines) + pending, limits.tokens_per_scope, label)
        _check_cost("cost_per_scope", lines, limits.cost_per_scope, label)
        if session is None:
            return
        lines = [line for line in lines if line.session == session]
        used = _tokens(lines) + self._in_flight[scope, session]
        _check_tokens("tokens_per_session", used, limits.tokens_per_session, label)
        _check_cost("cost_per_session", lines, limits.cost_per_session, label)


def _any_set(*limits: float | None) -> bool:
    return any(limit is not None for limit in limits)


def _tokens(lines: Sequence[CostLine]) -> int:
    return sum(line.input_tokens + line.output_tokens for line in lines)


def _check_tokens(name: str, used: int, limit: int | None, label: str) -> None:
    if limit is not None and used > limit:
        raise BudgetExceeded(
            f"{label} was not called: it would bring {name} to about {used:,} of {limit:,} tokens. "
            f"Raise {name} and run again to resume"
        )


def _check_cost(name: str, lines: Sequence[CostLine], limit: float | None, label: str) -> None:
    if limit is None:
        return
    unpriced = sorted({line.model for line in lines if line.cost is None and _tokens([line])})
    if unpriced:
        raise SettingsError(
            f"{name} can't be enforced: the price of {', '.join(unpriced)} is unknown. "
            "Set a token budget instead"
        )
    cost = sum(lines, Usage()).cost or 0.0
    if cost >= limit:
        raise BudgetExceeded(
            f"{label} was not called: {name} is used up, ${cost:.4f} of ${limit:.4f}. "
            f"Raise {name} and run again to resume"
        )
