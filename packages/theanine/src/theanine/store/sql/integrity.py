"""Rows that refer to others which aren't there. The schema has no foreign keys that would tell."""

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
"""Columns and the table, of the same scope, in which each of their values must be a number."""


def dangling_references(db: sa.Connection) -> list[str]:
    """A line for each kind of reference to what isn't there; empty when all is."""
    return [line for one, to in _REFERENCES if (line := _lost(db, one, to))]


def _lost(db: sa.Connection, column: sa.Column[int], to: sa.Table) -> str:
    of = column.table
    met = [to.c.id == column]
    if "scope" in to.c:
        met.append(to.c.scope == of.c.scope)
    lost = sa.select(*of.primary_key.columns).where(column.is_not(None), ~sa.exists().where(*met))
    count = db.execute(sa.select(sa.func.count()).select_from(lost.subquery())).scalar_one()
    if not count:
        return ""
    first = db.execute(lost.order_by(*of.primary_key.columns).limit(1)).mappings().one()
    row = ", ".join(f"{name} {value}" for name, value in first.items())
    return f"{of.name}: {count} whose {column.name} is not there, the first {row}"
