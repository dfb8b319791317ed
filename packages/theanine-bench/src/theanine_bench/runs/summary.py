"""The summary of a run: scores with intervals, failures, tokens, cost and latency."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from theanine.errors import MissingExtra, SettingsError
from theanine.store import open_store
from theanine.store.values import CostLine
from theanine.types import Usage
from theanine_bench.metrics.base import (
    CorpusMetric,
    binary_metrics,
    naming_metric,
    score_interval,
)
from theanine_bench.runs.task import JUDGE_SCOPE
from theanine_bench.samples import SampleResult, count_samples, score_names, sort_names
from theanine_bench.statistics.intervals import Interval

if TYPE_CHECKING:
    from theanine_bench.runs.folder import RunFolder
    from theanine_bench.runs.task import Task

Summary = dict[str, Any]
"""JSON-ready; see :func:`summarize_run`."""
NO_MEAN = {"mean": None, "low": None, "high": None, "n": 0}
"""The mean of a metric that failed for all samples."""


async def summarize_folder(
    folder: RunFolder, task: Task, results: Sequence[SampleResult], stopped: str = ""
) -> Summary:
    """Return the summary of a run of ``task``; ``stopped`` says why it ended early.

    ``sets`` are the names of its data sets, ``compared`` the configurations of compared runs.
    """
    dropped: Counter[str] = Counter()
    for group in task.groups:
        dropped.update(group.dropped)
    summary = summarize_run(
        results,
        total=count_samples(task.groups),
        metrics=[metric.name for metric in task.metrics],
        binary=binary_metrics(task.metrics, results),
        corpus_metrics=task.corpus_metrics,
        costs=await read_costs(folder),
        seconds=list(folder.times().values()),
        facts=folder.facts(),
        dropped=dropped,
        stopped=stopped,
    )
    if task.compared:
        summary["compared"] = [dict(config) for config in task.compared]
    return summary | {"sets": sorted({group.dataset for group in task.groups if group.dataset})}


async def read_costs(folder: RunFolder) -> list[CostLine]:
    """Return the costs in the journals of a run."""
    lines: list[CostLine] = []
    for path in folder.stores:
        store = open_store(str(path))
        await store.open()
        try:
            lines += await store.costs()
        finally:
            await store.close()
    return lines


def summarize_run(
    results: Sequence[SampleResult],
    *,
    total: int,
    metrics: Sequence[str] = (),
    binary: Collection[str] = (),
    corpus_metrics: Sequence[CorpusMetric] = (),
    costs: Iterable[CostLine] = (),
    seconds: Sequence[float] = (),
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    dropped: Mapping[str, int] | None = None,
    stopped: str = "",
) -> Summary:
    """Return a run's figures as one record.

    Scores are in the order of ``metrics``, the names of the run's metrics; those of ``binary`` are
    0 or 1 by definition.

    - ``metrics`` and ``categories`` hold ``{mean, low, high, n, failed}`` by score name: the mean
      over the samples that have the score, its 95 % interval (see
      :func:`theanine_bench.statistics.intervals.mean_interval`), and the number of samples
      for which the metric failed. If it failed for all, n is 0 and the three are None. Samples
      without an answer count with the lowest score.
    - ``corpus`` holds scores over all results, or a message where a part is missing;
      ``corpus_intervals`` the intervals of those that have one.
    - ``spent`` holds calls, tokens and US dollars of remembering, answering and judging;
      ``seconds`` the latency of an answer; ``recalled_tokens`` and ``recalled_turns`` are means;
      ``facts`` what the target reported, summed over groups.
    """
    names = sort_names(score_names(results), metrics)
    corpus, intervals = _corpus_scores(results, corpus_metrics)
    summary: Summary = {
        "samples": total,
        "done": len(results),
        "stopped": stopped,
        "unanswered": sum(result.answer is None for result in results),
        "failures": _failures(results),
        "dropped": dict(dropped or {}),
        "metrics": _mean_scores(results, names, binary),
        "categories": {
            name: _mean_scores([r for r in results if r.category == name], names, binary)
            for name in sorted({result.category for result in results})
        },
        "corpus": corpus,
        "recalled_tokens": _mean([result.recalled_tokens for result in results]),
        "recalled_turns": _mean([len(_source_turns(result)) for result in results]),
        "seconds": _percentiles(seconds),
        "spent": _spent(costs),
    }
    if intervals:
        summary["corpus_intervals"] = intervals
    if facts:
        summary["facts"] = sum_facts(facts.values())
    return summary


def sum_facts(facts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum the numbers of several groups by name, also in mappings; None is unknown, as is its sum.

    Of other values, the last one counts.
    """
    sums: dict[str, Any] = {}
    for group in facts:
        for name, value in group.items():
            known = sums.get(name, {} if isinstance(value, Mapping) else 0)
            if isinstance(value, Mapping):
                sums[name] = sum_facts([known, cast("Mapping[str, Any]", value)])
            elif isinstance(value, int | float):
                sums[name] = None if known is None else known + value
            else:
                sums[name] = value
    return sums


def _mean_scores(
    results: Sequence[SampleResult], names: Sequence[str], binary: Collection[str]
) -> dict[str, Any]:
    means: dict[str, Any] = {}
    for name in names:
        values = [result.scores[name] for result in results if name in result.scores]
        failed = sum(result.failed(name) for result in results)
        if values or failed:
            means[name] = {
                **(asdict(score_interval(name, values, binary)) if values else NO_MEAN),
                "failed": failed,
            }
    return means


def _corpus_scores(
    results: Sequence[SampleResult], metrics: Sequence[CorpusMetric]
) -> tuple[dict[str, float | str], dict[str, dict[str, float]]]:
    scores: dict[str, float | str] = {}
    intervals: dict[str, dict[str, float]] = {}
    for metric in metrics if results else ():
        try:
            with naming_metric(metric.name):
                values = metric.score(results)
        except (MissingExtra, SettingsError) as error:
            scores[metric.name] = str(error)
            continue
        for name, value in values.items():
            if isinstance(value, Interval):
                scores[name] = value.mean
                intervals[name] = {"low": value.low, "high": value.high, "n": value.n}
            else:
                scores[name] = value
    return scores, intervals


def _failures(results: Sequence[SampleResult]) -> dict[str, int]:
    """Count failures by message, the most frequent first, at most 20."""
    counts = Counter(f"{name}: {why}" for r in results for name, why in r.failures.items())
    return dict(counts.most_common(20))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _source_turns(result: SampleResult) -> set[int]:
    return {source["turn"] for part in result.recalled for source in part["sources"]}


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    if not ordered:
        return {}
    return {
        name: round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 6)
        for name, share in (("p50", 0.5), ("p95", 0.95))
    } | {"mean": round(sum(ordered) / len(ordered), 6)}


def _spent(costs: Iterable[CostLine]) -> dict[str, dict[str, Any]]:
    """Sum calls, tokens and dollars by purpose; ``cost`` is None as soon as a price is unknown."""
    sums: defaultdict[str, Usage] = defaultdict(Usage)
    for line in costs:
        purpose = "answering" if line.session is None else "remembering"
        sums["judging" if line.scope == JUDGE_SCOPE else purpose] += line
    names = ("calls", "failed", "input_tokens", "output_tokens", "cost")
    return {
        purpose: {name: getattr(usage, name) for name in names} for purpose, usage in sums.items()
    }
