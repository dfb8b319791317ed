"""The formats of data sets with questions: one module each, found by its ``FORMAT``.

To add a data set, add a module here that defines ``FORMAT``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, cast

from theanine_bench.datasets.labels import LabeledHistory
from theanine_bench.samples import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledFormat:
    """A format whose questions are labeled with the turns that answer them.

    Attributes:
        matches: whether a path has this format, given its parsed JSON (None for a folder).
        read: reads it, given the same. Raises BadInput with the place of a fault.
    """

    name: str
    matches: Callable[[Path, Any], bool]
    read: Callable[[Path, Any], list[LabeledHistory]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QaFormat:
    """A format with questions and no labels of evidence, or labels of another kind.

    Attributes:
        matches, read: as of :class:`LabeledFormat`.
    """

    name: str
    matches: Callable[[Path, Any], bool]
    read: Callable[[Path, Any], list[Group]]


@cache
def load_formats() -> tuple[LabeledFormat | QaFormat, ...]:
    """Import the modules of this package and return their formats, by module name."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").FORMAT for name in names)


def first_record(document: Any) -> dict[str, Any]:
    """Return the first object of a list, or an empty one."""
    items = cast("list[Any]", document) if isinstance(document, list) else []
    return cast("dict[str, Any]", items[0]) if items and isinstance(items[0], dict) else {}
