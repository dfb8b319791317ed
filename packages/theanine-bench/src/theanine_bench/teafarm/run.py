"""From a file of questions to what is asked of whom; and what a run came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from theanine.errors import BadInput
from theanine_bench.runs.task import Task
from theanine_bench.samples import SampleResult
from theanine_bench.targets.external import ExternalTarget, HistoryMode
from theanine_bench.targets.target import ClientTarget, TargetFactory
from theanine_bench.teafarm.copied import Copied
from theanine_bench.teafarm.plan import teafarm_task
from theanine_bench.teafarm.questions import QuestionFile, read_question_file
from theanine_bench.teafarm.sources import (
    Past,
    histories_of_store,
    past_of,
    past_of_data,
    past_of_store,
)
from theanine_bench.teafarm.teabag import is_teabag, read_teabag
from theanine_bench.teafarm.verdicts import JUDGED, RULED


async def farm_of(
    file: Path,
    *,
    judge: str,
    data: Path | None = None,
    store: str | None = None,
    limit: int | None = None,
    known: HistoryMode | None = None,
) -> Task:
    """Questions and the sessions before them, ready for a run.

    Args:
        file: questions as :mod:`theanine_bench.teafarm.questions` has them, or TeaBag.
        judge: the judging model's name; ``local`` for the questions' own phrases.
        data, store: where the sessions are, instead of the place that the file names.
        limit: at most so many questions, evenly spread.
        known: how an agent from elsewhere learns of them; None for an agent of ours.

    Raises BadInput and SettingsError for what can't be asked.
    """
    sheet, past = await _read(file, data, store, known)
    if known == "none":  # only when the sessions were matters then
        past = Past(ends=past.ends, hash=past.hash)
    task = teafarm_task(sheet, past, judge, limit, recalls=known is None)
    return replace(task, target=_target(task, past, known))


def _target(task: Task, past: Past, mode: HistoryMode | None) -> TargetFactory:
    if mode is not None:
        return partial(ExternalTarget, mode=mode, speakers=speakers_of(task))
    return partial(Copied, records=past.records) if past.records else ClientTarget


def speakers_of(task: Task) -> Mapping[str, Sequence[str]]:
    """The speakers whom the agent answers for, by user."""
    return {
        group.id: list(dict.fromkeys(sample.speaker for sample in group.samples))
        for group in task.groups
    }


async def _read(
    file: Path, data: Path | None, store: str | None, known: HistoryMode | None
) -> tuple[QuestionFile, Past]:
    if is_teabag(file):
        bag = read_teabag(file)
        return bag.sheet, past_of(bag.histories, bag.hash)
    sheet = read_question_file(file)
    if data is None and store is None:
        data = file.parent / sheet.data if sheet.data else None
        store = str(file.parent / sheet.store) if sheet.store else None
    if store is not None:
        past = await past_of_store(store, _users(sheet))
        if known in ("sent", "replayed"):
            past = past_of(await histories_of_store(store, _users(sheet)), past.hash)
        return sheet, past
    if data is None and known == "none":
        return sheet, Past()
    if data is None:
        raise BadInput(
            "it doesn't say where the sessions are: begin it with a line `data: FILE`, or name "
            "them with --data or --store",
            str(file),
        )
    return sheet, past_of_data(data)


def _users(sheet: QuestionFile) -> list[str]:
    if bare := next((one for one in sheet.questions if not one.user), None):
        raise BadInput(f"[{bare.id}] names no user of the store; write `user: NAME`", bare.where)
    return list(dict.fromkeys(one.user for one in sheet.questions))


def measure_of(items: Sequence[SampleResult]) -> str:
    """Which of the two measures the items have."""
    return RULED if any(RULED in item.scores for item in items) else JUDGED


def success_of(items: Sequence[SampleResult], total: int) -> float:
    """Right answers of all questions: what was not answered, judged or asked is no success.

    Raises ValueError where there are no questions.
    """
    if not total:
        raise ValueError("a share of no questions is no figure")
    return sum(item.scores.get(measure_of(items), 0.0) for item in items) / total
