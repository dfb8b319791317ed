"""Tasks whose target answers in words."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from theanine.types import LOCAL_MODEL
from theanine_bench.files import hash_files
from theanine_bench.metrics.registry import find_metrics, without_judges
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group


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
