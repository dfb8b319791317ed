"""Lossless export of a store as JSON-ready records, and restoring them.

Each record is a dict with its ``type``, its scope and the columns of its row. Times are ISO 8601
with an offset, lists are lists, vectors are base64 of little-endian float16.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast, get_args

import numpy as np
import sqlalchemy as sa
from sqlalchemy import exc

from theanine.clock import micros, moment
from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql.memories import group_by_memory, select_by_memory
from theanine.store.sql.remembering import init_default_method, load_default_method
from theanine.store.sql.rows import (
    SCOPE_NAMES,
    chunks,
    dumps,
    ensure_scope,
    find_scope,
    in_scope,
    insert_rows,
    local_time,
    offset_minutes,
    scope_from_row,
    scope_params,
)
from theanine.store.sql.user_settings import load_store_retention, set_retention, set_time_zone
from theanine.store.sql.vectors import load_active_embedder, require_embedder
from theanine.store.validate import (
    ROLES,
    check_metadata,
    check_scope,
    check_text,
    check_time,
    encode_content,
)
from theanine.types import CALLER, SPOKEN, MarkKind, Relation, Scope

FORMAT = 3
"""Rises when older versions can no longer read an export."""

_READABLE_FORMATS = (1, 2, FORMAT)
"""Format 1 has the names of version 0.1; see ``_translate_old_names``. Format 2 has none of
``_DEFAULTS`` and no turns of the system or of tools; it is still written where there are none, so
that older versions can read the export."""

TABLES: Mapping[str, sa.Table] = {
    "session": t.session,
    "turn": t.turn,
    "given": t.given,
    "remembering": t.remembering,
    "erased": t.erased,
    "memory": t.memory,
    "mark": t.mark,
    "link": t.link,
    "vector": t.vector,
    "journal": t.journal,
}
"""Tables by record type, in export order."""

_TIMES = frozenset({"at", "made_at", "started_at", "ended_at", "remembered_at"})
_STRING_LISTS = frozenset({"speakers", "source_keys"})
_NUMBER_LISTS = frozenset({"recalled", "touches"})
_OBJECTS = frozenset({"settings", "notes", "metadata"})
_AMOUNTS = frozenset({"input_tokens", "output_tokens", "pause", "retention"})
"""Numbers that number nothing."""
_MAX_NUMBER, _MAX_AMOUNT = 10_000_000, 2**53
"""Largest numbers that are restored: turns, memories and the like are read by their number."""
_HIDDEN = frozenset({"scope", "zone"})
"""Columns that are not exported by their name: the offset is part of ``at``."""
_EXTRA: Mapping[str, frozenset[str]] = {
    "memory": frozenset({"sources", "origins"}),
    "vector": frozenset({"dimension"}),
}
"""Fields that come from other tables."""
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "session": {"metadata": {}, "thread": None, "pause": None},
    "turn": {"metadata": {}, "content": []},
    "memory": {"metadata": {}},
}
"""Fields that are not written where they have these values."""
_ADDED_LATER: Mapping[str, Mapping[str, Any]] = {
    **_DEFAULTS,
    "turn": {"notes": {}, **_DEFAULTS["turn"]},
    "memory": {"origins": [], **_DEFAULTS["memory"]},
}
"""Fields that a record may lack, with their default."""
_FORMAT_3 = [
    sa.exists().where(condition)
    for condition in (
        t.session.c.metadata != "{}",
        t.session.c.thread.is_not(None),
        t.turn.c.metadata != "{}",
        sa.or_(t.turn.c.content != "", t.turn.c.role.not_in(sorted(SPOKEN))),
        t.memory.c.metadata != "{}",
        t.mark.c.made_by == CALLER,
        t.scope.c.time_zone.is_not(None),
        t.scope.c.retention.is_not(None),
    )
]
"""Conditions on a store, any of which needs format 3."""
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
"""The key of each record type within its scope; rows are looked up by its first column."""
_IMMUTABLE: Mapping[str, tuple[str, ...]] = {
    "session": ("key",),
    "turn": ("session", "key", "speaker", "role", "at", "text", "shared", "content"),
    "given": ("text",),
    "memory": ("session", "method", "text", "at"),
    "mark": ("memory", "kind", "by"),
    "link": ("relation", "explanation"),
}
"""Columns in which a record must agree with the stored row; others may have changed since."""
_COUNTERS = {
    "session": "next_session",
    "turn": "next_turn",
    "memory": "next_memory",
    "mark": "next_mark",
}
"""The scope's counter that numbers the rows of a type."""
_SETTINGS = ("time_zone", "retention")
"""Columns of a scope that are exported where they are set."""


