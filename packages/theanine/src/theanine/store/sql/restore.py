"""Taking an export back in: what is known stays as it is, what contradicts it is refused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import exc

from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql.default_method import keep
from theanine.store.sql.export_codec import FORMAT, TABLES, Decoded, decode, decode_scope, number
from theanine.store.sql.rows import chunks, ensure_scope, find_scope, insert
from theanine.store.sql.vectors import active_embedder, need_embedder
from theanine.types import Scope

_KEYS: Mapping[str, tuple[str, ...]] = {
    "session": ("id",),
    "turn": ("id",),
    "given": ("session", "position"),
    "remembering": ("session", "method"),
    "erased": ("session", "hash"),
    "memory": ("id",),
    "mark": ("id",),
    "link": ("newer", "older"),
    "vector": ("memory",),
    "journal": ("key",),
}
"""What tells a scope's rows of one type apart; the first of them is what they are looked up by."""

_FIXED: Mapping[str, tuple[str, ...]] = {
    "session": ("key",),
    "turn": ("session", "key", "speaker", "role", "at", "text", "shared"),
    "given": ("text",),
    "memory": ("session", "method", "text", "at"),
    "mark": ("memory", "kind", "by"),
    "link": ("relation", "explanation"),
}
"""What a known row must agree in; the rest may have moved on since the export."""

_COUNTS = {
    "session": "next_session",
    "turn": "next_turn",
    "memory": "next_memory",
    "mark": "next_mark",
}


def restore(db: sa.Connection, records: Sequence[Mapping[str, Any]]) -> int:
    """Insert what is new; gives how many records that was."""
    decoded: dict[tuple[Scope, str], list[Decoded]] = defaultdict(list)
    new = 0
    for place, record in enumerate(records, 1):
        where = f"record {place}"
        kind = record.get("type") if isinstance(cast("object", record), dict) else None
        if kind == "theanine":
            _check_format(record, where)
            if method := str(record.get("method") or ""):
                keep(db, method)
        elif kind == "scope":
            new += _restore_scope(db, record, where)
        else:
            item = decode(record, where)
            decoded[item.scope, item.type].append(item)
    try:
        for (scope, type_), items in decoded.items():
            new += _restore_rows(db, scope, type_, items)
    except exc.IntegrityError:
        raise BadInput(
            "a session or turn in these records has a key that the store gave another number; "
            "restore into an empty store, or under another user"
        ) from None
    return new


def _check_format(record: Mapping[str, Any], where: str) -> None:
    if record.get("format") != FORMAT:
        raise BadInput(
            f"the export has format {record.get('format')!r}, and this version reads {FORMAT}; "
            "update theanine",
            where,
        )


def _restore_scope(db: sa.Connection, record: Mapping[str, Any], where: str) -> int:
    scope = decode_scope(record.get("scope"), where)
    new = find_scope(db, scope) is None
    counters = {"next_mark": 1, **record}  # earlier versions knew no marks
    wanted = {name: number(counters.get(name), name, where) for name in _COUNTS.values()}
    _raise_counters(db, ensure_scope(db, scope), wanted)
    return int(new)


def _raise_counters(db: sa.Connection, scope_id: int, wanted: Mapping[str, int]) -> None:
    """Numbers that were ever given are never given again."""
    for name, value in wanted.items():
        here = (t.scope.c.id == scope_id, t.scope.c[name] < value)
        db.execute(t.scope.update().where(*here).values({name: value}))


def _restore_rows(db: sa.Connection, scope: Scope, type_: str, items: Sequence[Decoded]) -> int:
    scope_id = ensure_scope(db, scope)
    if type_ == "vector":
        items = _of_embedder(db, items)
    known = _known(db, scope_id, type_, items)
    fresh: list[Decoded] = []
    for item in items:
        key = tuple(item.row[name] for name in _KEYS[type_])
        if key not in known:
            known[key] = item.row
            fresh.append(item)
        else:
            _check_same(known[key], item)
    if not fresh:
        return 0
    insert(db, TABLES[type_], [{"scope": scope_id, **item.row} for item in fresh])
    if type_ == "memory":
        for table, column, name in ((t.source, "turn", "sources"), (t.origin, "origin", "origins")):
            pairs = [(item.row["id"], one) for item in fresh for one in set(item.extra[name])]
            rows = [{"scope": scope_id, "memory": memory, column: one} for memory, one in pairs]
            insert(db, table, rows)
    if type_ in _COUNTS:
        highest = max(item.row["id"] for item in fresh)
        _raise_counters(db, scope_id, {_COUNTS[type_]: highest + 1})
    db.execute(  # caches that grow by number would miss what was filled in below
        t.scope.update().where(t.scope.c.id == scope_id).values(epoch=t.scope.c.epoch + 1)
    )
    return len(fresh)


def _known(
    db: sa.Connection, scope_id: int, type_: str, items: Sequence[Decoded]
) -> dict[tuple[Any, ...], Mapping[Any, Any]]:
    """Stored rows that any of the items could be, by key."""
    table, names = TABLES[type_], _KEYS[type_]
    query = sa.select(table).where(table.c.scope == scope_id)
    if type_ == "vector" and items:
        query = query.where(table.c.embedder == items[0].row["embedder"])
    found: dict[tuple[Any, ...], Mapping[Any, Any]] = {}
    for some in chunks(sorted({item.row[names[0]] for item in items})):
        for row in db.execute(query.where(table.c[names[0]].in_(some))).mappings():
            found[tuple(row[name] for name in names)] = row
    return found


def _check_same(known: Mapping[Any, Any], item: Decoded) -> None:
    for name in _FIXED.get(item.type, ()):
        if known[name] != item.row[name]:
            numbers = ", ".join(str(item.row[key]) for key in _KEYS[item.type])
            raise BadInput(
                f"{item.scope} already has another {item.type} {numbers} (its {name} differs); "
                "restore into an empty store, or under another user",
                item.where,
            )


def _of_embedder(db: sa.Connection, items: Sequence[Decoded]) -> list[Decoded]:
    """Vectors of the embedder in use; others are left out, and re-embedding fills them in."""
    kept: list[Decoded] = []
    for item in items:
        active = active_embedder(db)
        name, dimension = item.row["embedder"], item.extra["dimension"]
        if active is None or (active.name, active.dimension) == (name, dimension):
            item.row["embedder"] = need_embedder(db, name, dimension, active=active)
            kept.append(item)
    return kept
