"""Running a plan: import, remember, ask, measure; resumed where it was cut off."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

import theanine
from theanine.client.client import AsyncClient
from theanine.clock import system_clock
from theanine.errors import BudgetExceeded, ModelError, ModelUnavailable
from theanine.llm.chat import Chat, ScopedChat
from theanine.llm.limits import Limits
from theanine.methods.base import Reply
from theanine.remembering.remember import RememberReport
from theanine.store import Store, open_store
from theanine.types import Scope
from theanine_bench.jsonl import append_line, read_lines
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.item import ANSWER, Item, of_case
from theanine_bench.runs.setup import Models, Plan, Setup
from theanine_bench.runs.spending import Spending
from theanine_bench.samples import Case, Group, Stage
from theanine_bench.targets.target import Tested

JUDGE = Scope("judge", agent="bench", tenant="bench")
"""The scope under which the journal keeps what judges were asked."""
TIMES = "times.jsonl"
NOT_REMEMBERED = "not remembered"
PASSING = (ModelUnavailable.__name__, BudgetExceeded.__name__, NOT_REMEMBERED)
"""How failures begin that the next run may not meet: what failed so is asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        done: cases, of ``total``.
        spent: dollars; None where a price is unknown.
        items: what is done.
    """

    done: int
    total: int
    spent: float | None
    items: Collection[Item]


Opener = Callable[["Running", Store], Tested]
"""Makes the agent that a run asks, over the run's store."""


def agent_of(running: Running, store: Store) -> AsyncClient:
    """The agent that the run's set-up describes."""
    setup, model = running.setup, running.models.agent
    return theanine.aopen(
        store,
        method=setup.method,
        config=dict(setup.settings) or None,
        embedder=setup.embedder,
        model=running.spending.watch(model) if model else "local",
        limits=running.limits,
        seed=setup.seed,
    )


def ours(running: Running, store: Store) -> Tested:
    """That agent, asked as it is."""
    return Tested(agent_of(running, store))


@dataclass(slots=True)
class Running:
    """One run under way.

    Attributes:
        folder: where it lives.
        tested: makes the agent that is asked, over the run's store.
        concurrency: cases that are asked at once.
        progress: told after each case.
        spending: dollars so far and their bound; what asks a model of the run has it watched.
    """

    plan: Plan
    setup: Setup
    models: Models
    folder: RunFolder
    concurrency: int = 8
    limits: Limits = field(default_factory=Limits)
    progress: Callable[[Progress], None] = lambda _: None
    tested: Opener = ours
    spending: Spending = field(default_factory=Spending)
    _done: dict[str, Item] = field(default_factory=dict[str, Item])
    _total: int = 0

    async def run(self) -> list[Item]:
        """Do what is not done yet; gives all items so far, in the plan's order."""
        order = [case.id for group in self.plan.groups for case in group.cases]
        self._done, self._total = self.folder.items_of(set(order)), len(order)
        store = open_store(str(self.folder.store))
        agent = self.tested(self, store)
        async with agent:
            await self.spending.resume(store)
            chat = None
            if self.models.judge:
                # The journal keeps calls of known scopes alone: those of others were forgotten.
                await store.start_session(JUDGE, system_clock(), key=JUDGE.user)
                judge = self.spending.watch(self.models.judge)
                chat = Chat(judge, store, system_clock, self.limits)
            desk = _Desk(self, agent, chat)
            async with anyio.create_task_group() as tasks:
                gate = anyio.Semaphore(self.concurrency)
                for group in self.plan.groups:
                    await gate.acquire()
                    tasks.start_soon(desk.ask_all, group, gate)
            if chat:
                await chat.close()
        return self.folder.arrange(order)

    def known(self, case: Case) -> Item | None:
        """What became of the case in an earlier run, if that stands."""
        item = self._done.get(case.id)
        if item is None or item.failures.get(ANSWER, "").startswith(PASSING):
            return None
        return item

    def keep(self, item: Item) -> None:
        """Keep an item and tell of it."""
        self.folder.add(item)
        self._done[item.id] = item
        items, spent = self._done.values(), self.spending.total
        self.progress(Progress(done=len(items), total=self._total, spent=spent, items=items))


