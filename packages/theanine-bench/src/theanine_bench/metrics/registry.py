"""Metrics by name, judges among them.

A module of ``theanine_bench.metrics`` or ``theanine_bench.judges`` registers its metrics by a
mapping ``METRICS`` of names to metrics; or, for names with parameters such as ``recall@10``, by a
function ``find_metric(name)``, which returns a metric or None, and a tuple ``NAMES`` for messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from theanine.errors import SettingsError
from theanine.suggestion import suggest
from theanine_bench.metrics.base import CorpusMetric, Metric

PACKAGES = ("theanine_bench.metrics", "theanine_bench.judges")


def find_metrics(names: Sequence[str]) -> tuple[list[Metric], list[CorpusMetric]]:
    """Return the metrics, judges among them, and corpus metrics of these names, each once.

    Raises SettingsError for an unknown name, and MissingExtra if a metric's library is missing.
    """
    metrics = [_require(name) for name in dict.fromkeys(names)]
    each = [metric for metric in metrics if hasattr(metric, "needs_judge")]
    return each, [metric for metric in metrics if not hasattr(metric, "needs_judge")]


def without_judges(names: Sequence[str]) -> list[str]:
    """Return the names that are no judge's."""
    known = registered_metrics()
    return [name for name in names if not getattr(known.get(name), "needs_judge", False)]


@cache
def registered_metrics() -> Mapping[str, Any]:
    """Return all metrics, judges and corpus metrics whose names have no parameters."""
    return {
        name: metric
        for module in _modules()
        for name, metric in getattr(module, "METRICS", {}).items()
    }


def known_metrics(names: Sequence[str]) -> list[Metric]:
    """Return the metrics of these names that are registered, without corpus metrics."""
    found = map(_find, dict.fromkeys(names))
    return [metric for metric in found if hasattr(metric, "needs_judge")]


def _find(name: str) -> Any:
    """Return a metric, or None."""
    if metric := registered_metrics().get(name):
        return metric
    for module in _modules():
        if (find := getattr(module, "find_metric", None)) and (metric := find(name)):
            return metric
    return None


def _require(name: str) -> Any:
    if metric := _find(name):
        return metric
    families = (name for module in _modules() for name in getattr(module, "NAMES", ()))
    known = (*registered_metrics(), *families)
    raise SettingsError(
        f"unknown metric {name!r}{suggest(name, known)}; there are: {', '.join(known)}"
    )


@cache
def _modules() -> list[ModuleType]:
    return [
        import_module(f"{package}.{module.name}")
        for package in PACKAGES
        for module in iter_modules(import_module(package).__path__)
    ]
