"""Checking parsed JSON by pydantic models; faults name their place and what to do.

A format declares its objects as subclasses of :class:`Item`. Only what is read is declared. What
can be left out item by item, such as a turn, is declared as ``object`` in its parent and checked
by itself, so that one bad turn doesn't make its whole session bad.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, TypeGuard, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from theanine.errors import BadInput

T = TypeVar("T")
Object = dict[str, object]
"""A JSON object with keys that aren't known beforehand."""

Path = str
"""Keys that lead to a value, with dots between them."""
MAX_BYTES = 4 * 1024 * 1024
"""The longest turn or memory, in bytes of UTF-8."""
_LOOKED_AT = 3
_DECODER = json.JSONDecoder()


class Item(BaseModel):
    """An object in an imported file. Other fields are ignored, values aren't converted."""

    model_config = ConfigDict(extra="ignore", strict=True)


def parse(text: str, where: str) -> object:
    """Return the value of a JSON text. Raises BadInput with the line and column of a fault."""
    try:
        return cast("object", json.loads(text))
    except json.JSONDecodeError as fault:
        line = f"line {fault.lineno}, " if "\n" in text.strip() else ""
        reason = f"broken JSON at {line}column {fault.colno}: {fault.msg}"
        raise BadInput(reason, where) from None
    except RecursionError:
        raise BadInput("JSON nested too deeply; flatten it", where) from None
    except ValueError as fault:
        raise BadInput(f"broken JSON: {fault}", where) from None


def parse_all(text: str, where: str) -> Iterator[object]:
    """Yield the JSON values that follow one another in a text. Raises BadInput, as ``parse``."""
    start = 0
    while start < len(text):
        try:
            value, start = cast("tuple[object, int]", _DECODER.raw_decode(text, start))
        except (ValueError, RecursionError):
            value, start = parse(" " * start + text[start:], where), len(text)
        yield value
        while start < len(text) and text[start].isspace():
            start += 1


def check(kind: type[T], value: object, where: str) -> T:
    """Return a parsed JSON value as a model or another type.

    Raises:
        BadInput: the value doesn't fit; ``where`` is followed by the path to the first fault.
    """
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise _fault(error, where) from None


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    config = None if hasattr(kind, "model_config") else ConfigDict(strict=True)
    return TypeAdapter(kind, config=config)


def is_object(value: object) -> TypeGuard[Object]:
    """Return whether a parsed JSON value is an object."""
    return isinstance(value, dict)


def as_object(value: object, where: str) -> Object:
    """Return a parsed JSON value as an object. Raises BadInput."""
    if not is_object(value):
        raise BadInput(f"expected an object {{…}}, found {_describe(value)}", where)
    return value


def unpacked(value: object) -> Object:
    """Return an object, or one that is written in a text; empty for anything else."""
    with suppress(BadInput):
        value = parse(value, "") if isinstance(value, str) else value
    return value if is_object(value) else {}


def objects_in(value: object) -> list[Object]:
    """Return the objects of a parsed JSON list; empty for any other value."""
    return (
        [item for item in cast("list[object]", value) if is_object(item)]
        if (isinstance(value, list))
        else []
    )


def get(value: object, path: Path) -> object:
    """Return what is at a path of keys; None if it isn't there.

    A number is a place in a list, ``?`` the first key of an object that has something.
    """
    if "." not in path:
        return value.get(path) if is_object(value) and path else None if path else value
    for key in path.split("."):
        if is_object(value):
            value = next(filter(None, value.values()), None) if key == "?" else value.get(key)
        elif isinstance(value, list) and key.isdigit():
            items = cast("list[object]", value)
            value = items[int(key)] if int(key) < len(items) else None
        else:
            return None
    return value


def has_keys(value: object, keys: Sequence[Sequence[Path]]) -> bool:
    """Return whether a value has all paths of a set; a ``0`` is one of the first items."""
    return any(
        all(_has(value, path.replace(".0.", f".{item}.")) for path in paths)
        for paths in keys
        for item in range(_LOOKED_AT)
    )


def _has(value: object, path: Path) -> bool:
    parent, _, key = path.rpartition(".")
    holder = get(value, parent)
    return key in holder if is_object(holder) else get(value, path) is not None


def printable(text: str) -> str:
    """Return a text that can be encoded, with ``?`` for each lone surrogate."""
    return text.encode("utf-8", "replace").decode("utf-8")


def require_storable(text: str, where: str) -> str:
    """Return the text if it can be stored: no NUL, no lone surrogate, at most 4 MiB.

    Raises:
        BadInput: it can't be.
    """
    if reason := _storage_fault(text):
        raise BadInput(reason, where)
    return text


def _storage_fault(text: str) -> str:
    if (nul := text.find("\0")) >= 0:
        return f"a NUL at character {nul}; take it out (UTF-16 text must be converted to UTF-8)"
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode("utf-8"))
        except UnicodeEncodeError as fault:
            return (
                f"a lone surrogate (U+{ord(text[fault.start]):04X}) at character {fault.start}; "
                "take it out or write the whole pair"
            )
    if size > MAX_BYTES:
        return f"{size:,} bytes long; at most {MAX_BYTES:,}: split it"
    return ""


def _storable(text: str) -> str:
    if reason := _storage_fault(text):
        raise PydanticCustomError("unstorable", "{reason}", {"reason": reason})
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "blank")
    return _storable(text)


Text = Annotated[str, AfterValidator(_storable)]
"""Text that can be stored."""
Filled = Annotated[str, AfterValidator(_filled)]
"""Text that can be stored and isn't blank."""


def _fault(error: ValidationError, where: str) -> BadInput:
    fault = error.errors(include_url=False)[0]
    path = [part for part in fault["loc"] if part != "[key]"]
    value = fault["input"]
    if path and (fault["type"] in ("missing", "blank") or value is None):
        what = "empty; fill it or leave the item out" if fault["type"] == "blank" else "missing"
        return BadInput(f'the field "{path[-1]}" is {what}', _join(where, path[:-1]))
    expected = {
        "string_type": 'text "…"',
        "list_type": "a list […]",
        "dict_type": "an object {…}",
        "model_type": "an object {…}",
        "literal_error": cast("Mapping[str, str]", fault.get("ctx", {})).get("expected", ""),
    }.get(fault["type"])
    if expected:
        return BadInput(f"expected {expected}, found {_describe(value)}", _join(where, path))
    if fault["type"] == "string_unicode":
        return BadInput(_storage_fault(str(value)), _join(where, path))
    return BadInput(fault["msg"], _join(where, path))


def _join(where: str, path: list[int | str]) -> str:
    steps = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"{where}, {steps.removeprefix('.')}" if steps else where


def _describe(value: object) -> str:
    """Return what a JSON value is, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return printable(f'"{value[:40]}"')
    names: dict[type, str] = {dict: "an object", list: "a list", bool: "true or false"}
    return names.get(type(value), "a number")
