"""How rows look in an export: one JSON-ready dict each, with its type and its scope.

Times are ISO 8601 with an offset, lists are lists, vectors are base64 of little-endian float16.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isnan
from typing import Any, cast, get_args

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql.rows import dumps, local, minutes
from theanine.store.validate import ROLES, check_scope, check_text, check_time
from theanine.types import MarkKind, Relation, Scope

FORMAT = 1
"""Rises when older versions could no longer read an export."""

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
"""Tables by the type of their records, in the order in which they are exported."""

TIMES = frozenset({"at", "made_at", "started_at", "ended_at", "remembered_at"})
STRINGS = frozenset({"speakers", "source_keys"})
NUMBERS = frozenset({"recalled", "touches"})
OBJECTS = frozenset({"settings", "notes"})
EXTRA: Mapping[str, frozenset[str]] = {
    "memory": frozenset({"sources", "origins"}),
    "vector": frozenset({"dimension"}),
}
_LATER: Mapping[str, Mapping[str, Any]] = {
    "turn": {"notes": {}},
    "memory": {"origins": []},
}
"""What exports of earlier versions lack, and what it was then."""
HIDDEN = frozenset({"scope", "zone"})


@dataclass(frozen=True, slots=True)
class Decoded:
    """A record as a row: its table, its scope, and its columns but for the scope's number."""

    type: str
    scope: Scope
    row: dict[str, Any]
    extra: dict[str, Any]
    where: str


def scope_record(scope: Scope) -> dict[str, str]:
    """A scope's names; those that are the default are left out."""
    names = {"user": scope.user, "agent": scope.agent, "tenant": scope.tenant}
    return {name: value for name, value in names.items() if name == "user" or value != "default"}


def encode(type_: str, scope: Scope, row: Mapping[Any, Any]) -> dict[str, Any]:
    """The record of a row."""
    record: dict[str, Any] = {"type": type_, "scope": scope_record(scope)}
    for name, value in row.items():
        if name not in HIDDEN:
            record[name] = _encode_value(name, value, row)
    return record


def _encode_value(name: str, value: Any, row: Mapping[Any, Any]) -> Any:
    if value is None:
        return None
    if name in TIMES:
        zoned = name == "at" and "zone" in row
        at = local(value, row["zone"]) if zoned else moment(value)
        return at.isoformat()
    if name in STRINGS or name in NUMBERS or name in OBJECTS:
        return json.loads(value)
    if name == "data":
        return base64.b64encode(value).decode("ascii")
    return value


def decode(record: object, where: str) -> Decoded:
    """The row of a record. Raises BadInput, naming the record, for one that is malformed."""
    if not isinstance(record, dict):
        raise BadInput("it is no JSON object", where)
    fields = cast("dict[str, Any]", record)
    type_ = fields.get("type")
    fields = {**_LATER.get(str(type_), {}), **fields}
    if not isinstance(type_, str) or type_ not in TABLES:
        known = ", ".join(("theanine", "scope", *TABLES))
        raise BadInput(f"its type is {type_!r}; known are {known}", where)
    table = TABLES[type_]
    columns = {column.name: column for column in table.columns if column.name not in HIDDEN}
    extra = EXTRA.get(type_, frozenset())
    _check_names(set(fields) - {"type", "scope"}, {*columns, *extra}, where)
    row: dict[str, Any] = {
        name: _decode_value(column, fields[name], where) for name, column in columns.items()
    }
    if "zone" in table.c:
        row["zone"] = minutes(datetime.fromisoformat(fields["at"]))
    rest = {name: fields[name] for name in extra}
    _check_row(type_, row, rest, where)
    return Decoded(type_, decode_scope(fields.get("scope"), where), row, rest, where)


