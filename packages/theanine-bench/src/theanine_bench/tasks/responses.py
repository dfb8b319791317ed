"""Response generation: the turns of later sessions, compared with what was said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from theanine.types import LOCAL_MODEL
from theanine_bench.datasets.past import with_past
from theanine_bench.datasets.responses import read_responses
from theanine_bench.runs.task import Task
from theanine_bench.samples import limit_samples, spread
from theanine_bench.tasks.answers import answer_task

BENCH = "responses"
METRICS = ("f1", "bleu-1", "bleu-2", "bleu-4", "rouge-l")


def responses_task(
    data: Path,
    sessions: range,
    *,
    metrics: Sequence[str] | None = None,
    judge: str = LOCAL_MODEL,
    histories: int | None = None,
    limit: int | None = None,
) -> Task:
    """Return a task with a sample for each turn to be generated in these sessions.

    ``histories`` and ``limit`` are the most histories and samples, evenly spaced. Raises BadInput
    for data that can't be read, SettingsError for an unknown metric.
    """
    groups = limit_samples(spread(read_responses(data, sessions), histories), limit)
    return answer_task(BENCH, [data], with_past(groups), metrics, METRICS, judge)
