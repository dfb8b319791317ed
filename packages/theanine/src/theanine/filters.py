"""Filters by metadata, such as ``{"channel": "web", "topic": ["food", "ships"], "n": {">=": 2}}``.

All conditions must hold:

- a value: the metadata has this value under the key; None, that it has none;
- a list: it has one of these values;
- a mapping: all comparisons hold, of ``<``, ``<=``, ``>``, ``>=`` and ``!=`` (with a value or a
  list). No comparison holds for a missing value;
- ``"or": [{…}, {…}]``: one of these filters holds; ``"and": [{…}, {…}]``: all of them do.

Numbers are compared with numbers, strings with strings (by code point, so that ISO 8601 dates of
one form are in order of time), and true and false only with themselves.

The same filter as a text is ``channel=web and topic=food,ships and n>=2``. There, ``and`` joins
more closely than ``or``. Values are read as JSON where they are JSON, such as ``2``, ``true``,
``null`` or ``"in quotes"``, and as text elsewhere. A text that begins with ``{`` is the filter in
JSON, which groups with parentheses need, and keys with parentheses or quotation marks.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from itertools import accumulate
from math import isfinite
from typing import Any, cast

from theanine.errors import SettingsError
from theanine.types import Metadata, Scalar

Wanted = Scalar | Sequence[Scalar] | Mapping[str, Scalar | Sequence[Scalar]]
"""What the value of one key must be."""
Where = str | Mapping[str, Wanted | Sequence[Mapping[str, Any]]]
"""A filter as the caller writes it: a mapping, or the same in words."""

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_UNEQUAL = "!="
_EXAMPLE = '{"channel": "web", "topic": ["food", "ships"], "priority": {">=": 2}}'
_TEXT_EXAMPLE = "channel=web and topic=food,ships and priority>=2"
_MAX_DEPTH = 20
"""Filters within filters."""

_SIGN = "<=|>=|!=|=|<|>"
_COMPARED = re.compile(rf'(?!not\s+[^\s<>=!])([^<>=!()"]*)({_SIGN})\s*', re.IGNORECASE)
_DELIMITER = re.compile(r"\s*(,|\Z|(?<=\s)(?:and|or)(?=\s|\Z))\s*", re.IGNORECASE)
_BARE = re.compile(r",|(?<=\s)(?:and|or)(?=\s|\Z)", re.IGNORECASE)
_STRAY = re.compile(r"[=<>(]|!=|.*?(?:&&|\|\|)", re.DOTALL)
"""Matches what no unquoted value may be: begun by a sign or a parenthesis, or with && or ||."""
_CONDITION = re.compile(rf"[\w.\- ]+(?:{_SIGN})")
"""Matches an unquoted value after a comma that is a condition, such as ``b=1`` of ``a=1,b=1``."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """One comparison: ``=`` and ``!=`` with any of several values, an order with one."""

    key: str
    operator: str
    values: tuple[Scalar, ...]

    def holds(self, metadata: Metadata) -> bool:
        value = metadata.get(self.key)
        if self.operator == "=":
            return any(_equal(value, other) for other in self.values)
        if value is None:
            return False
        if self.operator == _UNEQUAL:
            return not any(_equal(value, other) for other in self.values)
        [bound] = self.values
        return _kind(value) is _kind(bound) and _ORDERS[self.operator](value, bound)


@dataclass(frozen=True, slots=True)
class _Either:
    """Filters of which one must hold."""

    filters: tuple[Filter, ...]

    def holds(self, metadata: Metadata) -> bool:
        return any(each.matches(metadata) for each in self.filters)


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on metadata, all of which must hold; false if there are none."""

    conditions: tuple[_Condition | _Either, ...] = ()

    @classmethod
    def parse(cls, where: Where | None) -> Filter:
        """Read a filter. Raises SettingsError, naming the key, for one that has no meaning."""
        if where is None:
            return cls()
        if isinstance(where, str):
            where = read_where(where)
        return cls(tuple(_conditions(where, "where", 0)))

    def matches(self, metadata: Metadata) -> bool:
        """Return whether all conditions hold."""
        return all(condition.holds(metadata) for condition in self.conditions)

    def __and__(self, other: Filter) -> Filter:
        """Return the filter that matches what both do."""
        return Filter(self.conditions + other.conditions)

    def __bool__(self) -> bool:
        return bool(self.conditions)


