"""Comparison of runs with the first of them, over their common samples."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from theanine.errors import SettingsError
from theanine_bench.metrics.base import score_interval
from theanine_bench.metrics.corpus_metrics import CorpusResult, compare_corpus_metrics
from theanine_bench.runs.saved_run import SavedRun, common_samples
from theanine_bench.samples import ANSWER, SampleResult, score_names, sort_names
from theanine_bench.statistics.intervals import Interval
from theanine_bench.statistics.paired import PairedComparison, compare_paired

LESS_IS_BETTER = frozenset(
    {"contradicts", "duplicate", "empty", "partly", "unsupported", "Pk", "WD"}
)
"""Last parts of the names of metrics for which lower is better."""
_CONFIG = ("method", "settings", "model", "embedder", "budget", "judge", "seed")


@dataclass(frozen=True, slots=True)
class ComparedSample:
    """A common sample: each run's result, and its scores of the metrics that every run has."""

    id: str
    results: tuple[SampleResult, ...]
    scores: tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    id: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A sample whose score changed; ``gain`` above 0 is an improvement."""

    sample: ComparedSample
    before: float
    after: float
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """Runs compared with the first.

    Attributes:
        samples: the samples that all runs have.
        left_out: number of other samples, by reason.
        warnings: why the runs may not be comparable.
        means: by metric, each run's mean over the samples that have it in every run.
        comparisons: each run after the first, compared with the first.
        failing: metrics that no sample has in every run, as they failed: failures in each run.
        corpus: metrics over all results.
    """

    runs: Sequence[SavedRun]
    samples: Sequence[ComparedSample]
    left_out: Mapping[str, int]
    warnings: Sequence[str]
    means: Mapping[str, Sequence[Interval]]
    comparisons: Sequence[Sequence[PairedComparison]]
    failing: Mapping[str, Sequence[int]]
    corpus: Mapping[str, CorpusResult]

    def categories(self) -> dict[str, dict[str, list[Interval]]]:
        """Return the means of each category, by metric; empty if there is only one category."""
        by_category: dict[str, list[ComparedSample]] = {}
        for sample in sorted(self.samples, key=lambda sample: sample.results[0].category):
            by_category.setdefault(sample.results[0].category, []).append(sample)
        if len(by_category) < 2:
            return {}
        return {name: _means(samples, self.runs) for name, samples in by_category.items()}

    def changes(self, metric: str, run: int = 1) -> list[Change]:
        """Return the samples that a run scores better or worse than the first, best gain first."""
        sign = -1 if less_is_better(metric) else 1
        changes: list[Change] = []
        for sample in self.samples:
            if metric in sample.scores[0]:
                before, after = sample.scores[0][metric], sample.scores[run][metric]
                if gain := sign * (after - before):
                    changes.append(Change(sample=sample, before=before, after=after, gain=gain))
        return sorted(changes, key=lambda change: (-change.gain, change.sample.id))

    def record(self) -> dict[str, Any]:
        """Return all but the samples, JSON-ready."""
        return {
            "runs": [_run_record(run, self.samples, i) for i, run in enumerate(self.runs)],
            "samples": len(self.samples),
            "left_out": dict(self.left_out),
            "warnings": list(self.warnings),
            "metrics": {
                name: {
                    "means": [asdict(mean) for mean in means],
                    "against_first": [
                        paired.record()
                        for comparison in self.comparisons
                        for paired in comparison
                        if paired.measure == name
                    ],
                }
                for name, means in self.means.items()
            },
            "failing": {name: list(counts) for name, counts in self.failing.items()},
            "corpus": {name: result.record() for name, result in self.corpus.items()},
        }


def diff_runs(runs: Sequence[SavedRun]) -> Diff:
    """Compare the runs with the first. Raises SettingsError if they have no common sample."""
    common, left_out = common_samples([run.results for run in runs])
    if not common:
        raise SettingsError(f"these runs share no sample: {', '.join(run.name for run in runs)}")
    samples = [_compared_sample(results) for results in common]
    means, metrics = _means(samples, runs), runs[0].settings["metrics"]
    failing = _failing(common, means)
    first, *others = (
        [_Scored(sample.id, sample.scores[i]) for sample in samples] for i in range(len(runs))
    )
    return Diff(
        runs=runs,
        samples=samples,
        left_out=left_out,
        warnings=_warnings(runs),
        means={name: means[name] for name in sort_names(means, metrics)},
        comparisons=[compare_paired(other, first) for other in others],
        failing={name: failing[name] for name in sort_names(failing, metrics)},
        corpus=compare_corpus_metrics(runs, common),
    )


def _compared_sample(results: tuple[SampleResult, ...]) -> ComparedSample:
    first, *others = (result.scores for result in results)
    names = [name for name in first if all(name in other for other in others)]
    scores = tuple({name: result.scores[name] for name in names} for result in results)
    return ComparedSample(results[0].id, results, scores)


def _means(
    samples: Sequence[ComparedSample], runs: Sequence[SavedRun]
) -> dict[str, list[Interval]]:
    """Return each run's mean by metric, over the samples that have the metric."""
    values: dict[str, list[list[float]]] = {}
    for sample in samples:
        for name in sample.scores[0]:
            by_run = values.setdefault(name, [[] for _ in sample.scores])
            for run, scores in enumerate(sample.scores):
                by_run[run].append(scores[name])
    return {
        name: [score_interval(name, own, run.binary) for own, run in zip(by_run, runs, strict=True)]
        for name, by_run in values.items()
    }