# export


def export_records(db: sa.Connection, scope: Scope | None) -> Iterator[dict[str, Any]]:
    """Yield a header, then each scope's records by type and number, reading as it goes."""
    newest = db.execute(sa.select(sa.or_(*_FORMAT_3))).scalar()
    format_ = FORMAT if newest else FORMAT - 1
    header = {"type": "theanine", "format": format_, "method": load_default_method(db)}
    if scope is None and (retention := load_store_retention(db)) is not None:
        header["retention"] = round(retention.total_seconds())
    yield header
    query = sa.select(t.scope).order_by(*SCOPE_NAMES)
    for row in db.execute(in_scope(db, query, scope)).all():
        names = scope_params(scope_from_row(row))
        owner = {n: name for n, name in names.items() if n == "user" or name != "default"}
        counters = {name: getattr(row, name) for name in _COUNTERS.values()}
        own = {name: getattr(row, name) for name in _SETTINGS if getattr(row, name) is not None}
        yield {"type": "scope", "scope": owner, **counters, **own}
        for type_, table in TABLES.items():
            read = _export_vectors if type_ == "vector" else _export_rows
            for values in read(db, row.id, table):
                yield {"type": type_, "scope": owner, **values}


def _export_rows(db: sa.Connection, scope_id: int, table: sa.Table) -> Iterator[dict[str, Any]]:
    query = sa.select(table).where(table.c.scope == scope_id).order_by(*table.primary_key.columns)
    provenance: dict[str, dict[int, tuple[int, ...]]] = {}
    if table is t.memory:
        for name, column in (("sources", t.source.c.turn), ("origins", t.origin.c.origin)):
            select = select_by_memory(column, scope_id, lambda _: sa.true())
            provenance[name] = group_by_memory(db.execute(select))
    for row in db.execute(query).mappings():
        lists = {name: list(numbers.get(row["id"], ())) for name, numbers in provenance.items()}
        yield {**_encode_row(row, table), **lists}


def _export_vectors(db: sa.Connection, scope_id: int, table: sa.Table) -> Iterator[dict[str, Any]]:
    """Yield the active embedder's vectors only; an unfinished re-embedding is not exported."""
    active = load_active_embedder(db)
    if active is None:
        return
    query = (
        sa.select(table)
        .where(table.c.scope == scope_id, table.c.embedder == active.id)
        .order_by(table.c.memory)
    )
    for row in db.execute(query).mappings():
        yield {**_encode_row(row, table), "embedder": active.name, "dimension": active.dimension}


def _encode_row(row: Mapping[Any, Any], table: sa.Table) -> dict[str, Any]:
    values = {name: _encode_value(name, row) for name in row if name not in _HIDDEN}
    for name, default in _DEFAULTS.get(table.name, {}).items():
        if values[name] == default:
            del values[name]
    return values


def _encode_value(name: str, row: Mapping[Any, Any]) -> Any:
    value = row[name]
    if value is None:
        return None
    if name in _TIMES:
        zoned = name == "at" and "zone" in row
        at = local_time(value, row["zone"]) if zoned else moment(value)
        return at.isoformat()
    if name in _STRING_LISTS or name in _NUMBER_LISTS or name in _OBJECTS:
        return json.loads(value)
    if name == "content":
        return json.loads(value) if value else []
    if name == "data":
        return base64.b64encode(value).decode("ascii")
    return value


# decoding


@dataclass(frozen=True, slots=True)
class _Record:
    """A decoded record.

    Attributes:
        type: its key in ``TABLES``.
        scope: the scope that owns it.
        row: the columns of its row, without the scope's number.
        extra: its ``_EXTRA`` fields.
        where: its position, for messages.
    """

    type: str
    scope: Scope
    row: dict[str, Any]
    extra: dict[str, Any]
    where: str


