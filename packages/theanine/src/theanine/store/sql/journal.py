"""The journal: every model call with its outcome and cost.

Only usable entries have their plain key, so a lookup never replays a failure. Rejected and retired
entries, and duplicate answers to a call that two processes made at once, are kept for cost
accounting under the key with a random suffix; entries whose text was erased get a random key.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from secrets import token_hex
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.store.sql import schema as t
from theanine.store.sql.rows import chunks, dumps, escape_unstorable, insert_rows
from theanine.store.sql.scopes import (
    erased_since,
    find_scope,
    load_named_scopes,
)
from theanine.store.values import CostLine, JournalEntry
from theanine.types import Scope


def _unlisted_key(key: str) -> str:
    """Return a key under which an entry is kept but never looked up."""
    return f"{key}~{token_hex(6)}"


def erased_columns() -> dict[str, str]:
    """Return the values of an erased entry: no text, and no key, which is a hash of the text."""
    return {"key": f"erased~{token_hex(16)}", "prompt": "", "reply": "", "error": ""}


_COLUMNS = tuple(field.name for field in fields(JournalEntry) if field.name in t.journal.c)


def find_entry(db: sa.Connection, scope: Scope, key: str) -> JournalEntry | None:
    """Return the usable entry with this key."""
    j = t.journal.c
    query = sa.select(*(j[name] for name in _COLUMNS)).where(j.scope == find_scope(db, scope))
    row = db.execute(query.where(j.key == key, j.rejected.is_(sa.false()))).mappings().one_or_none()
    if row is None:
        return None
    values: dict[str, Any] = {
        **row,
        "settings": json.loads(row["settings"]),
        "at": moment(row["at"]),
        "touches": tuple(json.loads(row["touches"])),
    }
    return JournalEntry(**values)


def add_entry(db: sa.Connection, scope: Scope, entry: JournalEntry, reservation: int = 0) -> None:
    """Insert an entry, unless its scope or session was forgotten while the model answered.

    The reservation with this number is released. If a session that its prompt quotes is gone, or
    anything was erased since the prompt was made, only the accounting is kept, without text.
    """
    scope_id = find_scope(db, scope)
    if not scope_id:
        return
    r = t.reservation.c
    db.execute(t.reservation.delete().where(r.scope == scope_id, r.number == reservation))
    sessions = _load_existing_sessions(db, scope_id, entry)
    if entry.session is not None and entry.session not in sessions:
        return
    row = {name: getattr(entry, name) for name in _COLUMNS} | {
        "scope": scope_id,
        "settings": dumps(dict(entry.settings)),
        "prompt": escape_unstorable(entry.prompt),
        "reply": escape_unstorable(entry.reply),
        "error": escape_unstorable(entry.error),
        "at": micros(entry.at),
        "touches": dumps(sorted(set(entry.touches))),
    }
    if not sessions.issuperset(entry.touches) or erased_since(db, scope_id, entry.epoch):
        row |= erased_columns()
    elif entry.rejected:
        row["key"] = _unlisted_key(entry.key)
    else:
        match = (t.journal.c.scope == scope_id, t.journal.c.key == entry.key)
        query = sa.select(t.journal.c.at, t.journal.c.reply).where(*match)
        stored = db.execute(query).one_or_none()
        if stored is not None:
            if (stored.at, stored.reply) == (row["at"], row["reply"]):
                return
            row["key"] = _unlisted_key(entry.key)
    insert_rows(db, t.journal, [row])


def _load_existing_sessions(db: sa.Connection, scope_id: int, entry: JournalEntry) -> set[int]:
    """Return which of the sessions that the entry refers to still exist."""
    referred = {*entry.touches, *([] if entry.session is None else [entry.session])}
    query = sa.select(t.session.c.id).where(t.session.c.scope == scope_id)
    return {
        number
        for some in chunks(sorted(referred))
        for number in db.execute(query.where(t.session.c.id.in_(some))).scalars()
    }


def reject_entries(db: sa.Connection, scope: Scope, keys: Sequence[str], error: str) -> None:
    """Mark entries as failures, which are never replayed."""
    scope_id = find_scope(db, scope)
    for key in keys:
        db.execute(
            t.journal.update()
            .where(t.journal.c.scope == scope_id, t.journal.c.key == key)
            .values(key=_unlisted_key(key), rejected=True, error=escape_unstorable(error))
        )


def load_rejected(db: sa.Connection, scope: Scope) -> set[tuple[int, str, str]]:
    """Return session, step and model of the answers that could not be used in remembering."""
    j = t.journal.c
    mine = (j.scope == find_scope(db, scope), j.session.is_not(None), j.rejected.is_(sa.true()))
    rows = db.execute(sa.select(j.session, j.step, j.model).where(*mine, j.output_tokens > 0))
    return {(row.session, row.step, row.model) for row in rows}


def retire_entry(db: sa.Connection, scope: Scope, key: str) -> None:
    """Keep an entry for cost accounting only: it is not a failure, but never replayed."""
    db.execute(
        t.journal.update()
        .where(t.journal.c.scope == find_scope(db, scope), t.journal.c.key == key)
        .values(key=_unlisted_key(key))
    )


def sum_costs(db: sa.Connection, scope: Scope | None = None) -> list[CostLine]:
    """Sum calls by scope, session, step and model; the cost is None if any answer has none."""
    j = t.journal.c
    group = (j.scope, j.session, j.step, j.model)
    answered = j.input_tokens + j.output_tokens > 0  # an unanswered call costs nothing
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
        .group_by(*group)
        .order_by(*group[1:])
    )
    if scope is None:
        owners = load_named_scopes(db)
    else:
        owners = [(scope, number := find_scope(db, scope))]
        query = query.where(j.scope == number)
    rows: defaultdict[int, list[Any]] = defaultdict(list)
    for row in db.execute(query):
        rows[row.scope].append(row)
    return [
        CostLine(
            scope=owner,
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
        for owner, number in owners
        for row in rows[number]
    ]
