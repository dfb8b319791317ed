"""Tombstones: salted hashes of erased data, which keep a later import from restoring it."""

from __future__ import annotations

import hashlib
from secrets import token_hex

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.rows import insert_rows


def add_turn_tombstone(db: sa.Connection, scope_id: int, session: int, key: str) -> None:
    """Record that the turn with this key was erased."""
    _add(db, scope_id, session, f"turn {key}")


def add_memory_tombstone(db: sa.Connection, scope_id: int, session: int, text: str) -> None:
    """Record that the imported memory with this text was erased."""
    _add(db, scope_id, session, f"given {text}")


def _add(db: sa.Connection, scope_id: int, session: int, content: str) -> None:
    row = {"scope": scope_id, "session": session, "hash": _hash(content, token_hex(8))}
    insert_rows(db, t.erased, [row])


class Tombstones:
    """The tombstones of one session."""

    def __init__(self, db: sa.Connection, scope_id: int, session: int) -> None:
        query = sa.select(t.erased.c.hash)
        query = query.where(t.erased.c.scope == scope_id, t.erased.c.session == session)
        self._hashes = list(db.execute(query).scalars())

    def has_turn(self, key: str) -> bool:
        """Return whether a turn with this key was erased."""
        return self._matches(f"turn {key}")

    def has_memory(self, text: str) -> bool:
        """Return whether an imported memory with this text was erased."""
        return self._matches(f"given {text}")

    def _matches(self, content: str) -> bool:
        return any(_hash(content, saved.partition("$")[0]) == saved for saved in self._hashes)


def _hash(content: str, salt: str) -> str:
    return f"{salt}${hashlib.sha256(f'{salt}${content}'.encode()).hexdigest()}"
