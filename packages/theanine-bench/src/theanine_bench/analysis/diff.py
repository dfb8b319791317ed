"""Runs over the same cases, held against the first of them, case by case."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from theanine.errors import SettingsError
from theanine_bench.metrics.corpus_metrics import CorpusResult, compare_corpus_metrics
from theanine_bench.runs.saved_run import SavedRun, common_samples
from theanine_bench.samples import ANSWER, SampleResult, score_names, sort_names
from theanine_bench.statistics.intervals import Interval, bootstrap_interval
from theanine_bench.statistics.paired import PairedComparison, compare_paired

LESS_IS_BETTER = frozenset(
    {"contradicts", "duplicate", "empty", "partly", "unsupported", "Pk", "WD"}
)
"""Last parts of the names of measures of which less is better."""
_ABOUT = ("method", "settings", "model", "embedder", "budget", "judge", "seed")


@dataclass(frozen=True, slots=True)
class ComparedSample:
    """A common case's items, a run each, with the measures that every run has of it."""

    id: str
    results: tuple[SampleResult, ...]
    scores: tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    id: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A case of which a measure changed, and by how much; above 0 is better."""

    sample: ComparedSample
    before: float
    after: float
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """Runs side by side.

    Attributes:
        cases: those that all have.
        left: how many were left out, by reason.
        warnings: why the runs may not be comparable.
        means: by measure, each run's mean over the common cases.
        comparisons: of each run after the first with the first.
        failing: measures that no case has of every run, as they failed: how often in each run.
        wholes: measures over all answers together.
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
        """The means of each category, by measure; empty where there is one alone."""
        names = sorted({case.results[0].category for case in self.samples})
        if len(names) < 2:
            return {}
        return {
            name: means([case for case in self.samples if case.results[0].category == name])
            for name in names
        }

    def changes(self, measure: str, run: int = 1) -> list[Change]:
        """The cases that a run answered better or worse than the first, the best gain first."""
        sign = -1 if less_is_better(measure) else 1
        found: list[Change] = []
        for case in self.samples:
            if measure in case.scores[0]:
                before, after = case.scores[0][measure], case.scores[run][measure]
                gain = sign * (after - before)
                found.append(Change(sample=case, before=before, after=after, gain=gain))
        changed = [change for change in found if change.gain]
        return sorted(changed, key=lambda change: (-change.gain, change.sample.id))

    def record(self) -> dict[str, Any]:
        """JSON-ready: all but the items."""
        return {
            "runs": [
                {**describe_run(run), **run_costs(run, self.samples, i)}
                for i, run in enumerate(self.runs)
            ],
            "samples": len(self.samples),
            "left_out": dict(self.left_out),
            "warnings": list(self.warnings),
            "metrics": {
                name: {
                    "means": [asdict(one) for one in means],
                    "against_first": [
                        {"difference": asdict(one.difference), "p": one.p}
                        for comparison in self.comparisons
                        for one in comparison
                        if one.measure == name
                    ],
                }
                for name, means in self.means.items()
            },
            "failing": {name: list(counts) for name, counts in self.failing.items()},
            "corpus": {name: one.record() for name, one in self.corpus.items()},
        }


def diff_runs(runs: Sequence[SavedRun]) -> Diff:
    """Compare the runs with the first. Raises SettingsError where they share no case."""
    found, left = common_samples([run.results for run in runs])
    if not found:
        raise SettingsError(f"these runs share no case: {', '.join(run.name for run in runs)}")
    cases = [_case(items) for items in found]
    average, measures = means(cases), runs[0].settings["metrics"]
    failing = _failing(found, average)
    first, *others = (
        [_Scored(case.id, case.scores[i]) for case in cases] for i in range(len(runs))
    )
    return Diff(
        runs=runs,
        samples=cases,
        left_out=left,
        warnings=_warnings(runs),
        means={name: average[name] for name in sort_names(average, measures)},
        comparisons=[compare_paired(other, first) for other in others],
        failing={name: failing[name] for name in sort_names(failing, measures)},
        corpus=compare_corpus_metrics(runs, found),
    )


def means(cases: Sequence[ComparedSample]) -> dict[str, list[Interval]]:
    """Each measure's mean, a run each, over the cases that have it."""
    names = dict.fromkeys(name for case in cases for name in case.scores[0])
    return {
        name: [
            bootstrap_interval([case.scores[run][name] for case in cases if name in case.scores[0]])
            for run in range(len(cases[0].results))
        ]
        for name in names
    }


