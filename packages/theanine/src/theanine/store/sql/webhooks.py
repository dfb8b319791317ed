"""Webhooks: URLs that get messages about a tenant's changes, and these messages.

Their secrets are stored as they are, since messages are signed with them; nothing but
:mod:`theanine.store.sql.outbox` reads them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_bytes, token_hex
from typing import Any, Literal, get_args

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.errors import BadInput, NotFound
from theanine.store.sql import schema as t
from theanine.store.sql.claims import note_change
from theanine.store.sql.holders import time_after
from theanine.store.sql.rows import insert_rows
from theanine.store.validate import check_name, check_text

WebhookKind = Literal[
    "sessions.started",
    "turns.stored",
    "memories.made",
    "memories.changed",
    "data.forgotten",
    "session.remembered",
    "session.failed",
    "operation.ended",
]
"""The kinds of messages that a webhook can get."""
WEBHOOK_KINDS: tuple[WebhookKind, ...] = get_args(WebhookKind)
TEST = "webhook.test"
"""The kind of a test message."""
WhyDisabled = Literal["request", "gone", "failing", "backlog"]
"""Why a webhook is disabled.

It was asked for (``request``), the URL answered 410 (``gone``), all messages failed for days
(``failing``), or too many wait (``backlog``).
"""
DeliveryState = Literal["waiting", "delivered", "failed"]

MAX_WEBHOOKS = 20
"""Maximum webhooks of one tenant."""
FORMER_SECRET = timedelta(hours=24)
"""How long messages are signed with the former secret, too, after it was replaced."""

COUNT_WAITING = (
    sa.select(sa.func.count())
    .select_from(t.webhook_delivery)
    .where(t.webhook_delivery.c.webhook == t.webhook.c.id, t.webhook_delivery.c.state == "waiting")
    .scalar_subquery()
)
"""How many messages wait for a webhook, for queries of the table of webhooks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A webhook without its secret.

    Attributes:
        name: its purpose, as given by its creator.
        user: the only user about whose changes it gets messages; None for all of the tenant.
        agent: likewise the only agent.
        kinds: the kinds of messages that it gets; see :data:`WebhookKind`.
        created_at: when it was made, aware.
        disabled: why it gets no messages; None if it does. See :data:`WhyDisabled`.
        failing_since: when it began to fail with everything that was sent; None if it doesn't.
        waiting: messages that are not delivered yet.
    """

    id: str
    name: str
    url: str
    user: str | None
    agent: str | None
    kinds: tuple[WebhookKind, ...]
    created_at: datetime
    disabled: WhyDisabled | None
    failing_since: datetime | None
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message to a webhook.

    Attributes:
        id: the same in every try; sorts by time.
        kind: see :data:`WebhookKind`, or ``webhook.test``.
        tries: how often it was sent.
        status: status of the last answer; None without one.
        error: why the last try failed; empty if it didn't.
        tried_at: when it was sent last; None if it was not yet.
        next_try_at: when it is sent again at the earliest; None for at once or never.
    """

    id: str
    kind: str
    state: DeliveryState
    tries: int
    status: int | None
    error: str
    created_at: datetime
    tried_at: datetime | None
    next_try_at: datetime | None


def create_webhook(
    db: sa.Connection,
    tenant: str,
    *,
    name: str,
    url: str,
    kinds: Collection[str],
    at: datetime,
    user: str | None = None,
    agent: str | None = None,
) -> tuple[Webhook, str]:
    """Store a new webhook and return it with its secret, which can't be had again.

    Raises BadInput for an unknown kind, a name that can't be stored, or too many webhooks.
    """
    for value, what in ((user, "the user"), (agent, "the agent")):
        if value is not None:
            check_name(value, what, "")
    values = _check(name=name, url=url, kinds=kinds)
    w = t.webhook.c
    count = sa.select(sa.func.count()).select_from(t.webhook).where(w.tenant == tenant)
    if db.execute(count).scalar_one() >= MAX_WEBHOOKS:
        raise BadInput(f"there are {MAX_WEBHOOKS} webhooks already; delete one first")
    note_change(db)
    webhook, secret = token_hex(8), _new_secret()
    row = {"id": webhook, "tenant": tenant, "user": user, "agent": agent, "secret": secret}
    insert_rows(db, t.webhook, [row | values | {"created_at": micros(at)}])
    return load_webhook(db, tenant, webhook), secret


def load_webhooks(
    db: sa.Connection, tenant: str, user: str | None = None, agent: str | None = None
) -> list[Webhook]:
    """Return a tenant's webhooks, or those of one user or agent alone, the oldest first."""
    w = t.webhook.c
    query = _select(tenant, user, agent).order_by(w.created_at, w.id)
    return [_webhook_from_row(row) for row in db.execute(query)]


def load_webhook(
    db: sa.Connection,
    tenant: str,
    webhook: str,
    user: str | None = None,
    agent: str | None = None,
) -> Webhook:
    """Return a webhook of a tenant, which must be of a user or agent alone if one is named.

    Raises NotFound.
    """
    query = _select(tenant, user, agent).where(t.webhook.c.id == webhook)
    row = db.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"there is no webhook {webhook}")
    return _webhook_from_row(row)


