"""Records of an export: one of each row, as JSON-ready dicts, and how they are read.

Times are ISO 8601 with an offset, lists are lists, vectors are base64 of little-endian float16.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast, get_args

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql.rows import dumps, local_time, offset_minutes
from theanine.store.sql.versions import Versions
from theanine.store.validate import (
    ROLES,
    check_metadata,
    check_scope,
    check_text,
    check_time,
    encode_content,
)
from theanine.types import MarkKind, Relation, Scope, SetAside

FORMAT = 4
"""Rises when older versions can no longer read an export."""

COUNTED_SINCE = 4
"""The first format whose exports end with a count and a digest."""

READABLE_FORMATS = (1, 2, 3, FORMAT)
"""Format 1 has the names of version 0.1; see ``_translate_old_names``. Format 2 has none of
``_DEFAULTS`` and no turns of the system or of tools. Format 4 has versions, tombstones of scopes
and a last record with a count and a digest."""

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
_STRING_LISTS = frozenset({"speakers", "source_keys", "cues"})
_NUMBER_LISTS = frozenset({"recalled", "touches"})
_OBJECTS = frozenset({"settings", "notes", "metadata"})
_AMOUNTS = frozenset({"input_tokens", "output_tokens", "pause", "retention", "versions"})
"""Numbers that number nothing."""
_MAX_NUMBER, _MAX_AMOUNT = 10_000_000, 2**53
"""Largest numbers that are restored: turns, memories and the like are read by their number."""
_HIDDEN = frozenset({"scope", "zone", "retry_at"})
"""Columns that are not exported by their name: the offset is part of ``at``, and another database
has another clock."""
_EXTRA: Mapping[str, frozenset[str]] = {
    "memory": frozenset({"sources", "origins"}),
    "vector": frozenset({"dimension"}),
}
"""Fields that come from other tables."""
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "session": {"metadata": {}, "thread": None, "pause": None},
    "turn": {"metadata": {}, "content": []},
    "remembering": {"set_aside": None},
    "memory": {"metadata": {}, "cues": []},
}
"""Fields that are not written where they have these values."""
_ADDED_LATER: Mapping[str, Mapping[str, Any]] = {
    **_DEFAULTS,
    "turn": {"notes": {}, **_DEFAULTS["turn"]},
    "memory": {"origins": [], **_DEFAULTS["memory"]},
}
"""Fields that a record may lack, with their default."""
KEYS: Mapping[str, tuple[str, ...]] = {
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
IMMUTABLE: Mapping[str, tuple[str, ...]] = {
    "session": ("key",),
    "turn": ("session", "key", "speaker", "role", "at", "text", "shared", "content"),
    "given": ("text",),
    "memory": ("session", "method", "text", "at"),
    "mark": ("memory", "kind", "by"),
    "link": ("relation", "explanation"),
}
"""Columns in which a record must agree with the stored row; others may have changed since."""
COUNTERS = {
    "session": "next_session",
    "turn": "next_turn",
    "memory": "next_memory",
    "mark": "next_mark",
}
"""The scope's counter that numbers the rows of a type."""
SETTINGS = ("time_zone", "retention")
"""Columns of a scope that are exported where they are set."""


# encoding


class Digest:
    """Count and hash of the records of an export, whatever the order of their fields."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._count = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the next record."""
        # What JSON can't hold is no record, and is reported as that.
        line = json.dumps(dict(record), sort_keys=True, separators=(",", ":"), default=repr)
        self._hash.update(line.encode())
        self._count += 1

    def end_record(self) -> dict[str, Any]:
        """Return the last record of the export."""
        return {"type": "end", "records": self._count, "digest": self._hash.hexdigest()}


def encode_row(row: Mapping[Any, Any], table: sa.Table) -> dict[str, Any]:
    """Return the fields of a record."""
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
class Record:
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


