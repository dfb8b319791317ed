"""Tombstones: salted hashes of erased data, which keep a later import from restoring it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from secrets import token_hex

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.rows import insert_rows


def add_turn_tombstones(
    db: sa.Connection, scope_id: int, session: int, keys: Iterable[str]
) -> None:
    """Record that the turns with these keys were erased."""
    _add(db, scope_id, session, (f"turn {key}" for key in keys))


def add_words_tombstones(
    db: sa.Connection, scope_id: int, session: int, words: Iterable[tuple[str, str]]
) -> None:
    """Record that turns with these roles and texts, which had no keys, were erased."""
    _add(db, scope_id, session, (f"words {role} {text}" for role, text in words))


def add_memory_tombstones(
    db: sa.Connection, scope_id: int, session: int, texts: Iterable[str]
) -> None:
    """Record that the imported memories with these texts were erased."""
    _add(db, scope_id, session, (f"given {text}" for text in texts))


def _add(db: sa.Connection, scope_id: int, session: int, contents: Iterable[str]) -> None:
    e = t.erased.c
    known = set(
        db.execute(sa.select(e.hash).where(e.scope == scope_id, e.session == session)).scalars()
    )
    # One salt for all of a session, so that a check hashes once however many there are.
    salt = next((saved.partition("$")[0] for saved in known), token_hex(8))
    hashes = dict.fromkeys(_hash(content, salt) for content in contents)
    rows = [{"scope": scope_id, "session": session, "hash": new} for new in hashes]
    insert_rows(db, t.erased, [row for row in rows if row["hash"] not in known])


# Built once: SQLAlchemy takes longer to build them than SQLite to run them.
_SCOPE_ID = sa.bindparam("scope_id", type_=sa.Integer)
_SELECT = sa.select(t.erased.c.hash).where(t.erased.c.scope == _SCOPE_ID)
_SELECT_OF_SESSION = _SELECT.where(t.erased.c.session == sa.bindparam("session"))
_SELECT_OF_THREAD = _SELECT.where(
    t.erased.c.session.in_(
        sa.select(t.session.c.id).where(
            t.session.c.scope == _SCOPE_ID, t.session.c.thread == sa.bindparam("thread")
        )
    )
)


class Tombstones:
    """The tombstones of one session, or of all of a thread; false if there are none."""

    def __init__(self, hashes: Iterable[str]) -> None:
        self._by_salt: defaultdict[str, set[str]] = defaultdict(set)
        for saved in hashes:
            self._by_salt[saved.partition("$")[0]].add(saved)

    @classmethod
    def of_session(cls, db: sa.Connection, scope_id: int, session: int) -> Tombstones:
        """Load those of a session."""
        params = {"scope_id": scope_id, "session": session}
        return cls(db.execute(_SELECT_OF_SESSION, params).scalars())

    @classmethod
    def of_thread(cls, db: sa.Connection, scope_id: int, thread: str) -> Tombstones:
        """Load those of a thread's sessions."""
        params = {"scope_id": scope_id, "thread": thread}
        return cls(db.execute(_SELECT_OF_THREAD, params).scalars())

    def __bool__(self) -> bool:
        return bool(self._by_salt)

    def has_turn(self, key: str) -> bool:
        """Return whether a turn with this key was erased."""
        return self._matches(f"turn {key}")

    def has_words(self, role: str, text: str) -> bool:
        """Return whether a turn with this role and text, and no key, was erased."""
        return self._matches(f"words {role} {text}")

    def has_memory(self, text: str) -> bool:
        """Return whether an imported memory with this text was erased."""
        return self._matches(f"given {text}")

    def _matches(self, content: str) -> bool:
        return any(_hash(content, salt) in hashes for salt, hashes in self._by_salt.items())


def _hash(content: str, salt: str) -> str:
    return f"{salt}${hashlib.sha256(f'{salt}${content}'.encode()).hexdigest()}"
