"""Several methods over the same histories, side by side: what each recalls, and what it takes.

Each method has a store of its own, in a folder that is gone afterwards: its disk, its calls and
its time are its own, and none sees what another made.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import theanine
from theanine.errors import ModelError
from theanine.methods.registry import open_method
from theanine.tokenizer import count_tokens
from theanine.types import History, Transcript, Turn, Usage
from theanine_bench.datasets.labels import TurnRef
from theanine_bench.datasets.questions import UserQuestion
from theanine_bench.metrics.ranking import recall_at
from theanine_bench.tasks.comparison import (
    Answer,
    Column,
    Comparison,
    Entrant,
    Piece,
    Question,
    With,
)

if TYPE_CHECKING:
    from theanine.client.sync import Client


Gold = Sequence[frozenset[int]]
"""The numbers of the turns that answer each question, in the order of the questions."""
Progress = Callable[[str], None]
"""Called with a method's label after each of its sessions and questions."""


def compare_methods(
    entrants: Sequence[Entrant],
    histories: Sequence[History],
    asked: Sequence[UserQuestion],
    common: With | None = None,
    progress: Progress = lambda _: None,
) -> Comparison:
    """Let each method remember the histories, session by session, and ask it the questions.

    A session or a recall that fails because of the model is a failure in the result. Raises
    SettingsError, before anything is done, for an unknown method or setting.
    """
    for entrant in entrants:
        open_method(entrant.method, entrant.settings or None)
    common = common or With()
    with TemporaryDirectory(prefix="theanine-compare-") as folder:
        log = _logged(Path(folder) / "log.db", histories, asked)
        _warm(Path(folder) / "warm.db", common)
        columns = [
            _Run(
                entrant,
                Path(folder) / f"{number}.db",
                common,
                log.gold,
                partial(progress, entrant.label),
            ).column(histories, asked)
            for number, entrant in enumerate(entrants)
        ]
    return Comparison(
        sessions=sum(len(history.transcripts) for history in histories),
        said=sum(map(len, log.turns.values())),
        log=log.size,
        questions=[_question(ask, right) for ask, right in zip(asked, log.gold, strict=True)],
        columns=columns,
        turns=_shown(log, asked, columns),
        undated=log.undated,
        unknown=log.unknown,
    )


class _Run:
    """One method, from an empty store to its column."""

    def __init__(
        self, entrant: Entrant, path: Path, common: With, gold: Gold, tick: Callable[[], None]
    ) -> None:
        self._entrant, self._path, self._common = entrant, path, common
        self._gold, self._tick = gold, tick
        self._answers: dict[int, Answer] = {}
        self._seconds = 0.0

    def column(self, histories: Sequence[History], asked: Sequence[UserQuestion]) -> Column:
        """Remember, ask, and add up."""
        waiting: defaultdict[tuple[str, str | None], list[tuple[int, UserQuestion]]] = defaultdict(
            list
        )
        for place, ask in enumerate(asked):
            waiting[ask.user, ask.before].append((place, ask))
        with self._opened() as agent:
            for history in histories:
                for transcript in history.transcripts:
                    self._ask(agent, waiting[history.name, transcript.key])
                    self._remember(agent, history.name, transcript)
            self._retry(agent)
            for history in histories:
                self._ask(agent, waiting[history.name, None])
            counts = [self._kept(agent, history.name) for history in histories]
            failures = {
                f"{one.scope}, session {one.session}": one.failure or "it waits for one that failed"
                for one in agent.pending()
            }
            costs, model = agent.costs(), agent.model_name
        return Column(
            label=self._entrant.label,
            method=self._entrant.method,
            settings=dict(self._entrant.settings),
            model=model,
            memories=sum(memories for memories, _ in counts),
            links=sum(links for _, links in counts),
            failures=failures,
            remember_seconds=self._seconds,
            remembering=sum((line for line in costs if line.session is not None), Usage()),
            recalling=sum((line for line in costs if line.session is None), Usage()),
            disk=_size(self._path),
            answers=[self._answers[place] for place in range(len(asked))],
        )

    def _opened(self) -> Client:
        common = self._common
        return theanine.open(
            str(self._path),
            method=self._entrant.method,
            config=self._entrant.settings or None,
            model=common.model,
            base_url=common.base_url,
            embedder=common.embedder,
            reranker=common.reranker,
            reranked=common.reranked,
            seed=common.seed,
        )

    def _remember(self, agent: Client, user: str, transcript: Transcript) -> None:
        agent.user(user).log(History(name=user, transcripts=[transcript]))
        started = time.perf_counter()
        agent.user(user).remember()
        self._seconds += time.perf_counter() - started
        self._tick()

    def _retry(self, agent: Client) -> None:
        """Once more for what failed: a passing failure is not the method's."""
        if agent.pending():
            started = time.perf_counter()
            agent.remember()
            self._seconds += time.perf_counter() - started

    def _ask(self, agent: Client, asks: Iterable[tuple[int, UserQuestion]]) -> None:
        for place, ask in asks:
            self._answers[place] = self._answer(agent, ask, self._gold[place])
            self._tick()

    def _answer(self, agent: Client, ask: UserQuestion, gold: frozenset[int]) -> Answer:
        started = time.perf_counter()
        try:
            found = agent.user(ask.user).recall(ask.dialogue, budget=self._common.budget)
        except ModelError as error:
            seconds = time.perf_counter() - started
            return Answer(seconds=seconds, found=0.0 if gold else None, failure=str(error))
        seconds = time.perf_counter() - started
        pieces = tuple(
            Piece(
                text=part.text,
                sources=tuple(turn.id for turn in part.source_turns),
                made_by=part.made_by,
            )
            for part in found.parts
        )
        back = [turn.id for turn in found.source_turns]
        return Answer(
            pieces=pieces,
            tokens=count_tokens(found.text),
            seconds=seconds,
            found=recall_at([back], set(gold), 1) if gold else None,
        )

    def _kept(self, agent: Client, user: str) -> tuple[int, int]:
        return len(agent.user(user).memories()), len(agent.user(user).links())


