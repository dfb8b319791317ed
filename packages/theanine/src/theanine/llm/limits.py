"""Limits on model calls."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Retry, concurrency and cost limits for model calls. A budget of None is unlimited.

    Budgets of a session and of a scope hold over all processes that set them. Before a call, the
    usage so far, what calls under way may still use, and the estimated tokens of the prompt with
    the longest reply must fit. Where only calls under way are in the way, it waits for them; where
    the longest reply doesn't fit, the reply is bounded by what is left, and one that is cut off by
    that is BudgetExceeded. A budget can be exceeded by as much as a provider counts more tokens
    than the bundled tokenizer or ignores the bound, and a cost budget by a call whose price is only
    known afterwards.

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
