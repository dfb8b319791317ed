"""ETags of memories, so that a caller changes only the version that they have read."""

from __future__ import annotations

import json
from functools import partial
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from theanine.store.sql import schema as t
from theanine.store.sql.memories import load_memories
from theanine.store.sql.preconditions import require
from theanine.store.sql.scopes import find_scope
from theanine.types import Memory, Scope
from theanine_server.problems import Refused

_MEMORY = TypeAdapter(Memory)


def load_etag(db: sa.Connection, scope: Scope, memory: int) -> str:
    """Return the ETag of a memory, of its marks and of its links; empty if there is none."""
    found = load_memories(db, scope, ids=[memory])
    if not found:
        return ""
    scope_id, m, k = find_scope(db, scope), t.mark.c, t.link.c
    marks = sa.select(m.id, m.kind, m.by).where(m.scope == scope_id, m.memory == memory)
    links = sa.select(k.older, k.newer, k.relation).where(
        k.scope == scope_id, sa.or_(k.older == memory, k.newer == memory)
    )
    rows: list[Any] = [
        [*row]
        for query in (marks.order_by(m.id), links.order_by(k.older, k.newer))
        for row in db.execute(query)
    ]
    content = _MEMORY.dump_json(found[0]) + json.dumps(rows).encode()
    return f'"{blake2b(content, digest_size=12).hexdigest()}"'


def require_match(scope: Scope, memory: int, if_match: str | None) -> None:
    """Answer 412 to the request if a memory has changed since the caller read it.

    It is checked in the transaction of the change, so of two requests that have seen the same one
    alone makes its change.
    """
    if if_match is not None:
        require(partial(_check_match, scope=scope, memory=memory, if_match=if_match))


def _check_match(db: sa.Connection, scope: Scope, memory: int, if_match: str) -> None:
    current = load_etag(db, scope, memory)
    seen = [tag.strip() for tag in if_match.split(",")]
    if current and "*" not in seen and current not in seen:  # what is not there is not found
        raise Refused(412, "changed", f"memory {memory} has changed; read it again")
