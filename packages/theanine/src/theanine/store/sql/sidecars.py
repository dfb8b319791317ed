"""Sidecars (data derived from a scope) in a table, for stores without files of their own."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from theanine.store.sidecar_files import FORMER_NAME
from theanine.store.sql import schema as t
from theanine.store.sql.memories import load_scope_version
from theanine.store.sql.rows import insert_rows
from theanine.types import Scope

MAX_BYTES = 200_000_000
"""Maximum bytes of a sidecar: a value is sent as two characters a byte, at most 1 GB."""


def save_sidecar(
    db: sa.Connection, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
) -> bool:
    """Insert or replace data, and delete former ones that nothing reads.

    False if something was erased since ``epoch``, or if the data are large.
    """
    version = load_scope_version(db, scope)
    if not version.scope_id or version.epoch != epoch or sum(map(len, parts)) > MAX_BYTES:
        return False
    replaced = (t.sidecar.c.name == name) | t.sidecar.c.name.regexp_match(f"^{FORMER_NAME}$")
    db.execute(t.sidecar.delete().where(t.sidecar.c.scope == version.scope_id, replaced))
    row = {"scope": version.scope_id, "name": name, "data": b"".join(parts)}
    insert_rows(db, t.sidecar, [row])
    return True


def delete_sidecars(db: sa.Connection, scope_ids: Sequence[int]) -> None:
    """Delete all data of some scopes."""
    for scope_id in scope_ids:
        db.execute(t.sidecar.delete().where(t.sidecar.c.scope == scope_id))
