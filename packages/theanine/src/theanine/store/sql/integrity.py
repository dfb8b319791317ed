"""Find rows that refer to missing rows or hold damaged JSON, which no constraint prevents."""

from __future__ import annotations

import json

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.scopes import scope_from_row

_REFERENCES: tuple[tuple[sa.Column[int], sa.Column[int]], ...] = (
    (t.scope.c.id, t.scope_state.c.scope),
    (t.scope_state.c.scope, t.scope.c.id),
    (t.session.c.scope, t.scope.c.id),
    (t.journal.c.scope, t.scope.c.id),
    (t.reservation.c.scope, t.scope.c.id),
    (t.turn.c.session, t.session.c.id),
    (t.given.c.session, t.session.c.id),
    (t.remembering.c.session, t.session.c.id),
    (t.memory.c.session, t.session.c.id),
    (t.mark.c.session, t.session.c.id),
    (t.source.c.turn, t.turn.c.id),
    (t.source.c.memory, t.memory.c.id),
    (t.origin.c.memory, t.memory.c.id),
    (t.origin.c.origin, t.memory.c.id),
    (t.mark.c.memory, t.memory.c.id),
    (t.mark.c.by, t.memory.c.id),
    (t.link.c.newer, t.memory.c.id),
    (t.link.c.older, t.memory.c.id),
    (t.vector.c.memory, t.memory.c.id),
    (t.vector.c.embedder, t.embedder.c.id),
)
"""Columns, and the table to whose numbers they refer, within the scope if it has scopes."""


def find_dangling_references(db: sa.Connection) -> list[str]:
    """Return one line for each column with values that refer to missing rows."""
    faults: list[str] = []
    for column, target in _REFERENCES:
        table = column.table
        keys = table.primary_key.columns
        if "scope" in table.c and "scope" in target.table.c:
            match = (target == column, target.table.c.scope == table.c.scope)
            missing = ~sa.exists().where(*match)
        else:  # on another server, if the tables are distributed
            missing = column.not_in(sa.select(target))
        dangling = sa.select(*keys).where(column.is_not(None), missing)
        count = db.execute(sa.select(sa.func.count()).select_from(dangling.subquery())).scalar_one()
        if count:
            first = db.execute(dangling.order_by(*keys).limit(1)).mappings().one()
            row = ", ".join(f"{name} {value}" for name, value in first.items())
            faults.append(f"{table.name}: {count} with a missing {column.name}, first: {row}")
    return faults


JSON_COLUMNS: tuple[sa.Column[str], ...] = (
    t.scope_state.c.restored_versions,
    t.session.c.metadata,
    t.turn.c.recalled,
    t.turn.c.notes,
    t.turn.c.metadata,
    t.turn.c.content,
    t.given.c.speakers,
    t.given.c.source_keys,
    t.memory.c.speakers,
    t.memory.c.metadata,
    t.memory.c.cues,
    t.journal.c.settings,
    t.journal.c.touches,
    t.erased_scope.c.versions,
)
"""Columns that hold JSON; a turn without content has an empty text there."""


def find_damaged_json(db: sa.Connection) -> list[str]:
    """Return one line for each column with values that are not JSON."""
    faults: list[str] = []
    for column in JSON_COLUMNS:
        keys = column.table.primary_key.columns
        query = sa.select(*keys, column.label("json")).where(column.not_in(("", "{}", "[]")))
        query = query.execution_options(yield_per=1_000)
        damaged = [dict(row) for row in db.execute(query).mappings() if not _is_json(row["json"])]
        if damaged:
            row = ", ".join(f"{key.name} {damaged[0][key.name]}" for key in keys)
            owner = db.execute(sa.select(t.scope).where(t.scope.c.id == damaged[0].get("scope")))
            of = "".join(f" of {scope_from_row(each)}" for each in owner)
            name = f"{column.table.name}: {len(damaged)}"
            faults.append(f"{name} with a damaged {column.name}, first: {row}{of}")
    return faults


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
