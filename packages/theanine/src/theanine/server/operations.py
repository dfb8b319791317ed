"""Operations: long work that a request starts and others follow, cancel or retry.

They are rows of the store: any process of the service takes one that waits, or whose process has
stopped saying that it lives. Each taking has a number, so that a process that was thought dead
writes no result over that of another.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any, Literal, get_args

import anyio
import sqlalchemy as sa
from pydantic import TypeAdapter

from theanine.client import AsyncClient
from theanine.clock import Clock, micros, moment
from theanine.errors import DamagedData, NotFound, TheanineError
from theanine.remembering.remember import RememberReport
from theanine.server.problems import Refused
from theanine.store.sql import schema as t
from theanine.store.sql.holders import DatabaseTime
from theanine.store.sql.rows import insert_rows
from theanine.store.sql.scopes import scope_from_row
from theanine.store.sql.store import SqlStore
from theanine.store.values import ForgetReport
from theanine.types import Scope

_log = logging.getLogger(__name__)

Kind = Literal["remember", "rebuild", "expire"]
KINDS: tuple[Kind, ...] = get_args(Kind)
State = Literal["waiting", "running", "succeeded", "failed", "cancelled"]
UNFINISHED: tuple[State, ...] = ("waiting", "running")

TRIES = 3
"""How often an operation is begun whose process dies."""
LEASE = timedelta(seconds=30)
"""How long a process is thought alive after it has said so."""
MAX_DETAILS = 1_000
_DETAILS: TypeAdapter[list[Any]] = TypeAdapter(list[RememberReport | ForgetReport])
POLL = 2.0
"""Seconds after which a process looks for work, and for cancellations, without being told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Long work and its state.

    Attributes:
        user, agent: whose data it is about; None for all users of the tenant.
        tries: how often it was begun.
        done: sessions or users that are done so far.
        result: what was done, once it has ended: counts, and under ``reports`` or ``receipts`` each
            session or user, the first thousand.
        error: why it failed.
    """

    id: str
    kind: Kind
    user: str | None
    agent: str | None
    options: Mapping[str, bool]
    state: State
    tries: int
    done: int
    created_at: datetime
    ended_at: datetime | None
    result: Mapping[str, Any]
    error: str


def create_operation(
    db: sa.Connection,
    tenant: str,
    kind: Kind,
    user: str | None,
    agent: str | None,
    options: Mapping[str, bool],
    at: datetime,
) -> Operation:
    """Store a new operation, which waits for a process to take it."""
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
    return load_operation(db, tenant, number)


def load_operation(
    db: sa.Connection, tenant: str, operation: str, user: str | None = None
) -> Operation:
    """Return an operation of a tenant. Raises NotFound."""
    o = t.operation.c
    query = sa.select(t.operation).where(o.id == operation, o.tenant == tenant)
    if user is not None:
        query = query.where(o.user == user)
    row = db.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"there is no operation {operation}")
    return _from_row(row)


def list_operations(
    db: sa.Connection, tenant: str, user: str | None, after: str | None, limit: int
) -> list[Operation]:
    """Return a tenant's operations, or those of one user, the newest first."""
    o = t.operation.c
    query = sa.select(t.operation).where(o.tenant == tenant)
    if user is not None:
        query = query.where(o.user == user)
    if after is not None:
        last = load_operation(db, tenant, after)
        query = query.where(sa.tuple_(o.created_at, o.id) < (micros(last.created_at), after))
    query = query.order_by(o.created_at.desc(), o.id.desc()).limit(limit)
    return [_from_row(row) for row in db.execute(query)]


def cancel_operation(
    db: sa.Connection, tenant: str, operation: str, at: datetime, user: str | None = None
) -> Operation:
    """Cancel an operation: at once if it waits, soon if it runs; one that has ended stays so."""
    found = load_operation(db, tenant, operation, user)
    mine = t.operation.update().where(t.operation.c.id == operation)
    if found.state == "waiting":
        db.execute(mine.values(state="cancelled", ended_at=micros(at)))
    elif found.state == "running":
        db.execute(mine.values(cancelling=True))
    return load_operation(db, tenant, operation)


def retry_operation(
    db: sa.Connection, tenant: str, operation: str, user: str | None = None
) -> Operation:
    """Have an operation that failed or was cancelled wait again. Answers 409 for any other."""
    found = load_operation(db, tenant, operation, user)
    if found.state not in ("failed", "cancelled"):
        raise Refused(
            409,
            "not_ended",
            f"the operation is {found.state}; only failed and cancelled ones retry",
        )
    db.execute(
        t.operation.update()
        .where(t.operation.c.id == operation)
        .values(
            state="waiting", tries=0, done=0, error="", result="{}", ended_at=None, cancelling=False
        )
    )
    return load_operation(db, tenant, operation)


@dataclass(frozen=True, slots=True)
class Taken:
    """An operation that this process runs.

    Attributes:
        number: rises with each taking.
    """

    operation: Operation
    tenant: str
    number: int


def take_operation(db: sa.Connection, at: datetime) -> Taken | None:
    """Take the oldest operation that waits, or whose process died; None if there is none."""
    o = t.operation.c
    free = sa.or_(o.state == "waiting", sa.and_(o.state == "running", o.until < DatabaseTime()))
    query = sa.select(o.id).where(free).order_by(o.created_at, o.id)
    for number in db.execute(query.limit(10)).scalars().all():
        until = DatabaseTime() + LEASE // timedelta(microseconds=1)
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
            continue
        return Taken(_from_row(row), row.tenant, row.taking)
    return None


