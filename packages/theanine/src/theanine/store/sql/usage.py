"""Usage by a tenant: model calls by day and step, failed calls, leases, memories by method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from theanine.clock import duration_micros, micros, moment
from theanine.store.sql import schema as t
from theanine.store.sql.holders import DatabaseTime
from theanine.store.sql.rows import chunks
from theanine.store.sql.scopes import find_scope, scope_from_row
from theanine.types import Scope

_DAY = duration_micros(timedelta(days=1))
_COMPARED = 1_000
"""Number of newest calls whose prompts are compared, to estimate what can be cached."""
_ERRORS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLine:
    """Model calls of one day, step and model.

    Attributes:
        day: in UTC.
        failed: calls whose replies could not be used.
        cost: US dollars; None if the price of any is unknown.
        cacheable: share of the prompts that begins like the one before it of the same step and
            model, which is the most that a provider's cache can serve; None if too few are stored.
    """

    day: date
    step: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float
    cacheable: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallError:
    """A call whose reply could not be used, and why."""

    at: datetime
    scope: Scope
    session: int | None
    step: str
    model: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A process that is remembering a user now.

    Attributes:
        holder: host and number of the process.
        until: when others may take over, unless it is extended; by the database's clock.
        expired: whether that time has passed.
    """

    scope: Scope
    holder: str
    until: datetime
    expired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCount:
    """Numbers of memories, links and sessions (remembered, pending) of a user by one method."""

    method: str
    memories: int
    links: int
    remembered: int
    pending: int


def load_usage(
    db: sa.Connection, tenant: str, user: str | None, agent: str | None, since: datetime
) -> list[UsageLine]:
    """Return the calls since a time, the oldest day first."""
    j = t.journal.c
    scopes = [*_find_scopes(db, tenant, user, agent)]
    day = (j.at // _DAY).label("day")
    answered = j.input_tokens + j.output_tokens > 0  # an unanswered call costs nothing
    rows = [
        row
        for some in chunks(scopes)
        for row in db.execute(
            sa.select(
                *(day, j.step, j.model, j.rejected, j.input_tokens, j.output_tokens, j.cost),
                *(j.seconds, answered.label("answered")),
            ).where(j.scope.in_(some), j.at >= micros(since))
        )
    ]
    shares = _load_cacheable(db, scopes, since)
    groups: defaultdict[tuple[int, str, str], list[Any]] = defaultdict(list)
    for row in rows:
        groups[row.day, row.step, row.model].append(row)
    return [
        UsageLine(
            day=moment(key[0] * _DAY).date(),
            step=key[1],
            model=key[2],
            calls=len(calls),
            failed=sum(call.rejected for call in calls),
            input_tokens=sum(call.input_tokens for call in calls),
            output_tokens=sum(call.output_tokens for call in calls),
            cost=None
            if any(call.cost is None and call.answered for call in calls)
            else sum(call.cost or 0.0 for call in calls),
            seconds=sum(call.seconds for call in calls),
            cacheable=shares.get(key),
        )
        for key, calls in sorted(groups.items())
    ]


def _load_cacheable(
    db: sa.Connection, scopes: Sequence[int], since: datetime
) -> dict[tuple[int, str, str], float]:
    """Return the share of prompts that repeats the beginning of the one before, by day and step."""
    j = t.journal.c
    columns = (j.scope, j.step, j.model, j.at, j.prompt)
    newest = [
        row
        for some in chunks(scopes)
        for row in db.execute(
            sa.select(*columns)
            .where(j.scope.in_(some), j.at >= micros(since), j.prompt != "")
            .order_by(j.at.desc())
            .limit(_COMPARED)
        )
    ]
    newest.sort(key=lambda row: row.at)
    before: dict[tuple[str, str], str] = {}
    repeated: defaultdict[tuple[int, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in newest[-_COMPARED:]:
        last = before.get((row.step, row.model))
        before[row.step, row.model] = row.prompt
        if last is not None:
            counts = repeated[row.at // _DAY, row.step, row.model]
            counts[0] += _common_prefix(last, row.prompt)
            counts[1] += len(row.prompt)
    return {key: same / length for key, (same, length) in repeated.items()}


def _common_prefix(a: str, b: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a.startswith(b[:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def load_call_errors(
    db: sa.Connection, tenant: str, user: str | None, agent: str | None, since: datetime
) -> list[CallError]:
    """Return calls whose replies could not be used, the newest first."""
    j = t.journal.c
    scopes = _find_scopes(db, tenant, user, agent)
    found = [
        CallError(
            at=moment(row.at),
            scope=scopes[row.scope],
            session=row.session,
            step=row.step,
            model=row.model,
            error=row.error,
        )
        for some in chunks([*scopes])
        for row in db.execute(
            sa.select(j.scope, j.at, j.session, j.step, j.model, j.error)
            .where(j.scope.in_(some), j.at >= micros(since), j.rejected.is_(sa.true()))
            .order_by(j.at.desc())
            .limit(_ERRORS)
        )
    ]
    return sorted(found, key=lambda error: error.at, reverse=True)[:_ERRORS]


def load_leases(db: sa.Connection, tenant: str, user: str | None, agent: str | None) -> list[Lease]:
    """Return the leases of users who are being remembered."""
    s = t.scope_state.c
    scopes = _find_scopes(db, tenant, user, agent)
    expired = (s.lease_until < DatabaseTime()).label("expired")
    return [
        Lease(
            scope=scopes[row.scope],
            holder=row.lease_holder,
            until=moment(row.lease_until),
            expired=bool(row.expired),
        )
        for some in chunks([*scopes])
        for row in db.execute(
            sa.select(s.scope, s.lease_holder, s.lease_until, expired)
            .where(s.scope.in_(some), s.lease_holder.is_not(None))
            .order_by(s.scope)
        )
    ]


def count_by_method(db: sa.Connection, scope: Scope) -> list[MethodCount]:
    """Return how much each method has remembered of a user, sorted by method."""
    scope_id = find_scope(db, scope)

    def count(table: sa.Table, *where: sa.ColumnElement[bool]) -> dict[str, int]:
        query = sa.select(table.c.method, sa.func.count()).group_by(table.c.method)
        rows = db.execute(query.where(table.c.scope == scope_id, *where))
        return {method: number for method, number in rows}  # noqa: C416  # rows, not pairs

    r = t.remembering.c
    memories, links = count(t.memory), count(t.link)
    remembered = count(t.remembering, r.remembered_at.is_not(None))
    pending = count(t.remembering, r.remembered_at.is_(None))
    return [
        MethodCount(
            method=name,
            memories=memories.get(name, 0),
            links=links.get(name, 0),
            remembered=remembered.get(name, 0),
            pending=pending.get(name, 0),
        )
        for name in sorted(memories.keys() | remembered.keys() | pending.keys())
    ]


def _find_scopes(
    db: sa.Connection, tenant: str, user: str | None, agent: str | None
) -> dict[int, Scope]:
    names = t.scope.c
    query = sa.select(t.scope).where(names.tenant == tenant)
    if user is not None:
        query = query.where(names.user == user)
    if agent is not None:
        query = query.where(names.agent == agent)
    return {row.id: scope_from_row(row) for row in db.execute(query.order_by(names.id))}
