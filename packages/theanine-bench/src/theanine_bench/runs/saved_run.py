"""Runs as their folders have them, finished or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theanine.errors import SettingsError
from theanine.methods.registry import stored_method
from theanine.store import open_store
from theanine_bench.metrics.base import binary_metrics, score_interval
from theanine_bench.metrics.registry import known_metrics
from theanine_bench.runs.folder import COMMAND, SUMMARY, RunFolder
from theanine_bench.runs.legacy import upgrade_retrieval_items
from theanine_bench.runs.summary import Summary, read_costs, summarize_run
from theanine_bench.samples import SampleResult
from theanine_bench.statistics.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRun:
    """A run read from its folder.

    Attributes:
        name: the folder's name, or its path where several runs with the same name are read.
        settings: see :func:`theanine_bench.runs.task.run_settings`.
        results: by sample id.
        summary: see :func:`theanine_bench.runs.summary.summarize_run`.
        seconds: latency of each answer, by sample id.
        undated: ids of sessions whose times only keep their order, by group.
        facts: what the target reported, by group.
        command: the command line that repeats the run; empty where a program made it.
        binary: names of the metrics whose scores are 0 or 1 by definition.
    """

    name: str
    path: Path
    settings: Mapping[str, Any]
    results: Mapping[str, SampleResult]
    summary: Summary
    seconds: Mapping[str, float]
    undated: Mapping[str, frozenset[int]]
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    command: str = ""
    binary: Sequence[str] = ()

    @property
    def bench(self) -> str:
        """The bench's name."""
        return self.settings["bench"]

    @property
    def finished(self) -> bool:
        """Whether every sample is done."""
        return self.summary["done"] >= self.summary["samples"]


async def read_run(path: Path, name: str = "") -> SavedRun:
    """Read the run in a folder, or in a file of `bench retrieval --out` of theanine 0.1.

    Raises BadInput where there is none.

    An interrupted run, with an old summary or none, is summarized from what there is, without
    corpus scores and dropped labels.
    """
    folder = RunFolder(path)
    if retrieval_items := upgrade_retrieval_items(path):
        return _from_retrieval_items(path, name, *retrieval_items)
    settings, results, seconds = folder.settings(), folder.results(), folder.times()
    facts, command = folder.facts(), path / COMMAND
    binary = folder.binary()
    if binary is None:
        binary = _registered_binary(settings, results)
    summary = folder.summary() if (path / SUMMARY).exists() else None
    if summary is None or summary["done"] != len(results):
        summary = summarize_run(
            list(results.values()),
            total=settings["samples"],
            metrics=settings["metrics"],
            binary=binary,
            costs=await read_costs(folder),
            seconds=list(seconds.values()),
            facts=facts,
            stopped="it was interrupted",
        )
    return SavedRun(
        name=name or run_names([path])[0],
        path=path,
        settings=settings,
        results=results,
        summary=summary,
        seconds=seconds,
        undated=await _undated_sessions(folder, stored_method(settings["config"]["method"])),
        facts=facts,
        command=command.read_text("utf-8").strip() if command.exists() else "",
        binary=binary,
    )


async def read_runs(folders: Sequence[Path]) -> list[SavedRun]:
    """Read two or more runs. Raises BadInput for a folder without one, SettingsError for fewer."""
    if len(folders) < 2:
        raise SettingsError("name two runs or more to compare")
    return [
        await read_run(folder, name)
        for folder, name in zip(folders, run_names(folders), strict=True)
    ]


def run_names(folders: Sequence[Path]) -> list[str]:
    """Return the folders' names, or their paths if two names are the same."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


def mean_scores(results: Sequence[SampleResult], binary: Sequence[str]) -> dict[str, Interval]:
    """Return the mean of each score over the results that have it; see ``SavedRun.binary``."""
    names = dict.fromkeys(name for result in results for name in result.scores)
    return {
        name: score_interval(name, [r.scores[name] for r in results if name in r.scores], binary)
        for name in names
    }


def common_samples(
    runs: Sequence[Mapping[str, SampleResult]],
) -> tuple[list[tuple[SampleResult, ...]], dict[str, int]]:
    """Return the results of each common sample, one per run, and counts of what was left out."""
    common: list[tuple[SampleResult, ...]] = []
    left_out: Counter[str] = Counter()
    for id in dict.fromkeys(id for run in runs for id in run):
        results = tuple(run[id] for run in runs if id in run)
        if len(results) < len(runs):
            left_out["samples that some runs lack"] += 1
        elif len({(r.question, len(r.dialogue), r.reference) for r in results}) > 1:
            left_out["samples that differ between the runs"] += 1
        else:
            common.append(results)
    return common, dict(left_out)


def _from_retrieval_items(
    file: Path,
    name: str,
    settings: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    facts: Mapping[str, Any],
    ablations: Mapping[str, Any],
) -> SavedRun:
    results = {result.id: result for result in (SampleResult(**record) for record in records)}
    seconds = {id: float(settings["seconds"][id]) for id in results}
    binary = _registered_binary(settings, results)
    summary = summarize_run(
        list(results.values()),
        total=len(results),
        metrics=settings["metrics"],
        binary=binary,
        seconds=list(seconds.values()),
        facts={"": facts},
        dropped=settings["dropped"],
    )
    return SavedRun(
        name=name or run_names([file])[0],
        path=file,
        settings=settings,
        results=results,
        summary={**summary, "ablations": ablations},
        seconds=seconds,
        undated={},
        facts={"": facts},
        command=settings["command"],
        binary=binary,
    )


def _registered_binary(
    settings: Mapping[str, Any], results: Mapping[str, SampleResult]
) -> list[str]:
    """Return what the registered metrics declare, for runs of releases that didn't keep it."""
    return binary_metrics(known_metrics(settings["metrics"]), list(results.values()))


async def _undated_sessions(folder: RunFolder, method: str) -> dict[str, frozenset[int]]:
    undated: dict[str, frozenset[int]] = {}
    for path in folder.stores:
        store = open_store(str(path))
        await store.open()
        try:
            for scope in await store.scopes():
                sessions = await store.sessions(scope, method)
                undated[scope.user] = frozenset(s.id for s in sessions if not s.dated)
        finally:
            await store.close()
    return undated
