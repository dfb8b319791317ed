"""Look at the best segments turn by turn: which of them holds the one turn that fits?

Beyond the paper. A segment's own score is that of an average over its turns; here its turns are
scored as units of their own, by the same evidence, from the denoised copy that is indexed. A
segment then counts by its best turn, with its own score beside it; and where a token budget cuts,
it is known which of its turns to give back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from theanine.conversation import Turn, Utterance
from theanine.memory import Memory
from theanine.methods.base import Context
from theanine.models.base import Embedder, QuestionEmbedder, Vectors
from theanine.models.bundled import count_tokens
from theanine.retrieval.asking import Query
from theanine.retrieval.fusion import standard
from theanine.retrieval.ranking import Ranking, Unit
from theanine.retrieval.view import Retrieval, View
from theanine.steps.quoting import name_of, spoken

LENT = 0.3
"""What a turn is lent of its segment's score, and a segment of its own beside its best turn's."""
_CACHED = 20_000
"""Segments of a scope whose turns' vectors are held before they are let go."""

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A segment whose turns were scored.

    Attributes:
        memory: the segment.
        score: its own, higher is better.
        turns: its turns with anything left of them in the index, in order.
        scores: how well each fits.
        costs: tokens of each as it is given back, without its day.
    """

    memory: Memory
    score: float
    turns: Sequence[Turn]
    scores: Sequence[float]
    costs: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Lines:
    """A segment as indexed, line by line, without the turns of which nothing is left."""

    turns: Sequence[Turn]
    texts: Sequence[str]
    vectors: Vectors
    costs: Sequence[int]


class _Known:
    """What was made of one scope's segments."""

    def __init__(self) -> None:
        self.lines: dict[int, _Lines] = {}
        self.ranked: tuple[int, ...] = ()
        self.ranking = Ranking()


class CloseLook:
    """Scores the turns of segments; what it embeds is kept for as long as the scope's view is."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[View, _Known] = WeakKeyDictionary()

    async def at(
        self,
        found: Sequence[tuple[Memory, float]],
        query: str,
        dialogue: Sequence[Utterance],
        context: Context,
        how: Retrieval,
    ) -> list[Looked]:
        """The segments, best first. ``found`` are at least one, with their own scores."""
        ranked = sorted(found, key=lambda one: (one[0].session, one[0].sources[:1]))
        memories = [memory for memory, _ in ranked]
        known = self._known.setdefault(context.view, _Known())
        lines = await self._lines(memories, known, context)
        ranking = _ranking(memories, lines, known, context.view)
        scores = await _scores(ranking, query, dialogue, context.embedder, how)
        own = standard(np.array([score for _, score in ranked], np.float32))
        return _looked(memories, lines, own, standard(scores))

    async def _lines(
        self, memories: Sequence[Memory], known: _Known, context: Context
    ) -> list[_Lines]:
        if len(known.lines) > _CACHED:
            known.lines.clear()
        missing = [memory for memory in memories if memory.id not in known.lines]
        read = [await _read(memory, context.view) for memory in missing]
        texts = [text for _, texts in read for text in texts]
        vectors = await context.embedder.embed(texts) if texts else np.zeros((0, 0), np.float32)
        first = 0
        for memory, (turns, texts) in zip(missing, read, strict=True):
            costs = [line_cost(spoken(turn)) for turn in turns]
            known.lines[memory.id] = _Lines(
                turns, texts, vectors[first : first + len(texts)], costs
            )
            first += len(texts)
        return [known.lines[memory.id] for memory in memories]


def _ranking(
    memories: Sequence[Memory], lines: Sequence[_Lines], known: _Known, view: View
) -> Ranking:
    """All turns of the segments as units; the last one is kept, as small scopes have no other."""
    ids = tuple(memory.id for memory in memories)
    if ids != known.ranked:
        units = [
            unit
            for memory, one in zip(memories, lines, strict=True)
            for unit in _units(memory, one, view)
        ]
        ranking = Ranking()
        if units:
            ranking.extend(units, np.concatenate([one.vectors for one in lines if one.texts]))
        known.ranked, known.ranking = ids, ranking
    return known.ranking


def line_cost(line: str) -> int:
    """Tokens that a line adds to a text: the tokenizer cuts it otherwise where it stands alone."""
    return count_tokens(f"-\n{line}") - count_tokens("-")


async def _read(memory: Memory, view: View) -> tuple[list[Turn], list[str]]:
    """The segment's turns of which anything is indexed, and what of their words is."""
    turns = await view.turns(memory.sources)
    lines = memory.text.split("\n")
    if len(lines) != len(turns):  # not as it was written here: go by what was said
        lines = [spoken(turn) for turn in turns]
    words = [
        line.removeprefix(f"{name_of(turn.speaker)}:").strip()
        for turn, line in zip(turns, lines, strict=True)
    ]
    kept = [place for place, text in enumerate(words) if text]
    return [turns[place] for place in kept], [words[place] for place in kept]


def _units(memory: Memory, lines: _Lines, view: View) -> list[Unit]:
    undated = memory.session in view.undated
    return [
        Unit(
            text=f"{turn.speaker}: {text}",
            session=turn.session,
            at=None if undated else turn.at,
            speakers=(turn.speaker,),
            turn=turn.id,
        )
        for turn, text in zip(lines.turns, lines.texts, strict=True)
    ]


async def _scores(
    ranking: Ranking, query: str, dialogue: Sequence[Utterance], embedder: Embedder, how: Retrieval
) -> Scores:
    if how == "lexical":
        return ranking.lexical.scores(query)
    topic = ranking.topic(query) if how == "hybrid" else query
    asked = embedder.embed_questions if isinstance(embedder, QuestionEmbedder) else embedder.embed
    vector = (await asked([topic]))[0]
    if how == "dense":
        return np.asarray(np.vecdot(ranking.vectors.all, vector), np.float32)
    last = dialogue[-1]
    sought = Query(
        text=query, vector=vector, latest=last.words, asker=last.speaker, asked_at=last.at
    )
    return ranking.scores(sought)


def _looked(
    memories: Sequence[Memory], lines: Sequence[_Lines], own: Scores, scores: Scores
) -> list[Looked]:
    ends = np.cumsum([len(one.turns) for one in lines]).tolist()
    parts = [scores[end - len(one.turns) : end] for end, one in zip(ends, lines, strict=True)]
    lowest = float(scores.min()) if len(scores) else 0.0
    best = standard(np.array([part.max(initial=lowest) for part in parts], np.float32))
    segments = best + LENT * own
    found = [
        Looked(
            memory=memory,
            score=float(segment),
            turns=one.turns,
            scores=(part + LENT * segment).tolist(),
            costs=one.costs,
        )
        for memory, one, segment, part in zip(memories, lines, segments, parts, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.score, one.memory.id))
