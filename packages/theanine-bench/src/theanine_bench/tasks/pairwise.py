"""The pairwise bench: the answers of several runs to the same samples, compared by a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from theanine.errors import SettingsError
from theanine_bench.config import SCORE, RunConfig
from theanine_bench.judges.pairwise import FLIP, LETTERS, TIE, PairwiseMetric, find_criterion
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.saved_run import common_samples, run_names
from theanine_bench.runs.task import Task
from theanine_bench.samples import PAST_KEYS, SampleResult
from theanine_bench.statistics.win_rate import WinRate, binomial_p_value, win_rate
from theanine_bench.tasks.answers import scoring_task

BENCH = "pairwise"
G_EVAL = ("specificity", "memorability", "consistency")
"""The criteria of Theanine's first version (appendix D), the default."""
COMPARED = ("qa", "responses", "teafarm", SCORE)
"""Benches whose runs have answers to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A run that takes part.

    Attributes:
        items: its results by sample id.
        dataset: its data set's name.
        config: its configuration, as saved with the run.
    """

    name: str
    items: Mapping[str, SampleResult]
    dataset: str = ""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])


GOLDEN = "golden responses"
"""The name of the references where they are compared with runs, as Theanine's first version does
(table 1)."""


def read_entries(folders: Sequence[Path], *, golden: bool = False) -> list[Entry]:
    """Read the runs of these folders; with ``golden``, the references come last, as another run.

    Raises BadInput for a folder without a run, SettingsError for fewer than two to compare and for
    runs without answers of an agent, or without references.
    """
    if len(folders) + golden < 2:
        raise SettingsError("name two runs or more to compare, or one with --golden")
    entries: list[Entry] = []
    for name, folder in zip(run_names(folders), map(RunFolder, folders), strict=True):
        settings = folder.settings()
        if (bench := settings["bench"]) not in COMPARED:
            raise SettingsError(
                f"{folder.path} holds a run of {bench}; what {', '.join(COMPARED)} answered is "
                "compared"
            )
        entries.append(
            Entry(
                name=name,
                items=folder.results(),
                dataset=folder.dataset(),
                config=settings["config"],
            )
        )
    if golden:
        entries.append(_golden_entry(entries[0]))
    return entries


def _golden_entry(entry: Entry) -> Entry:
    """Return the references of a run's samples as the answers of a run. Raises SettingsError."""
    items = {
        id: replace(result, answer=result.reference, made_by=GOLDEN, recalled=())
        for id, result in entry.items.items()
        if result.reference
    }
    if not items:
        raise SettingsError(f"the samples of {entry.name} have no references to compare with")
    config = RunConfig(method=GOLDEN).record()
    return replace(entry, name=GOLDEN, items=items, config=config)


def pairwise_task(
    entries: Sequence[Entry], criteria: Sequence[str] = G_EVAL, limit: int | None = None
) -> Task:
    """Return a task that compares the runs by each criterion, over their common samples.

    Raises SettingsError for an unknown criterion, one for fewer runs, and runs without a common
    sample.
    """
    runs, names = len(entries), [entry.name for entry in entries]
    comparisons = [PairwiseMetric(criterion=find_criterion(n, runs), runs=runs) for n in criteria]
    if GOLDEN in names and "helpfulness" in criteria:
        raise SettingsError("golden responses recall nothing: leave out helpfulness or --golden")
    common, dropped = common_samples([entry.items for entry in entries])
    if not common:
        raise SettingsError(f"these runs have no sample in common: {', '.join(names)}")
    task = scoring_task(
        BENCH,
        [_join(results, names) for results in common],
        comparisons,
        [Standing(comparison) for comparison in comparisons],
        dropped=dropped,
        limit=limit,
        dataset=entries[0].dataset if len({entry.dataset for entry in entries}) == 1 else "",
    )
    return replace(task, compared=[entry.config for entry in entries])


def _join(results: Sequence[SampleResult], names: Sequence[str]) -> SampleResult:
    """Return one result that has the runs' answers as candidates."""
    first = results[0]
    candidates = [
        {
            "run": name,
            "answer": result.answer,
            "made_by": result.made_by,
            "recalled": [part["text"] for part in result.recalled],
        }
        for name, result in zip(names, results, strict=True)
    ]
    labels = {name: first.extra[name] for name in (*PAST_KEYS, "answerable") if name in first.extra}
    return SampleResult(
        id=first.id,
        group=first.group,
        category=first.category,
        question=first.question,
        dialogue=first.dialogue,
        speaker=first.speaker,
        reference=first.reference,
        extra={**labels, "candidates": candidates},
        answer="",
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """The runs' standing by one criterion, over all results; see :func:`standing`."""

    comparison: PairwiseMetric

    @property
    def name(self) -> str:
        """The criterion's name."""
        return self.comparison.name

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """Return the figures by name. Raises MissingExtra."""
        figures = standing(results, self.name, self.comparison.runs)
        return {f"{self.name}/{name}": value for name, value in figures.items()}


def standing(results: Sequence[SampleResult], criterion: str, runs: int = 2) -> dict[str, float]:
    """Return a criterion's figures; empty if nothing was compared.

    - ``flips``: the share of results, of those the judge was asked about, in which the order of
      the answers decided. ``first``: how often it chose the answer shown first; 0.5 if the order
      doesn't matter to it.
    - Of two runs: ``rate``, the win rate of the first (a tie counts half), its 95 % interval
      ``low`` to ``high``, and the binomial ``p`` over what was decided.
    - Of more runs: ``p A`` and so on, the p-value of each run's share of wins, over the decided
      results in which no two runs answered alike.

    Raises MissingExtra.
    """
    verdicts = [result.verdicts[criterion] for result in results if criterion in result.verdicts]
    if not verdicts:
        return {}
    figures: dict[str, float] = {}
    if asked := [verdict for verdict in verdicts if verdict.get("asked")]:
        chose_first = [
            one["chosen"] == one["order"][0] for verdict in asked for one in verdict["asked"]
        ]
        figures[f"{FLIP}s"] = sum(verdict["outcome"] == TIE for verdict in asked) / len(asked)
        figures["first"] = sum(chose_first) / len(chose_first)
    if runs == 2:
        rate = rate_of(verdicts)
        mean = rate.rate
        return figures | {"rate": mean.mean, "low": mean.low, "high": mean.high, "p": rate.p}
    outcomes = Counter(verdict["outcome"] for verdict in verdicts if "alike" not in verdict)
    decided = outcomes.total() - outcomes[TIE]
    for letter in LETTERS[:runs]:
        figures[f"p {letter}"] = binomial_p_value(outcomes[letter], decided, 1 / runs)
    return figures


def rate_of(verdicts: Sequence[Mapping[str, Any]]) -> WinRate:
    """Return the win rate of the first of two runs. Raises MissingExtra, ValueError for none."""
    outcomes = Counter(verdict["outcome"] for verdict in verdicts)
    return win_rate(outcomes[LETTERS[0]], outcomes[LETTERS[1]], outcomes[TIE])
