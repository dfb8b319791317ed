"""Metrics of webhooks for Prometheus, beside those of :mod:`theanine_server.metrics`."""

from __future__ import annotations

from typing import get_args

from prometheus_client import Counter, Gauge

from theanine.store.sql.outbox import TRIES, Outcome
from theanine.store.sql.webhooks import WhyDisabled

SENT = Counter(
    "theanine_webhook_tries", "Tries to send a message to a webhook, by their result", ("result",)
)
# Of the whole store, so several processes have the same number.
WAITING = Gauge(
    "theanine_webhook_messages_waiting",
    "Messages that wait for webhooks which are not disabled",
    multiprocess_mode="mostrecent",
)
DISABLED = Gauge(
    "theanine_webhooks_disabled",
    "Disabled webhooks, by reason",
    ("reason",),
    multiprocess_mode="mostrecent",
)


def count_try(outcome: Outcome) -> None:
    """Count a try to send a message."""
    result = "delivered"
    if outcome.error:
        result = "given-up" if outcome.message.tries + 1 >= TRIES else "failed"
    SENT.labels(result).inc()


def show_backlog(waiting: int, disabled: dict[WhyDisabled, int]) -> None:
    """Set the metrics of waiting messages and disabled webhooks."""
    WAITING.set(waiting)
    for reason in get_args(WhyDisabled):
        DISABLED.labels(reason).set(disabled.get(reason, 0))
