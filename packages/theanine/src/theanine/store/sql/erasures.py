"""Erasures that begin after a pause: operations of the kind ``forget``.

Each process that takes an erasure gets a higher number, without which it stores nothing about it:
so one that was thought dead overwrites nothing. The erasure and its receipt are one transaction, so
a process may die at any point: before it, nothing has happened; after it, the receipt is stored,
and only says that the files were not searched.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Literal

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.erase import Erased, forget
from theanine.store.sql.hiding import show, unhide
from theanine.store.sql.holders import DatabaseTime, time_after
from theanine.store.sql.outbox import announce_operation_end
from theanine.store.values import ForgetReport
from theanine.types import Scope

SEARCHING = timedelta(minutes=2)
"""How long a process has for an erasure; then another one ends it without searching files."""

_O = t.operation.c
_IS_OVER = sa.or_(_O.not_before.is_(None), _O.not_before <= DatabaseTime())
_IS_DUE = sa.or_(
    sa.and_(_O.state == "waiting", _IS_OVER),
    sa.and_(_O.state == "running", _O.until < DatabaseTime()),  # its process has died
)


@dataclass(frozen=True, slots=True)
class DueErasure:
    """An erasure whose pause is over.

    Attributes:
        session, memory: number of the session or memory to erase; without both, everything.
        taking: the number that the process gets which takes it next.
        is_done: whether everything is erased and the receipt stored; only files are left.
    """

    id: str
    scope: Scope
    session: int | None
    memory: int | None
    taking: int
    is_done: bool

    @property
    def operation(self) -> Literal["delete_memory", "delete_memory_store"]:
        """The name of the operation in traces and metrics."""
        return "delete_memory" if self.session or self.memory else "delete_memory_store"


def find_due_erasure(db: sa.Connection) -> DueErasure | None:
    """Return the oldest erasure that no process has and whose pause is over; None if none."""
    query = sa.select(t.operation).where(_O.kind == "forget", _IS_DUE)
    row = db.execute(query.order_by(_O.created_at, _O.id).limit(1)).one_or_none()
    if row is None:
        return None
    scope = Scope(user=row.user, agent=row.agent, tenant=row.tenant)
    options = json.loads(row.options)
    return DueErasure(
        id=row.id,
        scope=scope,
        session=options.get("session"),
        memory=options.get("memory"),
        taking=row.taking + 1,
        is_done="receipts" in json.loads(row.result),
    )


def take_erasure(db: sa.Connection, due: DueErasure) -> bool:
    """Take an erasure for this process; False if another was faster, or if it was undone."""
    found = (_O.id == due.id, _O.taking == due.taking - 1, _IS_DUE)
    taken = t.operation.update().where(*found)
    values = {
        "state": "running",
        "taking": due.taking,
        "tries": _O.tries + 1,
        "until": time_after(SEARCHING),
    }
    return db.execute(taken.values(values)).rowcount > 0


def renew_erasure(db: sa.Connection, due: DueErasure) -> bool:
    """Extend the lease of an erasure; False if another process has taken it over."""
    renewed = t.operation.update().where(_is_held(due)).values(until=time_after(SEARCHING))
    return db.execute(renewed).rowcount > 0


def erase_hidden(db: sa.Connection, due: DueErasure) -> Erased:
    """Erase what is hidden and store its receipt. Raises NotFound if it is gone already."""
    erased = forget(db, due.scope, session=due.session, memory=due.memory)
    unhide(db, due.scope, due.id)
    _save(db, due, erased[0])
    return erased


def note_already_erased(db: sa.Connection, due: DueErasure) -> None:
    """Store that nothing was left to erase, because it was erased together with something else."""
    show(db, due.scope, due.id)
    _save(db, due, None)


def end_erasure(db: sa.Connection, due: DueErasure, report: ForgetReport | None) -> None:
    """Mark an erasure as succeeded, unless another process has taken it over.

    Without a report, the stored receipt stays as it is.
    """
    if report is not None:
        _save(db, due, report)
    _end(db, due, "succeeded", {"not_before": None})


def fail_erasure(db: sa.Connection, due: DueErasure, error: str) -> None:
    """Store why something can't be erased, which stays hidden."""
    _end(db, due, "failed", {"error": error})


def _end(
    db: sa.Connection,
    due: DueErasure,
    state: Literal["succeeded", "failed"],
    values: dict[str, Any],
) -> None:
    """Store how an erasure ended and tell webhooks, unless another process has taken it over."""
    ended = t.operation.update().where(_is_held(due))
    if db.execute(ended.values(state=state, ended_at=DatabaseTime(), **values)).rowcount:
        scope = due.scope
        announce_operation_end(db, scope.tenant, scope.user, scope.agent, due.id, "forget", state)


def _save(db: sa.Connection, due: DueErasure, report: ForgetReport | None) -> None:
    query = sa.select(_O.user).where(_O.id == due.id)  # a pseudonym, once the user is erased
    user = db.execute(query).scalar() or ""
    result: dict[str, object] = {"receipts": []}
    if report is not None:
        result = {
            "turns": report.turns,
            "memories": report.memories,
            "receipts": [asdict(replace(report, scope=replace(report.scope, user=user)))],
        }
    values = {"result": json.dumps(result), "done": 0 if report is None else 1}
    db.execute(t.operation.update().where(_is_held(due)).values(values))


def _is_held(due: DueErasure) -> sa.ColumnElement[bool]:
    return sa.and_(_O.id == due.id, _O.taking == due.taking, _O.state == "running")
