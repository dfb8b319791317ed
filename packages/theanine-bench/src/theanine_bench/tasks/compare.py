"""The compare bench: what several methods recall of the same histories, and what each costs.

A group is one method with one history, in a store of its own, so that its disk space, calls and
times are its own.
"""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import theanine
from theanine.client.client import AsyncClient
from theanine.methods.registry import open_method
from theanine.private_files import make_folder
from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
from theanine.types import History, Transcript, Turn, Usage
from theanine_bench.config import RunConfig
from theanine_bench.datasets.labels import find_turns
from theanine_bench.datasets.questions import UserQuestion
from theanine_bench.metrics.evidence import (
    EVIDENCE,
    PRECISION,
    EvidencePrecision,
    EvidenceRecalled,
)
from theanine_bench.runs.folder import STORES, RunFolder
from theanine_bench.runs.saved_run import SavedRun
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, SampleResult, Stage, turn_record
from theanine_bench.statistics.intervals import mean_interval
from theanine_bench.statistics.paired import PairedComparison, compare_paired, show_p_value
from theanine_bench.targets.models import ModelWrapper
from theanine_bench.targets.target import Output, Target, TargetContext, turns_by_key
from theanine_bench.tasks.export import ResultTable

BENCH = "compare"
SEVERAL = "several"
"""``RunConfig.method`` of a comparison; its settings name the methods."""
TABLE_COLUMNS = (
    *("", "memories", "links", "failed", "given back", "evidence", "precision"),
    *("remember", "recall", "calls", "tokens", "money", "disk"),
)
EVIDENCE_COLUMNS = ("", "of labelled turns", "mean", "questions", "against the first", "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMethod:
    """A method id with settings, under a label."""

    label: str
    method: str
    settings: Mapping[str, object] = field(default_factory=dict[str, object])


def compare_config(
    methods: Sequence[ComparedMethod],
    *,
    reranker: str | None = None,
    rerank_depth: int | None = None,
    **config: Any,
) -> RunConfig:
    """Return a run's configuration; ``config`` are its other fields, the same for all methods.

    Raises SettingsError for an unknown method or setting.
    """
    for one in methods:
        open_method(one.method, one.settings or None)
    settings: dict[str, object] = {"methods": [asdict(one) for one in methods]}
    if reranker is not None:
        settings |= {"reranker": reranker, "rerank_depth": rerank_depth or DEFAULT_RERANK_DEPTH}
    return RunConfig(method=SEVERAL, settings=settings, **config)


def compare_task(
    labels: Sequence[str],
    histories: Sequence[History],
    questions: Sequence[UserQuestion],
    limit: int | None = None,
) -> Task:
    """Return a task with a sample for each method and question; its category is the label.

    ``labels`` are those of the configuration's methods; ``limit`` keeps at most so many questions,
    evenly spaced.
    """
    asked = list(enumerate(questions, 1))
    if limit is not None and limit < len(asked):
        asked = [asked[i * len(asked) // limit] for i in range(limit)]
    extras = _labels(asked, histories)
    groups: list[Group] = []
    group_labels: dict[str, str] = {}
    for label in labels:
        for history in histories:
            waiting: defaultdict[str | None, list[Sample]] = defaultdict(list)
            for number, question in asked:
                if question.user == history.name:
                    sample = Sample(
                        id=f"{label}/{number}",
                        category=label,
                        dialogue=question.dialogue,
                        reference=question.answer,
                        extra=extras[number],
                    )
                    waiting[question.before].append(sample)
            group = Group(id=f"{label}/{history.name}", stages=tuple(_stages(history, waiting)))
            groups.append(group)
            group_labels[group.id] = label
    content = [
        (q.user, q.dialogue, q.answer, q.category, sorted(q.gold), q.before) for q in questions
    ]
    return Task(
        bench=BENCH,
        data=hashlib.sha256(repr((list(histories), content)).encode()).hexdigest(),
        groups=groups,
        metrics=[EvidenceRecalled(), EvidencePrecision()],
        target=partial(CompareTarget, labels=group_labels),
        uses_store=False,
    )


def _labels(
    asked: Sequence[tuple[int, UserQuestion]], histories: Sequence[History]
) -> dict[int, dict[str, Any]]:
    """Return what metrics and pages need of each question, by its number.

    A source is unknown if no history has it of which the same question is asked.
    """
    by_name = {history.name: history for history in histories}
    turns = {number: find_turns(one.gold, by_name[one.user]) for number, one in asked}
    known: defaultdict[str, set[Any]] = defaultdict(set)
    for number, question in asked:
        known[question.text].update(turns[number])
    return {
        number: {
            "number": number,
            "user": question.user,
            "category": question.category,
            "gold": sorted(map(list, turns[number])),
            "evidence": [
                {"speaker": turn.speaker, "text": turn.full_text} for turn in turns[number].values()
            ],
            "unknown": sorted(
                ":".join(filter(None, ref)) for ref in question.gold - known[question.text]
            ),
        }
        for number, question in asked
    }


def _stages(history: History, waiting: dict[str | None, list[Sample]]) -> list[Stage]:
    """Return stages in which samples come right before their session, or after the last one."""
    stages: list[Stage] = []
    transcripts: list[Transcript] = []

    def add_stage(samples: Sequence[Sample]) -> None:
        learned = (replace(history, transcripts=tuple(transcripts)),) if transcripts else ()
        stages.append(Stage(histories=learned, samples=tuple(samples)))
        transcripts.clear()

    for transcript in history.transcripts:
        if samples := waiting.pop(transcript.key, None):
            add_stage(samples)
        transcripts.append(transcript)
    add_stage(waiting.pop(None, []))
    return stages


class _SharedModel(ModelWrapper):
    """A model of several clients, which outlives each of them."""

    async def close(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class _Memory:
    """The client of a group, whose memory is in a store of its own.

    Attributes:
        seconds: time spent remembering, without logging; None if an earlier process that didn't
            report it has remembered a part.
        turns: by session key (empty as well) and turn key.
    """

    client: AsyncClient
    path: Path
    seconds: float | None
    turns: dict[tuple[str, str], Turn] = field(default_factory=dict[tuple[str, str], Turn])


class CompareTarget(Target):
    """The compared methods, each with each history in ``stores/N.db`` of the run's folder.

    ``labels`` has the method's label of each group.
    """

    has_facts = True

    def __init__(self, context: TargetContext, labels: Mapping[str, str]) -> None:
        config = context.config
        settings: dict[str, Any] = dict(config.settings)
        self._context, self._labels = context, labels
        self._models = {
            "model": context.metered_model(),
            "memory_model": context.metered_memory_model(),
        }
        shared = {
            option: _SharedModel(model) if isinstance(model, ModelWrapper) else model
            for option, model in self._models.items()
        }
        self._open = {
            one["label"]: partial(
                theanine.aopen,
                method=one["method"],
                config=one["settings"] or None,
                **shared,
                embedder=config.embedder,
                reranker=settings.get("reranker"),
                reranked=settings.get("rerank_depth", DEFAULT_RERANK_DEPTH),
                seed=config.seed,
            )
            for one in settings["methods"]
        }
        for open_client in self._open.values():
            open_client("unused.db")  # raises for names and settings that make no sense
        self._earlier_facts = RunFolder(context.folder).facts()
        self._memories: dict[str, _Memory] = {}
        self._logged: dict[str, list[History]] = defaultdict(list)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Load the embedder, so that its loading is not in the first method's time."""
        with TemporaryDirectory() as folder:
            embedder = self._context.config.embedder
            async with theanine.aopen(
                f"{folder}/warm.db", method="utterance", embedder=embedder
            ) as client:
                memory = client.user("warm")
                async with memory.session() as session:
                    await session.hear("I love rowing on the lake.")
                await memory.recall("rowing")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()
        for model in self._models.values():
            if isinstance(model, ModelWrapper):
                await model.close()

    async def remember(self, user: str, histories: Sequence[History]) -> str | None:
        """Log and remember session by session; a session that fails is tried once more."""
        group = self._memories.get(user) or await self._open_memory(user)
        memory = group.client.user(user)
        for history in histories:
            self._logged[user].append(history)
            for transcript in history.transcripts:
                await memory.log(replace(history, transcripts=[transcript]))
                await self._remember(group, user)
        if await memory.pending():
            await self._remember(group, user)
        await memory.warm_up()  # no recall is by the words alone
        group.turns = await turns_by_key(memory)
        for one in await memory.pending():
            return f"session {one.session}: {one.failure}"
        return None

    async def _open_memory(self, user: str) -> _Memory:
        number = list(self._labels).index(user) + 1
        path = self._context.folder / STORES / f"{number}.db"
        make_folder(path.parent)
        known = self._earlier_facts.get(user, {}) if path.exists() else {"remember_seconds": 0.0}
        client = await self._stack.enter_async_context(self._open[self._labels[user]](str(path)))
        self._memories[user] = _Memory(client, path, known.get("remember_seconds"))
        return self._memories[user]

    async def _remember(self, group: _Memory, user: str) -> None:
        started = time.perf_counter()
        await group.client.user(user).remember()
        if group.seconds is not None:
            group.seconds += time.perf_counter() - started

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return what the method recalls for the question."""
        group = self._memories[user]
        started = time.perf_counter()
        recollection = await group.client.user(user).recall(
            sample.dialogue, budget=self._context.config.budget
        )
        seconds = time.perf_counter() - started
        gold = (group.turns[session, key] for session, key in sample.extra["gold"])
        return Output(
            recollection=recollection,
            seconds=seconds,
            data={
                "made_by": [part.made_by for part in recollection.parts],
                "gold": [turn_record(turn) for turn in gold],
            },
        )

    async def facts(self, user: str) -> Mapping[str, Any]:
        """Close the group's store; return its sizes, times, costs and failures."""
        if user not in self._memories:
            return {}
        group = self._memories[user]
        memory = group.client.user(user)
        memories, links = len(await memory.memories()), len(await memory.links())
        sessions, turns = await memory.sessions(), len(await memory.turns())
        failures = {
            f"{user.removeprefix(self._labels[user] + '/')}, session {one.session}": one.failure
            or "it waits for one that failed"
            for one in await memory.pending()
        }
        costs = await group.client.costs()
        await group.client.close()
        return {
            "label": self._labels[user],
            "model": group.client.model_name,
            "sessions": len(sessions),
            "turns": turns,
            "memories": memories,
            "links": links,
            "failures": failures,
            "remember_seconds": group.seconds,
            "remembering": asdict(sum((c for c in costs if c.session is not None), Usage())),
            "recalling": asdict(sum((c for c in costs if c.session is None), Usage())),
            "bytes": _size(group.path),
            "log_bytes": await _log_size(self._logged[user]),
        }


async def _log_size(histories: Sequence[History]) -> int:
    """Return the bytes of a store that only holds the log."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        async with theanine.aopen(str(path), method="no-memory") as client:
            for history in histories:
                for transcript in history.transcripts:
                    await client.user(history.name).log(replace(history, transcripts=[transcript]))
        return _size(path)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResults:
    """The memories, recollections and costs of a method in a run.

    Attributes:
        model: the language model, or ``local``.
        failures: why sessions are not remembered, by session.
        remember_seconds: time spent remembering, without logging; None if unknown.
        remembering, recalling: usage of the model for each.
        disk: bytes of its stores when they are closed.
        results: by the question's number.
        seconds: latency of a recall, by sample id.
    """

    label: str
    method: str
    settings: Mapping[str, object]
    model: str
    sessions: int
    turns: int
    memories: int
    links: int
    failures: Mapping[str, str]
    remember_seconds: float | None
    remembering: Usage
    recalling: Usage
    disk: int
    log: int
    results: Mapping[int, SampleResult]
    seconds: Mapping[str, float]

    @property
    def tokens(self) -> float | None:
        """Mean tokens recalled for a question."""
        tokens = [result.recalled_tokens for result in self.results.values()]
        return fmean(tokens) if tokens else None

    @property
    def recall_seconds(self) -> float | None:
        """Median latency of a recall."""
        return median(self.seconds.values()) if self.seconds else None

    @property
    def evidence(self) -> float | None:
        """The mean share of evidence that was recalled; a failed recall counts as none."""
        return self._mean(EVIDENCE)

    @property
    def precision(self) -> float | None:
        """The mean share of the recalled turns that are evidence, where any were recalled."""
        return self._mean(PRECISION)

    def _mean(self, name: str) -> float | None:
        scores = [one.scores[name] for one in self.scored(name)]
        return fmean(scores) if scores else None

    def scored(self, name: str) -> list[SampleResult]:
        """Return the results that have a score, by the questions' numbers, which all share."""
        return [
            replace(result, id=str(number))
            for number, result in sorted(self.results.items())
            if name in result.scores
        ]


def method_results(run: SavedRun) -> list[MethodResults]:
    """Return the results of each method of a run, also of an unfinished one."""
    return [
        _method_results(run, ComparedMethod(**one))
        for one in run.settings["config"]["settings"]["methods"]
    ]


def _method_results(run: SavedRun, method: ComparedMethod) -> MethodResults:
    results = [result for result in run.results.values() if result.category == method.label]
    facts = [one for one in run.facts.values() if one["label"] == method.label]
    seconds = [one["remember_seconds"] for one in facts]
    return MethodResults(
        label=method.label,
        method=method.method,
        settings=method.settings,
        model=next((one["model"] for one in facts), run.settings["config"]["model"]),
        sessions=sum(one["sessions"] for one in facts),
        turns=sum(one["turns"] for one in facts),
        memories=sum(one["memories"] for one in facts),
        links=sum(one["links"] for one in facts),
        failures={where: why for one in facts for where, why in one["failures"].items()},
        remember_seconds=None if None in seconds else sum(seconds),
        remembering=sum((Usage(**one["remembering"]) for one in facts), Usage()),
        recalling=sum((Usage(**one["recalling"]) for one in facts), Usage()),
        disk=sum(one["bytes"] for one in facts),
        log=sum(one["log_bytes"] for one in facts),
        results={result.extra["number"]: result for result in results},
        seconds={r.id: run.seconds[r.id] for r in results if r.id in run.seconds},
    )


def unknown_sources(run: SavedRun) -> list[str]:
    """Return the sources of questions that no turn is called, sorted; they count for nothing."""
    return sorted({name for result in run.results.values() for name in result.extra["unknown"]})


def result_table(run: SavedRun) -> ResultTable:
    """Return a row for each method: what it stores, recalls and costs."""
    rows = [
        [
            one.label,
            str(one.memories),
            str(one.links),
            str(len(one.failures)),
            "–" if one.tokens is None else f"{one.tokens:.0f}",
            "–" if one.evidence is None else f"{one.evidence:.0%}",
            "–" if one.precision is None else f"{one.precision:.0%}",
            "–" if one.remember_seconds is None else f"{one.remember_seconds:.2f} s",
            "–" if one.recall_seconds is None else f"{one.recall_seconds * 1000:.1f} ms",
            _calls(one),
            f"{(both := one.remembering + one.recalling).input_tokens:,} + {both.output_tokens:,}",
            "unknown" if both.cost is None else f"${both.cost:.4f}",
            f"{one.disk / 1000:.0f} kB",
        ]
        for one in method_results(run)
    ]
    return ResultTable(TABLE_COLUMNS, rows)


def evidence_table(run: SavedRun) -> ResultTable:
    """Return a row for each score of a method, with its difference from the first method's.

    All have 95 % intervals; differences are over the questions that both methods have.
    """
    first, *others = method_results(run)
    rows: list[list[str]] = []
    for name in (EVIDENCE, PRECISION):
        for one in (first, *others):
            if not (scored := one.scored(name)):
                continue
            row = [one.label, name, str(mean_interval([each.scores[name] for each in scored]))]
            row.append(str(len(scored)))
            pairs = compare_paired(scored, first.scored(name)) if one in others else ()
            pair = next((pair for pair in pairs if pair.measure == name), None)
            rows.append(
                row + (["–", "–"] if pair is None else [_difference(pair), show_p_value(pair.p)])
            )
    return ResultTable(EVIDENCE_COLUMNS, rows)


def _difference(pair: PairedComparison) -> str:
    return str(pair.interval or f"{pair.difference:.3f}")


def _calls(one: MethodResults) -> str:
    failed = one.remembering.failed + one.recalling.failed
    calls = f"{one.remembering.calls} + {one.recalling.calls}"
    return calls + (f", {failed} failed" if failed else "")
