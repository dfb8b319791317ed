"""Question answering over histories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from theanine.types import LOCAL_MODEL
from theanine_bench.datasets.answer_key import apply_answer_key, read_answer_key
from theanine_bench.datasets.past import with_past
from theanine_bench.datasets.qa import read_qa
from theanine_bench.runs.task import Task
from theanine_bench.samples import limit_samples, merge_groups, spread
from theanine_bench.tasks.answers import answer_task

BENCH = "qa"
METRICS = ("f1", "f1:locomo", "evidence", "right")


def qa_task(
    data: Path,
    *,
    questions: Path | None = None,
    answers: Path | None = None,
    metrics: Sequence[str] | None = None,
    judge: str = LOCAL_MODEL,
    histories: int | None = None,
    limit: int | None = None,
    merge: int = 1,
) -> Task:
    """Return a task with a group for each history and a sample for each of its questions.

    Args:
        questions: a file of questions about any histories; else the data's own.
        answers: a corrected answer key.
        metrics: names of metrics; by default the bench's own.
        histories, limit: the most histories and samples, evenly spaced.
        merge: histories that share one memory.

    Raises BadInput for files that can't be read, SettingsError for an unknown metric.
    """
    groups = read_qa(data, questions)
    if answers is not None:
        groups = apply_answer_key(groups, read_answer_key(answers))
    groups = with_past(limit_samples(spread(groups, histories), limit))
    if merge > 1:
        groups = merge_groups(groups, merge)
    files = [data, *filter(None, (questions, answers))]
    return answer_task(BENCH, files, groups, metrics, METRICS, judge)
