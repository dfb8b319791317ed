"""Metrics and judges by name.

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
from theanine_bench import judges, metrics
from theanine_bench.judges.judge import Judge
from theanine_bench.metrics.base import CorpusMetric, Metric


def find_metrics(names: Sequence[str]) -> tuple[list[Metric], list[CorpusMetric]]:
    """Return the metrics, judges among them, and corpus metrics of these names, each once.

    Raises SettingsError for an unknown name, and MissingExtra if a metric's library is missing.
    """
    each: list[Metric] = []
    corpus: list[CorpusMetric] = []
    for name in dict.fromkeys(names):
        metric = _find(name)
        if hasattr(metric, "needs_judge"):
            each.append(metric)
        else:
            corpus.append(metric)
    return each, corpus


def needs_judge(name: str) -> bool:
    """Whether the metric of that name is a judge."""
    return isinstance(_registered().get(name), Judge)


def _find(name: str) -> Any:
    if metric := _registered().get(name):
        return metric
    for module in _modules():
        if (find := getattr(module, "find_metric", None)) and (metric := find(name)):
            return metric
    families = (name for module in _modules() for name in getattr(module, "NAMES", ()))
    known = ", ".join((*_registered(), *families))
    raise SettingsError(f"unknown metric {name!r}; there are: {known}")


@cache
def _registered() -> Mapping[str, Any]:
    return {
        name: metric
        for module in _modules()
        for name, metric in getattr(module, "METRICS", {}).items()
    }


@cache
def _modules() -> list[ModuleType]:
    return [
        import_module(f"{package.__name__}.{module.name}")
        for package in (metrics, judges)
        for module in iter_modules(package.__path__)
    ]
