"""The outbox: messages for webhooks, stored in the transaction of the change that they are about.

So there is a message for every change that is committed, and for no other. A process takes a
webhook that has messages waiting, for a short time; each that does gets a higher number, without
which it stores no result: so one that was thought dead overwrites nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import uniform
from secrets import token_hex
from typing import Any, NamedTuple

import sqlalchemy as sa

from theanine.clock import micros, system_clock
from theanine.store.sql import schema as t
from theanine.store.sql.claims import note_change
from theanine.store.sql.holders import DatabaseTime, time_after
from theanine.store.sql.leases import claim_task, has_died
from theanine.store.sql.positions import Change, Position, load_position, load_positions
from theanine.store.sql.rows import dumps, insert_rows
from theanine.store.sql.walls import quote
from theanine.store.sql.webhooks import (
    COUNT_WAITING,
    TEST,
    Delivery,
    WebhookKind,
    WhyDisabled,
    load_delivery,
)
from theanine.types import Scope

LEASE = timedelta(seconds=30)
"""How long a webhook belongs to a process that stores no results."""
TRIES = 16
"""How often a message is sent before it is given up, after about two and a half days."""
FIRST_PAUSE, LAST_PAUSE, _FACTOR = 2.0, 21_600.0, 4.0
"""Seconds between the first two tries, and between the last two."""
MAX_PAUSE = 86_400.0
"""Maximum seconds that a receiver can ask to wait."""
_JITTER = 0.2
FAILING = timedelta(days=3)
"""How long all messages must fail before a webhook is disabled."""
MAX_WAITING = 100_000
"""Maximum messages that wait for a webhook; with more, it is disabled."""
KEPT = timedelta(days=7)
"""How long messages are kept, delivered or not."""
_CLEANING = timedelta(minutes=10)

_GONE = 410


# writing


class Listener(NamedTuple):
    """An enabled webhook: whose changes, and of which kinds, it gets."""

    id: str
    tenant: str
    user: str | None
    agent: str | None
    kinds: str


_SELECT_LISTENERS = sa.select(*(t.webhook.c[name] for name in Listener._fields)).where(
    t.webhook.c.disabled.is_(None)
)
# Built once: each change of a scope asks for them.
_SELECT_LISTENERS_OF = _SELECT_LISTENERS.where(t.webhook.c.tenant == sa.bindparam("tenant"))
_LISTENERS = "theanine_listeners"  # option of a connection


def ask_for_listeners(tenant: str) -> str:
    """Return SQL text that selects a tenant's listeners, to be run with other statements.

    It has no parameters, and percent signs in it stand for themselves.
    """
    columns = ", ".join(f'"{name}"' for name in Listener._fields)
    return f"SELECT {columns} FROM webhook WHERE tenant = {quote(tenant)} AND disabled IS NULL"


def cache_listeners(db: sa.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Give a transaction in one tenant the listeners that were selected already."""
    db.execution_options(**{_LISTENERS: [Listener(*row) for row in rows]})


@contextmanager
def announcing(db: sa.Connection, scope: Scope | None) -> Generator[None]:
    """Add messages about what the block changes in a scope or, with None, in any scope."""
    listeners = _load_listeners(db, scope and scope.tenant)
    if not listeners:
        yield
        return
    before = _load_positions(db, scope, listeners)
    yield
    after = _load_positions(db, scope, listeners)
    for each in {**before, **after}:
        change = after.get(each, Position()).since(before.get(each, Position()))
        for kind, data in _describe(change):
            _add(db, listeners, each.tenant, each.user, each.agent, kind, data)


def announce(
    db: sa.Connection,
    tenant: str,
    user: str | None,
    agent: str | None,
    kind: WebhookKind,
    data: Mapping[str, Any],
) -> None:
    """Add a message about an event that :func:`announcing` can't see in a scope's counters."""
    _add(db, _load_listeners(db, tenant), tenant, user, agent, kind, data)


def announce_operation_end(
    db: sa.Connection,
    tenant: str,
    user: str | None,
    agent: str | None,
    operation: str,
    kind: str,
    state: str,
) -> None:
    """Add a message that an operation has ended, with its state."""
    data = {"operation": operation, "kind": kind, "state": state}
    announce(db, tenant, user, agent, "operation.ended", data)


def add_test(db: sa.Connection, tenant: str, webhook: str) -> Delivery:
    """Add a test message for one webhook."""
    note_change(db)
    row = _message(tenant, None, None, TEST, {})
    insert_rows(db, t.webhook_delivery, [{**row, "webhook": webhook}])
    return load_delivery(db, webhook, row["id"])