@dataclass(frozen=True, slots=True)
class _Desk:
    """Asks the cases of a run of one agent."""

    running: Running
    agent: Tested
    chat: Chat | None

    async def ask_all(self, group: Group, gate: anyio.Semaphore) -> None:
        """The stages in order. What may pass holds up the stages after it, as they'd know more."""
        try:
            for stage in group.stages:
                if not await self._stage(group, stage):
                    return
        finally:
            gate.release()

    async def _stage(self, group: Group, stage: Stage) -> bool:
        """Whether nothing of it is left for another run."""
        waiting = [case for case in stage.cases if not self._finished(case)]
        spending = self.running.spending
        if spending.over and (waiting or stage.histories):
            return False
        if failure := await self._remember(group.id, stage):
            for case in () if spending.over else waiting:
                item = await self._measured(of_case(case, group.id, None, failure))
                self.running.keep(item)
            return False
        slots = anyio.CapacityLimiter(self.running.concurrency)
        left: list[str] = []

        async def one(case: Case) -> None:
            async with slots:
                if spending.over or not await self._case(group.id, case):
                    left.append(case.id)

        async with anyio.create_task_group() as tasks:
            for case in waiting:
                tasks.start_soon(one, case)
        return not left

    def _finished(self, case: Case) -> bool:
        item = self.running.known(case)
        return item is not None and not (set(item.failures) - {ANSWER})

    async def _remember(self, user: str, stage: Stage) -> str | None:
        """Why a session of the stage is not remembered, or None."""
        for history in stage.histories:
            await self.agent.log(history, user)
        waiting = await self.agent.pending(user)
        reports: Sequence[RememberReport] = await self.agent.remember(user) if waiting else ()
        failed = next((report for report in reports if report.failure), None)
        return f"{NOT_REMEMBERED}: session {failed.session}: {failed.failure}" if failed else None

    async def _case(self, user: str, case: Case) -> bool:
        """Answer and measure; whether that stands, whatever came of it."""
        item = self.running.known(case) or self.running.plan.ready.get(case.id)
        if item is None:
            started = time.perf_counter()
            reply, why = await self._answer(user, case)
            item = of_case(case, user, reply, why)
            _note_time(self.running.folder.path, case.id, time.perf_counter() - started)
        item = await self._measured(item)
        if self._cut_off(item):
            return False
        self.running.keep(item)
        return not any(why.startswith(PASSING) for why in item.failures.values())

    def _cut_off(self, item: Item) -> bool:
        """Whether the money ended before it was done: what was paid for it is in the journal."""
        whys = item.failures.values()
        over = self.running.spending.over
        return bool(over) and any(why.startswith(BudgetExceeded.__name__) for why in whys)

    async def _answer(self, user: str, case: Case) -> tuple[Reply | None, str | None]:
        try:
            return await self.agent.reply(case, user, self.running.setup.budget), None
        except ModelError as error:
            return None, _said(error)

    async def _measured(self, item: Item) -> Item:
        """With every measure that it lacks, or why it can't be had."""
        measures, verdicts = dict(item.measures), dict(item.verdicts)
        failures = {name: why for name, why in item.failures.items() if name == ANSWER}
        for measure in self.running.plan.measures:
            if item.answer is None and measure.judging:  # there is nothing to judge
                measures |= measure.worst
                continue
            if set(measure.worst) <= set(measures):
                continue
            try:
                scored = await measure.of(item, self._judge())
            except ModelError as error:
                failures[measure.name] = _said(error)
                continue
            measures |= scored.values
            if scored.verdict:
                verdicts[measure.name] = scored.verdict
        return replace(item, measures=measures, verdicts=verdicts, failures=failures)

    def _judge(self) -> ScopedChat | None:
        return self.chat.for_scope(JUDGE) if self.chat else None


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _note_time(folder: Path, case: str, seconds: float) -> None:
    """Beside the items: a replay takes another time and is the same run all the same."""
    append_line(folder / TIMES, json.dumps({"id": case, "seconds": round(seconds, 6)}))


def times(folder: Path) -> dict[str, float]:
    """Seconds that each answer took, by case; the last one counts. Raises BadInput."""
    return {one["id"]: one["seconds"] for one, _ in read_lines(folder / TIMES)}
