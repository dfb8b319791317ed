"""The runner: remembers histories, runs samples and scores them, and resumes interrupted runs."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import anyio

from theanine.clock import system_clock
from theanine.errors import BudgetExceeded, ModelError, ModelUnavailable, SettingsError
from theanine.llm.chat import Chat, ScopedChat
from theanine.llm.limits import Limits
from theanine.store import Store, open_store
from theanine.tokenizer import count_tokens
from theanine.types import LOCAL_MODEL
from theanine_bench.config import RunConfig
from theanine_bench.metrics.base import binary_metrics, check_binary, naming_metric
from theanine_bench.runs.cost_limit import CostLimit
from theanine_bench.runs.folder import COMMAND, SUMMARY, RunFolder
from theanine_bench.runs.lock import lock_folder
from theanine_bench.runs.summary import Summary, summarize_folder
from theanine_bench.runs.task import JUDGE_SCOPE, RunModels, Task, open_models, run_settings
from theanine_bench.samples import (
    ANSWER,
    Group,
    Sample,
    SampleResult,
    Stage,
    count_samples,
    turn_record,
)
from theanine_bench.targets.target import Output, Target, TargetContext

NOT_REMEMBERED = "not remembered"
TRANSIENT_FAILURES = (ModelUnavailable.__name__, BudgetExceeded.__name__, NOT_REMEMBERED)
"""Prefixes of failures that may pass: the next run repeats samples that failed like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """How fast and how far a run may go.

    Attributes:
        concurrency: samples, and model calls, at once.
        max_cost: US dollars at which no further call starts, or None.
        timeout: seconds to wait for one reply of a model; None for the default of
            :class:`theanine.Limits`.
    """

    concurrency: int = 8
    max_cost: float | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        done: finished samples, of ``total``.
        spent: US dollars; None where a price is unknown.
        results: the finished samples' results.
    """

    done: int
    total: int
    spent: float | None
    results: Collection[SampleResult]


async def run_task(
    task: Task,
    config: RunConfig,
    folder: RunFolder | None = None,
    *,
    limits: RunLimits | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    command: str = "",
) -> tuple[RunFolder, Summary]:
    """Start or resume a run, and write its summary; return its folder and summary.

    Without a folder it is one in ``runs``, named after the data and the settings, so that the same
    call resumes the same run. ``command`` is saved with the run.

    Raises SettingsError for the folder of another run or process, where a metric needs a judge and
    the configuration names none, and for a cost limit where a model's price is unknown.
    """
    limits = limits or RunLimits()
    if config.judge == LOCAL_MODEL and (judges := [m.name for m in task.metrics if m.needs_judge]):
        raise SettingsError(f"{judges[0]} needs a judging model: name one with --judge")
    models = open_models(config)
    cost_limit = CostLimit(limits.max_cost)
    cost_limit.check(models.agent, models.memory, models.judge)
    model_limits = Limits(concurrency=limits.concurrency).with_timeout(limits.timeout)
    model_limits = replace(  # nobody waits for a recall
        model_limits,
        recall_retries=model_limits.retries,
        recall_patience=model_limits.patience,
    )
    settings = run_settings(task, config, models)
    folder = folder or default_folder(task.bench, config.method, settings)
    runner = Runner(
        task=task,
        config=config,
        models=models,
        folder=folder,
        concurrency=limits.concurrency,
        limits=model_limits,
        progress=progress,
        cost_limit=cost_limit,
    )
    target = runner.make_target()  # raises for settings that make no sense
    samples = [sample for group in task.groups for sample in group.samples]
    folder.begin(settings, binary_metrics(task.metrics, samples))
    with lock_folder(folder.path):
        if command:
            folder.write(COMMAND, command + "\n")
        results = await runner.run(target)
        stopped = cost_limit.exceeded if len(results) < count_samples(task.groups) else ""
        summary = await summarize_folder(folder, task, results, stopped)
        folder.write(SUMMARY, json.dumps(summary, ensure_ascii=False, indent=2) + "\n")
    return folder, summary


def default_folder(bench: str, method: str, settings: Mapping[str, object]) -> RunFolder:
    """Return ``runs/BENCH-METHOD-HASH``, with a hash of all settings."""
    text = json.dumps(settings, sort_keys=True).encode()
    return RunFolder(Path("runs") / f"{bench}-{method}-{hashlib.sha256(text).hexdigest()[:8]}")


@dataclass(slots=True)
class Runner:
    """Executes one task in one folder.

    Attributes:
        concurrency: samples that run at once.
        limits: of the chat models.
        progress: called after each sample.
        cost_limit: adds up what target and judge cost.
    """

    task: Task
    config: RunConfig
    models: RunModels
    folder: RunFolder
    concurrency: int = 8
    limits: Limits = field(default_factory=Limits)
    progress: Callable[[Progress], None] = lambda _: None
    cost_limit: CostLimit = field(default_factory=CostLimit)
    _store: Store = field(init=False)
    _judge: Chat | None = field(init=False, default=None)
    _results: dict[str, SampleResult] = field(init=False, default_factory=dict[str, SampleResult])
    _facts: dict[str, dict[str, Any]] = field(init=False, default_factory=dict[str, dict[str, Any]])

    def __post_init__(self) -> None:
        self._store = open_store(str(self.folder.store))

    def make_target(self) -> Target:
        """Make the task's target. Raises SettingsError for settings that make no sense."""
        return self.task.target(
            TargetContext(
                config=self.config,
                store=self._store,
                folder=self.folder.path,
                model=self.models.agent,
                memory_model=self.models.memory,
                limits=self.limits,
                meter=self.cost_limit.wrap,
            )
        )

    async def run(self, target: Target | None = None) -> list[SampleResult]:
        """Run what is not done yet; return all results so far, in the task's order."""
        order = [sample.id for group in self.task.groups for sample in group.samples]
        self._results, self._facts = self.folder.results_for(set(order)), self.folder.facts()
        target = target or self.make_target()
        async with AsyncExitStack() as stack:
            if self.task.uses_store or self.models != RunModels(agent=None, judge=None):
                await self._store.open()
                stack.push_async_callback(self._store.close)
                await self.cost_limit.load(self._store)
            await stack.enter_async_context(target)
            if self.models.judge:
                # The journal only keeps calls of known scopes.
                await self._store.start_session(JUDGE_SCOPE, system_clock(), key=JUDGE_SCOPE.user)
                model = self.cost_limit.wrap(self.models.judge)
                prompts = self.config.prompts
                self._judge = Chat(model, self._store, system_clock, self.limits, prompts=prompts)
                stack.push_async_callback(self._judge.close)
            try:
                await self._run_groups(target)
            except ExceptionGroup as errors:
                raise _first_error(errors) from None  # the others were cancelled
        return self.folder.sort_results(order)

    async def _run_groups(self, target: Target) -> None:
        gate = anyio.Semaphore(self.concurrency)
        async with anyio.create_task_group() as tasks:
            for group in self.task.groups:
                await gate.acquire()
                tasks.start_soon(self._run_group, target, group, gate)

    async def _run_group(self, target: Target, group: Group, gate: anyio.Semaphore) -> None:
        """Run the stages in order. A transient failure stops the group, because later stages must
        not run with sessions that its samples should not know."""
        try:
            if self._group_finished(target, group):
                return
            for stage in group.stages:
                if not await self._run_stage(target, group, stage):
                    break
            if facts := await target.facts(group.id):
                self.folder.append_facts(group.id, facts)
        finally:
            gate.release()

    async def _run_stage(self, target: Target, group: Group, stage: Stage) -> bool:
        """Run a stage; return whether nothing of it is left for another run."""
        waiting = [sample for sample in stage.samples if not self._finished(sample)]
        if self.cost_limit.exceeded and (waiting or stage.histories):
            return False
        if failure := await target.remember(group.id, stage.histories):
            if not self.cost_limit.exceeded:
                for sample in waiting:
                    failed = make_result(sample, group.id, None, f"{NOT_REMEMBERED}: {failure}")
                    self._save(await self._score(failed))
            return False
        capacity = anyio.CapacityLimiter(self.concurrency)
        left: list[str] = []

        async def run(sample: Sample) -> None:
            async with capacity:
                if self.cost_limit.exceeded or not await self._run_sample(target, group, sample):
                    left.append(sample.id)

        async with anyio.create_task_group() as tasks:
            for sample in waiting:
                tasks.start_soon(run, sample)
        return not left

    def _group_finished(self, target: Target, group: Group) -> bool:
        if target.has_facts:
            facts = self._facts.get(group.id)
            if facts is None or facts.get("failures"):
                return False
        return all(self._finished(sample) for sample in group.samples)

    def _finished(self, sample: Sample) -> bool:
        result = self._earlier_result(sample)
        return result is not None and not (set(result.failures) - {ANSWER})

    def _earlier_result(self, sample: Sample) -> SampleResult | None:
        """Return the sample's result of an earlier run, unless it failed transiently."""
        result = self._results.get(sample.id)
        if result is None or result.failures.get(ANSWER, "").startswith(TRANSIENT_FAILURES):
            return None
        return result

    async def _run_sample(self, target: Target, group: Group, sample: Sample) -> bool:
        """Answer and score a sample; return whether the result is final."""
        result = self._earlier_result(sample) or self.task.answered.get(sample.id)
        if result is None:
            output, failure = None, None
            started = time.perf_counter()
            try:
                output = await target.answer(sample, group.id)
            except ModelError as error:
                failure = _message(error)
            seconds = time.perf_counter() - started
            if output is not None and output.seconds is not None:
                seconds = output.seconds
            result = make_result(sample, group.id, output, failure)
            self.folder.append_time(sample.id, seconds)
        result = await self._score(result)
        failures = result.failures.values()
        if self.cost_limit.exceeded and any(
            why.startswith(BudgetExceeded.__name__) for why in failures
        ):
            return False  # cut off by the cost limit: the next run resumes it from the journal
        self._save(result)
        return not any(why.startswith(TRANSIENT_FAILURES) for why in failures)

    async def _score(self, result: SampleResult) -> SampleResult:
        """Add the scores that the result lacks."""
        scores, verdicts = dict(result.scores), dict(result.verdicts)
        failures = {name: why for name, why in result.failures.items() if name == ANSWER}
        for metric in self.task.metrics:
            if result.answer is None and metric.needs_judge:
                scores |= metric.worst
                continue
            if set(metric.worst) <= set(scores):
                continue
            try:
                with naming_metric(metric.name):
                    score = await metric.score(result, self._scoped_judge())
                    check_binary(metric, result, score)
            except ModelError as error:
                failures[metric.name] = _message(error)
                continue
            scores |= score.values
            if score.verdict:
                verdicts[metric.name] = score.verdict
        return replace(result, scores=scores, verdicts=verdicts, failures=failures)

    def _scoped_judge(self) -> ScopedChat | None:
        return self._judge.for_scope(JUDGE_SCOPE) if self._judge else None

    def _save(self, result: SampleResult) -> None:
        self.folder.append(result)
        self._results[result.id] = result
        self.progress(
            Progress(
                done=len(self._results),
                total=count_samples(self.task.groups),
                spent=self.cost_limit.total,
                results=self._results.values(),
            )
        )


