"""The journal: every model call and what came of it.

Only usable entries bear their plain key, so looking one up can never replay a failure. Rejected
entries, and second answers to a question that another process had paid for too, stay for the
accounts under the key with a random tail; entries whose words were erased get a random key.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from secrets import token_hex
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.store.sql import schema as t
from theanine.store.sql.rows import (
    chunks,
    dumps,
    erased_since,
    find_scope,
    insert,
    keepable,
    scope_of,
)
from theanine.store.values import CostLine, JournalEntry
from theanine.types import Scope


def aside(key: str) -> str:
    """A key under which an entry is kept but never found by its plain key."""
    return f"{key}~{token_hex(6)}"


def entry_of(row: Any) -> JournalEntry:
    """An entry from its row."""
    return JournalEntry(
        key=row.key,
        step=row.step,
        version=row.version,
        model=row.model,
        settings=json.loads(row.settings),
        prompt=row.prompt,
        reply=row.reply,
        error=row.error,
        rejected=bool(row.rejected),
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost=row.cost,
        seconds=row.seconds,
        at=moment(row.at),
        session=row.session,
        touches=tuple(json.loads(row.touches)),
    )


def _row(scope_id: int, entry: JournalEntry) -> dict[str, Any]:
    return {
        "scope": scope_id,
        "key": entry.key,
        "step": entry.step,
        "version": entry.version,
        "model": entry.model,
        "settings": dumps(dict(entry.settings)),
        "prompt": keepable(entry.prompt),
        "reply": keepable(entry.reply),
        "error": keepable(entry.error),
        "rejected": entry.rejected,
        "input_tokens": entry.input_tokens,
        "output_tokens": entry.output_tokens,
        "cost": entry.cost,
        "seconds": entry.seconds,
        "at": micros(entry.at),
        "session": entry.session,
        "touches": dumps(sorted(set(entry.touches))),
    }


def journalled(db: sa.Connection, scope: Scope, key: str) -> JournalEntry | None:
    """The usable entry of this key."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return None
    row = db.execute(
        sa.select(t.journal)
        .where(t.journal.c.scope == scope_id, t.journal.c.key == key)
        .where(t.journal.c.rejected.is_(sa.false()))
    ).one_or_none()
    return None if row is None else entry_of(row)


def journal(db: sa.Connection, scope: Scope, entry: JournalEntry) -> None:
    """Keep a call, unless its scope or its session was forgotten while the model answered.

    Where a session that its prompt quotes is gone, or anything else was erased since the prompt was
    made, the accounts are kept without the words.
    """
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return
    known = _known_sessions(db, scope_id, entry)
    if entry.session is not None and entry.session not in known:
        return
    row = _row(scope_id, entry)
    if not known.issuperset(entry.touches) or erased_since(db, scope_id, entry.epoch):
        row |= wordless()
    elif entry.rejected:
        row["key"] = aside(entry.key)
    elif (old := _old(db, scope_id, entry.key)) is not None:
        if (old.at, old.reply) == (row["at"], row["reply"]):
            return
        row["key"] = aside(entry.key)
    insert(db, t.journal, [row])


def wordless() -> dict[str, str]:
    """What an entry becomes when its words are erased; its key, a hash of them, goes too."""
    return {"key": f"erased~{token_hex(16)}", "prompt": "", "reply": "", "error": ""}


def _old(db: sa.Connection, scope_id: int, key: str) -> sa.Row[Any, Any] | None:
    query = sa.select(t.journal.c.at, t.journal.c.reply)
    here = (t.journal.c.scope == scope_id, t.journal.c.key == key)
    return db.execute(query.where(*here)).one_or_none()


def _known_sessions(db: sa.Connection, scope_id: int, entry: JournalEntry) -> set[int]:
    wanted = {*entry.touches, *([] if entry.session is None else [entry.session])}
    query = sa.select(t.session.c.id).where(t.session.c.scope == scope_id)
    return {
        number
        for some in chunks(sorted(wanted))
        for number in db.execute(query.where(t.session.c.id.in_(some))).scalars()
    }


def reject(db: sa.Connection, scope: Scope, keys: Sequence[str], error: str) -> None:
    """Put entries aside as failures."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return
    for key in keys:
        db.execute(
            t.journal.update()
            .where(t.journal.c.scope == scope_id, t.journal.c.key == key)
            .values(key=aside(key), rejected=True, error=keepable(error))
        )


def costs(db: sa.Connection, scope: Scope | None) -> list[CostLine]:
    """Sums by scope, session, step and model; a cost is None where that of any answer is."""
    j = t.journal.c
    group = (*(t.scope.c[name] for name in ("tenant", "agent", "user")), j.session, j.step, j.model)
    answered = j.input_tokens + j.output_tokens > 0  # a call that got no answer costs nothing
    unpriced = sa.case((sa.and_(j.cost.is_(None), answered), 1), else_=0)
    query = (
        sa.select(
            *group,
            sa.func.count().label("calls"),
            sa.func.sum(sa.case((j.rejected, 1), else_=0)).label("failed"),
            sa.func.sum(j.input_tokens).label("input_tokens"),
            sa.func.sum(j.output_tokens).label("output_tokens"),
            sa.case((sa.func.sum(unpriced) == 0, sa.func.sum(j.cost))).label("cost"),
            sa.func.sum(j.seconds).label("seconds"),
        )
        .join_from(t.scope, t.journal, j.scope == t.scope.c.id)
        .group_by(*group)
        .order_by(*group)
    )
    if scope is not None:
        query = query.where(t.scope.c.id == (find_scope(db, scope) or 0))
    return [
        CostLine(
            scope=scope_of(row),
            session=row.session,
            step=row.step,
            model=row.model,
            calls=row.calls,
            failed=row.failed,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost=row.cost,
            seconds=row.seconds,
        )
        for row in db.execute(query)
    ]
