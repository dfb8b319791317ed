"""Preview erasures, and hide data until it is erased.

``scope_state.hidden`` is a JSON object: by the id of the operation that will erase it, the numbers
of the sessions, turns and memories. Lists and recall leave them out; nothing is changed in their
rows, so showing them again is complete.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.erase import forget
from theanine.store.sql.leases import revoke_lease
from theanine.store.sql.outbox import announcing
from theanine.store.sql.scopes import find_scope, update_state
from theanine.store.values import ForgetReport
from theanine.types import Scope

_NUMBERED = {"sessions": t.session, "turns": t.turn, "memories": t.memory}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """What an erasure would erase now.

    Attributes:
        sessions, turns, memories: numbers of what would be erased, ascending.
        report: what else, and what would be kept, as of a receipt; nothing is verified.
    """

    sessions: tuple[int, ...]
    turns: tuple[int, ...]
    memories: tuple[int, ...]
    report: ForgetReport


def preview_forgetting(
    db: sa.Connection, scope: Scope, *, session: int | None = None, memory: int | None = None
) -> Forgetting:
    """Return what :func:`forget` would erase, by erasing it in a savepoint that is undone.

    Raises NotFound, and BadInput for both a session and a memory.
    """
    scope_id = find_scope(db, scope)
    before = {name: _load_numbers(db, table, scope_id) for name, table in _NUMBERED.items()}
    undone = db.begin_nested()
    try:
        report, _ = forget(db, scope, session=session, memory=memory)
        gone = {
            name: tuple(sorted(before[name] - _load_numbers(db, table, scope_id)))
            for name, table in _NUMBERED.items()
        }
    finally:
        undone.rollback()
    return Forgetting(report=report, **gone)


def hide(db: sa.Connection, scope: Scope, operation: str, forgetting: Forgetting | None) -> None:
    """Hide what an operation will erase: ``forgetting`` or, with None, the whole scope."""
    part = {
        "everything": forgetting is None,
        "sessions": forgetting.sessions if forgetting else (),
        "turns": forgetting.turns if forgetting else (),
        "memories": forgetting.memories if forgetting else (),
    }
    parts = _load_parts(db, scope) | {operation: part}
    scope_id = find_scope(db, scope)
    with announcing(db, scope):
        update_state(db, scope_id, hidden=json.dumps(parts))
    revoke_lease(db, scope_id)  # who remembers it now commits nothing


def show(db: sa.Connection, scope: Scope, operation: str) -> None:
    """Show again what an operation hid, as far as it is still there, and tell webhooks."""
    with announcing(db, scope):
        unhide(db, scope, operation)


def unhide(db: sa.Connection, scope: Scope, operation: str) -> None:
    """Show again what an operation hid; the caller tells webhooks."""
    parts = _load_parts(db, scope)
    if parts.pop(operation, None) is not None:
        hidden = json.dumps(parts) if parts else ""
        update_state(db, find_scope(db, scope), hidden=hidden)


def hides_everything() -> sa.ColumnElement[bool]:
    """Return the condition that a row of ``scope_state`` hides its whole scope."""
    return t.scope_state.c.hidden.contains('"everything": true', autoescape=True)


def _load_parts(db: sa.Connection, scope: Scope) -> dict[str, object]:
    state = t.scope_state.c
    query = sa.select(state.hidden).where(state.scope == find_scope(db, scope))
    return json.loads(db.execute(query).scalar() or "{}")


def _load_numbers(db: sa.Connection, table: sa.Table, scope_id: int) -> set[int]:
    query = sa.select(table.c.id).where(table.c.scope == scope_id)
    return set(db.execute(query).scalars())
