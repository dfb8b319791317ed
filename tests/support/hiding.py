"""Have packages look as if they were not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import DistributionFinder, PathDistribution
from types import ModuleType

import pytest

_ANYWHERE = DistributionFinder.Context()


class _Finder(MetaPathFinder):
    """Finds modules as usual, and the entry points of all packages but some."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, path, target)

    def find_distributions(
        self, context: DistributionFinder.Context = _ANYWHERE
    ) -> Iterator[PathDistribution]:
        for found in PathFinder.find_distributions(context):
            if found.name not in self._hidden:
                yield found


def hide_packages(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Leave out the entry points of packages until the test ends."""
    finder = _Finder(frozenset(names))
    finders = [finder if each is PathFinder else each for each in sys.meta_path]
    monkeypatch.setattr(sys, "meta_path", finders)