def _failing(
    samples: Sequence[tuple[SampleResult, ...]], compared: Container[str]
) -> dict[str, Sequence[int]]:
    """Return each run's failures by metric, for metrics that all runs have but none compares."""
    runs = list(zip(*samples, strict=True))
    return {
        name: [sum(result.failed(name) for result in run) for run in runs]
        for name in score_names(result for run in runs for result in run)
        if name not in compared
        and all(any(name in result.scores or result.failed(name) for result in run) for run in runs)
    }


def less_is_better(metric: str) -> bool:
    """Return whether lower is better for a metric."""
    return metric.split("/")[-1].removesuffix(":gaps") in LESS_IS_BETTER


def regressions(diff: Diff, limits: Mapping[str, float]) -> list[str]:
    """Describe where a run is worse than the first by more than the metric's limit.

    Raises SettingsError for a metric that not every run has.
    """
    described: list[str] = []
    for metric, limit in limits.items():
        before, *after = _values(diff, metric)
        sign = 1 if less_is_better(metric) else -1
        for run, mean in zip(diff.runs[1:], after, strict=True):
            if sign * (mean - before) > limit:
                described.append(f"{run.name}: {metric} went from {before:.3f} to {mean:.3f}")
    return described


def _values(diff: Diff, metric: str) -> list[float]:
    if metric in diff.means:
        return [interval.mean for interval in diff.means[metric]]
    if metric in diff.failing:
        counts = zip(diff.runs, diff.failing[metric], strict=True)
        failures = ", ".join(f"{count} times in {run.name}" for run, count in counts)
        raise SettingsError(f"no sample has {metric!r} in every run: it failed {failures}")
    all_values = diff.corpus[metric].values if metric in diff.corpus else ()
    values = [value for value in all_values if value is not None]
    if not values or len(values) < len(all_values):
        shared = ", ".join((*diff.means, *diff.corpus)) or "none"
        raise SettingsError(f"the runs don't share a metric {metric!r}; they share: {shared}")
    return values


def _run_record(run: SavedRun, samples: Sequence[ComparedSample], index: int) -> dict[str, Any]:
    """Return a run's settings and costs; recall and reply times are of the common samples.

    ``cost`` is the target's own per sample, in dollars; None if a price is unknown.
    """
    settings, config, summary = run.settings, run.settings["config"], run.summary
    results = [sample.results[index] for sample in samples]
    seconds = sorted(run.seconds[result.id] for result in results if result.id in run.seconds)
    spent = summary["spent"]
    costs = [spent[purpose]["cost"] for purpose in ("remembering", "answering") if purpose in spent]
    return {
        "name": run.name,
        "path": str(run.path),
        "bench": settings["bench"],
        "data": settings["data"],
        "theanine": settings["theanine"],
        **{name: config.get(name) for name in _CONFIG},
        "done": summary["done"],
        "samples": summary["samples"],
        "unanswered": sum(result.answer is None for result in results),
        "recalled_tokens": sum(result.recalled_tokens for result in results) / len(results),
        "seconds": seconds[len(seconds) // 2] if seconds else None,
        "cost": None if None in costs else sum(costs) / max(1, summary["done"]),
        "spent": spent,
    }


def _warnings(runs: Sequence[SavedRun]) -> list[str]:
    warnings: list[str] = []
    for key, plural in (("bench", "benches"), ("data", "data"), ("theanine", "versions")):
        if len({run.settings[key] for run in runs}) > 1:
            values = ", ".join(f"{run.name}: {str(run.settings[key])[:12]}" for run in runs)
            warnings.append(f"the runs are of different {plural} ({values})")
    judges = {str(judge) for run in runs if (judge := run.settings["models"]["judge"])}
    if len(judges) > 1:
        warnings.append("they were judged by different models: verdicts can't be compared")
    for run in runs:
        done, total = run.summary["done"], run.summary["samples"]
        if not run.finished:
            warnings.append(f"{run.name} is not finished: {done} of {total} samples")
        if failed := sum(bool(set(r.failures) - {ANSWER}) for r in run.results.values()):
            warnings.append(
                f"{run.name}: a metric failed for {failed} of {len(run.results)} samples; they are "
                "left out of it in all runs"
            )
    return warnings
