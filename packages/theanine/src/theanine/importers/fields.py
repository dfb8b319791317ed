"""Looking into parsed JSON: typed access whose errors name the item and the mend."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from theanine.errors import BadInput

MAX_BYTES = 4 * 1024 * 1024
"""The longest turn or memory, in bytes of UTF-8."""


def parse(text: str, where: str) -> object:
    """The value of a JSON text. Raises BadInput with line and column where it is broken."""
    try:
        return cast("object", json.loads(text))
    except json.JSONDecodeError as fault:
        place = (
            f"line {fault.lineno}, column {fault.colno}"
            if "\n" in text.strip()
            else (f"column {fault.colno}")
        )
        raise BadInput(f"broken JSON at {place}: {fault.msg}", where) from None
    except RecursionError:
        raise BadInput("JSON nested too deeply; flatten it", where) from None
    except ValueError as fault:
        raise BadInput(f"broken JSON: {fault}", where) from None


def is_object(value: object) -> bool:
    """Whether a parsed JSON value is an object."""
    return isinstance(value, dict)


def as_object(value: object, where: str) -> Mapping[str, object]:
    """The value as a JSON object."""
    if not isinstance(value, dict):
        raise BadInput(f"expected an object {{…}}, found {kind(value)}", where)
    return cast("Mapping[str, object]", value)


def as_list(value: object, where: str) -> Sequence[object]:
    """The value as a JSON list."""
    if not isinstance(value, list):
        raise BadInput(f"expected a list […], found {kind(value)}", where)
    return cast("Sequence[object]", value)


def as_text(value: object, where: str) -> str:
    """The value as text that can be stored: no NUL, no lone surrogate, at most 4 MiB."""
    if not isinstance(value, str):
        raise BadInput(f'expected text "…", found {kind(value)}', where)
    return require_storable(value, where)


def require_storable(text: str, where: str) -> str:
    """The text unchanged, once it is known that any store can hold it."""
    if (nul := text.find("\0")) >= 0:
        raise BadInput(
            f"a NUL at character {nul}; take it out (UTF-16 text must be converted to UTF-8)",
            where,
        )
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as fault:
        raise BadInput(
            f"a lone surrogate (U+{ord(text[fault.start]):04X}) at character {fault.start}; "
            "take it out or write the whole pair",
            where,
        ) from None
    if size > MAX_BYTES:
        raise BadInput(f"{size:,} bytes long; at most {MAX_BYTES:,}: split it", where)
    return text


def member(record: Mapping[str, object], key: str, where: str) -> object:
    """A field that must be there."""
    if record.get(key) is None:
        raise BadInput(f'the field "{key}" is missing', where)
    return record[key]


def text_in(record: Mapping[str, object], key: str, where: str) -> str:
    """A text field that must be there and not be blank."""
    text = as_text(member(record, key, where), f"{where}, {key}")
    if not text.strip():
        raise BadInput(f'the field "{key}" is empty; fill it or leave the item out', where)
    return text


def optional_text(record: Mapping[str, object], key: str, where: str) -> str:
    """A text field; empty where it is absent."""
    value = record.get(key)
    return "" if value is None else as_text(value, f"{where}, {key}")


def kind(value: object) -> str:
    """What a JSON value is, in words for an error message."""
    if value is None:
        return "nothing"
    names: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true or false",
    }
    return names.get(type(value), "a number")
