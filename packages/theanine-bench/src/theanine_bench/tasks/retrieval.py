"""The retrieval bench: what recall finds of labelled evidence, through the public face alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import theanine
from theanine.errors import BadInput, SettingsError
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
from theanine.types import History, Turn, Utterance
from theanine_bench.datasets.labels import LabeledHistory
from theanine_bench.metrics.ranking import dcg, hit_at, ndcg_at, recall_at, reciprocal_rank
from theanine_bench.tasks.retrieval_items import Evidence, Item, Run

if TYPE_CHECKING:
    from theanine.client.sync import Client

UNITS = {
    "turn": "utterance",
    "exchange": "exchange",
    "session": "session",
    "segment": "secom",
    "memory": "theanine",
}
"""What is ranked, and the method that keeps it."""
RANKED = 200
"""Units that are asked for; sessions are ordered by their best unit among these."""
KS = (1, 2, 5, 10, 20, 50, 100)
BUDGETS = (250, 500, 1_000, 2_000, 4_000, 8_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What embeds and what reranks, as :func:`theanine.open` takes them."""

    embedder: str = "local"
    reranker: str | None = None
    reranked: int = DEFAULT_RERANK_DEPTH


def bench_retrieval(
    labelled: Iterable[LabeledHistory],
    *,
    unit: str = "turn",
    retrieval: str = "hybrid",
    budgets: Sequence[int] = BUDGETS,
    ranking: RankingConfig | None = None,
    models: Models | None = None,
    settings: Mapping[str, str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Run:
    """Import each conversation, remember it, and ask its questions, as a user would.

    ``settings`` are further ones of the unit's method, by name. Raises BadInput when no question
    has usable evidence, SettingsError for a setting that makes no sense.
    """
    config = _config(unit, retrieval, settings or {})
    parts: list[_Part] = []
    dropped = Counter[str]()
    for one in labelled:
        dropped.update(one.dropped)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            with _opened(path, unit, config, ranking, models or Models()) as agent:
                part = _measured(agent, one, budgets)
            size = sum(file.stat().st_size for file in path.parent.glob("memory.db*"))
            parts.append(replace(part, size=size))
        progress(one.history.name)
    items = [item for part in parts for item in part.items]
    if not items:
        raise BadInput("no question has evidence that is a turn's: nothing can be measured")
    return Run(
        unit=unit,
        retrieval=retrieval,
        items=items,
        settings=settings or {},
        embedder=parts[-1].embedder,
        reranker=parts[-1].reranker,
        conversations=len(parts),
        turns=sum(part.turns for part in parts),
        dropped=dict(dropped),
        index_bytes=sum(part.size - part.words for part in parts),
        remember_seconds=sum(part.remember_seconds for part in parts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One conversation's outcome. ``size`` is of its store, ``words`` of its turns, in bytes."""

    items: Sequence[Item]
    turns: int
    words: int
    remember_seconds: float
    embedder: str
    reranker: str
    size: int = 0


def _measured(agent: Client, one: LabeledHistory, budgets: Sequence[int]) -> _Part:
    seconds = _remembered(agent, one.history)
    turns = agent.user(one.history.name).turns()
    return _Part(
        items=_asked(agent, one, budgets),
        turns=len(turns),
        words=sum(len(turn.full_text.encode()) for turn in turns),
        remember_seconds=seconds,
        embedder=agent.embedder_name,
        reranker=agent.reranker_name,
    )


def _config(unit: str, retrieval: str, settings: Mapping[str, str]) -> dict[str, object]:
    """The method's settings: as many units as are ranked, and what else was asked for."""
    if unit not in UNITS:
        raise SettingsError(f"unknown unit {unit!r}; there are: {', '.join(UNITS)}")
    config: dict[str, object] = {"retrieved": RANKED, "retrieval": retrieval}
    if unit == "memory":
        config["shuffle"] = True  # each memory by itself: timelines are another question
    return {**config, **settings}


def _opened(
    path: Path,
    unit: str,
    config: Mapping[str, object],
    ranking: RankingConfig | None,
    models: Models,
) -> Client:
    return theanine.open(
        str(path),
        method=UNITS[unit],
        embedder=models.embedder,
        reranker=models.reranker,
        reranked=models.reranked,
        config=config,
        ranking=ranking,
    )


def ablations() -> dict[str, RankingConfig]:
    """The ranking without each of its parts, by the part's name."""
    whole = RankingConfig()
    # Two only say how neighbours lend weight, one where approximate search begins.
    no_parts = ("fade", "ahead", "exact_upto")
    parts = [field.name for field in fields(whole) if field.name not in no_parts]
    return {part: replace(whole, **{part: 0}) for part in parts}


def _remembered(agent: Client, history: History) -> float:
    """Seconds that it took."""
    started = time.perf_counter()
    agent.user(history.name).log(history)
    agent.user(history.name).remember()
    return time.perf_counter() - started


def _asked(agent: Client, one: LabeledHistory, budgets: Sequence[int]) -> list[Item]:
    user = one.history.name
    sessions = {session.id: session.key for session in agent.user(user).sessions()}
    turns = {turn.id: turn for turn in agent.user(user).turns()}
    by_place = {
        (place, turn.key or ""): turn.id
        for turn in turns.values()
        for place in ("", sessions[turn.session])
    }
    units = [memory.source_turns for memory in agent.user(user).memories()]
    last = max(turn.at for turn in turns.values())
    items: list[Item] = []
    for question in one.questions:
        gold = {by_place[place] for place in question.gold}
        asked = [Utterance(text=question.text, speaker=user, at=question.asked_at or last)]
        agent.user(user).recall(asked)  # the first of each question reads its turns from the disk
        started = time.perf_counter()
        found = agent.user(user).recall(asked)
        seconds = time.perf_counter() - started
        parts = sorted(found.parts, key=lambda part: -part.score)
        ranked = [[turn.id for turn in part.source_turns] for part in parts]
        item = Item(
            id=question.id,
            category=question.category,
            asked=question.text,
            evidence=[_evidence(turns[turn], ranked) for turn in sorted(gold)],
            measures=_ranking_measures(ranked, gold, turns, units)
            | _within(agent, asked, user, gold, budgets),
            seconds=seconds,
        )
        items.append(item)
    return items


def _evidence(turn: Turn, ranked: Sequence[Sequence[int]]) -> Evidence:
    rank = next((rank for rank, unit in enumerate(ranked, 1) if turn.id in unit), None)
    return Evidence(speaker=turn.speaker, text=turn.full_text, rank=rank)


def _ranking_measures(
    ranked: Sequence[Sequence[int]],
    gold: set[int],
    turns: Mapping[int, Turn],
    units: Sequence[Sequence[int]],
) -> dict[str, float]:
    """Of the units' order alone, as if there were room for each."""
    best = [turns[turn].session for unit in ranked for turn in unit[:1]]
    wanted = {turns[turn].session for turn in gold}
    found = {f"recall@{k}": recall_at(ranked, gold, k) for k in KS}
    found |= {f"session hit@{k}": hit_at(best, wanted, k) for k in (10, 5)}
    found["nDCG@10"] = ndcg_at(ranked, gold, 10, units)
    found["DCG"] = dcg(ranked, gold)
    found["MRR"] = reciprocal_rank(ranked, gold)
    return found


def _within(
    agent: Client,
    asked: Sequence[Utterance],
    user: str,
    gold: set[int],
    budgets: Sequence[int],
) -> dict[str, float]:
    """Evidence that comes back within so many tokens."""
    found: dict[str, float] = {}
    for budget in budgets:
        sources = [turn.id for turn in agent.user(user).recall(asked, budget=budget).source_turns]
        found[f"within {budget}"] = recall_at([sources], gold, 1)
    return found
