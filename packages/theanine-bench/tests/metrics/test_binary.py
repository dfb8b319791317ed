"""Intervals follow what a metric declares of its scores, not their values."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.run_samples import sample_item
from theanine.clock import moment
from theanine.llm.chat import ScopedChat
from theanine.types import Utterance
from theanine_bench.analysis.diff import diff_runs
from theanine_bench.config import RunConfig
from theanine_bench.metrics.base import binary_metrics
from theanine_bench.metrics.registry import find_metrics, registered_metrics
from theanine_bench.runs import RunFolder, read_run, read_runs
from theanine_bench.runs.folder import SETTINGS, SUMMARY
from theanine_bench.runs.runner import run_task
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, SampleResult, Score, Stage
from theanine_bench.statistics.intervals import bootstrap_interval, wilson_interval
from theanine_bench.targets import Output, Target
from theanine_bench.targets.target import TargetContext

WILSON, BOOTSTRAP = asdict(wilson_interval(2, 2)), asdict(bootstrap_interval([1.0, 1.0]))
BINARY = {
    *("choice", "exact", "evidence hit", "teafarm", "right"),
    *("entailment", "needs-past", "helpfulness", "halumem", "memops"),
}


@dataclass(frozen=True)
class Loud:
    """Whether an answer is loud: 1 or 0, whether it is declared or not."""

    name: str
    binary: bool
    value: float = 1.0
    needs_judge: bool = False

    @property
    def worst(self) -> dict[str, float]:
        return {self.name: 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        return Score(values={self.name: self.value, f"{self.name}/part": self.value})


class Parrot(Target):
    def __init__(self, context: TargetContext) -> None: ...

    async def answer(self, sample: Sample, user: str) -> Output:
        return Output(text=sample.dialogue[-1].text)


def made(folder: Path, *metrics: Any) -> Path:
    said = [Utterance(text=f"Help {n}!", speaker="user", at=moment(n)) for n in range(2)]
    samples = tuple(
        Sample(id=str(n), dialogue=(one,), reference=one.text) for n, one in enumerate(said)
    )
    exact = find_metrics(["exact"])[0]
    task = Task(
        bench="parrot",
        data="0",
        groups=[Group(id="cries", stages=(Stage(samples=samples),))],
        metrics=[*exact, *metrics],
        target=Parrot,
    )
    anyio.run(run_task, task, RunConfig(), RunFolder(folder))
    return folder


def means(folder: Path, name: str) -> list[dict[str, float]]:
    """Return a score's interval in the summary, and in a comparison of the run with itself."""
    run = anyio.run(read_run, folder)
    kept = {key: run.summary["metrics"][name][key] for key in WILSON}
    return [kept, asdict(diff_runs([run, run]).means[name][0])]


def test_an_own_metric_that_declares_it_has_wilsons_interval_and_another_has_not(
    tmp_path: Path,
) -> None:
    folder = made(tmp_path / "run", Loud("loud", binary=True), Loud("alike", binary=False))
    for name in ("loud", "loud/part", "exact"):
        assert means(folder, name) == [WILSON, WILSON]
    assert means(folder, "alike") == [BOOTSTRAP, BOOTSTRAP]
    (folder / SUMMARY).unlink()  # as that of an interrupted run
    assert means(folder, "loud") == [WILSON, WILSON]
    assert means(folder, "alike") == [BOOTSTRAP, BOOTSTRAP]
    made(folder, Loud("loud", binary=True), Loud("alike", binary=False))  # resumes it


def test_a_run_of_an_earlier_release_has_the_declarations_of_the_metrics_that_are_known(
    tmp_path: Path,
) -> None:
    folder = made(tmp_path / "run", Loud("loud", binary=True))
    settings = json.loads((folder / SETTINGS).read_text("utf-8"))
    del settings["binary"]
    (folder / SETTINGS).write_text(json.dumps(settings), "utf-8")
    (folder / SUMMARY).unlink()
    assert means(folder, "exact") == [WILSON, WILSON]
    assert means(folder, "loud") == [BOOTSTRAP, BOOTSTRAP]
    made(folder, Loud("loud", binary=True))  # resumes it
    [old, same] = anyio.run(read_runs, [folder, folder])
    assert old.settings == same.settings


def test_a_declaration_that_is_false_is_an_error_that_names_the_metric(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="loud is declared binary, and gave"):
        made(tmp_path / "run", Loud("loud", binary=True, value=0.5))


def test_the_metrics_that_are_binary_are_those_of_yes_and_no() -> None:
    each, _ = find_metrics([*registered_metrics(), "session hit@5", "recall@5", "within 500"])
    plain = sample_item(1)
    assert {*binary_metrics(each, [plain])} == {*BINARY, "session hit@5"}
    points = sample_item(2, extra={"rubric": ["It names the boat."]})
    assert {*binary_metrics(each, [points])} == {*BINARY, "session hit@5"} - {"right"}
    assert binary_metrics(each, []) == []
    for metric in each:
        if metric.name in BINARY:
            assert {*metric.worst.values()} <= {0.0, 1.0}
