"""A run from its plan to its summary, in one call."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from theanine.embeddings.open import open_embedder
from theanine.errors import SettingsError
from theanine.llm.limits import Limits
from theanine.methods.registry import open_method
from theanine.store import open_store
from theanine_bench.runs.folder import COMMAND, SUMMARY, RunFolder
from theanine_bench.runs.item import Item
from theanine_bench.runs.lock import locked
from theanine_bench.runs.runner import Opener, Progress, Running, ours, times
from theanine_bench.runs.setup import Plan, Setup, open_models, settings_of
from theanine_bench.runs.spending import Spending
from theanine_bench.runs.summary import Summary, summarize_run
from theanine_bench.samples import count


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How a run may go: cases and calls at once, and the dollars beyond which no call is begun."""

    concurrency: int = 8
    money: float | None = None


async def perform(
    plan: Plan,
    setup: Setup,
    folder: RunFolder | None = None,
    *,
    bounds: Bounds | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    tested: Opener = ours,
    command: str = "",
) -> tuple[RunFolder, Summary]:
    """Begin the run, or go on with it, and write its summary; gives its folder and summary.

    Without a folder it is one in ``runs`` that the data and the settings name: the same call goes
    on with the same run. ``tested`` makes the agent that is asked; ``command`` is kept with it.
    Raises SettingsError for the folder of another run or process, where a measure needs a judge
    that the set-up doesn't name, and for a budget where a model's price is unknown.
    """
    bounds = bounds or Bounds()
    if setup.judge == "local" and (judges := [m.name for m in plan.measures if m.judging]):
        raise SettingsError(f"{judges[0]} is judged by a model: name one with --judge")
    models = open_models(setup)
    spending = Spending(bounds.money)
    spending.check(models.agent, models.judge)
    if tested is ours:  # a name that makes no sense is told before anything is begun
        open_method(setup.method, dict(setup.settings) or None)
        open_embedder(setup.embedder)
    settings = settings_of(plan, setup, models)
    folder = folder or default_folder(plan.bench, setup.method, settings)
    folder.begin(settings)
    running = Running(
        plan=plan,
        setup=setup,
        models=models,
        folder=folder,
        concurrency=bounds.concurrency,
        limits=Limits(concurrency=bounds.concurrency),
        progress=progress,
        tested=tested,
        spending=spending,
    )
    with locked(folder.path):
        if command:
            folder.write(COMMAND, command + "\n")
        summary = await _summary(await running.run(), running)
        folder.write(SUMMARY, json.dumps(summary, ensure_ascii=False, indent=2) + "\n")
    return folder, summary


async def _summary(items: Sequence[Item], running: Running) -> Summary:
    plan, folder = running.plan, running.folder
    store = open_store(str(folder.store))
    await store.open()
    try:
        costs = await store.costs()
    finally:
        await store.close()
    dropped: Counter[str] = Counter()
    for group in plan.groups:
        dropped.update(group.dropped)
    total = count(plan.groups)
    return summarize_run(
        items,
        total=total,
        corpus=plan.corpus,
        costs=costs,
        seconds=list(times(folder.path).values()),
        dropped=dropped,
        stopped=running.spending.over if len(items) < total else "",
    )


def default_folder(bench: str, method: str, settings: Mapping[str, object]) -> RunFolder:
    """``runs/BENCH-METHOD-HASH``, of everything that decides on the outcome."""
    told = json.dumps(settings, sort_keys=True).encode()
    return RunFolder(Path("runs") / f"{bench}-{method}-{hashlib.sha256(told).hexdigest()[:8]}")