def _decode_record(record: Mapping[str, Any], where: str) -> _Record:
    type_ = record.get("type")
    if not isinstance(type_, str) or type_ not in TABLES:
        types = ", ".join(("theanine", "scope", *TABLES))
        raise BadInput(f"unknown type {type_!r}; known types: {types}", where)
    fields = {**_ADDED_LATER.get(type_, {}), **record}
    _translate_old_names(type_, fields)
    table = TABLES[type_]
    columns = {column.name: column for column in table.columns if column.name not in _HIDDEN}
    extra_names = _EXTRA.get(type_, frozenset())
    expected, present = {*columns, *extra_names}, set(fields) - {"type", "scope"}
    if missing := sorted(expected - present):
        raise BadInput(f"missing fields: {', '.join(missing)}", where)
    if unknown := sorted(present - expected):
        raise BadInput(f"unknown fields: {', '.join(unknown)}", where)
    row: dict[str, Any] = {
        name: _decode_value(column, fields[name], where) for name, column in columns.items()
    }
    if "zone" in table.c:
        row["zone"] = offset_minutes(datetime.fromisoformat(fields["at"]))
    extra = {name: fields[name] for name in extra_names}
    _check_record(type_, row, extra, where)
    return _Record(type_, _decode_scope(fields.get("scope"), where), row, extra, where)


def _translate_old_names(type_: str, fields: dict[str, Any]) -> None:
    """Replace the names of version 0.1 in place, as migration 0006 does in a store."""
    if "method" in fields:
        fields["method"] = _current_method(fields["method"])
    if type_ == "memory" and fields.get("kind") == "turn":
        fields["kind"] = "exchange"
    if type_ == "turn" and fields.get("role") == "agent":
        fields["role"] = "assistant"


def _current_method(name: Any) -> Any:
    if isinstance(name, str) and (name == "turn" or name.startswith("turn~")):
        return "exchange" + name.removeprefix("turn")
    return name


def _decode_scope(value: object, where: str) -> Scope:
    names = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if not names or not all(isinstance(name, str) for name in names.values()):
        raise BadInput('the record needs a scope, such as {"user": "ana"}', where)
    if "user" not in names or set(names) - {"user", "agent", "tenant"}:
        raise BadInput("the scope takes user, agent and tenant only, and needs user", where)
    scope = Scope(**names)
    try:
        check_scope(scope)
    except BadInput as error:
        raise BadInput(str(error), where) from None
    return scope


def _decode_value(column: sa.Column[Any], value: Any, where: str) -> Any:
    name = column.name
    if value is None and column.nullable:
        return None
    if column is t.vector.c.embedder:
        return _read_text(value, name, where)  # the name here, the number in the table
    if name in _TIMES:
        return _read_time(value, name, where)
    if name in _STRING_LISTS:
        return dumps(_read_list(value, _read_text, name, where))
    if name in _NUMBER_LISTS:
        return dumps(_read_list(value, _read_number, name, where))
    if name == "content":
        return encode_content(_read_list(value, _read_object, name, where), where)
    if name in _OBJECTS:
        return _read_text(dumps(_read_object(value, name, where)), name, where)
    for kind, read in _READERS.items():
        if isinstance(column.type, kind):
            return read(value, name, where)
    raise AssertionError(name)


def _read_text(value: Any, name: str, where: str) -> str:
    check_text(value, name, where)
    return value


def _read_number(value: Any, name: str, where: str) -> int:
    most = _MAX_AMOUNT if name in _AMOUNTS else _MAX_NUMBER
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise BadInput(f"{name} must be a whole number from 0 to {most}", where)
    return value


def _read_retention(value: Any, where: str) -> timedelta:
    try:
        return timedelta(seconds=_read_number(value, "retention", where))
    except OverflowError:
        raise BadInput(f"retention is {value} seconds, which is too long", where) from None


def _read_list(
    value: Any, read: Callable[[Any, str, str], Any], name: str, where: str
) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(f"{name} must be a list", where)
    return [read(item, name, where) for item in cast("list[Any]", value)]


