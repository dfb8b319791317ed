"""Operations: long work that a request starts and others follow, cancel or retry.

They are rows of the store: any process of the service takes one that waits, or whose lease its
process has stopped extending. Each process that takes an operation gets a higher number, without
which it can write no result: so one that was thought dead overwrites nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any, Literal

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.errors import NotFound
from theanine.store.sql import schema as t
from theanine.store.sql.audit import load_pseudonyms
from theanine.store.sql.claims import note_change
from theanine.store.sql.hiding import hide, preview_forgetting, show
from theanine.store.sql.holders import DatabaseTime, time_after
from theanine.store.sql.outbox import announce_operation_end
from theanine.store.sql.rows import insert_rows
from theanine.types import Scope
from theanine_server.paging import bad_cursor
from theanine_server.problems import Refused

Kind = Literal["remember", "rebuild", "expire", "forget", "compare"]
State = Literal["waiting", "running", "succeeded", "failed", "cancelled"]
UNFINISHED: tuple[State, ...] = ("waiting", "running")

MAX_UNFINISHED = 100
"""Maximum operations of one tenant that wait or run."""
RETRY_OPERATIONS = 10
"""Seconds of ``Retry-After`` when there are too many operations."""
TRIES = 3
"""How often an operation is started, if its process dies each time, until it has failed."""
KEPT = timedelta(days=30)
"""How long an operation that has ended can be read."""
LEASE = timedelta(seconds=30)
"""How long an operation belongs to a process that does not extend its lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Long work and its state.

    Attributes:
        user, agent: whose data it is about; None for all users of the tenant. Of a user who was
            forgotten since, a pseudonym.
        options: how a rebuild or a comparison is done, or the number of the memory or session to
            forget.
        tries: how often it was started.
        done: sessions, users or, of a comparison, recalls that are done so far.
        not_before: when it begins at the earliest; None for at once.
        result: what was done, once it has ended: counts, and under ``reports`` or ``receipts`` each
            session or user, the first thousand; of a comparison, the name of its ``run``.
        error: why it failed.
    """

    id: str
    kind: Kind
    user: str | None
    agent: str | None
    options: Mapping[str, Any]
    state: State
    tries: int
    done: int
    created_at: datetime
    not_before: datetime | None
    ended_at: datetime | None
    result: Mapping[str, Any]
    error: str


def create_operation(
    db: sa.Connection,
    tenant: str,
    kind: Kind,
    user: str | None,
    agent: str | None,
    options: Mapping[str, Any],
    at: datetime,
    pause: timedelta | None = None,
) -> Operation:
    """Store a new operation, which a process takes after the pause, or at once without one.

    Without a pause, answers 429 if ``MAX_UNFINISHED`` of the tenant have not ended yet.
    """
    note_change(db)
    o = t.operation.c
    unfinished = sa.select(sa.func.count()).where(
        o.tenant == tenant, o.state.in_(UNFINISHED), o.not_before.is_(None)
    )
    if pause is None and db.execute(unfinished).scalar_one() >= MAX_UNFINISHED:
        raise Refused(
            429,
            "too_many_operations",
            f"{MAX_UNFINISHED} operations have not ended yet; try again when some have",
            {"Retry-After": str(RETRY_OPERATIONS)},
        )
    number = token_hex(12)
    row = {
        "id": number,
        "tenant": tenant,
        "user": user,
        "agent": agent,
        "kind": kind,
        "options": json.dumps(dict(options)),
        "state": "waiting",
        "created_at": micros(at),
    }
    insert_rows(db, t.operation, [row])
    if pause is not None:
        begin = time_after(pause)
        mine = t.operation.c.id == number
        db.execute(t.operation.update().where(mine).values(not_before=begin))
    return load_operation(db, tenant, number)


def load_operation(
    db: sa.Connection,
    tenant: str,
    operation: str,
    user: str | None = None,
    agent: str | None = None,
) -> Operation:
    """Return an operation of a tenant, which must be of a user or agent alone if one is named.

    Raises NotFound.
    """
    query = _select(db, tenant, user, agent).where(t.operation.c.id == operation)
    row = db.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"there is no operation {operation}")
    return _from_row(row)


def _select(
    db: sa.Connection, tenant: str, user: str | None, agent: str | None
) -> sa.Select[*tuple[Any, ...]]:
    """Select a tenant's operations, all or those of one user or agent."""
    o = t.operation.c
    query = sa.select(t.operation).where(o.tenant == tenant)
    if user is not None:
        # Of a user who was forgotten, the pseudonym.
        query = query.where(o.user.in_([user, load_pseudonyms(db).get(tenant, user)]))
    return query if agent is None else query.where(o.agent == agent)


