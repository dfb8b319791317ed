"""The links bench: are links between statements right, and few?

Three kinds of samples: a labeled pair, which the linker judges alone; a labeled pair of turns in
its history, whose older turn must be among the newer one's candidates; and a whole history, whose
links are counted and compared with gold edges, or with what its readers marked, where it has some.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from zlib import crc32

import numpy as np

from theanine.client.user import AsyncUserMemory
from theanine.clock import system_clock
from theanine.embeddings.static import StaticEmbedder
from theanine.errors import BadInput
from theanine.graph import Graph
from theanine.importers import read_histories
from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.associates import spread
from theanine.methods.theanine.relate import Scene, relate
from theanine.retrieval.ranking import Ranking, Unit
from theanine.retrieval.word_rows import WordRows
from theanine.text.words import containment, content_words
from theanine.types import History, Memory, NewMemory, Scope, Turn, Utterance
from theanine_bench.datasets.asked import AskedHistory, Reading, read_asked
from theanine_bench.datasets.formats.causaleval import CausalGraph, read_causal_graphs
from theanine_bench.datasets.links import (
    LabeledPair,
    PairedStatement,
    read_bundled,
    read_pairs,
)
from theanine_bench.files import hash_files
from theanine_bench.metrics.links import KEPT, NONE, TYPED, relation_class
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, Stage
from theanine_bench.targets.target import ClientTarget, Output, TargetContext
from theanine_methods.memory_update.local_decide import local_decide

T = TypeVar("T")

BENCH = "links"
METRICS = ("link", "relation", "same", "update", "candidates", "edges", "readers", "graph")
SCOPE = Scope("bench links")
"""The scope of the model's calls about single pairs in the journal."""
SAME = 0.8
"""Share of each statement's content words in the other at which they say the same."""
ADJACENT = 2
"""Turns between a candidate and the older turn of a pair up to which it counts as found."""
_UNDATED = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedHistory:
    """A history whose links are measured.

    Attributes:
        pairs: labeled pairs of its turns, by key, for the candidates.
        edges: keys of the two turns of each gold edge between sessions.
        readings: what readers found to belong together; the keys of turns are their places.
    """

    history: History
    pairs: Sequence[tuple[str, str]] = ()
    edges: Sequence[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    readings: Sequence[Reading] = ()


def read_links(files: Sequence[Path], sets: Path | None) -> Task:
    """Return the task of files and of a folder with LoCoMo, MSC and CausalEval.

    The files have labeled pairs, or diaries in which readers have marked what belongs together.
    Without files, the pairs are the bundled ones. Raises BadInput.
    """
    hashes = [hash_files(file) for file in files]
    pairs: list[LabeledPair] = []
    histories: list[LinkedHistory] = []
    for file in files:
        if _has_diaries(file):
            histories += [_diary(asked) for asked in read_asked(file) if asked.readings]
        else:
            pairs += read_pairs(file)
    if sets is not None:
        bundled = read_bundled(sets)
        pairs = pairs or bundled
        for folder in ("locomo", "msc", "memories", "causaleval"):
            if (sets / folder).is_dir():
                hashes.append(hash_files(sets / folder))
        for file in sorted((sets / "locomo").glob("*.json")):
            histories += [
                LinkedHistory(history=history, pairs=typed_turns(bundled, history))
                for history in read_histories(file).histories
            ]
        if (sets / "causaleval").is_dir():
            histories += [
                _graph_history(graph) for graph in read_causal_graphs(sets / "causaleval")
            ]
    return links_task(pairs, histories, sha256(" ".join(hashes).encode()).hexdigest())


def _has_diaries(file: Path) -> bool:
    with file.open(encoding="utf-8") as lines, suppress(ValueError):
        return "turns" in json.loads(next(lines, "{}"))
    return False


def _diary(asked: AskedHistory) -> LinkedHistory:
    turns = tuple(replace(turn, key=str(place)) for place, turn in enumerate(asked.turns))
    history = replace(asked, turns=turns).history
    return LinkedHistory(history=replace(history, name=asked.id), readings=asked.readings)


def _graph_history(graph: CausalGraph) -> LinkedHistory:
    return LinkedHistory(history=graph.labeled.history, edges=edges_between_sessions(graph))


def edges_between_sessions(graph: CausalGraph) -> list[tuple[str, str]]:
    """Return the keys of the two turns of each edge whose turns are in two sessions."""
    session = _sessions(graph.labeled.history)
    return [
        (edge.older, edge.newer)
        for edge in graph.edges
        if session[edge.older] != session[edge.newer]
    ]


def links_task(pairs: Sequence[LabeledPair], histories: Sequence[LinkedHistory], data: str) -> Task:
    """Return the task. ``data`` is a hash of what was read.

    Raises BadInput if there is nothing to measure.
    """
    agreed = [pair for pair in pairs if pair.agreed]
    if not agreed and not histories:
        raise BadInput("no labeled pairs and no histories: nothing can be measured")
    dropped = Counter({"pairs whose two readers disagree": len(pairs) - len(agreed)})
    groups: list[Group] = []
    if agreed:
        samples = tuple(
            Sample(
                id=f"pair/{number}/{pair.id}",
                category=pair.part,
                dialogue=_dialogue(pair),
                extra=_extra(pair),
            )
            for number, pair in enumerate(agreed, 1)
        )
        groups.append(Group(id="pairs", stages=(Stage(samples=samples),), dropped=+dropped))
    for one in histories:
        name = one.history.name
        samples = tuple(
            Sample(
                id=f"{name}/{number}",
                dialogue=(_utterance(f"Which turns may {newer} be linked to?"),),
                extra={"kind": "candidates", "older": older, "newer": newer},
            )
            for number, (older, newer) in enumerate(one.pairs, 1)
        )
        whole = Sample(
            id=f"{name}/graph",
            dialogue=(_utterance(f"Which links does {name} have?"),),
            extra={
                "kind": "graph",
                "edges": [list(edge) for edge in one.edges],
                "readings": [reading.to_json() for reading in one.readings],
            },
        )
        stage = Stage(histories=(one.history,), samples=(*samples, whole))
        groups.append(Group(id=name, stages=(stage,)))
    metrics, corpus = find_metrics(METRICS)
    return Task(
        bench=BENCH,
        data=data,
        groups=groups,
        metrics=metrics,
        corpus_metrics=corpus,
        target=LinkTarget,
    )


def typed_turns(pairs: Sequence[LabeledPair], history: History) -> list[tuple[str, str]]:
    """Return the keys of turns in two sessions that two readers relate other than by topic.

    The pairs with one reader were found among candidates, and would measure them too well.
    """
    session = _sessions(history)
    return [
        (pair.older.reference, pair.newer.reference)
        for pair in pairs
        if pair.history == history.name
        and pair.label == pair.second_label
        and pair.label in TYPED
        and session.get(pair.older.reference) != session.get(pair.newer.reference)
    ]


def _sessions(history: History) -> dict[str, str | None]:
    """Return the key of each turn's session, by the turn's key."""
    return {
        turn.key: transcript.key
        for transcript in history.transcripts
        for turn in transcript.turns
        if turn.key
    }


def _extra(pair: LabeledPair) -> dict[str, Any]:
    older, newer = content_words(pair.older.text), content_words(pair.newer.text)
    same = min(containment(older, newer), containment(newer, older)) >= SAME
    return {
        "kind": "pair",
        "label": pair.label,
        "same": same,
        "half": "rest" if crc32(pair.history.encode()) % 2 else "development",
        "older": _side(pair.older),
        "newer": _side(pair.newer),
    }


def _side(side: PairedStatement) -> dict[str, Any]:
    return {"speaker": side.speaker, "day": side.day.isoformat() if side.day else None}


def _dialogue(pair: LabeledPair) -> tuple[Utterance, ...]:
    return tuple(
        _utterance(one.text, one.speaker or "statement") for one in (pair.older, pair.newer)
    )


def _utterance(text: str, speaker: str = "bench") -> Utterance:
    return Utterance(text=text, speaker=speaker, at=_UNDATED)


class LinkTarget(ClientTarget):
    """The client that the run's configuration describes, and its linker by itself."""

    def __init__(self, context: TargetContext) -> None:
        super().__init__(context)
        self._store = context.store
        self._chat = context.open_chat()
        self._rankings: dict[str, tuple[Ranking, list[Turn]]] = {}

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        # The journal only keeps calls of known scopes.
        if self._chat:
            await self._store.start_session(SCOPE, system_clock(), key=SCOPE.user)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._chat:
            await self._chat.close()
        await super().__aexit__(kind, error, trace)

    async def answer(self, sample: Sample, user: str) -> Output:
        """Judge the pair, look for the older turn, or describe the history's links."""
        extra = sample.extra
        if extra["kind"] == "pair":
            return await self._judge(sample)
        if extra["kind"] == "candidates":
            return Output(data={"rank": await self._rank(user, extra["older"], extra["newer"])})
        edges = {tuple[str, str](edge) for edge in extra["edges"]}
        data = await count_links(self.client.user(user), edges)
        if extra["readings"]:
            told = [Reading.from_json(reading) for reading in extra["readings"]]
            data |= await compare_links(self.client.user(user), told)
        return Output(data=data)

    async def _judge(self, sample: Sample) -> Output:
        older, newer = sample.extra["older"], sample.extra["newer"]
        before_text, after_text = (one.text for one in sample.dialogue)
        dated = bool(older["day"] and newer["day"])
        before = _at(older["day"]) if dated else _UNDATED
        after = _at(newer["day"]) if dated else _UNDATED + timedelta(days=1)
        memory = Memory(
            id=1,
            session=1,
            text=before_text,
            at=before,
            session_ended_at=before,
            speakers=_speakers(older),
            dated=dated,
        )
        new = NewMemory(text=after_text, at=after, source_turns=(), speakers=_speakers(newer))
        vectors = StaticEmbedder().vectors([memory.text, new.text])
        pair = Pair(memory, 0, new, float(vectors[0] @ vectors[1]))
        scene = Scene(session=2, dated=dated, turns=[], dialogue=_no_turns, load=_no_turns)
        chat = self._chat.for_scope(SCOPE) if self._chat else None
        (judgement,) = await relate([pair], scene, mode="memory", chat=chat)
        data = {"relation": str(judgement.relation or NONE), "why": judgement.explanation}
        if chat is None:
            data["operation"] = str(local_decide(pair).operation)
        return Output(made_by=judgement.made_by, data=data)

    async def _rank(self, user: str, older: str, newer: str) -> int | None:
        """Return the rank of the first candidate near the older turn; None if none is near."""
        if user not in self._rankings:
            turns = [
                turn for turn in await self.client.user(user).turns() if turn.full_text.strip()
            ]
            self._rankings[user] = _rank_turns(turns), turns
        ranking, turns = self._rankings[user]
        position = {turn.key: at for at, turn in enumerate(turns)}
        if older not in position or newer not in position:
            return None
        new = turns[position[newer]]
        text = new.full_text
        words = WordRows(lambda at: turns[at].full_text)
        [(positions, scores)] = ranking.associations([text], [(new.speaker,)], words)
        earlier = np.array([turn.session < new.session for turn in turns])[positions]
        order = np.argsort(-np.where(earlier, scores, -np.inf), kind="stable")
        best: list[int] = positions[order[: min(int(earlier.sum()), 3 * max(KEPT))]].tolist()
        chosen = [best[at] for at in spread([(turns[at].session, at) for at in best], max(KEPT))]
        return next(
            (n for n, at in enumerate(chosen) if abs(at - position[older]) <= ADJACENT), None
        )


async def count_links(memory: AsyncUserMemory, edges: set[tuple[str, str]]) -> dict[str, Any]:
    """Return counts of a user's memories and links, and of gold edges that are linked.

    ``edges`` are pairs of the keys of turns.
    """
    memories = {one.id: one for one in await memory.memories()}
    links = await memory.links()
    keys = {turn.id: turn.key or "" for turn in await memory.turns()}
    graph = Graph()
    for link in links:
        graph.add(link)
    drawn = [set(_ends(memories[link.older], memories[link.newer], keys)) for link in links]
    sizes = Counter(graph.component(one) for one in memories)
    return {
        "memories": len(memories),
        "links": len(links),
        "relations": dict(Counter(str(link.relation or NONE) for link in links)),
        "largest": max(sizes.values(), default=0),
        "edges linked": len(edges & set[tuple[str, str]]().union(*drawn)),
        "links on edges": sum(not edges.isdisjoint(ends) for ends in drawn),
    }


async def compare_links(memory: AsyncUserMemory, told: Sequence[Reading]) -> dict[str, Any]:
    """Return how many links each relation has, and how many of them a reader would draw, too.

    A typed link is right where a reader gives a relation of the same class: what replaced the older
    one, or cause and effect. Wanted are the relations between days in which all readers relate
    both turns. Two memories stand together that are in one timeline.
    """
    turns = {turn.id: turn for turn in await memory.turns()}
    places = {id: int(turn.key or -1) for id, turn in turns.items()}
    days = {places[id]: turn.at.date() for id, turn in turns.items()}
    memories = {one.id: one for one in await memory.memories()}
    drawn: list[tuple[str, list[tuple[int, int]]]] = [
        (
            str(link.relation or NONE),
            _ends(memories[link.older], memories[link.newer], places),
        )
        for link in await memory.links()
    ]
    counts: dict[str, list[int]] = {}
    for name, ends in drawn:
        is_right = any(
            relation_class(reading.relations.get(pair, NONE)) == relation_class(name)
            if name in TYPED
            else reading.relates(*pair)
            for reading in told
            for pair in ends
        )
        count = counts.setdefault(name, [0, 0])
        count[0] += 1
        count[1] += is_right
    wanted = {
        pair: relation_class(name)
        for reading in told
        for pair, name in reading.relations.items()
        if days[pair[0]] != days[pair[1]] and all(each.relates(*pair) for each in told)
    }
    linked = {pair for _, ends in drawn for pair in ends}
    together = [
        _ends(older, newer, places)
        for timeline in await memory.timelines()
        for older, newer in combinations(timeline.memories, 2)
    ]
    typed = {(pair, relation_class(name)) for name, ends in drawn for pair in ends}
    return {
        "drawn": counts,
        "related": sum(_are_related(ends, told) for _, ends in drawn),
        "together": len(together),
        "together related": sum(_are_related(ends, told) for ends in together),
        "wanted": len(wanted),
        "wanted together": len(wanted.keys() & {pair for ends in together for pair in ends}),
        "wanted linked": len(linked & wanted.keys()),
        "wanted typed": len(typed & set(wanted.items())),
    }


def _ends(older: Memory, newer: Memory, places: Mapping[int, T]) -> list[tuple[T, T]]:
    """Return the pairs of turns that two memories are of, each by its place or key."""
    return [(places[a], places[b]) for a in older.source_turns for b in newer.source_turns]


def _are_related(ends: Sequence[tuple[int, int]], told: Sequence[Reading]) -> bool:
    return any(reading.relates(min(pair), max(pair)) for reading in told for pair in ends)


async def _no_turns(_: object) -> Sequence[Turn]:
    return []


def _at(day: str) -> datetime:
    return datetime.combine(datetime.fromisoformat(day), time(12), UTC)


def _speakers(side: Mapping[str, Any]) -> tuple[str, ...]:
    return (side["speaker"],) if side["speaker"] else ()


def _rank_turns(turns: Sequence[Turn]) -> Ranking:
    ranking = Ranking()
    units = [
        Unit(
            text=turn.full_text,
            session=turn.session,
            at=turn.at if turn.dated else None,
            speakers=(turn.speaker,),
            turn=turn.id,
        )
        for turn in turns
    ]
    ranking.extend(units, StaticEmbedder().vectors([unit.text for unit in units]))
    return ranking
