"""Changes of a user's data since a moment, computed from the counters of the user's state.

Nothing is stored for it: the counters before and after name the new rows, so a reader who
knows its last position can continue from there, in any process and at any time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import astuple, dataclass, fields
from typing import Any
from zlib import crc32

import sqlalchemy as sa
from pydantic import BaseModel

from theanine.store.sql import schema as t
from theanine.store.sql.scopes import find_scope, load_with_scopes
from theanine.types import Scope


class Change(BaseModel):
    """What has changed for a user.

    Each pair is the first and the last number of what is new; null if nothing is. ``forgotten`` is
    whether something was hidden, shown again, erased or replaced, so that what was read before may
    be gone. With neither
    of these, something else has changed, such as a setting, or a session that ended.
    """

    sessions: tuple[int, int] | None = None
    turns: tuple[int, int] | None = None
    memories: tuple[int, int] | None = None
    marks: tuple[int, int] | None = None
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """How far a reader has read: by number, epoch, revision, what is hidden, and the last rows."""

    scope: int = 0
    epoch: int = 0
    revision: int = 0
    hidden: int = 0
    sessions: int = 0
    turns: int = 0
    memories: int = 0
    marks: int = 0

    def __str__(self) -> str:
        return ".".join(map(str, astuple(self)))

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """Return the position that a text names; None for any other text."""
        numbers = text.split(".")
        if len(numbers) != len(fields(cls)) or not all(
            n.isascii() and n.isdecimal() for n in numbers
        ):
            return None
        return cls(*map(int, numbers)) if max(map(len, numbers)) < 19 else None

    def since(self, earlier: Position) -> Change:
        """Return what has changed between an earlier position and this one."""
        before = earlier if self.scope == earlier.scope else Position()
        names = ("sessions", "turns", "memories", "marks")
        counts = {name: (getattr(before, name), getattr(self, name)) for name in names}
        return Change(
            **{name: (old + 1, new) for name, (old, new) in counts.items() if new > old},
            forgotten=bool(earlier.scope)
            and (self.scope, self.epoch, self.hidden)
            != (earlier.scope, earlier.epoch, earlier.hidden),
        )


_S = t.scope_state.c
_COUNTERS = (
    *(_S.epoch, _S.revision, _S.hidden),
    *(_S.next_session, _S.next_turn, _S.next_memory, _S.next_mark),
)
# Built once: SQLAlchemy takes longer to build it than SQLite to run it.
_SELECT = sa.select(*_COUNTERS).where(_S.scope == sa.bindparam("scope_id"))


def load_position(db: sa.Connection, scope: Scope) -> Position:
    """Return the newest position of a scope."""
    number = find_scope(db, scope)
    row = db.execute(_SELECT, {"scope_id": number}).one_or_none()
    return Position() if row is None else _position_from_row(number, row)


def load_positions(db: sa.Connection, tenants: Collection[str]) -> dict[Scope, Position]:
    """Return the newest positions of all scopes of some tenants, in the order of their numbers."""
    query = sa.select(*_COUNTERS).order_by(_S.scope)
    return {
        scope: _position_from_row(row.scope_number, row[: len(_COUNTERS)])
        for scope, row in load_with_scopes(db, query, _S.scope, None)
        if scope.tenant in tenants
    }


def _position_from_row(number: int, row: Any) -> Position:
    epoch, revision, hidden, *following = row
    digest = crc32(hidden.encode())
    return Position(number, epoch, revision, digest, *(each - 1 for each in following))