def list_operations(
    db: sa.Connection,
    tenant: str,
    user: str | None,
    agent: str | None,
    after: str | None,
    limit: int,
) -> list[Operation]:
    """Return a tenant's operations, or those of one user or agent alone, the newest first."""
    o = t.operation.c
    query = _select(db, tenant, user, agent)
    if after is not None:
        try:
            last = load_operation(db, tenant, after, user, agent)
        except NotFound:
            raise bad_cursor() from None
        query = query.where(sa.tuple_(o.created_at, o.id) < (micros(last.created_at), after))
    query = query.order_by(o.created_at.desc(), o.id.desc()).limit(limit)
    return [_from_row(row) for row in db.execute(query)]


def cancel_operation(
    db: sa.Connection,
    tenant: str,
    operation: str,
    at: datetime,
    user: str | None = None,
    agent: str | None = None,
) -> Operation:
    """Cancel an operation: at once if it waits, soon if it runs; one that has ended stays so.

    What forgetting has hidden is shown again; once it erases, it can't be cancelled.
    """
    note_change(db)
    found = load_operation(db, tenant, operation, user, agent)
    if found.kind == "forget":
        _undo_forgetting(db, tenant, found)
    o = t.operation.c
    waiting = t.operation.update().where(o.id == operation, o.state == "waiting")
    if db.execute(waiting.values(state="cancelled", ended_at=micros(at))).rowcount:
        _announce_end(db, tenant, found, "cancelled")
    else:
        running = t.operation.update().where(o.id == operation, o.state == "running")
        db.execute(running.values(cancelling=True))
    return load_operation(db, tenant, operation)


def _undo_forgetting(db: sa.Connection, tenant: str, operation: Operation) -> None:
    """Show again what an operation has hidden. Answers 409 for one that runs, or has erased it."""
    if operation.state in ("running", "succeeded"):
        raise _erased()
    show(db, _scope_of(operation, tenant), operation.id)


def _erased() -> Refused:
    return Refused(409, "erased", "it is being erased, or was: that can't be undone")


def begin_forgetting(
    db: sa.Connection,
    scope: Scope,
    *,
    session: int | None,
    memory: int | None,
    at: datetime,
    pause: timedelta,
) -> Operation:
    """Hide a session, a memory, or everything of a scope, and have it erased after a pause.

    Raises NotFound.
    """
    forgetting = preview_forgetting(db, scope, session=session, memory=memory)
    named = {"session": session, "memory": memory}
    options = {name: number for name, number in named.items() if number is not None}
    created = create_operation(
        db, scope.tenant, "forget", scope.user, scope.agent, options, at, pause
    )
    hide(db, scope, created.id, forgetting if options else None)
    return created


def list_forgetting(db: sa.Connection, scope: Scope) -> list[Operation]:
    """Return what is hidden in a scope and not erased yet, the newest first."""
    o = t.operation.c
    unfinished = o.state.in_(("waiting", "running", "failed"))
    mine = (o.tenant == scope.tenant, o.user == scope.user, o.agent == scope.agent)
    query = sa.select(t.operation).where(o.kind == "forget", unfinished, *mine)
    return [_from_row(row) for row in db.execute(query.order_by(o.created_at.desc(), o.id))]


def load_forgetting(db: sa.Connection, scope: Scope, operation: str) -> Operation:
    """Return an operation that forgets something of a scope. Raises NotFound."""
    found = load_operation(db, scope.tenant, operation, scope.user, scope.agent)
    if found.kind != "forget":
        raise NotFound(f"there is no operation {operation}")
    return found


def confirm_forgetting(db: sa.Connection, scope: Scope, operation: str) -> Operation:
    """End the pause of an erasure, so that it begins at once."""
    note_change(db)
    load_forgetting(db, scope, operation)
    mine = (t.operation.c.id == operation, t.operation.c.state == "waiting")
    db.execute(t.operation.update().where(*mine).values(not_before=None))
    return load_forgetting(db, scope, operation)


def undo_forgetting(db: sa.Connection, scope: Scope, operation: str, at: datetime) -> Operation:
    """Show something again that was to be erased. Answers 409 once it is being erased."""
    note_change(db)
    found = load_forgetting(db, scope, operation)
    _undo_forgetting(db, scope.tenant, found)
    o = t.operation.c
    undone = t.operation.update().where(o.id == operation, o.state.not_in(("running", "succeeded")))
    if not db.execute(undone.values(state="cancelled", ended_at=micros(at))).rowcount:
        raise _erased()  # it has just begun
    _announce_end(db, scope.tenant, found, "cancelled")
    return load_forgetting(db, scope, operation)


def _scope_of(operation: Operation, tenant: str) -> Scope:
    """Return the scope that an operation forgets something of."""
    return Scope(user=operation.user or "", agent=operation.agent or "default", tenant=tenant)