NO_FILTER = Filter()
"""Matches everything."""


def read_where(text: str) -> Mapping[str, Any]:
    """Return a filter in words as a mapping. Raises SettingsError."""
    text = text.strip()
    if text.startswith("{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise SettingsError(f"where {text[:80]!r} is no JSON such as {_EXAMPLE}") from None
    alternatives: list[list[Mapping[str, Any]]] = [[]]
    position = 0
    while True:
        compared = _COMPARED.match(text, position)
        if compared is None or not (key := compared[1].strip()) or _BARE.search(compared[1]):
            raise _unreadable(text, position)
        values, delimiter, position = _read_values(text, compared.end(), position)
        wanted = values if len(values) > 1 else values[0]
        comparison = compared[2]
        alternatives[-1].append({key: wanted if comparison == "=" else {comparison: wanted}})
        if not delimiter:
            break
        if delimiter == "or":
            alternatives.append([])
    filters = [every(conditions) for conditions in alternatives]
    return filters[0] if len(filters) == 1 else {"or": filters}


def _read_values(text: str, position: int, start: int) -> tuple[list[Scalar], str, int]:
    """Return the values of the condition that starts at ``start``, and what joins the next one.

    The values are at ``position``; where the next condition starts is returned, too.
    """
    values, delimiter = list[Scalar](), ","
    while delimiter == ",":
        value, end = _read_value(text, position)
        if not text.startswith('"', position):
            _check_bare(text[position:end], text, start, is_first=not values)
        values.append(value)
        found = _DELIMITER.match(text, end)
        if found is None:
            raise _unreadable(text, end)
        delimiter = found[1].lower()
        if position == end and (len(values) > 1 or delimiter == ","):  # an empty item of a list
            raise _unreadable(text, start)
        position = found.end()
    return values, delimiter, position


def _read_value(text: str, position: int) -> tuple[Scalar, int]:
    """Return the value at a position, and where it ends."""
    if text[position : position + 1] == '"':
        try:
            return json.JSONDecoder().raw_decode(text, position)
        except ValueError:
            raise _unreadable(text, position) from None
    end = _BARE.search(text, position)
    word = text[position : end.start() if end else len(text)]
    try:
        value = json.loads(word, parse_constant=str)
    except (ValueError, RecursionError):
        value = word.strip()
    return (value if isinstance(value, str | int | float | None) else word.strip()), (
        position + len(word.rstrip())
    )


def _check_bare(word: str, text: str, start: int, *, is_first: bool) -> None:
    """Check a value without quotation marks, of the condition that starts at ``start``."""
    depths = accumulate((letter == "(") - (letter == ")") for letter in word)
    if _STRAY.match(word) or any(depth < 0 for depth in depths):
        raise _unreadable(text, start)
    if not is_first and _CONDITION.match(word):
        raise SettingsError(
            f"where: {word[:80]!r} follows a comma, which separates values; write `and` between "
            f"conditions, such as {_TEXT_EXAMPLE}, or put the value in double quotes"
        )


def _unreadable(text: str, position: int) -> SettingsError:
    return SettingsError(
        f"where: {text[position : position + 80].strip()!r} is no condition; write NAME=VALUE, "
        f"such as {_TEXT_EXAMPLE}; put a value with a comma, a sign, `and` or `or` in double "
        'quotes; write `not` as !=, and groups as JSON: {"or": [{…}, {…}]}'
    )


def every(filters: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a filter that holds where all of some do."""
    return filters[0] if len(filters) == 1 else {"and": filters}


def _conditions(where: object, name: str, depth: int) -> list[_Condition | _Either]:
    """Return the conditions of a mapping, all of which must hold; ``name`` is where it is."""
    if not isinstance(where, Mapping):
        raise SettingsError(
            f"{name} must be a mapping such as {_EXAMPLE}, or a text such as "
            f"'channel=web and priority>=2', not {type(where).__name__}"
        )
    if depth > _MAX_DEPTH:
        raise SettingsError(f"where has filters within filters, more than {_MAX_DEPTH} deep")
    conditions: list[_Condition | _Either] = []
    for key, wanted in cast("Mapping[object, object]", where).items():
        if not isinstance(key, str) or not key:
            raise SettingsError(f"{name}: a key must be a string with a character, not {key!r}")
        inner = f"{name}[{key!r}]"
        if "\0" in key:
            raise SettingsError(f"{inner}: the key has a NUL, which no metadata has")
        if filters := _filters(wanted):
            conditions += _joined(key, filters, inner, depth)
        elif isinstance(wanted, Mapping):
            conditions += _comparisons(key, cast("Any", wanted), inner)
        else:
            conditions.append(_Condition(key, "=", _values(wanted, inner)))
    return conditions


def _joined(
    key: str, filters: Sequence[object], name: str, depth: int
) -> Sequence[_Condition | _Either]:
    """Return the conditions of filters that ``or`` or ``and`` joins."""
    if key not in ("or", "and"):
        raise SettingsError(f"{name} has filters in a list, as only 'or' and 'and' have")
    parsed = [
        Filter(tuple(_conditions(each, f"{name}[{position}]", depth + 1)))
        for position, each in enumerate(filters)
    ]
    if not all(parsed):
        raise SettingsError(f"{name} has an empty filter, which everything matches")
    if key == "or":
        return [_Either(tuple(parsed))]
    return [condition for each in parsed for condition in each.conditions]


def _filters(wanted: object) -> Sequence[object]:
    """Return what is a list of filters; empty for anything else."""
    if not isinstance(wanted, list | tuple):
        return ()
    values = cast("Sequence[object]", wanted)
    return values if any(isinstance(value, Mapping) for value in values) else ()


def _comparisons(
    key: str, wanted: Mapping[str, Scalar | Sequence[Scalar]], name: str
) -> list[_Condition]:
    known = [*_ORDERS, _UNEQUAL]
    if not wanted:
        raise SettingsError(f"{name} has no comparison; it takes {', '.join(known)}")
    conditions: list[_Condition] = []
    for operator_, bound in wanted.items():
        if operator_ not in known:
            close = get_close_matches(str(operator_).strip(), known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise SettingsError(
                f"{name} has the comparison {operator_!r}; it takes {', '.join(known)}{hint}"
            )
        values = _values(bound, f"{name}[{operator_!r}]")
        if operator_ in _ORDERS and (
            isinstance(bound, (list, tuple, set, frozenset)) or _kind(values[0]) not in (float, str)
        ):
            raise SettingsError(
                f"{name}[{operator_!r}] must be one number or string, not {bound!r}"
            )
        conditions.append(_Condition(key, operator_, values))
    return conditions


def _values(wanted: object, name: str) -> tuple[Scalar, ...]:
    """Return the value, or those of a list."""
    if not isinstance(wanted, (list, tuple, set, frozenset)):
        return (_scalar(wanted, name),)
    values = cast("Sequence[object]", wanted)
    if not values:
        raise SettingsError(f"{name} is an empty list, which nothing matches; leave it out")
    return tuple(_scalar(value, name) for value in values)


def _scalar(value: object, name: str) -> Scalar:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str) and "\0" in value:
        raise SettingsError(f"{name} has a NUL, which no metadata has; leave it out")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if isfinite(value):
            return value
        raise SettingsError(f"{name} is {value}, which no metadata can be")
    hint = "; write times with isoformat(), or use since= and until=" if _is_time(value) else ""
    raise SettingsError(
        f"{name} must be a string, number, true, false or None, a list of these, or a mapping "
        f'such as {{">=": 2}}, not {type(value).__name__}{hint}'
    )


def _is_time(value: object) -> bool:
    return hasattr(value, "isoformat")


def _kind(value: Scalar) -> type[Any]:
    """Return what a value is compared with: others of its kind."""
    return float if type(value) is int else type(value)


def _equal(value: Scalar, other: Scalar) -> bool:
    return _kind(value) is _kind(other) and value == other
