"""How far a language model may be pressed: retries, repairs, concurrency, budgets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on calling a model. Seconds, tokens and US dollars; a budget of None has no bound.

    A budget is checked before a call: what was spent so far, by any process, and the estimated
    tokens of the calls under way and of the next prompt must fit it. Replies are counted once they
    are there, so the last ones can pass a budget by their own length.

    Attributes:
        concurrency: calls under way at once, over all scopes.
        timeout: longest wait for one answer.
        retries: how often a call that found no answer is made again.
        first_wait: upper bound of the first pause between tries; it doubles with each.
        max_wait: longest pause, also when the provider asks for a longer one.
        patience: longest time for one call, its retries and pauses included.
        repairs: how often an unusable reply is sent back with its fault named.
        tokens_per_call: largest prompt.
        tokens_per_session: prompts and replies of remembering one session.
        tokens_per_scope: prompts and replies of one scope, ever.
        money_per_session: dollars for remembering one session.
        money_per_scope: dollars for one scope, ever.
    """

    concurrency: int = 8
    timeout: float = 60.0
    retries: int = 4
    first_wait: float = 1.0
    max_wait: float = 60.0
    patience: float = 300.0
    repairs: int = 2
    tokens_per_call: int | None = None
    tokens_per_session: int | None = None
    tokens_per_scope: int | None = None
    cost_per_session: float | None = None
    cost_per_scope: float | None = None
