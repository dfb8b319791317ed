"""Reading rows by their metadata, their words and their time, in pages."""

from __future__ import annotations

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.rows import find_scope, numbered, read_metadata
from theanine.types import Metadata, Scope


def load_turn_metadata(
    db: sa.Connection, scope: Scope, *, after: int = 0, upto: int | None = None
) -> list[tuple[int, Metadata]]:
    """Return numbers and metadata, with their session's, of turns that have any."""
    turn, session = t.turn.c, t.session.c
    own = sa.and_(session.scope == turn.scope, session.id == turn.session)
    query = (
        sa.select(turn.id, turn.metadata, session.metadata.label("session_metadata"))
        .join_from(t.turn, t.session, own)
        .where(turn.scope == find_scope(db, scope), numbered(turn.id, after, upto))
        .where(sa.or_(turn.metadata != "{}", session.metadata != "{}"))
        .order_by(turn.id)
    )
    return [
        (row.id, read_metadata(row.session_metadata, row.metadata)) for row in db.execute(query)
    ]