def retry_operation(
    db: sa.Connection,
    tenant: str,
    operation: str,
    user: str | None = None,
    agent: str | None = None,
) -> Operation:
    """Queue an operation again that failed or was cancelled. Answers 409 for any other."""
    note_change(db)
    found = load_operation(db, tenant, operation, user, agent)
    if (found.kind, found.state) == ("forget", "cancelled"):
        raise Refused(409, "undone", "it was undone; forget it anew")
    o = t.operation.c
    retried = db.execute(
        t.operation.update()
        .where(o.id == operation, o.state.in_(("failed", "cancelled")))
        .values(
            state="waiting", tries=0, done=0, error="", result="{}", ended_at=None, cancelling=False
        )
    )
    if not retried.rowcount:
        raise Refused(
            409,
            "not_ended",
            f"the operation is {found.state}; only failed and cancelled ones retry",
        )
    return load_operation(db, tenant, operation)


@dataclass(frozen=True, slots=True)
class HeldOperation:
    """An operation that a process runs.

    Attributes:
        number: which process has it; higher for each one that takes it.
    """

    operation: Operation
    tenant: str
    number: int


def take_operation(db: sa.Connection, at: datetime) -> HeldOperation | None:
    """Take the oldest operation that waits, or whose process died; None if there is none.

    Of a tenant of whom one runs, no other is taken: they would leave the others no process.
    Erasures are not among them: see :mod:`theanine.store.sql.erasures`.
    """
    o = t.operation.c
    died = sa.and_(o.state == "running", o.until < DatabaseTime())
    free = sa.or_(o.state == "waiting", died)
    running = t.operation.alias()
    busy = sa.select(running.c.tenant).where(
        running.c.kind != "forget",
        running.c.state == "running",
        running.c.until >= DatabaseTime(),
    )
    wanted = (o.kind != "forget", free, o.tenant.not_in(busy))
    query = sa.select(o.id).where(*wanted).order_by(o.created_at, o.id)
    for number in db.execute(query.limit(10)).scalars().all():
        until = time_after(LEASE)
        taken = db.execute(
            t.operation.update()
            .where(o.id == number, free)
            .values(state="running", until=until, taking=o.taking + 1, tries=o.tries + 1, done=0)
        )
        if not taken.rowcount:  # another process was faster
            continue
        row = db.execute(sa.select(t.operation).where(o.id == number)).one()
        if row.tries > TRIES:
            error = f"the process that ran it died {TRIES} times"
            values = {"state": "failed", "error": error, "ended_at": micros(at)}
            db.execute(t.operation.update().where(o.id == number).values(values))
            _announce_end(db, row.tenant, _from_row(row), "failed")
            continue
        return HeldOperation(_from_row(row), row.tenant, row.taking)
    return None


def extend_lease(db: sa.Connection, held: HeldOperation, done: int) -> bool:
    """Extend the lease of an operation; False if it was cancelled or taken over."""
    until = time_after(LEASE)
    is_held = _is_held(held)
    if not db.execute(t.operation.update().where(is_held).values(until=until, done=done)).rowcount:
        return False
    return not db.execute(sa.select(t.operation.c.cancelling).where(is_held)).scalar_one()


def end_operation(
    db: sa.Connection,
    held: HeldOperation,
    state: State,
    at: datetime,
    done: int,
    result: Mapping[str, Any],
    error: str = "",
) -> None:
    """Store how an operation ended, unless another process has taken it over."""
    ended = db.execute(
        t.operation.update()
        .where(_is_held(held))
        .values(
            state=state,
            ended_at=micros(at),
            done=done,
            result=json.dumps(dict(result)),
            error=error,
        )
    )
    if ended.rowcount:
        _announce_end(db, held.tenant, held.operation, state)


def delete_ended_operations(db: sa.Connection, before: datetime) -> None:
    """Delete operations that ended before a time."""
    db.execute(t.operation.delete().where(t.operation.c.ended_at < micros(before)))


def _announce_end(db: sa.Connection, tenant: str, operation: Operation, state: State) -> None:
    o = operation
    announce_operation_end(db, tenant, o.user, o.agent, o.id, o.kind, state)


def _is_held(held: HeldOperation) -> sa.ColumnElement[bool]:
    o = t.operation.c
    return sa.and_(o.id == held.operation.id, o.taking == held.number, o.state == "running")


def _from_row(row: sa.Row[Any]) -> Operation:
    return Operation(
        id=row.id,
        kind=row.kind,
        user=row.user,
        agent=row.agent,
        options=json.loads(row.options),
        state=row.state,
        tries=row.tries,
        done=row.done,
        created_at=moment(row.created_at),
        not_before=None if row.not_before is None else moment(row.not_before),
        ended_at=None if row.ended_at is None else moment(row.ended_at),
        result=json.loads(row.result),
        error=row.error,
    )


def release_operation(db: sa.Connection, held: HeldOperation) -> None:
    """Let another process take an operation; this one does not count as a try."""
    o = t.operation.c
    db.execute(
        t.operation.update().where(_is_held(held)).values(state="waiting", tries=o.tries - 1)
    )
