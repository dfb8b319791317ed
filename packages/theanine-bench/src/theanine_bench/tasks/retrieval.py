"""The retrieval bench: how much labeled evidence recall finds, without a language model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import theanine
from theanine.client.client import AsyncClient
from theanine.errors import BadInput, SettingsError
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
from theanine.types import History, Turn, Utterance
from theanine_bench.config import RunConfig
from theanine_bench.datasets.labels import LabeledHistory
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, Stage
from theanine_bench.targets.target import Output, Target, TargetContext, turns_by_key

BENCH = "retrieval"
UNITS = {
    "turn": "utterance",
    "exchange": "exchange",
    "session": "session",
    "segment": "secom",
    "memory": "theanine-paper",
}
"""What is ranked, and the method that keeps it."""
RANKED = 200
"""Units that are retrieved; sessions are ordered by their best unit among these."""
METRICS = (
    *(f"recall@{k}" for k in (1, 2, 5, 10, 20, 50, 100)),
    *("session hit@10", "session hit@5", "nDCG@10", "DCG", "MRR"),
)
BUDGETS = (250, 500, 1_000, 2_000, 4_000, 8_000)
_SINGLE_MEMORIES: Mapping[str, object] = {
    "shuffle": True,
    "link_to": "best",
    "query_turns": 6,
    "query_names": False,
    "budget": 600,
}
"""Settings with which memories are ranked one by one; timelines are another question."""
_OWN_SETTINGS = ("unit", "reranker", "rerank_depth")
"""Settings of the bench; all others are the method's."""


def retrieval_config(
    unit: str = "turn",
    retriever: str = "hybrid",
    *,
    embedder: str = "local",
    reranker: str | None = None,
    rerank_depth: int | None = None,
    settings: Mapping[str, object] | None = None,
) -> RunConfig:
    """Return a run's configuration; ``settings`` are further ones of the unit's method.

    Raises SettingsError for an unknown unit.
    """
    if unit not in UNITS:
        raise SettingsError(f"unknown unit {unit!r}; there are: {', '.join(UNITS)}")
    own: dict[str, object] = {"unit": unit}
    if reranker is not None:
        own |= {"reranker": reranker, "rerank_depth": rerank_depth or DEFAULT_RERANK_DEPTH}
    return RunConfig(
        method=UNITS[unit],
        settings={**own, "retrieval": retriever, **(settings or {})},
        embedder=embedder,
    )


def retrieval_task(
    labeled: Iterable[LabeledHistory],
    data: str,
    *,
    budgets: Sequence[int] = BUDGETS,
    ranking: RankingConfig | None = None,
    metrics: Sequence[str] = (),
) -> Task:
    """Return a task with a sample for each question that has labeled evidence.

    ``data`` is the hash of its files; ``budgets`` are the tokens within which evidence is counted.
    Raises BadInput if no question has usable evidence.
    """
    groups = [_group(one) for one in labeled]
    if not any(group.samples for group in groups):
        raise BadInput("no question has evidence that is a turn's: nothing can be measured")
    names = metrics or (*METRICS, *(f"within {budget}" for budget in budgets))
    return Task(
        bench=BENCH,
        data=data,
        groups=groups,
        metrics=find_metrics(names)[0],
        target=partial(RetrievalTarget, budgets=budgets, ranking=ranking),
        uses_store=False,
    )


def _group(labeled: LabeledHistory) -> Group:
    history = labeled.history
    last = max(turn.at for transcript in history.transcripts for turn in transcript.turns)
    samples = tuple(
        Sample(
            id=question.id,
            category=question.category,
            dialogue=(
                Utterance(text=question.text, speaker=history.name, at=question.asked_at or last),
            ),
            extra={"gold": sorted(map(list, question.gold))},
        )
        for question in labeled.questions
    )
    stage = Stage(histories=(history,), samples=samples)
    return Group(id=history.name, stages=(stage,), dropped=labeled.dropped)


@dataclass(slots=True)
class _Conversation:
    """The client and the turns of a group, whose memory is in a store of its own."""

    client: AsyncClient
    path: Path
    remember_seconds: float = 0.0
    turns: dict[int, Turn] = field(default_factory=dict[int, Turn])
    ids: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    units: list[Sequence[int]] = field(default_factory=list[Sequence[int]])