def decode_scope(value: object, where: str) -> Scope:
    """The scope of a record. Raises BadInput."""
    names = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if not names or not all(isinstance(name, str) for name in names.values()):
        raise BadInput('it needs a scope, such as {"user": "ana"}', where)
    if "user" not in names or set(names) - {"user", "agent", "tenant"}:
        raise BadInput("its scope has user, and maybe agent and tenant, and nothing else", where)
    scope = Scope(**names)
    try:
        check_scope(scope)
    except BadInput as error:
        raise BadInput(str(error), where) from None
    return scope


def _check_names(given: set[str], wanted: set[str], where: str) -> None:
    if missing := sorted(wanted - given):
        raise BadInput(f"it lacks {', '.join(missing)}", where)
    if unknown := sorted(given - wanted):
        raise BadInput(f"it has fields that are not known: {', '.join(unknown)}", where)


def _decode_value(column: sa.Column[Any], value: Any, where: str) -> Any:
    name = column.name
    if value is None and column.nullable:
        return None
    if column.table is t.vector and name == "embedder":
        return text(value, name, where)  # its name here, its number in the table
    if name in TIMES:
        return _time(value, name, where)
    if name in STRINGS or name in NUMBERS:
        return dumps(a_list(value, str if name in STRINGS else int, name, where))
    if name in OBJECTS:
        if not isinstance(value, dict):
            raise BadInput(f"{name} is no JSON object", where)
        return dumps(value)
    for kind, read in _READERS.items():
        if isinstance(column.type, kind):
            return read(value, name, where)
    raise AssertionError(name)


def text(value: Any, name: str, where: str) -> str:
    """A text that can be kept. Raises BadInput."""
    if not isinstance(value, str):
        raise BadInput(f"{name} is no text", where)
    check_text(value, name, where)
    return value


def number(value: Any, name: str, where: str) -> int:
    """A whole number from 0 to 2^53. Raises BadInput."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise BadInput(f"{name} is no whole number from 0", where)
    return value


def a_list(value: Any, kind: type, name: str, where: str) -> list[Any]:
    """A list of texts or of numbers. Raises BadInput."""
    if not isinstance(value, list):
        raise BadInput(f"{name} is no list", where)
    read = text if kind is str else number
    return [read(item, name, where) for item in cast("list[Any]", value)]


def _flag(value: Any, name: str, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{name} is neither true nor false", where)
    return value


def _float(value: Any, name: str, where: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or isnan(value):
        raise BadInput(f"{name} is no number", where)
    return float(value)


def _data(value: Any, name: str, where: str) -> bytes:
    try:
        return base64.b64decode(text(value, name, where), validate=True)
    except (binascii.Error, ValueError):
        raise BadInput(f"{name} is no base64", where) from None


def _time(value: Any, name: str, where: str) -> int:
    try:
        at = datetime.fromisoformat(text(value, name, where))
    except ValueError:
        raise BadInput(f"{name} ({value!r}) is no ISO 8601 time", where) from None
    check_time(at, name, where)
    return micros(at)


_READERS: Mapping[type[Any], Callable[[Any, str, str], Any]] = {
    sa.Text: text,
    sa.Boolean: _flag,
    sa.Float: _float,
    sa.LargeBinary: _data,
    sa.Integer: number,
}


def _check_row(type_: str, row: dict[str, Any], extra: dict[str, Any], where: str) -> None:
    if type_ == "turn" and row["role"] not in ROLES:
        raise BadInput(f"its role is {row['role']!r}, not user or agent", where)
    if type_ == "link" and row["relation"] is not None and row["relation"] not in list(Relation):
        raise BadInput(f"its relation {row['relation']!r} is not known", where)
    if type_ == "memory":
        a_list(extra["sources"], int, "sources", where)
        a_list(extra["origins"], int, "origins", where)
    if type_ == "mark" and row["kind"] not in get_args(MarkKind):
        raise BadInput(f"its kind {row['kind']!r} is not known", where)
    if type_ == "vector" and len(row["data"]) != 2 * number(extra["dimension"], "dimension", where):
        raise BadInput("its data is not of its dimension", where)
