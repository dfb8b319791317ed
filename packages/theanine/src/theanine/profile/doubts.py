"""Find which statements probably hold no more, by what was said later in whatever words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import numpy as np
from anyio.lowlevel import checkpoint
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors, embed_queries
from theanine.profile.model import AREA_ORDER, holding, state_features
from theanine.profile.statements import Statement, turn_order
from theanine.profile.states import COMPARED, ProfileFindings
from theanine.recall.state_model import same_matter
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.scoring import matrix_product
from theanine.types import Turn

HOLDS = 0.7
"""Least chance that what this model read still holds, for it not to be doubtful."""
ANOTHER_STATE = 0.15
"""Chance, by the model of recall, from which a later passage makes what is told by its wording
doubtful: that is more sure, and rarely ends."""
AREA_QUESTIONS = {
    "rules": "How should you answer me?",
    "about": "Who am I and how old am I?",
    "home": "Where do I live?",
    "work": "What do I do for a living?",
    "people": "Who are my family and friends?",
    "health": "What medicine do I take and what can't I eat?",
    "likes": "What are my hobbies and habits?",
    "plans": "What are my plans?",
    "possessions": "What pets and vehicles do I have?",
}
"""A question that the statements of each area answer, which :func:`other_state` compares with."""
ALIKE = 59
"""Later passages, those most like a statement, that are looked at."""
_vectors: dict[str, Vectors] = {}
"""Those of ``AREA_QUESTIONS``, by embedder: nothing of a user."""


async def find_doubts(found: ProfileFindings, turns: Sequence[Turn], log: LogIndex) -> None:
    """Find which states probably hold no more, by passages of later turns, in whatever words."""
    held = [
        state
        for area, own in found.states.items()
        for state in own
        if not state.ended and not state.is_correction and area != "rules"
    ]
    held = sorted(held, key=lambda state: turn_order(state.said[-1].turn))[-COMPARED:]
    if not held:
        return
    questions = await _question_vectors(log)
    candidates = log.candidates
    numbers = [turn.id for turn in turns]
    passages = np.flatnonzero(candidates.by_user & np.isin(candidates.turns, numbers))
    said = [state.said[-1] for state in held]
    positions = np.array([_position(each, log) for each in said], np.int64)
    own = candidates.vectors(positions)
    for row, each in zip(own, said, strict=True):
        if each.vector is not None:  # of this sentence alone, not of its passage
            row[:] = each.vector
    vectors = candidates.vectors(passages)
    alike = matrix_product(own, np.ascontiguousarray(vectors.T))
    added = _additions(found)
    of_turns = candidates.turns[passages]
    for state, position, row in zip(held, positions.tolist(), alike, strict=True):
        await checkpoint()  # not in a thread, where the index might grow meanwhile
        is_later = candidates.times[passages] > candidates.times[position]
        if not state.statement.by_model:
            is_later &= ~np.isin(of_turns, [*added[state.statement.area]])
        if is_later.any():
            likeness, at = later_states(row[is_later], position, passages[is_later])
            other = _other_state(state.statement.area, at, questions, log)
            state.doubtful = _is_doubtful(state.said[-1], turns[-1], likeness, other)


def _additions(found: ProfileFindings) -> defaultdict[str, set[int]]:
    """Return, by area, the turns that only state something besides: "I like figs" after "plums"."""
    ending = {by.turn.id for _, by in found.changes}
    turns: defaultdict[str, set[int]] = defaultdict(set)
    for area, own in found.states.items():
        for statement in (each for state in own for each in state.said):
            if not (statement.single or statement.by_model or statement.turn.id in ending):
                turns[area].add(statement.turn.id)
    return turns


def _other_state(area: str, at: tuple[int, ...], questions: Vectors, log: LogIndex) -> float:
    """Return the chance of :func:`other_state`; judged once."""
    key = (area, at)
    if key not in log.derived:
        question = questions[AREA_ORDER.index(area)]
        log.derived[key] = other_state(at, question, log.candidates)
    return cast("float", log.derived[key])


def _is_doubtful(
    statement: Statement, newest: Turn, alike: NDArray[np.float32], other: float
) -> bool:
    if not statement.by_model:
        return other >= ANOTHER_STATE
    age = newest.at - statement.turn.at if statement.turn.dated else timedelta()
    features = state_features(statement.area, age.total_seconds() / 86_400, alike, other)
    return bool(holding(features[None])[0] < HOLDS)


def later_states(
    alike: NDArray[np.float32], position: int, later: NDArray[np.int64]
) -> tuple[NDArray[np.float32], tuple[int, ...]]:
    """Return the later passages that are most like a statement, of which one may end it.

    Args:
        alike: the cosine of the statement with each later passage.
        position: of the passage in which the statement stands.
        later: positions of the later passages.

    Returns:
        Their cosines, highest first, and the positions to ask :func:`other_state` for.
    """
    best = np.argsort(-alike, kind="stable")[:ALIKE]
    return alike[best], (position, *np.sort(later[best]).tolist())


def other_state(
    at: tuple[int, ...], question: NDArray[np.float32], candidates: CandidateIndex
) -> float:
    """Return the highest chance that one of later passages is another state of the first."""
    chances = same_matter(np.array(at, np.int64), 1, candidates, question)
    return float(chances[0, 1:].max(initial=0))


def _position(statement: Statement, log: LogIndex) -> int:
    """Return the passage in which a statement begins."""
    passages = [found.position for found in log.candidates.of_turn(statement.turn.id)]
    spans = log.candidates.spans(passages)
    return next((at for at in passages if statement.start < spans[at][1]), passages[-1])


async def _question_vectors(log: LogIndex) -> Vectors:
    embedder = log.embedder
    if embedder.name not in _vectors:
        texts = [AREA_QUESTIONS[area] for area in AREA_ORDER]
        _vectors[embedder.name] = await embed_queries(embedder, texts)
    return _vectors[embedder.name]
