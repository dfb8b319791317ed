"""Runs head to head: the answers that several runs gave to the same cases, compared by a judge."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theanine.errors import SettingsError
from theanine_bench.judges.pairwise import FLIP, LETTERS, TIE, PairwiseMetric, find_criterion
from theanine_bench.judges.rendering import past_lines
from theanine_bench.runs.folder import RunFolder, results_to_jsonl
from theanine_bench.runs.saved_run import common_samples
from theanine_bench.runs.task import Task
from theanine_bench.samples import SampleResult, count_samples, group_of_results, limit_samples
from theanine_bench.statistics.win_rate import WinRate, binomial_p_value, win_rate
from theanine_bench.targets.target import NullTarget

BENCH = "pairwise"
G_EVAL = ("specificity", "memorability", "consistency")
"""What Theanine compares by (appendix D); the criteria where none are named."""
COMPARED = ("qa", "responses", "teafarm")
"""The benches whose runs have answers to compare."""
_KEPT = ("evidence", "answerable")
"""What of a case's extra the criteria show beside the past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run that takes part: its name, and its items by case."""

    name: str
    items: Mapping[str, SampleResult]


def read_entries(folders: Sequence[Path]) -> list[Entry]:
    """The runs of these folders, under the folders' names where those differ.

    Raises BadInput for a folder without a run, SettingsError for fewer than two folders, and for
    runs in which no agent answered.
    """
    if len(folders) < 2:
        raise SettingsError("name two runs or more to compare")
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    found: list[Entry] = []
    for name, folder in zip(names, folders, strict=True):
        run = RunFolder(folder)
        if (bench := run.settings()["bench"]) not in COMPARED:
            raise SettingsError(
                f"{folder} holds a run of {bench}; what {', '.join(COMPARED)} answered is compared"
            )
        found.append(Entry(name=name, items=run.results()))
    return found


def pairwise_task(
    entries: Sequence[Entry], criteria: Sequence[str] = G_EVAL, limit: int | None = None
) -> Task:
    """What is compared, by which criteria; cases that not every run has are counted as dropped.

    Raises SettingsError for an unknown criterion, or one that takes fewer runs, and where the runs
    have no case in common.
    """
    runs = len(entries)
    comparisons = [PairwiseMetric(criterion=find_criterion(n, runs), runs=runs) for n in criteria]
    cases, dropped = common_samples([entry.items for entry in entries])
    items = [_together(case, [entry.name for entry in entries]) for case in cases]
    if not items:
        raise SettingsError(
            "these runs have no case in common: " + ", ".join(e.name for e in entries)
        )
    groups = limit_samples([group_of_results(items, BENCH, dropped)], limit)
    kept = {case.id for group in groups for case in group.samples}
    ready = {item.id: item for item in items if item.id in kept}
    assert len(ready) == count_samples(groups)
    return Task(
        bench=BENCH,
        data=hashlib.sha256(results_to_jsonl(items).encode()).hexdigest(),
        groups=groups,
        target=NullTarget,
        metrics=comparisons,
        corpus_metrics=[Standing(comparison) for comparison in comparisons],
        answered=ready,
    )


def _together(items: Sequence[SampleResult], names: Sequence[str]) -> SampleResult:
    first = items[0]
    candidates = [
        {
            "run": name,
            "answer": item.answer,
            "made_by": item.made_by,
            "recalled": [part["text"] for part in item.recalled],
        }
        for name, item in zip(names, items, strict=True)
    ]
    extra = {name: first.extra[name] for name in _KEPT if name in first.extra}
    return SampleResult(
        id=first.id,
        group=first.group,
        category=first.category,
        question=first.question,
        dialogue=first.dialogue,
        speaker=first.speaker,
        reference=first.reference,
        extra={**extra, "past": past_lines(items), "candidates": candidates},
        answer="",
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """How the runs stand by one criterion, over all items.

    Gives, for the first run against the others, ``rate`` (a tie counts half) with its 95 %
    interval, SciPy's binomial ``p`` over what was decided, and ``flips``: the share of the asked
    items in which the order decided. ``first`` is how often the judge chose what it was shown
    first: a half where the order does not matter to it.
    """

    comparison: PairwiseMetric

    @property
    def name(self) -> str:
        """The criterion's."""
        return self.comparison.name

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """The numbers by name; none where nothing was compared. Raises MissingExtra."""
        told = standing(results, self.name, self.comparison.runs)
        return {f"{self.name}/{what}": value for what, value in told.items()}


def standing(items: Sequence[SampleResult], criterion: str, runs: int = 2) -> dict[str, float]:
    """The numbers of :class:`Standing`; empty where nothing was compared. Raises MissingExtra.

    Of more than two runs each has a ``p``: whether it wins more or less than its share by luck,
    over the decided cases in which no two runs said the same.
    """
    verdicts = [item.verdicts[criterion] for item in items if criterion in item.verdicts]
    if not verdicts:
        return {}
    found = _bias(verdicts)
    if runs == 2:
        rate = rate_of(verdicts)
        found |= {"rate": rate.rate.mean, "low": rate.rate.low, "high": rate.rate.high, "p": rate.p}
        return found
    outcomes = Counter(one["outcome"] for one in verdicts if "alike" not in one)
    decided = outcomes.total() - outcomes[TIE]
    for letter in LETTERS[:runs]:
        found[f"p {letter}"] = binomial_p_value(outcomes[letter], decided, 1 / runs)
    return found


def rate_of(verdicts: Sequence[Mapping[str, Any]]) -> WinRate:
    """How the first of two runs did. Raises MissingExtra, and ValueError for nothing."""
    outcomes = Counter(one["outcome"] for one in verdicts)
    return win_rate(outcomes[LETTERS[0]], outcomes[LETTERS[1]], outcomes[TIE])


def _bias(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The judge's own doing: how often it flipped, and how often it took the first it was shown."""
    asked = [one for one in verdicts if one.get("asked")]
    if not asked:
        return {}
    single = [said["chosen"] == said["order"][0] for one in asked for said in one["asked"]]
    flipped = sum(one["outcome"] == TIE for one in asked)
    return {f"{FLIP}s": flipped / len(asked), "first": sum(single) / len(single)}