def report_alive(db: sa.Connection, taken: Taken, done: int) -> bool:
    """Say that an operation is being run; False if it was cancelled, or taken by another."""
    until = DatabaseTime() + LEASE // timedelta(microseconds=1)
    mine = _mine(taken)
    if not db.execute(t.operation.update().where(mine).values(until=until, done=done)).rowcount:
        return False
    return not db.execute(sa.select(t.operation.c.cancelling).where(mine)).scalar_one()


def end_operation(
    db: sa.Connection,
    taken: Taken,
    state: State,
    at: datetime,
    done: int,
    result: Mapping[str, Any],
    error: str = "",
) -> None:
    """Store how an operation ended, unless another process has taken it over."""
    db.execute(
        t.operation.update()
        .where(_mine(taken))
        .values(
            state=state,
            ended_at=micros(at),
            done=done,
            result=json.dumps(dict(result)),
            error=error,
        )
    )


def _mine(taken: Taken) -> sa.ColumnElement[bool]:
    o = t.operation.c
    return sa.and_(o.id == taken.operation.id, o.taking == taken.number, o.state == "running")


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
        ended_at=None if row.ended_at is None else moment(row.ended_at),
        result=json.loads(row.result),
        error=row.error,
    )


def release_operation(db: sa.Connection, taken: Taken) -> None:
    """Have an operation wait again, for another process; it does not count as a try."""
    o = t.operation.c
    db.execute(t.operation.update().where(_mine(taken)).values(state="waiting", tries=o.tries - 1))


class OperationRunner:
    """Runs operations in this process, one after the other."""

    def __init__(self, client: AsyncClient, store: SqlStore, clock: Clock) -> None:
        self._client, self._store, self._clock = client, store, clock
        self._wake = anyio.Event()
        self._done = 0

    def wake(self) -> None:
        """Say that there is work, or a cancellation."""
        self._wake.set()

    async def run(self) -> None:
        """Run operations until the task is cancelled; one that fails ends no other."""
        while True:
            try:
                taken = await self._store.write(take_operation, self._clock())
                if taken is not None:
                    await self._run(taken)
                    continue
            except TheanineError as error:  # the store can't be reached: try again later
                _log.warning("operations: %s", error)
            await self._wait()

    async def _wait(self) -> None:
        with anyio.move_on_after(POLL):
            await self._wake.wait()
        self._wake = anyio.Event()

    async def _run(self, taken: Taken) -> None:
        self._done = 0
        state: State = "cancelled"
        counts, details, error = Counter[str](), list[Any](), ""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._report, taken, group.cancel_scope)
                try:
                    await self._work(taken, counts, details)
                    failures = counts["failures"]
                    state = "failed" if failures else "succeeded"
                    error = f"{failures} sessions or users failed" if failures else ""
                except TheanineError as failure:
                    state, error = "failed", str(failure)
                group.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():  # the service stops
            with anyio.CancelScope(shield=True):
                await self._store.write(release_operation, taken)
            raise
        name = "receipts" if taken.operation.kind == "expire" else "reports"
        listed = _DETAILS.dump_python(details[:MAX_DETAILS], mode="json")
        result = {**counts, name: listed}
        await self._store.write(
            end_operation, taken, state, self._clock(), self._done, result, error
        )

    async def _report(self, taken: Taken, running: anyio.CancelScope) -> None:
        """Say that the operation runs; stop it once it was cancelled or taken over."""
        while await self._store.write(report_alive, taken, self._done):
            await self._wait()
        running.cancel()

    async def _work(self, taken: Taken, counts: Counter[str], details: list[Any]) -> None:
        operation = taken.operation
        for scope in await self._store.read(_load_scopes, taken):
            try:
                await self._work_on(scope, operation, counts, details)
            except DamagedData as error:  # the others are sound
                counts["failures"] += 1
                _log.error("operations: %s: %s", scope, error)

    async def _work_on(
        self, scope: Scope, operation: Operation, counts: Counter[str], details: list[Any]
    ) -> None:
        memory = self._client.user(scope.user, agent=scope.agent, tenant=scope.tenant)
        if operation.kind == "expire":
            for receipt in await memory.expire():
                counts.update(turns=receipt.turns, memories=receipt.memories)
                details.append(receipt)
                self._done += 1
            return
        if operation.kind == "remember":
            reports = await memory.remember(progress=self._count)
        else:
            rebuilt = await memory.rebuild(progress=self._count, **operation.options)
            reports = list(rebuilt.reports)
            counts.update({f"replaced {name}": n for name, n in rebuilt.replaced.items()})
        for report in reports:
            counts.update(sessions=1, memories=report.memories, links=report.links)
            counts["failures"] += report.failure is not None
            details.append(report)

    def _count(self, report: object) -> None:
        self._done += 1


def _load_scopes(db: sa.Connection, taken: Taken) -> list[Scope]:
    """Return the scopes that an operation is about."""
    operation, names = taken.operation, t.scope.c
    query = sa.select(t.scope).where(names.tenant == taken.tenant).order_by(names.id)
    if operation.user is not None:
        query = query.where(names.user == operation.user)
    if operation.agent is not None:
        query = query.where(names.agent == operation.agent)
    return [scope_from_row(row) for row in db.execute(query)]
