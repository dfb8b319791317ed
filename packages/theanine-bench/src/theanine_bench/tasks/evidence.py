"""The evidence bench: labeled evidence within token budgets, for several methods side by side.

A sample is one question of one data set, recalled by one method within each budget; its category
is the data set and the method. A group is one method with one history, in a store of its own.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from math import nan
from pathlib import Path
from statistics import fmean
from typing import Any

from theanine.errors import BadInput, SettingsError
from theanine.methods.registry import DEFAULT, names
from theanine.tokenizer import count_tokens
from theanine.types import History
from theanine_bench.datasets.labels import UNLABELED
from theanine_bench.datasets.qa import read_qa
from theanine_bench.files import hash_files
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.runs.saved_run import SavedRun
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, SampleResult, Stage, limit_samples
from theanine_bench.statistics.intervals import Interval, bootstrap_interval, mean_interval
from theanine_bench.targets.target import Output, TargetContext
from theanine_bench.tasks.compare import ComparedMethod, CompareTarget
from theanine_bench.tasks.export import ResultTable

BENCH = "evidence"
BUDGETS = (250, 500, 600, 1_000, 2_000)
ALL = "all"
WITHOUT_TIMELINES = f"{DEFAULT}:timelines=false"
TIMELINES_ALONE = "theanine-paper"


def parse_methods(text: str) -> list[ComparedMethod]:
    """Return methods from ``NAME[:SETTING=VALUE…]``, separated by commas; the text is the label.

    ``all`` stands for every method, and the default one without timelines.
    Raises SettingsError for what is malformed or named twice.
    """
    labels = [label.strip() for label in text.split(",") if label.strip()]
    if labels == [ALL]:
        labels = [DEFAULT, WITHOUT_TIMELINES, TIMELINES_ALONE]
        labels += [name for name in names() if name not in labels]
    if not labels or len(set(labels)) < len(labels):
        raise SettingsError(
            f"--methods {text!r}: name one or more, each once, such as theanine,secom"
        )
    return [_parse_method(label) for label in labels]


def _parse_method(label: str) -> ComparedMethod:
    name, *settings = label.split(":")
    pairs = [setting.partition("=") for setting in settings]
    if not all(equals for _, equals, _ in pairs):
        raise SettingsError(
            f"method {label!r}: write NAME:SETTING=VALUE, such as {WITHOUT_TIMELINES}"
        )
    values = {setting: value for setting, _, value in pairs}
    return ComparedMethod(label=label, method=name, settings=values)


def evidence_task(
    data: Mapping[str, Path],
    labels: Sequence[str],
    *,
    budgets: Sequence[int] = BUDGETS,
    limit: int | None = None,
) -> Task:
    """Return a task with a sample for each data set, method and question with labeled evidence.

    Args:
        data: the data sets by name.
        labels: those of the configuration's methods.
        budgets: the tokens within which evidence is counted.
        limit: the most questions of a data set, evenly spaced.

    Raises BadInput if a data set has no question with usable evidence.
    """
    groups: list[Group] = []
    methods: dict[str, str] = {}
    for name, path in data.items():
        labeled = (_labeled(group) for group in read_qa(path))
        read = limit_samples([group for group in labeled if group.samples], limit)
        if not read:
            raise BadInput(
                "no question has evidence that is a turn's: nothing can be measured", str(path)
            )
        for label in labels:
            for group in read:
                groups.append(_for_method(group, name, label))
                methods[groups[-1].id] = label
            read = [replace(group, dropped={}) for group in read]  # counted once
    metrics = [
        f"{kind} {budget}" for kind in ("within", "precision", "tokens") for budget in budgets
    ]
    return Task(
        bench=BENCH,
        data=sha256(" ".join(map(hash_files, data.values())).encode()).hexdigest(),
        groups=groups,
        metrics=find_metrics(metrics)[0],
        target=partial(EvidenceTarget, labels=methods, budgets=budgets),
        uses_store=False,
    )


def _labeled(group: Group) -> Group:
    """Return a group without the questions that have no evidence, which are counted."""
    stages = [
        replace(stage, samples=tuple(s for s in stage.samples if s.extra.get("gold")))
        for stage in group.stages
    ]
    labeled = Group(id=group.id, stages=tuple(stages))
    dropped = Counter(group.dropped)
    dropped[UNLABELED] += len(group.samples) - len(labeled.samples)
    return replace(labeled, dropped=+dropped)


def _for_method(group: Group, data: str, label: str) -> Group:
    def sample(one: Sample) -> Sample:
        return Sample(
            id=f"{label}/{data}/{one.id}",
            category=f"{data}, {label}",
            dialogue=one.dialogue,
            extra={
                "data": data,
                "method": label,
                "question": one.id,
                "category": one.category,
                "gold": one.extra["gold"],
            },
        )

    stages = [
        Stage(histories=stage.histories, samples=tuple(map(sample, stage.samples)))
        for stage in group.stages
    ]
    return Group(id=f"{label}/{data}/{group.id}", stages=tuple(stages), dropped=group.dropped)


class EvidenceTarget(CompareTarget):
    """Each method with each history, in a store that is kept only if it holds a model's replies."""

    def __init__(
        self, context: TargetContext, labels: Mapping[str, str], budgets: Sequence[int]
    ) -> None:
        super().__init__(context, labels)
        self._budgets = budgets

    async def remember(self, user: str, histories: Sequence[History]) -> str | None:
        """Log and remember session by session."""
        failure = await super().remember(user, histories)
        self._logged.clear()  # only needed to measure the log
        return failure

    async def answer(self, sample: Sample, user: str) -> Output:
        """Recall within each budget; keep the gold turns recalled, and how much came with them."""
        group = self._memories[user]
        memory = group.client.user(user)
        gold = {group.turns[session, key].id for session, key in sample.extra["gold"]}
        within: dict[str, list[int]] = {}
        tokens: dict[str, int] = {}
        returned: dict[str, int] = {}
        started = time.perf_counter()
        for budget in self._budgets:
            recollection = await memory.recall(sample.dialogue, budget=budget)
            within[str(budget)] = sorted(gold & {turn.id for turn in recollection.source_turns})
            returned[str(budget)] = len(recollection.source_turns)
            tokens[str(budget)] = count_tokens(recollection.text)
        return Output(
            seconds=(time.perf_counter() - started) / len(self._budgets),
            data={
                "gold": sorted(gold),
                "within": within,
                "returned": returned,
                "tokens": tokens,
            },
        )

    async def facts(self, user: str) -> Mapping[str, Any]:
        """Close the group's store; return its sizes, times, costs and failures."""
        facts = await super().facts(user)
        if facts and self._context.model is None:
            path = self._memories[user].path
            for file in path.parent.glob(f"{path.name}*"):
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        return {name: value for name, value in facts.items() if name != "log_bytes"}