def _load_listeners(db: sa.Connection, tenant: str | None) -> Sequence[Listener]:
    if tenant is None:
        return [Listener(*row) for row in db.execute(_SELECT_LISTENERS)]
    if (known := db.get_execution_options().get(_LISTENERS)) is not None:
        return known
    return [Listener(*row) for row in db.execute(_SELECT_LISTENERS_OF, {"tenant": tenant})]


def _load_positions(
    db: sa.Connection, scope: Scope | None, listeners: Sequence[Listener]
) -> dict[Scope, Position]:
    if scope is None:
        return load_positions(db, {listener.tenant for listener in listeners})
    return {scope: load_position(db, scope)}


def _describe(change: Change) -> Iterator[tuple[WebhookKind, dict[str, Any]]]:
    """Yield kind and data of a change's messages: only the numbers of new rows, no text."""
    if change.sessions:
        yield "sessions.started", {"sessions": change.sessions}
    if change.turns:
        yield "turns.stored", {"turns": change.turns}
    if change.memories:
        yield "memories.made", {"memories": change.memories}
    if change.marks:
        yield "memories.changed", {"marks": change.marks}
    if change.forgotten:
        yield "data.forgotten", {}


def _add(
    db: sa.Connection,
    listeners: Sequence[Listener],
    tenant: str,
    user: str | None,
    agent: str | None,
    kind: WebhookKind,
    data: Mapping[str, Any],
) -> None:
    receivers = [
        listener.id
        for listener in listeners
        if listener.tenant == tenant
        and listener.user in (None, user)
        and listener.agent in (None, agent)
        and kind in listener.kinds.split()
    ]
    row = _message(tenant, user, agent, kind, data)
    insert_rows(db, t.webhook_delivery, [{**row, "webhook": webhook} for webhook in receivers])


