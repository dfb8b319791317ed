"""Filters by metadata, such as ``{"channel": "web", "topic": ["food", "ships"], "n": {">=": 2}}``.

All conditions must hold:

- a value: the metadata has this value under the key; None, that it has none;
- a list: it has one of these values;
- a mapping: all comparisons hold, of ``<``, ``<=``, ``>``, ``>=`` and ``!=`` (with a value or a
  list). No comparison holds for a missing value.

Numbers are compared with numbers, strings with strings (by code point, so that ISO 8601 dates of
one form are in order of time), and true and false only with themselves.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import Any, cast

from theanine.errors import SettingsError
from theanine.types import Metadata, Scalar

Where = Mapping[str, Scalar | Sequence[Scalar] | Mapping[str, Scalar | Sequence[Scalar]]]
"""A filter as the caller writes it."""

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_UNEQUAL = "!="
_EXAMPLE = '{"channel": "web", "topic": ["food", "ships"], "priority": {">=": 2}}'


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
class Filter:
    """Conditions on metadata, all of which must hold; false if there are none."""

    conditions: tuple[_Condition, ...] = ()

    @classmethod
    def parse(cls, where: Where | None) -> Filter:
        """Read a filter. Raises SettingsError, naming the key, for one that has no meaning."""
        if where is None:
            return cls()
        if not isinstance(cast("object", where), Mapping):
            raise SettingsError(
                f"where must be a mapping such as {_EXAMPLE}, not {type(where).__name__}"
            )
        conditions: list[_Condition] = []
        for key, wanted in where.items():
            if not isinstance(cast("object", key), str) or not key:
                raise SettingsError(f"where: a key must be a string with a character, not {key!r}")
            name = f"where[{key!r}]"
            if "\0" in key:
                raise SettingsError(f"{name}: the key has a NUL, which no metadata has")
            if isinstance(wanted, Mapping):
                conditions += _comparisons(key, wanted, name)
            else:
                conditions.append(_Condition(key, "=", _values(wanted, name)))
        return cls(tuple(conditions))

    def matches(self, metadata: Metadata) -> bool:
        """Return whether all conditions hold."""
        return all(condition.holds(metadata) for condition in self.conditions)

    def __bool__(self) -> bool:
        return bool(self.conditions)


NO_FILTER = Filter()
"""Matches everything."""


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