class EvidenceTable:
    """The figures of one data set in a run, by method and budget.

    Args:
        run: also an unfinished one; a question counts once every method has a result for it.
        category: the category of questions that count, or None for all.

    Attributes:
        labels, budgets: of the run.
        n: the number of questions that count; without any, the methods raise ValueError.
    """

    def __init__(self, run: SavedRun, data: str, category: str | None = None) -> None:
        methods = run.settings["config"]["settings"]["methods"]
        self.labels: list[str] = [one["label"] for one in methods]
        self.budgets = [
            int(name.split()[1]) for name in run.settings["metrics"] if "within" in name
        ]
        by_label: dict[str, dict[str, SampleResult]] = {label: {} for label in self.labels}
        for result in run.results.values():
            extra = result.extra
            if extra["data"] == data and category in (None, extra["category"]):
                by_label[extra["method"]][extra["question"]] = result
        common = [id for id in by_label[self.labels[0]] if all(id in r for r in by_label.values())]
        self._results = {label: [by_label[label][id] for id in common] for label in self.labels}
        self.n = len(common)

    def _scores(self, label: str, name: str, budget: int) -> list[float]:
        return [result.scores[f"{name} {budget}"] for result in self._results[label]]

    def share(self, label: str, budget: int) -> Interval:
        """Return the mean share of a question's evidence that a method recalls."""
        return mean_interval(self._scores(label, "within", budget))

    def precision(self, label: str, budget: int) -> float:
        """Return the mean share of the turns of a recollection that are evidence; NaN of none.

        Recollections without turns don't count.
        """
        name = f"precision {budget}"
        scores = [each.scores[name] for each in self._results[label] if name in each.scores]
        return fmean(scores) if scores else nan

    def tokens(self, label: str, budget: int) -> float:
        """Return the mean tokens of a recollection."""
        return fmean(self._scores(label, "tokens", budget))

    def over_budget(self, label: str) -> int:
        """Return the number of recollections with more tokens than their budget."""
        return sum(
            tokens > budget
            for budget in self.budgets
            for tokens in self._scores(label, "tokens", budget)
        )

    def best(self, budget: int) -> str:
        """Return the method that recalls most; of equal ones the first."""
        return max(self.labels, key=lambda label: fmean(self._scores(label, "within", budget)))

    def difference(self, label: str, other: str, budget: int) -> Interval:
        """Return how much more a method recalls than another, paired by question."""
        ours, theirs = (self._scores(one, "within", budget) for one in (label, other))
        return bootstrap_interval([a - b for a, b in zip(ours, theirs, strict=True)])

    def format_share(self, label: str, budget: int, *, interval: bool = True) -> str:
        """Return a share as text, marked if it is the best (*) or as good as the best (=)."""
        share, best = self.share(label, budget), self.best(budget)
        text = str(share) if interval else f"{share.mean:.3f}"
        if label == best:
            return f"{text} *"
        return f"{text} =" if self.difference(label, best, budget).high >= 0 else text


