"""Budgets of model calls, kept by all processes of a store together.

Before a call, its prompt and the longest reply are reserved in the store, in line behind the
reservations that are there. The call begins when it fits with all before it; it waits for calls
under way where only their reservations are in its way. A reply that doesn't fit whole is bounded by
what the budget leaves. The reservation ends with the call's journal entry.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio

from theanine.cancellation import finish
from theanine.errors import BudgetExceeded, SettingsError, StoreError
from theanine.llm.limits import Limits
from theanine.store.processes import process_holder
from theanine.store.values import Reservation, Spending
from theanine.types import Scope, Usage

if TYPE_CHECKING:
    from theanine.store.base import Store
    from theanine.store.values import CostLine

LASTING = timedelta(minutes=1)
"""How long the reservation of a killed process lasts; a living one renews it four times as often.

On its own machine, a killed process's reservation no longer counts at once.
"""
_MIN_REPLY_TOKENS = 16
"""Tokens of a reply that must fit, unless its bound is lower."""
_POLL = 0.1
"""Seconds between two looks at the reservations of calls under way."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """What is known of a call before it is made.

    Attributes:
        label: model and step, for error messages.
        prompt_tokens: estimated tokens of the prompt.
        reply_tokens: maximum tokens of the reply.
        price: US dollars of tokens of prompt and reply; None where it is unknown.
    """

    scope: Scope
    session: int | None
    label: str
    prompt_tokens: int
    reply_tokens: int
    price: Callable[[int, int], float | None]

    def affordable(self, dollars: float) -> int:
        """Return how many tokens of a reply fit into a cost budget; all if the price is unknown."""
        whole = self.price(self.prompt_tokens, self.reply_tokens)
        if whole is None or whole <= dollars:
            return self.reply_tokens if dollars > 0 else 0
        prompt = self.price(self.prompt_tokens, 0) or 0.0
        return max(0, int((dollars - prompt) / (whole - prompt) * self.reply_tokens))


@dataclass(slots=True)
class Grant:
    """What a call may use.

    Attributes:
        reservation: its number in the store; 0 for none, or when it was released.
        max_tokens: maximum tokens of the reply; None without a budget, for its own bounds.
        shortened: whether that is less than its own bounds.
    """

    reservation: int = 0
    max_tokens: int | None = None
    shortened: bool = False


class CostLimits:
    """Refuses calls that would exceed a budget, with all that other processes use of it."""

    def __init__(self, limits: Limits, store: Store) -> None:
        self._limits = limits
        self._store = store
        totals = (
            limits.tokens_per_session,
            limits.tokens_per_scope,
            limits.cost_per_session,
            limits.cost_per_scope,
        )
        self._needs_history = any(limit is not None for limit in totals)
        self.needs_tokens = self._needs_history or limits.tokens_per_call is not None
        """Whether any budget depends on the length of prompts."""

    @asynccontextmanager
    async def reserve(self, call: PlannedCall, patience: float) -> AsyncGenerator[Grant]:
        """Reserve what a call may use, for its duration.

        Args:
            patience: seconds to wait for calls under way that have reserved too much.

        Raises:
            BudgetExceeded: the call would exceed a budget.
            SettingsError: a cost budget is set, but the price of the model is unknown.
        """
        grant = Grant()
        per_call = self._limits.tokens_per_call
        if per_call is not None and call.prompt_tokens > per_call:
            raise _over_tokens(call, "tokens_per_call", call.prompt_tokens, per_call)
        if not self._needs_history:
            yield grant
            return

        async def begin() -> None:
            grant.reservation = await self._store.reserve(call.scope, _reservation(call), LASTING)

        renewing = asyncio.create_task(self._renew(call.scope, grant))
        try:
            await finish(begin())
            grant.max_tokens = await self._wait_for_tokens(call, grant.reservation, patience)
            grant.shortened = grant.max_tokens < call.reply_tokens
            yield grant
        finally:
            await finish(self._release(call.scope, grant, renewing))

    async def _renew(self, scope: Scope, grant: Grant) -> None:
        while True:
            await asyncio.sleep(LASTING.total_seconds() / 4)
            try:
                await self._store.renew_reservation(scope, grant.reservation, LASTING)
            except StoreError as error:  # such as a full disk; the next one may succeed
                _log.warning("could not renew the reservation of a model call: %s", error)

    async def _release(self, scope: Scope, grant: Grant, renewing: asyncio.Task[None]) -> None:
        renewing.cancel()
        await asyncio.wait([renewing])
        if grant.reservation:
            try:
                await self._store.release_reservation(scope, grant.reservation)
            except StoreError as error:
                _log.warning("the reservation of a model call ends in %s: %s", LASTING, error)

    async def _wait_for_tokens(self, call: PlannedCall, number: int, patience: float) -> int:
        """Return the tokens of the reply that fit, when all calls before this one leave enough."""
        deadline = anyio.current_time() + patience
        while True:
            spending = await self._store.spending(call.scope, number)
            tokens = self._fitting_tokens(call, replace(spending, reserved=()))
            if self._fitting_tokens(call, spending, check=False) >= tokens:
                return tokens
            if anyio.current_time() > deadline:
                raise BudgetExceeded(
                    f"{call.label} was not called: calls under way have reserved the rest of the "
                    f"budget for {patience:g} s. Run again to resume"
                )
            await anyio.sleep(_POLL)

    def _fitting_tokens(self, call: PlannedCall, spending: Spending, *, check: bool = True) -> int:
        """Return the tokens of the reply that fit into all budgets.

        Raises BudgetExceeded, with ``check``, if they are too few.
        """
        limits, fitting = self._limits, call.reply_tokens
        of_session = _of_session(spending, call.session)
        budgets = (
            ("scope", spending, limits.tokens_per_scope, limits.cost_per_scope),
            ("session", of_session, limits.tokens_per_session, limits.cost_per_session),
        )
        least = min(call.reply_tokens, _MIN_REPLY_TOKENS)
        for name, spent, most_tokens, most_cost in budgets:
            if spent is None:
                continue
            if most_tokens is not None:
                used = _tokens(spent.costs) + call.prompt_tokens
                fits = most_tokens - used - sum(each.tokens for each in spent.reserved)
                if check and fits < least:
                    raise _over_tokens(call, f"tokens_per_{name}", used + least, most_tokens)
                fitting = min(fitting, fits)
            if most_cost is not None:
                used = _cost(spent.costs, f"cost_per_{name}")
                reserved = sum(each.cost for each in spent.reserved)
                fits = call.affordable(most_cost - used - reserved)
                if check and fits < least:
                    raise _over_cost(call, f"cost_per_{name}", used, most_cost, least)
                fitting = min(fitting, fits)
        return fitting


def _reservation(call: PlannedCall) -> Reservation:
    return Reservation(
        session=call.session,
        holder=process_holder(),
        tokens=call.prompt_tokens + call.reply_tokens,
        cost=call.price(call.prompt_tokens, call.reply_tokens) or 0.0,
    )


def _of_session(spending: Spending, session: int | None) -> Spending | None:
    """Return what was used for one session; None for a call that remembers none."""
    if session is None:
        return None
    return Spending(
        costs=tuple(line for line in spending.costs if line.session == session),
        reserved=tuple(each for each in spending.reserved if each.session == session),
    )


def _tokens(lines: Sequence[CostLine]) -> int:
    return sum(line.input_tokens + line.output_tokens for line in lines)


def _cost(lines: Sequence[CostLine], name: str) -> float:
    unpriced = sorted({line.model for line in lines if line.cost is None and _tokens([line])})
    if unpriced:
        raise SettingsError(
            f"{name} can't be enforced: the price of {', '.join(unpriced)} is unknown. "
            "Set a token budget instead"
        )
    return sum(lines, Usage()).cost or 0.0


def _over_tokens(call: PlannedCall, name: str, used: int, limit: int) -> BudgetExceeded:
    return BudgetExceeded(
        f"{call.label} was not called: it would bring {name} to about {used:,} of {limit:,} "
        f"tokens. Raise {name} and run again to resume"
    )


def _over_cost(
    call: PlannedCall, name: str, used: float, limit: float, least: int
) -> BudgetExceeded:
    if used >= limit:
        reason = f"{name} is used up, ${used:.4f} of ${limit:.4f}"
    else:
        needed = used + (call.price(call.prompt_tokens, least) or 0.0)
        reason = f"it would bring {name} to about ${needed:.4f} of ${limit:.4f}"
    return BudgetExceeded(
        f"{call.label} was not called: {reason}. Raise {name} and run again to resume"
    )
