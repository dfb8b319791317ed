"""Build the tasks of several benches: with answers in words to score, or existing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from theanine.types import LOCAL_MODEL
from theanine_bench.files import hash_files
from theanine_bench.metrics.base import CorpusMetric, Metric
from theanine_bench.metrics.registry import find_metrics, without_judges
from theanine_bench.runs.folder import results_to_jsonl
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, SampleResult, Stage, limit_samples
from theanine_bench.targets.target import NullTarget


def answer_task(
    bench: str,
    files: Sequence[Path],
    groups: Sequence[Group],
    metrics: Sequence[str] | None,
    default: Sequence[str],
    judge: str,
) -> Task:
    """Return a task with these metrics, or the default ones, judges only where there is one.

    ``files`` are what the groups were read from. Raises SettingsError for an unknown metric, and
    MissingExtra for one whose library isn't installed.
    """
    names = list(metrics or default)
    if not metrics and judge == LOCAL_MODEL:
        names = without_judges(names)
    each, corpus = find_metrics(names)
    data, *others = map(hash_files, files)
    if others:
        data = sha256(" ".join([data, *others]).encode()).hexdigest()
    return Task(bench=bench, data=data, groups=groups, metrics=each, corpus_metrics=corpus)


def scoring_task(
    bench: str,
    results: Sequence[SampleResult],
    metrics: Sequence[Metric],
    corpus_metrics: Sequence[CorpusMetric] = (),
    *,
    data: str = "",
    dropped: Mapping[str, int] | None = None,
    limit: int | None = None,
    dataset: str = "",
) -> Task:
    """Return a task that only scores existing results, at most ``limit``, evenly spaced.

    ``data`` is the data's hash, by default that of the results; ``dropped`` counts those that can't
    be used, by reason; ``dataset`` is the name of the data set that the results are of.
    """
    samples = tuple(Sample(id=one.id, category=one.category, dialogue=()) for one in results)
    group = Group(
        id=bench, stages=(Stage(samples=samples),), dropped=dropped or {}, dataset=dataset
    )
    groups = limit_samples([group], limit)
    ids = {sample.id for group in groups for sample in group.samples}
    return Task(
        bench=bench,
        data=data or sha256(results_to_jsonl(results).encode()).hexdigest(),
        groups=groups,
        target=NullTarget,
        metrics=metrics,
        corpus_metrics=corpus_metrics,
        answered={one.id: one for one in results if one.id in ids},
    )