def data_names(run: SavedRun) -> list[str]:
    """Return the names of a run's data sets."""
    return list(dict.fromkeys(result.extra["data"] for result in run.results.values()))


def result_table(run: SavedRun) -> ResultTable:
    """Return a row for each data set and method: of each budget the evidence, precision and tokens.

    The precision is the share of the returned turns that are evidence.
    """
    tables = {name: EvidenceTable(run, name) for name in data_names(run)}
    columns: list[str] = []
    rows: list[list[str]] = []
    for name, table in tables.items():
        columns = ["data", "method", "n", *map("{:,}".format, table.budgets)]
        columns += ["precision", "tokens used"]
        for label in table.labels if table.n else ():
            shares = [table.format_share(label, budget) for budget in table.budgets]
            tokens = " / ".join(f"{table.tokens(label, budget):.0f}" for budget in table.budgets)
            precision = " / ".join(
                f"{table.precision(label, budget):.2f}" for budget in table.budgets
            )
            rows.append([name, label, str(table.n), *shares, precision, tokens])
    return ResultTable(columns, rows)


def category_table(run: SavedRun, data: str, budget: int) -> ResultTable:
    """Return a row for each method: evidence within a budget by the questions' category."""
    results = run.results.values()
    names = sorted({r.extra["category"] for r in results if r.extra["data"] == data})
    tables = [EvidenceTable(run, data, name) for name in names]
    tables = {name: table for name, table in zip(names, tables, strict=True) if table.n}
    columns = ["method", *(f"{name} ({table.n})" for name, table in tables.items())]
    labels = next(iter(tables.values())).labels if tables else []
    rows = [
        [label, *(table.format_share(label, budget, interval=False) for table in tables.values())]
        for label in labels
    ]
    return ResultTable(columns, rows)


def compare_default(table: EvidenceTable) -> list[str]:
    """Return, as text, how the default method compares with the best and without timelines.

    Where the best recalls more, both are given with the interval of the difference, paired by
    question. Empty if the default method is not in the run.
    """
    if DEFAULT not in table.labels:
        return []
    lines: list[str] = []
    behind = 0
    for budget in table.budgets:
        best = table.best(budget)
        if best == DEFAULT:
            continue
        difference = table.difference(DEFAULT, best, budget)
        behind += difference.high < 0
        verdict = "behind" if difference.high < 0 else "as good as"
        lines.append(f"  {budget:,} tokens: {verdict} {best}, {difference}")
    good = len(table.budgets) - behind
    lines.insert(0, f"{DEFAULT} is the best, or as good, in {good} of {len(table.budgets)} budgets")
    for other in (WITHOUT_TIMELINES, TIMELINES_ALONE):
        if other in table.labels:
            gains = [table.difference(DEFAULT, other, budget) for budget in table.budgets]
            pairs = zip(table.budgets, gains, strict=True)
            text = "; ".join(f"{budget:,}: {gain}" for budget, gain in pairs)
            lines.append(f"{DEFAULT} minus {other}: {text}")
    return lines