@dataclass(frozen=True, slots=True)
class _Log:
    """A store of the log alone. Every store logs the same sessions in the same order, so turns and
    sessions have the same numbers in all."""

    size: int
    turns: Mapping[str, Mapping[int, Turn]]
    undated: Mapping[str, frozenset[int]]
    gold: Gold
    unknown: Sequence[str]


def _logged(path: Path, histories: Sequence[History], asked: Sequence[UserQuestion]) -> _Log:
    turns: dict[str, dict[int, Turn]] = {}
    undated: dict[str, frozenset[int]] = {}
    places: dict[str, dict[tuple[str, str], int]] = {}
    with theanine.open(str(path), method="no-memory") as agent:
        for history in histories:
            user = history.name
            for transcript in history.transcripts:
                agent.user(user).log(History(name=user, transcripts=[transcript]))
            sessions = {session.id: session for session in agent.user(user).sessions()}
            undated[user] = frozenset(s.id for s in sessions.values() if not s.dated)
            turns[user] = {turn.id: turn for turn in agent.user(user).turns()}
            places[user] = {
                (place, turn.key or ""): turn.id
                for turn in turns[user].values()
                for place in ("", sessions[turn.session].key)
            }
    gold = [
        frozenset(places[ask.user][one] for one in ask.gold if one in places[ask.user])
        for ask in asked
    ]
    return _Log(_size(path), turns, undated, gold, _unknown(asked, places))


def _unknown(asked: Sequence[UserQuestion], places: Mapping[str, Container[TurnRef]]) -> list[str]:
    """Sources of questions that are in none of the histories of which the question is asked."""
    named = {(ask.text, one) for ask in asked for one in ask.gold}
    found = {(ask.text, one) for ask in asked for one in ask.gold if one in places[ask.user]}
    return sorted({":".join(filter(None, place)) for _, place in named - found})


def _warm(path: Path, common: With) -> None:
    """Load the embedder, so that its loading is not the first method's time."""
    with theanine.open(str(path), method="utterance", embedder=common.embedder) as agent:
        with agent.user("warm").session() as talk:
            talk.hear("I love rowing on the lake.")
        agent.user("warm").recall("rowing")


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def _question(ask: UserQuestion, gold: frozenset[int]) -> Question:
    return Question(
        user=ask.user,
        text=ask.text,
        answer=ask.answer,
        category=ask.category,
        gold=tuple(sorted(gold)),
    )


def _shown(
    log: _Log, asked: Sequence[UserQuestion], columns: Sequence[Column]
) -> dict[str, dict[int, Turn]]:
    wanted: defaultdict[str, set[int]] = defaultdict(set)
    for place, ask in enumerate(asked):
        wanted[ask.user] |= log.gold[place]
        for column in columns:
            for piece in column.answers[place].pieces:
                wanted[ask.user].update(piece.sources)
    return {
        user: {number: log.turns[user][number] for number in sorted(numbers)}
        for user, numbers in wanted.items()
    }
