"""Salted hashes of what was forgotten: enough to know it again, too little to tell what it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from secrets import token_hex

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.rows import insert


def keep(db: sa.Connection, scope_id: int, session: int, things: Iterable[str]) -> None:
    """Note what is being erased of a session: keys of turns, texts of ready-made memories."""
    rows = [
        {"scope": scope_id, "session": session, "hash": _hash(thing, token_hex(8))}
        for thing in set(things)
    ]
    insert(db, t.erased, rows)


class Tombstones:
    """What was forgotten of one session."""

    def __init__(self, db: sa.Connection, scope_id: int, session: int) -> None:
        here = (t.erased.c.scope == scope_id, t.erased.c.session == session)
        self._hashes = list(db.execute(sa.select(t.erased.c.hash).where(*here)).scalars())

    def __contains__(self, thing: str) -> bool:
        return any(_hash(thing, known.partition("$")[0]) == known for known in self._hashes)


def _hash(thing: str, salt: str) -> str:
    return f"{salt}${hashlib.sha256(f'{salt}${thing}'.encode()).hexdigest()}"
