"""Score a run's answers again: by other metrics, another judge, or a corrected answer key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from theanine.errors import BadInput
from theanine.llm.prompt_folder import NO_PROMPTS, PromptFolder
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
from theanine_bench.samples import ANSWER, SampleResult, is_score_of
from theanine_bench.tasks.answers import scoring_task

BENCH = "rescore"
NOT_ASKED = "entries of the answer key about questions that the run was not asked"


def rescore_task(
    run: Path,
    answers: Path | None = None,
    names: Sequence[str] | None = None,
    judge: str = LOCAL_MODEL,
    limit: int | None = None,
    prompts: PromptFolder | None = None,
) -> Task:
    """Return a task that scores a run's answers against its own references or a corrected key.

    Args:
        answers: the answer key.
        names: metrics; by default the run's own, without judges if there is no judge.
        judge: the judging model. Its earlier verdicts on unchanged questions are kept, if it was
            asked by the same prompts.
        prompts: prompts in place of the judges' own.

    Raises BadInput for a folder without a run and for a key without a question of the run,
    SettingsError for an unknown metric.
    """
    folder = RunFolder(run)
    settings = folder.settings()
    results = list(folder.results().values())
    if not results:
        raise BadInput("the run has answered nothing yet", str(run))
    wanted = list(names or settings["metrics"])
    if not names and judge == LOCAL_MODEL:
        wanted = without_judges(wanted)
    metrics, corpus = find_metrics(wanted)
    dropped: dict[str, int] = {}
    if answers is not None:
        results, dropped = _correct(results, answers)
    kept = [metric.name for metric in metrics]
    hashes = (prompts or NO_PROMPTS).hashes()
    before = settings["config"]
    if (before["judge"], before.get("prompts") or {}) != (judge, hashes):
        kept = without_judges(kept)
    return scoring_task(
        BENCH,
        [_keep(result, kept) for result in results],
        metrics,
        corpus,
        data=sha256(results_to_jsonl(results).encode()).hexdigest(),
        dropped=dropped,
        limit=limit,
        dataset=folder.dataset(),
    )


def _correct(
    results: Sequence[SampleResult], key: Path
) -> tuple[list[SampleResult], dict[str, int]]:
    """Return results without those that the key rejects, and without scores where it differs."""
    asked = [
        KeyQuestion(id=one.id, words=one.question, conversation=one.group, answer=one.reference)
        for one in results
    ]
    entries = read_answer_key(key)
    known = relevant_entries(asked, entries)
    if not known:
        raise BadInput("no entry of it is about a question of the run", str(key))
    answers = match_answers(asked, known)
    kept: list[SampleResult] = []
    for result in results:
        answer = answers.get(result.id, result.reference)
        if answer is None:
            continue
        if answer != result.reference:
            extra = replace_answer(result.extra, result.reference, answer)
            result = replace(result, reference=answer, extra=extra, scores={}, verdicts={})
        kept.append(result)
    dropped = Counter({REJECTED: len(results) - len(kept), NOT_ASKED: len(entries) - len(known)})
    return kept, dict(+dropped)


def _keep(result: SampleResult, metrics: Sequence[str]) -> SampleResult:
    """Return a result with the scores and verdicts of these metrics, and failures to answer."""
    return replace(
        result,
        scores={
            name: value
            for name, value in result.scores.items()
            if any(is_score_of(name, metric) for metric in metrics)
        },
        verdicts={name: verdict for name, verdict in result.verdicts.items() if name in metrics},
        failures={name: why for name, why in result.failures.items() if name == ANSWER},
    )
