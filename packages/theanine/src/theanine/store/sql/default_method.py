"""The method that a store is remembered by where none is named.

It is the first that was to remember anything there, until another takes the place of it everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.rows import insert

_NAME = "method"


def own_method(db: sa.Connection) -> str:
    """Its id; empty before anything was to be remembered."""
    kept = sa.select(t.setting.c.value).where(t.setting.c.name == _NAME)
    return db.execute(kept).scalar() or ""


def keep(db: sa.Connection, method: str) -> None:
    """Let it be ``method``, if there is none yet."""
    if not own_method(db):
        insert(db, t.setting, [{"name": _NAME, "value": method}])


def take_over(db: sa.Connection, names: Sequence[str], heir: str) -> None:
    """Let it be ``heir``, if it was one of these."""
    here = (t.setting.c.name == _NAME, t.setting.c.value.in_(names))
    db.execute(t.setting.update().where(*here).values(value=heir))
