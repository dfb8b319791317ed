"""The retrieval bench: what recall finds of labelled evidence, through the public face alone."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import theanine
from theanine.conversation import History, Utterance
from theanine.errors import BadInput, SettingsError
from theanine.evaluation.datasets.evidence import Labelled, Question
from theanine.evaluation.metrics.intervals import Interval, interval
from theanine.evaluation.metrics.ranking import dcg, hit_at, ndcg_at, recall_at, reciprocal_rank
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.rerank import TOP

if TYPE_CHECKING:
    from theanine.sync import Agent

UNITS = {
    "turn": "utterance",
    "exchange": "turn",
    "session": "session",
    "segment": "secom",
    "memory": "theanine",
}
"""What is ranked, and the method that keeps it."""
RANKED = 200
"""Units that are asked for; sessions are ordered by their best unit among these."""
KS = (5, 10, 20)
BUDGETS = (500, 1_000, 2_000, 4_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One question's outcome: each measure by name, and how long the ranking took."""

    id: str
    category: str
    measures: Mapping[str, float]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What embeds and what reranks, as :func:`theanine.open` takes them."""

    embedder: str = "local"
    reranker: str | None = None
    reranked: int = TOP


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run over a set.

    Attributes:
        embedder, reranker: their full names; the latter is empty when there is none.
        dropped: labels that could not be used, by reason.
        index_bytes: of all stores together, less the words of their turns.
    """

    unit: str
    retrieval: str
    items: Sequence[Item]
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    index_bytes: int = 0
    remember_seconds: float = 0.0
    embedder: str = ""
    reranker: str = ""

    def measures(self, category: str | None = None) -> dict[str, Interval]:
        """Each measure's mean with its interval, over all questions or those of a category."""
        chosen = [item for item in self.items if category in (None, item.category)]
        names = chosen[0].measures if chosen else ()
        return {name: interval([item.measures[name] for item in chosen]) for name in names}

    @property
    def categories(self) -> list[str]:
        """The categories, sorted."""
        return sorted({item.category for item in self.items})


def bench_retrieval(
    labelled: Iterable[Labelled],
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
    items: list[Item] = []
    dropped: defaultdict[str, int] = defaultdict(int)
    size, seconds, names = 0, 0.0, ("", "")
    for one in labelled:
        for reason, count in one.dropped.items():
            dropped[reason] += count
        with TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            config = _config(unit, retrieval, settings or {})
            with _opened(path, unit, config, ranking, models or Models()) as agent:
                names = (agent.embedder_name, agent.reranker_name)
                seconds += _remembered(agent, one.history)
                items += _asked(agent, one, budgets)
                words = sum(len(t.words.encode()) for t in agent.turns(one.history.name))
            size += sum(file.stat().st_size for file in path.parent.glob("memory.db*")) - words
        progress(one.history.name)
    if not items:
        raise BadInput("no question has evidence that is a turn's: nothing can be measured")
    return Run(
        unit=unit,
        retrieval=retrieval,
        items=items,
        dropped=dict(dropped),
        index_bytes=size,
        remember_seconds=seconds,
        embedder=names[0],
        reranker=names[1],
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
) -> Agent:
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


def _remembered(agent: Agent, history: History) -> float:
    """Seconds that it took."""
    started = time.perf_counter()
    agent.log(history)
    agent.remember(history.name)
    return time.perf_counter() - started


def _asked(agent: Agent, one: Labelled, budgets: Sequence[int]) -> list[Item]:
    user = one.history.name
    sessions = {session.id: session.key for session in agent.sessions(user)}
    turns = agent.turns(user)
    session_of = {turn.id: turn.session for turn in turns}
    by_place = {
        (place, turn.key or ""): turn.id for turn in turns for place in ("", sessions[turn.session])
    }
    units = [memory.sources for memory in agent.memories(user)]
    last = max(turn.at for turn in turns)
    items: list[Item] = []
    for question in one.questions:
        gold = {by_place[place] for place in question.gold}
        asked = [Utterance(text=question.text, speaker=user, at=question.asked_at or last)]
        agent.recall(asked, user)  # the first of each question reads its turns from the disk
        started = time.perf_counter()
        found = agent.recall(asked, user)
        seconds = time.perf_counter() - started
        parts = sorted(found.parts, key=lambda part: -part.score)
        ranked = [[turn.id for turn in part.sources] for part in parts]
        best = [session_of[turn] for unit in ranked for turn in unit[:1]]
        measures = {f"recall@{k}": recall_at(ranked, gold, k) for k in KS}
        measures["session hit@10"] = hit_at(best, {session_of[turn] for turn in gold}, 10)
        measures["session hit@5"] = hit_at(best, {session_of[turn] for turn in gold}, 5)
        measures["nDCG@10"] = ndcg_at(ranked, gold, 10, units)
        measures["DCG"] = dcg(ranked, gold)
        measures["MRR"] = reciprocal_rank(ranked, gold)
        measures |= _within(agent, asked, user, gold, budgets)
        items.append(_item(question, measures, seconds))
    return items


def _within(
    agent: Agent,
    asked: Sequence[Utterance],
    user: str,
    gold: set[int],
    budgets: Sequence[int],
) -> dict[str, float]:
    """Evidence that comes back within so many tokens."""
    found: dict[str, float] = {}
    for budget in budgets:
        sources = [turn.id for turn in agent.recall(asked, user, budget=budget).sources]
        found[f"within {budget}"] = recall_at([sources], gold, 1)
    return found


def _item(question: Question, measures: Mapping[str, float], seconds: float) -> Item:
    return Item(id=question.id, category=question.category, measures=measures, seconds=seconds)