def decode_record(record: Mapping[str, Any], where: str) -> Record:
    """Read a record. Raises BadInput for one that is malformed."""
    type_ = record.get("type")
    if not isinstance(type_, str) or type_ not in TABLES:
        types = ", ".join(("theanine", "scope", *TABLES, "erased_scope", "end"))
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
    return Record(type_, decode_scope(fields.get("scope"), where), row, extra, where)


def _translate_old_names(type_: str, fields: dict[str, Any]) -> None:
    """Replace the names of version 0.1 in place, as migration 0006 does in a store."""
    if "method" in fields:
        fields["method"] = current_method(fields["method"])
    if type_ == "memory" and fields.get("kind") == "turn":
        fields["kind"] = "exchange"
    if type_ == "turn" and fields.get("role") == "agent":
        fields["role"] = "assistant"


def current_method(name: Any) -> Any:
    """Return the present id of a method."""
    if isinstance(name, str) and (name == "turn" or name.startswith("turn~")):
        return "exchange" + name.removeprefix("turn")
    return name


def decode_scope(value: object, where: str) -> Scope:
    """Read the scope of a record."""
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
        return read_text(value, name, where)  # the name here, the number in the table
    if name in _TIMES:
        return _read_time(value, name, where)
    if name in _STRING_LISTS:
        return dumps(_read_list(value, read_text, name, where))
    if name in _NUMBER_LISTS:
        return dumps(_read_list(value, read_number, name, where))
    if name == "content":
        return encode_content(_read_list(value, _read_object, name, where), where)
    if name in _OBJECTS:
        return read_text(dumps(_read_object(value, name, where)), name, where)
    for kind, read in _READERS.items():
        if isinstance(column.type, kind):
            return read(value, name, where)
    raise AssertionError(name)


def read_text(value: Any, name: str, where: str) -> str:
    """Return a text that can be stored."""
    check_text(value, name, where)
    return value


def read_versions(value: Any, where: str) -> Versions:
    """Return the version of a scope or a store."""
    versions = _read_object(value, "versions", where)
    return {
        read_text(store, "versions", where): read_number(count, "versions", where)
        for store, count in versions.items()
    }


def read_number(value: Any, name: str, where: str) -> int:
    """Return a number of a row, or a count."""
    most = _MAX_AMOUNT if name in _AMOUNTS else _MAX_NUMBER
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise BadInput(f"{name} must be a whole number from 0 to {most}", where)
    return value


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
        return base64.b64decode(read_text(value, name, where), validate=True)
    except (binascii.Error, ValueError):
        raise BadInput(f"{name} is not valid base64", where) from None


def _read_time(value: Any, name: str, where: str) -> int:
    try:
        at = datetime.fromisoformat(read_text(value, name, where))
    except ValueError:
        raise BadInput(f"{name} ({value!r}) is not an ISO 8601 time", where) from None
    check_time(at, name, where)
    return micros(at)


_READERS: Mapping[type[Any], Callable[[Any, str, str], Any]] = {
    sa.Text: read_text,
    sa.Boolean: _read_flag,
    sa.Float: _read_float,
    sa.LargeBinary: _read_bytes,
    sa.Integer: read_number,
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
        _read_list(extra["sources"], read_number, "sources", where)
        _read_list(extra["origins"], read_number, "origins", where)
    if type_ == "mark" and row["kind"] not in get_args(MarkKind):
        raise BadInput(f"unknown mark kind {row['kind']!r}", where)
    if type_ == "remembering" and row["set_aside"] not in (None, *get_args(SetAside)):
        raise BadInput(f"unknown set_aside {row['set_aside']!r}", where)
    if type_ == "vector":
        dimension = read_number(extra["dimension"], "dimension", where)
        if len(row["data"]) != 2 * dimension or not dimension:
            raise BadInput("the length of data does not match dimension", where)
        import numpy as np  # most commands restore nothing, and it takes long to load

        if not np.isfinite(np.frombuffer(row["data"], "<f2")).all():
            raise BadInput("data holds a number that is not finite", where)
