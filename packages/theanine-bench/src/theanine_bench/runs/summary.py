"""What a run comes to: each measure with its interval, what failed, what it took."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from theanine.errors import MissingExtra, SettingsError
from theanine.store.values import CostLine
from theanine.types import Usage
from theanine_bench.metrics.base import CorpusMeasure
from theanine_bench.metrics.intervals import bootstrap_interval
from theanine_bench.runs.item import Item, value_names
from theanine_bench.runs.runner import JUDGE

Summary = dict[str, Any]
"""JSON-ready: see :func:`summarize_run`."""
NO_MEAN = {"mean": None, "low": None, "high": None, "n": 0}
"""Of a measure that failed for all."""


def summarize_run(
    items: Sequence[Item],
    *,
    total: int,
    corpus: Sequence[CorpusMeasure] = (),
    costs: Iterable[CostLine] = (),
    seconds: Sequence[float] = (),
    dropped: Mapping[str, int] | None = None,
    stopped: str = "",
) -> Summary:
    """The run as one record.

    ``measures`` and ``categories`` hold ``{mean, low, high, n, failed}`` by name: the mean over the
    items that have the measure, its 95 % bootstrap interval, and for how many the judge failed;
    where it failed for all, n is 0 and the three are None. Items without an answer are in the
    mean, with the worst value. ``spent`` has what remembering, answering and judging took;
    ``seconds`` are of one answer.
    """
    names = value_names(items)
    return {
        "cases": total,
        "done": len(items),
        "stopped": stopped,
        "unanswered": sum(item.answer is None for item in items),
        "failures": _failures(items),
        "dropped": dict(dropped or {}),
        "measures": _measures(items, names),
        "categories": {
            name: _measures([item for item in items if item.category == name], names)
            for name in sorted({item.category for item in items})
        },
        "corpus": _corpus(items, corpus),
        "recalled_tokens": _mean([item.recalled_tokens for item in items]),
        "seconds": _spread(seconds),
        "spent": _spent(costs),
    }


def _measures(items: Sequence[Item], names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        values = [item.measures[name] for item in items if name in item.measures]
        failed = sum(item.failed(name) for item in items)
        if values or failed:
            found[name] = {
                **(asdict(bootstrap_interval(values)) if values else NO_MEAN),
                "failed": failed,
            }
    return found


def _corpus(items: Sequence[Item], corpus: Sequence[CorpusMeasure]) -> dict[str, Any]:
    """Numbers over all items; a text where a part is missing."""
    found: dict[str, Any] = {}
    for measure in corpus:
        try:
            found |= measure.over(items) if items else {}
        except (MissingExtra, SettingsError) as error:
            found[measure.name] = str(error)
    return found


def _failures(items: Sequence[Item]) -> dict[str, int]:
    """How often each thing failed, and why, the most frequent first."""
    said = Counter(f"{name}: {why}" for item in items for name, why in item.failures.items())
    return dict(said.most_common(20))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    if not ordered:
        return {}
    return {
        name: round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 6)
        for name, share in (("p50", 0.5), ("p95", 0.95))
    }


def _spent(costs: Iterable[CostLine]) -> dict[str, dict[str, Any]]:
    """Calls, tokens and dollars by what they were for."""
    sums: defaultdict[str, Usage] = defaultdict(Usage)
    for line in costs:
        purpose = "answering" if line.session is None else "remembering"
        sums["judging" if line.scope == JUDGE else purpose] += line
    fields = ("calls", "failed", "input_tokens", "output_tokens", "cost")
    return {
        purpose: {name: getattr(usage, name) for name in fields} for purpose, usage in sums.items()
    }
