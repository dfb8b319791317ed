"""A run's answers measured anew: by other measures, another judge, or a corrected answer key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from theanine.errors import BadInput
from theanine.types import LOCAL_MODEL
from theanine_bench.datasets.answer_key import (
    REJECTED,
    KeyQuestion,
    match_answers,
    read_answer_key,
    relevant_entries,
    replace_answer,
)
from theanine_bench.metrics.registry import find_metrics, without_judges
from theanine_bench.runs.folder import RunFolder, results_to_jsonl
from theanine_bench.runs.task import Task
from theanine_bench.samples import ANSWER, SampleResult, group_of_results, limit_samples
from theanine_bench.targets.target import NullTarget

BENCH = "rescore"
NOT_ASKED = "entries of the answer key about questions that the run was not asked"


def rescore_task(
    run: Path,
    answers: Path | None = None,
    names: Sequence[str] | None = None,
    judge: str = LOCAL_MODEL,
    limit: int | None = None,
) -> Task:
    """What a run answered, to be measured against the key in ``answers``, or as it was asked.

    The measures are the run's own unless ``names`` has others; those of a judge are left out where
    there is none. What this judge has said of a question whose answer stays is taken over. Raises
    BadInput for a folder without a run, and as the key does; SettingsError for an unknown measure.
    """
    folder = RunFolder(run)
    settings = folder.settings()
    items = list(folder.results().values())
    if not items:
        raise BadInput("the run has answered nothing yet", str(run))
    wanted = list(names or settings["metrics"])
    if not names and judge == LOCAL_MODEL:
        wanted = without_judges(wanted)
    measures, corpus = find_metrics(wanted)
    items, dropped = (items, dict[str, int]()) if answers is None else _corrected(items, answers)
    kept = {measure.name for measure in measures}
    same = settings["config"]["judge"] == judge
    ready = [_bare(item, kept if same else set(without_judges(sorted(kept)))) for item in items]
    groups = limit_samples([group_of_results(ready, BENCH, dropped)], limit)
    asked = {case.id for group in groups for case in group.samples}
    return Task(
        bench=BENCH,
        data=sha256(results_to_jsonl(items).encode()).hexdigest(),
        groups=groups,
        target=NullTarget,
        metrics=measures,
        corpus_metrics=corpus,
        answered={item.id: item for item in ready if item.id in asked},
    )


def _corrected(
    items: Sequence[SampleResult], key: Path
) -> tuple[list[SampleResult], dict[str, int]]:
    """The items that the key doesn't reject; those whose answer it changes are unmeasured."""
    asked = [
        KeyQuestion(id=one.id, words=one.question, conversation=one.group, answer=one.reference)
        for one in items
    ]
    entries = read_answer_key(key)
    known = relevant_entries(asked, entries)
    if not known:
        raise BadInput("no entry of it is about a question of the run", str(key))
    answers = match_answers(asked, known)
    kept: list[SampleResult] = []
    for item in items:
        answer = answers.get(item.id, item.reference)
        if answer is None:
            continue
        if answer != item.reference:
            extra = replace_answer(item.extra, item.reference, answer)
            item = replace(item, reference=answer, extra=extra, scores={}, verdicts={})
        kept.append(item)
    dropped = Counter({REJECTED: len(items) - len(kept), NOT_ASKED: len(entries) - len(known)})
    return kept, dict(+dropped)


def _bare(item: SampleResult, kept: set[str]) -> SampleResult:
    """The item with what these measures said of it alone, and no failure but that to answer."""

    def known(name: str) -> bool:
        return any(name == one or name.startswith(f"{one}/") for one in kept)

    return replace(
        item,
        scores={name: value for name, value in item.scores.items() if known(name)},
        verdicts={name: words for name, words in item.verdicts.items() if name in kept},
        failures={name: why for name, why in item.failures.items() if name == ANSWER},
    )