def _message(
    tenant: str, user: str | None, agent: str | None, kind: str, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a new message as a row; its payload is signed as it stands."""
    at = system_clock()
    payload = {
        "type": kind,
        "timestamp": at.isoformat().replace("+00:00", "Z"),
        "data": {"user": user, "agent": agent, **data},
    }
    return {
        "id": f"msg_{micros(at):016x}{token_hex(8)}",
        "tenant": tenant,
        "kind": kind,
        "payload": dumps(payload),
        "created_at": micros(at),
    }


# sending


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWebhook:
    """A webhook to which a process sends.

    Attributes:
        number: which process has it; higher for each one that takes it.
        secrets: the secrets that sign: the present one, and the former one while that is valid.
        failures: batches in a row of which nothing was delivered.
    """

    webhook: str
    number: int
    url: str
    secrets: tuple[str, ...] = field(repr=False)
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message to send; ``payload`` is the same in every try."""

    id: str
    payload: str
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one try to send a message.

    Attributes:
        status: HTTP status of the answer; None without an answer.
        error: why it failed; empty if it didn't.
        retry_after: seconds that the receiver asked for; None if it didn't.
    """

    message: Message
    status: int | None = None
    error: str = ""
    retry_after: float | None = None


def find_due(db: sa.Connection) -> list[tuple[str, int]]:
    """Return (id, number) of webhooks that have messages to send and that no process has."""
    w, d, now = t.webhook.c, t.webhook_delivery.c, DatabaseTime()
    waits = sa.exists(d.id).where(d.webhook == w.id, d.state == "waiting", d.not_before <= now)
    query = sa.select(w.id, w.taking, w.holder, (w.until > now).label("held")).where(
        w.disabled.is_(None), sa.or_(w.not_before.is_(None), w.not_before <= now), waits
    )
    return [
        (row.id, row.taking)
        for row in db.execute(query)
        if not row.held or has_died(db, row.holder)
    ]


def take_webhook(db: sa.Connection, webhook: str, taking: int, holder: str) -> HeldWebhook | None:
    """Take a webhook that :func:`find_due` returned; None if it is gone or taken."""
    w = t.webhook.c
    taken = (
        t.webhook.update()
        .where(w.id == webhook, w.taking == taking, w.disabled.is_(None))
        .values(taking=taking + 1, holder=holder, until=time_after(LEASE))
    )
    if not db.execute(taken).rowcount:
        return None
    former = sa.case((w.former_until > DatabaseTime(), w.former_secret)).label("former")
    query = sa.select(w.url, w.secret, w.failures, former).where(w.id == webhook)
    row = db.execute(query).one()
    return HeldWebhook(
        webhook=webhook,
        number=taking + 1,
        url=row.url,
        secrets=(row.secret, row.former) if row.former else (row.secret,),
        failures=row.failures,
    )


def load_due(db: sa.Connection, webhook: str, limit: int) -> list[Message]:
    """Return the messages to send to a webhook now, new ones before repeated ones."""
    d = t.webhook_delivery.c
    query = (
        sa.select(d.id, d.payload, d.tries)
        .where(d.webhook == webhook, d.state == "waiting", d.not_before <= DatabaseTime())
        .order_by(d.not_before, d.id)
        .limit(limit)
    )
    return [Message(id=row.id, payload=row.payload, tries=row.tries) for row in db.execute(query)]


def store_outcomes(db: sa.Connection, held: HeldWebhook, outcomes: Sequence[Outcome]) -> bool:
    """Store the results of a batch; return whether the next batch may be sent at once.

    If not, the webhook is released. Nothing is stored if another process has taken it over.
    """
    w = t.webhook.c
    delivered = any(not outcome.error for outcome in outcomes)
    gone = any(outcome.status == _GONE for outcome in outcomes)
    pause = max((outcome.retry_after or 0 for outcome in outcomes), default=0)
    values: dict[str, Any] = {"until": time_after(LEASE)}
    if outcomes and not delivered:
        pause = max(pause, _pause(held.failures + 1))
        values["failures"] = held.failures + 1
        values["failing_since"] = sa.func.coalesce(w.failing_since, DatabaseTime())
        failing = (w.failing_since <= time_after(-FAILING), "failing")
        values["disabled"] = sa.case(failing, else_=w.disabled)
    elif outcomes:
        values |= {"failures": 0, "failing_since": None}
    if gone:
        values["disabled"] = "gone"
    if pause:
        values["not_before"] = time_after(timedelta(seconds=pause))
    if not (goes_on := bool(outcomes) and not pause and not gone):
        values["until"] = None
    mine = t.webhook.update().where(w.id == held.webhook, w.taking == held.number)
    if not db.execute(mine.values(values)).rowcount:
        return False
    for outcome in outcomes:
        _store_outcome(db, held.webhook, outcome)
    return goes_on


def _store_outcome(db: sa.Connection, webhook: str, outcome: Outcome) -> None:
    d, tries = t.webhook_delivery.c, outcome.message.tries + 1
    values: dict[str, Any] = {
        "tries": tries,
        "status": outcome.status,
        "error": outcome.error,
        "tried_at": DatabaseTime(),
    }
    if not outcome.error:
        values["state"] = "delivered"
    elif tries >= TRIES:
        values["state"] = "failed"
    else:
        pause = max(_pause(tries), outcome.retry_after or 0)
        values["not_before"] = time_after(timedelta(seconds=pause))
    same = (d.webhook == webhook, d.id == outcome.message.id)
    db.execute(t.webhook_delivery.update().where(*same).values(values))


def count_backlog(db: sa.Connection) -> tuple[int, dict[WhyDisabled, int]]:
    """Return the number of waiting messages, and of disabled webhooks by reason."""
    w, d = t.webhook.c, t.webhook_delivery.c
    waiting = (
        sa.select(sa.func.count())
        .join_from(t.webhook, t.webhook_delivery, d.webhook == w.id)
        .where(w.disabled.is_(None), d.state == "waiting")
    )
    disabled = sa.select(w.disabled, sa.func.count()).where(w.disabled.is_not(None))
    found = db.execute(disabled.group_by(w.disabled))
    return db.execute(waiting).scalar_one(), {row[0]: row[1] for row in found}


def clean(db: sa.Connection, most: int = MAX_WAITING) -> None:
    """Delete old messages, and disable webhooks with more than ``most`` waiting; now and then."""
    if not claim_task(db, "webhooks", _CLEANING):
        return
    w, d = t.webhook.c, t.webhook_delivery.c
    db.execute(t.webhook_delivery.delete().where(d.created_at < time_after(-KEPT)))
    full = t.webhook.update().where(w.disabled.is_(None), most < COUNT_WAITING)
    db.execute(full.values(disabled="backlog"))


def _pause(tries: int) -> float:
    """Return the seconds until the next try, which grow with each failure."""
    pause = min(FIRST_PAUSE * _FACTOR ** min(tries - 1, 32), LAST_PAUSE)
    return pause * uniform(1 - _JITTER, 1 + _JITTER)
