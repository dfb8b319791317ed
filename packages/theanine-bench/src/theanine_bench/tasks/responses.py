"""Response generation: the turns of later sessions, compared with what was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from theanine.errors import BadInput
from theanine.types import LOCAL_MODEL
from theanine_bench.datasets.past import with_past
from theanine_bench.datasets.responses import read_responses
from theanine_bench.runs.task import Task
from theanine_bench.samples import limit_samples, spread
from theanine_bench.targets.gold_memory import GOLD_MEMORY, PERSONA, GoldMemoryTarget
from theanine_bench.tasks.answers import answer_task

BENCH = "responses"
METRICS = ("f1", "bleu-1", "bleu-2", "bleu-4", "rouge-l")


def responses_task(
    data: Path,
    sessions: range,
    *,
    speaker: int | None = None,
    metrics: Sequence[str] | None = None,
    judge: str = LOCAL_MODEL,
    histories: int | None = None,
    limit: int | None = None,
    gold_memory: bool = False,
) -> Task:
    """Return a task with a sample for each turn to be generated in these sessions.

    With ``speaker``, the turns are those of a session's first speaker (1), second (2) and so on.
    ``histories`` and ``limit`` are the most histories and samples, evenly spaced. With
    ``gold_memory``, the samples' personas take the place of what a method remembers. Raises
    BadInput for data that can't be read or has no personas, SettingsError for an unknown metric.
    """
    groups = limit_samples(spread(read_responses(data, sessions, speaker), histories), limit)
    task = answer_task(BENCH, [data], with_past(groups), metrics, METRICS, judge)
    if not gold_memory:
        return task
    if not any(sample.extra.get(PERSONA) for group in groups for sample in group.samples):
        raise BadInput(f"it has no personas for {GOLD_MEMORY}: MSC has some", str(data))
    return replace(task, target=GoldMemoryTarget)