def make_result(
    sample: Sample, group: str, output: Output | None, failure: str | None
) -> SampleResult:
    """Return the result of a sample that was answered or failed, without scores."""
    recollection = output.recollection if output else None
    return SampleResult(
        id=sample.id,
        group=group,
        category=sample.category,
        question=sample.dialogue[-1].full_text,
        dialogue=[
            {
                "speaker": turn.speaker,
                "role": turn.role,
                "text": turn.full_text,
                "at": turn.at.isoformat(),
            }
            for turn in sample.dialogue
        ],
        speaker=sample.speaker,
        reference=sample.reference,
        extra=dict(sample.extra),
        answer=output.text if output else None,
        rationale=output.rationale if output else "",
        made_by=output.made_by if output else LOCAL_MODEL,
        recalled=[
            {
                "text": part.text,
                "memories": [memory.id for memory in part.memories],
                "sources": [turn_record(turn) for turn in part.source_turns],
            }
            for part in (recollection.parts if recollection else ())
        ],
        recalled_tokens=count_tokens(recollection.text) if recollection else 0,
        output=dict(output.data) if output else {},
        failures={ANSWER: failure} if failure else {},
    )


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _first_error(group: BaseException) -> BaseException:
    """Return the first exception inside nested groups."""
    while isinstance(group, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", group).exceptions[0]
    return group