def _read_object(value: Any, name: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{name} must be a JSON object", where)
    return cast("dict[str, Any]", value)


def _read_flag(value: Any, name: str, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{name} must be true or false", where)
    return value


def _read_float(value: Any, name: str, where: str) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not abs(value) < 1e18:  # false for NaN, too
        raise BadInput(f"{name} must be a number", where)
    return float(value)


def _read_bytes(value: Any, name: str, where: str) -> bytes:
    try:
        return base64.b64decode(_read_text(value, name, where), validate=True)
    except (binascii.Error, ValueError):
        raise BadInput(f"{name} is not valid base64", where) from None


def _read_time(value: Any, name: str, where: str) -> int:
    try:
        at = datetime.fromisoformat(_read_text(value, name, where))
    except ValueError:
        raise BadInput(f"{name} ({value!r}) is not an ISO 8601 time", where) from None
    check_time(at, name, where)
    return micros(at)


_READERS: Mapping[type[Any], Callable[[Any, str, str], Any]] = {
    sa.Text: _read_text,
    sa.Boolean: _read_flag,
    sa.Float: _read_float,
    sa.LargeBinary: _read_bytes,
    sa.Integer: _read_number,
}


def _check_record(type_: str, row: dict[str, Any], extra: dict[str, Any], where: str) -> None:
    """Check enumerated values, metadata and the extra fields."""
    if "metadata" in row:
        check_metadata(json.loads(row["metadata"]), where)
    if type_ == "turn" and row["role"] not in ROLES:
        raise BadInput(f"unknown role {row['role']!r}; must be one of {', '.join(ROLES)}", where)
    if type_ == "link" and row["relation"] is not None and row["relation"] not in list(Relation):
        raise BadInput(f"unknown relation {row['relation']!r}", where)
    if type_ == "memory":
        _read_list(extra["sources"], _read_number, "sources", where)
        _read_list(extra["origins"], _read_number, "origins", where)
    if type_ == "mark" and row["kind"] not in get_args(MarkKind):
        raise BadInput(f"unknown mark kind {row['kind']!r}", where)
    if type_ == "vector":
        dimension = _read_number(extra["dimension"], "dimension", where)
        if len(row["data"]) != 2 * dimension or not dimension:
            raise BadInput("the length of data does not match dimension", where)
        if not np.isfinite(np.frombuffer(row["data"], "<f2")).all():
            raise BadInput("data holds a number that is not finite", where)


# restore


def restore_records(db: sa.Connection, records: Sequence[Mapping[str, Any]]) -> int:
    """Insert new records and return how many there were; known ones are left unchanged.

    Raises BadInput, naming the record, for one that is malformed or contradicts a stored row.
    """
    decoded: defaultdict[tuple[Scope, str], list[_Record]] = defaultdict(list)
    new = 0
    for number, record in enumerate(records, 1):
        where = f"record {number}"
        if not isinstance(cast("object", record), Mapping):
            raise BadInput("the record is not a JSON object", where)
        if record.get("type") == "theanine":
            if record.get("format") not in _READABLE_FORMATS:
                raise BadInput(
                    f"the export has format {record.get('format')!r}; this version reads up to "
                    f"{FORMAT}: update theanine",
                    where,
                )
            if (method := record.get("method")) is not None:
                init_default_method(db, _current_method(_read_text(method, "method", where)))
            if (seconds := record.get("retention")) and load_store_retention(db) is None:
                set_retention(db, None, _read_retention(seconds, where))
        elif record.get("type") == "scope":
            new += _restore_scope(db, record, where)
        else:
            item = _decode_record(record, where)
            decoded[item.scope, item.type].append(item)
    try:
        for (scope, type_), items in decoded.items():
            new += _restore_rows(db, scope, type_, items)
    except exc.IntegrityError:
        raise BadInput(
            "a session or turn in these records has a key that the store uses for another number; "
            "restore into an empty store or under another user"
        ) from None
    return new


def _restore_scope(db: sa.Connection, record: Mapping[str, Any], where: str) -> int:
    """Create the scope and raise its counters; return 1 if it is new."""
    scope = _decode_scope(record.get("scope"), where)
    new = not find_scope(db, scope)
    fields = {"next_mark": 1, **record}  # early exports have no marks
    counters = {name: _read_number(fields.get(name), name, where) for name in _COUNTERS.values()}
    scope_id = ensure_scope(db, scope)
    _raise_counters(db, scope_id, counters)
    if new:
        _restore_settings(db, scope, record, where)
    return int(new)


def _restore_settings(
    db: sa.Connection, scope: Scope, record: Mapping[str, Any], where: str
) -> None:
    if (zone := record.get("time_zone")) is not None:
        set_time_zone(db, scope, _read_text(zone, "time_zone", where))
    if (seconds := record.get("retention")) is not None:
        set_retention(db, scope, _read_retention(seconds, where))


def _raise_counters(db: sa.Connection, scope_id: int, counters: Mapping[str, int]) -> None:
    """Raise counters to at least these values, so that no number is assigned twice."""
    for name, value in counters.items():
        lower = (t.scope.c.id == scope_id, t.scope.c[name] < value)
        db.execute(t.scope.update().where(*lower).values({name: value}))


def _restore_rows(db: sa.Connection, scope: Scope, type_: str, items: Sequence[_Record]) -> int:
    scope_id = ensure_scope(db, scope)
    if type_ == "vector":
        items = _select_vectors(db, items)
    rows = _load_rows(db, scope_id, type_, items)
    new: list[_Record] = []
    for item in items:
        key = tuple(item.row[name] for name in _KEYS[type_])
        if key in rows:
            _check_agreement(rows[key], item)
        else:
            rows[key] = item.row
            new.append(item)
    if not new:
        return 0
    insert_rows(db, TABLES[type_], [{"scope": scope_id, **item.row} for item in new])
    if type_ == "memory":
        for table, column, name in ((t.source, "turn", "sources"), (t.origin, "origin", "origins")):
            pairs = [(item.row["id"], number) for item in new for number in set(item.extra[name])]
            columns = [{"scope": scope_id, "memory": memory, column: n} for memory, n in pairs]
            insert_rows(db, table, columns)
    if type_ in _COUNTERS:
        highest = max(item.row["id"] for item in new)
        _raise_counters(db, scope_id, {_COUNTERS[type_]: highest + 1})
    db.execute(  # caches that load by number would miss rows with lower numbers
        t.scope.update().where(t.scope.c.id == scope_id).values(epoch=t.scope.c.epoch + 1)
    )
    return len(new)


def _select_vectors(db: sa.Connection, items: Sequence[_Record]) -> list[_Record]:
    """Keep vectors of the active embedder, with its number; re-embedding makes the others."""
    selected: list[_Record] = []
    for item in items:
        active = load_active_embedder(db)
        name, dimension = item.row["embedder"], item.extra["dimension"]
        if active is None or (active.name, active.dimension) == (name, dimension):
            item.row["embedder"] = require_embedder(db, name, dimension, active=active)
            selected.append(item)
    return selected


def _load_rows(
    db: sa.Connection, scope_id: int, type_: str, items: Sequence[_Record]
) -> dict[tuple[Any, ...], Mapping[Any, Any]]:
    """Return the stored rows with the key of any item, by key."""
    table, names = TABLES[type_], _KEYS[type_]
    query = sa.select(table).where(table.c.scope == scope_id)
    if type_ == "vector" and items:
        query = query.where(table.c.embedder == items[0].row["embedder"])
    return {
        tuple(row[name] for name in names): row
        for numbers in chunks(sorted({item.row[names[0]] for item in items}))
        for row in db.execute(query.where(table.c[names[0]].in_(numbers))).mappings()
    }


def _check_agreement(stored: Mapping[Any, Any], item: _Record) -> None:
    for name in _IMMUTABLE.get(item.type, ()):
        if stored[name] != item.row[name]:
            key = ", ".join(str(item.row[key]) for key in _KEYS[item.type])
            raise BadInput(
                f"{item.scope} already has another {item.type} {key} (its {name} differs); "
                "restore into an empty store or under another user",
                item.where,
            )
