"""Detection of rows that refer to missing rows; the schema has no foreign keys."""

from __future__ import annotations

import sqlalchemy as sa

from theanine.store.sql import schema as t

_REFERENCES: tuple[tuple[sa.Column[int], sa.Table], ...] = (
    (t.session.c.scope, t.scope),
    (t.journal.c.scope, t.scope),
    (t.turn.c.session, t.session),
    (t.given.c.session, t.session),
    (t.remembering.c.session, t.session),
    (t.memory.c.session, t.session),
    (t.mark.c.session, t.session),
    (t.source.c.turn, t.turn),
    (t.source.c.memory, t.memory),
    (t.origin.c.memory, t.memory),
    (t.origin.c.origin, t.memory),
    (t.mark.c.memory, t.memory),
    (t.mark.c.by, t.memory),
    (t.link.c.newer, t.memory),
    (t.link.c.older, t.memory),
    (t.vector.c.memory, t.memory),
    (t.vector.c.embedder, t.embedder),
)
"""Columns, and the table (of the same scope) whose ``id`` they refer to."""


def find_dangling_references(db: sa.Connection) -> list[str]:
    """Return one line for each column with values that refer to missing rows."""
    faults: list[str] = []
    for column, target in _REFERENCES:
        table = column.table
        match = [target.c.id == column]
        if "scope" in target.c:
            match.append(target.c.scope == table.c.scope)
        keys = table.primary_key.columns
        dangling = sa.select(*keys).where(column.is_not(None), ~sa.exists().where(*match))
        count = db.execute(sa.select(sa.func.count()).select_from(dangling.subquery())).scalar_one()
        if count:
            first = db.execute(dangling.order_by(*keys).limit(1)).mappings().one()
            row = ", ".join(f"{name} {value}" for name, value in first.items())
            faults.append(f"{table.name}: {count} with a missing {column.name}, first: {row}")
    return faults