def _failing(
    cases: Sequence[tuple[SampleResult, ...]], known: Container[str]
) -> dict[str, Sequence[int]]:
    """How often each measure failed in each run that every run was asked for and none compares."""
    runs = list(zip(*cases, strict=True))
    return {
        name: [sum(item.failed(name) for item in run) for run in runs]
        for name in score_names(item for run in runs for item in run)
        if name not in known
        and all(any(name in one.scores or one.failed(name) for one in run) for run in runs)
    }


def less_is_better(measure: str) -> bool:
    """Whether less of a measure is better."""
    return measure.split("/")[-1] in LESS_IS_BETTER


def regressions(diff: Diff, bounds: Mapping[str, float]) -> list[str]:
    """Where a run is worse than the first by more than the measure's bound, in words.

    Raises SettingsError for a measure that not every run has: then nothing was checked.
    """
    found: list[str] = []
    for measure, bound in bounds.items():
        before, *after = _values(diff, measure)
        sign = 1 if less_is_better(measure) else -1
        for run, mean in zip(diff.runs[1:], after, strict=True):
            if sign * (mean - before) > bound:
                found.append(f"{run.name}: {measure} went from {before:.3f} to {mean:.3f}")
    return found


def _values(diff: Diff, measure: str) -> list[float]:
    if measure in diff.means:
        return [one.mean for one in diff.means[measure]]
    if measure in diff.failing:
        failed = zip(diff.runs, diff.failing[measure], strict=True)
        told = ", ".join(f"{count} times in {run.name}" for run, count in failed)
        raise SettingsError(f"no case has {measure!r} of every run: it failed {told}")
    values = diff.corpus[measure].values if measure in diff.corpus else ()
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        shared = ", ".join((*diff.means, *diff.corpus)) or "none"
        raise SettingsError(f"the runs don't share a metric {measure!r}; they share: {shared}")
    return known


def describe_run(run: SavedRun) -> dict[str, Any]:
    """What was run, JSON-ready."""
    settings, setup = run.settings, run.settings["config"]
    return {
        "name": run.name,
        "path": str(run.path),
        "bench": settings["bench"],
        "data": settings["data"],
        "theanine": settings["theanine"],
        **{name: setup.get(name) for name in _ABOUT},
        "done": run.summary["done"],
        "samples": run.summary["samples"],
    }


def run_costs(run: SavedRun, cases: Sequence[ComparedSample], place: int) -> dict[str, Any]:
    """What the run took, and of the common cases what was recalled and how long answers took.

    ``cost`` is of the agent's own calls, for a case; None where a price is unknown.
    """
    items = [case.results[place] for case in cases]
    seconds = sorted(run.seconds[case.id] for case in cases if case.id in run.seconds)
    spent = run.summary["spent"]
    costs = [spent[what]["cost"] for what in ("remembering", "answering") if what in spent]
    done = max(1, run.summary["done"])
    return {
        "unanswered": sum(item.answer is None for item in items),
        "recalled_tokens": sum(item.recalled_tokens for item in items) / len(items),
        "seconds": seconds[len(seconds) // 2] if seconds else None,
        "cost": None if None in costs else sum(costs) / done,
        "spent": spent,
    }


def _case(items: tuple[SampleResult, ...]) -> ComparedSample:
    first, *others = (item.scores for item in items)
    names = [name for name in first if all(name in other for other in others)]
    measures = tuple({name: item.scores[name] for name in names} for item in items)
    return ComparedSample(items[0].id, items, measures)


def _warnings(runs: Sequence[SavedRun]) -> list[str]:
    found: list[str] = []
    judged = [run for run in runs if run.settings["models"]["judge"]]
    for what, told in (("bench", "benches"), ("data", "data"), ("theanine", "versions")):
        if len({run.settings[what] for run in runs}) > 1:
            values = ", ".join(f"{run.name}: {str(run.settings[what])[:12]}" for run in runs)
            found.append(f"the runs are of different {told} ({values})")
    if len({str(run.settings["models"]["judge"]) for run in judged}) > 1:
        found.append("different models judged them: what judges say can't be compared")
    for run in runs:
        done, total = run.summary["done"], run.summary["samples"]
        if not run.finished:
            found.append(f"{run.name} is not finished: {done} of {total} cases")
        if failed := sum(bool(set(item.failures) - {ANSWER}) for item in run.results.values()):
            found.append(
                f"{run.name}: measures failed in {failed} cases, which are left out of them in all"
            )
    return found
