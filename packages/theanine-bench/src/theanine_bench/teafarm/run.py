"""From a file of questions to what is asked of whom; and what a run came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from theanine.errors import BadInput
from theanine_bench.runs.item import Item
from theanine_bench.runs.runner import Opener, ours
from theanine_bench.runs.setup import Plan
from theanine_bench.targets.external import Known, OutsideAgent
from theanine_bench.teafarm.copied import Copied
from theanine_bench.teafarm.plan import plan_of
from theanine_bench.teafarm.question import Sheet
from theanine_bench.teafarm.sheet import read_sheet
from theanine_bench.teafarm.sources import (
    Past,
    histories_of_store,
    past_of,
    past_of_data,
    past_of_store,
)
from theanine_bench.teafarm.teabag import is_teabag, read_teabag
from theanine_bench.teafarm.verdicts import JUDGED, RULED


@dataclass(frozen=True, slots=True, kw_only=True)
class Farm:
    """What is asked, and who is asked."""

    plan: Plan
    tested: Opener


async def farm_of(
    file: Path,
    *,
    judge: str,
    data: Path | None = None,
    store: str | None = None,
    limit: int | None = None,
    known: Known | None = None,
) -> Farm:
    """Questions and the sessions before them, ready for a run.

    Args:
        file: questions as :mod:`theanine_bench.teafarm.sheet` has them, or TeaBag.
        judge: the judging model's name; ``local`` for the questions' own phrases.
        data, store: where the sessions are, instead of the place that the file names.
        limit: at most so many questions, evenly spread.
        known: how an agent from elsewhere learns of them; None for an agent of ours.

    Raises BadInput and SettingsError for what can't be asked.
    """
    sheet, past = await _read(file, data, store, known)
    if known == "none":  # only when the sessions were matters then
        past = Past(ends=past.ends, hash=past.hash)
    plan = plan_of(sheet, past, judge, limit, recalls=known is None)
    return Farm(plan=plan, tested=_tested(plan, past, known))


def _tested(plan: Plan, past: Past, known: Known | None) -> Opener:
    if known is not None:
        return partial(OutsideAgent, known, speakers_of(plan))
    return partial(Copied, past.records) if past.records else ours


def speakers_of(plan: Plan) -> Mapping[str, Sequence[str]]:
    """In whose place the agent answers, by user."""
    return {
        group.id: list(dict.fromkeys(case.speaker for case in group.cases)) for group in plan.groups
    }


async def _read(
    file: Path, data: Path | None, store: str | None, known: Known | None
) -> tuple[Sheet, Past]:
    if is_teabag(file):
        bag = read_teabag(file)
        return bag.sheet, past_of(bag.histories, bag.hash)
    sheet = read_sheet(file)
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


def _users(sheet: Sheet) -> list[str]:
    if bare := next((one for one in sheet.questions if not one.user), None):
        raise BadInput(f"[{bare.id}] names no user of the store; write `user: NAME`", bare.where)
    return list(dict.fromkeys(one.user for one in sheet.questions))


def measure_of(items: Sequence[Item]) -> str:
    """Which of the two measures the items have."""
    return RULED if any(RULED in item.measures for item in items) else JUDGED


def success_of(items: Sequence[Item], total: int) -> float:
    """Right answers of all questions: what was not answered, judged or asked is no success.

    Raises ValueError where there are no questions.
    """
    if not total:
        raise ValueError("a share of no questions is no figure")
    return sum(item.measures.get(measure_of(items), 0.0) for item in items) / total