class RetrievalTarget(Target):
    """The ranking of one unit, with each group in a temporary store of its own.

    Args:
        budgets: token budgets of further recalls, whose evidence is counted.
        ranking: weights of hybrid retrieval, if not the default ones.
    """

    has_facts = True

    def __init__(
        self,
        context: TargetContext,
        budgets: Sequence[int] = (),
        ranking: RankingConfig | None = None,
    ) -> None:
        config = context.config
        own: dict[str, Any] = {name: config.settings.get(name) for name in _OWN_SETTINGS}
        settings: dict[str, object] = {"retrieved": RANKED}
        if own["unit"] == "memory":
            settings |= _SINGLE_MEMORIES
        settings |= {k: v for k, v in config.settings.items() if k not in _OWN_SETTINGS}
        self._open: Any = partial(
            theanine.aopen,
            method=config.method,
            embedder=config.embedder,
            reranker=own["reranker"],
            reranked=own["rerank_depth"] or DEFAULT_RERANK_DEPTH,
            config=settings,
            ranking=ranking,
        )
        self._open("unused.db")  # raises for names and settings that make no sense
        self._budgets = budgets
        self._stack = AsyncExitStack()
        self._conversations: dict[str, _Conversation] = {}

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def remember(self, user: str, histories: Sequence[History]) -> str | None:
        """Import and remember the histories of a group."""
        if user not in self._conversations:
            folder = Path(self._stack.enter_context(TemporaryDirectory()))
            client = await self._stack.enter_async_context(self._open(str(folder / "memory.db")))
            self._conversations[user] = _Conversation(client, folder / "memory.db")
        conversation = self._conversations[user]
        memory = conversation.client.user(user)
        started = time.perf_counter()
        for history in histories:
            await memory.log(history)
        for report in await memory.remember():
            if report.failure:
                return f"session {report.session}: {report.failure}"
        conversation.remember_seconds += time.perf_counter() - started
        await memory.warm_up()  # no recall is by the words alone
        by_key = await turns_by_key(memory)
        conversation.ids = {key: turn.id for key, turn in by_key.items()}
        conversation.turns = {turn.id: turn for turn in by_key.values()}
        conversation.units = [unit.source_turns for unit in await memory.memories()]
        return None

    async def answer(self, sample: Sample, user: str) -> Output:
        """Recall for the question, and rank the units by score; within each budget as well.

        Of a unit, only its gold turns are kept in the output.
        """
        conversation = self._conversations[user]
        turns, memory = conversation.turns, conversation.client.user(user)
        gold = {conversation.ids[session, key] for session, key in sample.extra["gold"]}
        within: dict[str, list[int]] = {}
        returned: dict[str, int] = {}
        for budget in self._budgets:
            recalled = await memory.recall(sample.dialogue, budget=budget)
            within[str(budget)] = sorted(gold & {turn.id for turn in recalled.source_turns})
            returned[str(budget)] = len(recalled.source_turns)
        if not within:
            await memory.recall(sample.dialogue)  # the first recall reads the turns from disk
        started = time.perf_counter()
        recollection = await memory.recall(sample.dialogue)
        seconds = time.perf_counter() - started
        parts = sorted(recollection.parts, key=lambda part: -part.score)
        units = [[turn.id for turn in part.source_turns] for part in parts]
        scores: dict[bool, list[float]] = {True: [], False: []}
        for part, unit in zip(parts, units, strict=True):
            scores[not gold.isdisjoint(unit)].append(part.score)
        return Output(
            seconds=seconds,
            data={
                "gold": sorted(gold),
                "ranked": [sorted(gold & set(unit)) for unit in units],
                "gold_units": [
                    ids for unit in conversation.units if (ids := sorted(gold & set(unit)))
                ],
                "sessions": list(
                    dict.fromkeys(turns[turn].session for unit in units for turn in unit[:1])
                ),
                "gold_sessions": sorted({turns[turn].session for turn in gold}),
                "within": within,
                "returned": returned,
                "scores": {
                    name: fmean(scores[relevant]) if scores[relevant] else None
                    for name, relevant in (("evidence", True), ("others", False))
                },
                "evidence": [_evidence(turns[turn], units) for turn in sorted(gold)],
            },
        )

    async def facts(self, user: str) -> Mapping[str, Any]:
        """Close the group's store; return its sizes and times."""
        conversation = self._conversations[user]
        client, path = conversation.client, conversation.path
        await client.close()
        turns = conversation.turns.values()
        count, texts = len(turns), sum(len(turn.full_text.encode()) for turn in turns)
        size = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
        conversation.turns, conversation.ids, conversation.units = {}, {}, []
        return {
            "conversations": 1,
            "turns": count,
            "index_bytes": size - texts,
            "remember_seconds": conversation.remember_seconds,
            "embedder": client.embedder_name,
            "reranker": client.reranker_name,
        }


def _evidence(turn: Turn, units: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return a gold turn with the rank of the first unit that covers it, or None."""
    rank = next((rank for rank, unit in enumerate(units, 1) if turn.id in unit), None)
    return {"speaker": turn.speaker, "text": turn.full_text, "rank": rank}


def ablations() -> dict[str, RankingConfig]:
    """Return the ranking without each of its parts, by the part's name."""
    whole = RankingConfig()
    no_parts = ("fade", "ahead")  # how neighbors share weight
    parts = [field.name for field in fields(whole) if field.name not in no_parts]
    return {part: replace(whole, **{part: 0}) for part in parts}