def update_webhook(
    db: sa.Connection,
    tenant: str,
    webhook: str,
    *,
    enabled: bool | None = None,
    **values: Any,
) -> Webhook:
    """Change the given values: ``name``, ``url``, ``kinds``, and whether it gets messages.

    Raises NotFound, and BadInput as :func:`create_webhook` does.
    """
    changes = _check(**values)
    if enabled is not None:
        changes["disabled"] = None if enabled else "request"
    if enabled or "url" in changes:  # it may be repaired
        changes |= {"failing_since": None, "not_before": None, "failures": 0}
    if changes:
        note_change(db)
        db.execute(t.webhook.update().where(_is(tenant, webhook)).values(changes))
    return load_webhook(db, tenant, webhook)


def replace_secret(db: sa.Connection, tenant: str, webhook: str) -> tuple[Webhook, str]:
    """Give a webhook a new secret, and return both; the former one signs, too, for a day."""
    note_change(db)
    secret = _new_secret()
    until = time_after(FORMER_SECRET)
    values = {"secret": secret, "former_secret": t.webhook.c.secret, "former_until": until}
    db.execute(t.webhook.update().where(_is(tenant, webhook)).values(values))
    return load_webhook(db, tenant, webhook), secret


def delete_webhook(db: sa.Connection, tenant: str, webhook: str) -> Webhook:
    """Delete a webhook with all that waits for it, and return it. Raises NotFound."""
    found = load_webhook(db, tenant, webhook)
    note_change(db)
    db.execute(t.webhook.delete().where(_is(tenant, webhook)))
    db.execute(t.webhook_delivery.delete().where(t.webhook_delivery.c.webhook == webhook))
    return found


def list_deliveries(
    db: sa.Connection, webhook: str, state: DeliveryState | None, after: str | None, limit: int
) -> list[Delivery]:
    """Return messages to a webhook, the newest first."""
    d = t.webhook_delivery.c
    query = sa.select(t.webhook_delivery).where(d.webhook == webhook)
    if state is not None:
        query = query.where(d.state == state)
    if after is not None:
        query = query.where(d.id < after)
    rows = db.execute(query.order_by(d.id.desc()).limit(limit))
    return [_delivery_from_row(row) for row in rows]


def load_delivery(db: sa.Connection, webhook: str, delivery: str) -> Delivery:
    """Return a message to a webhook. Raises NotFound."""
    d = t.webhook_delivery.c
    query = sa.select(t.webhook_delivery).where(d.webhook == webhook, d.id == delivery)
    row = db.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"there is no delivery {delivery}")
    return _delivery_from_row(row)


def retry_delivery(db: sa.Connection, webhook: str, delivery: str) -> Delivery:
    """Have a message sent at once, also one that was delivered. Raises NotFound."""
    load_delivery(db, webhook, delivery)
    note_change(db)
    d = t.webhook_delivery.c
    tries = sa.case((d.state == "waiting", d.tries), else_=0)
    values = {"state": "waiting", "not_before": 0, "tries": tries}
    same = t.webhook_delivery.update().where(d.webhook == webhook, d.id == delivery)
    db.execute(same.values(values))
    db.execute(t.webhook.update().where(t.webhook.c.id == webhook).values(not_before=None))
    return load_delivery(db, webhook, delivery)


def _is(tenant: str, webhook: str) -> sa.ColumnElement[bool]:
    return sa.and_(t.webhook.c.tenant == tenant, t.webhook.c.id == webhook)


def _select(tenant: str, user: str | None, agent: str | None) -> sa.Select[*tuple[Any, ...]]:
    w = t.webhook.c
    query = sa.select(t.webhook, COUNT_WAITING.label("waiting")).where(w.tenant == tenant)
    if user is not None:
        query = query.where(w.user == user)
    return query if agent is None else query.where(w.agent == agent)


def _check(**values: Any) -> dict[str, Any]:
    """Return values as they are stored. Raises BadInput."""
    if "name" in values:
        check_name(values["name"], "the webhook's name", "")
    if "url" in values:
        check_text(values["url"], "the URL")
    if "kinds" in values:
        kinds = set(values["kinds"])
        if not kinds or not kinds <= set(WEBHOOK_KINDS):
            raise BadInput(f"the kinds must be some of {', '.join(WEBHOOK_KINDS)}")
        values["kinds"] = " ".join(kind for kind in WEBHOOK_KINDS if kind in kinds)
    return values


def _new_secret() -> str:
    """Return a secret of the Standard Webhooks scheme."""
    return f"whsec_{b64encode(token_bytes(32)).decode()}"


def _webhook_from_row(row: sa.Row[Any]) -> Webhook:
    return Webhook(
        id=row.id,
        name=row.name,
        url=row.url,
        user=row.user,
        agent=row.agent,
        kinds=tuple(kind for kind in WEBHOOK_KINDS if kind in row.kinds.split()),
        created_at=moment(row.created_at),
        disabled=row.disabled,
        failing_since=None if row.failing_since is None else moment(row.failing_since),
        waiting=row.waiting,
    )


def _delivery_from_row(row: sa.Row[Any]) -> Delivery:
    waits = row.state == "waiting" and row.not_before
    return Delivery(
        id=row.id,
        kind=row.kind,
        state=row.state,
        tries=row.tries,
        status=row.status,
        error=row.error,
        created_at=moment(row.created_at),
        tried_at=None if row.tried_at is None else moment(row.tried_at),
        next_try_at=moment(row.not_before) if waits else None,
    )
