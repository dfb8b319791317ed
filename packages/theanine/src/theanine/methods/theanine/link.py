"""Phase I, steps 2 and 4: which earlier memories to compare with, and which of them to link to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theanine.clock import micros
from theanine.embeddings.base import Vectors
from theanine.methods.theanine.config import TheanineConfig
from theanine.methods.theanine.judgement import Judgement, Pair
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import NewLink, NewMemory, Session


def associate(
    memories: Sequence[NewMemory], vectors: Vectors, session: Session, view: ScopeIndex, j: int
) -> list[Pair]:
    """Each new memory with its ``j`` nearest memories of earlier sessions, by new memory.

    A memory whose time lies after the new one's (sessions may overlap) is no candidate, so that
    edges always run forward in time.
    """
    if not memories:
        return []
    earlier = [known.id for known in view.sessions.values() if known.order < session.order]
    before = np.isin(view.session_of, earlier) & (view.session_of != session.id)
    times = np.array([micros(memory.at) for memory in memories], np.int64)
    found = view.nearest(vectors, j, among=before & (view.times <= times[:, None]))
    return [
        Pair(older, index, memory, similarity)
        for index, (memory, close) in enumerate(zip(memories, found, strict=True))
        for older, similarity in close
    ]


def choose_links(
    pairs: Sequence[Pair], judgements: Sequence[Judgement], view: ScopeIndex, config: TheanineConfig
) -> list[NewLink]:
    """The edges into the new memories, from the graph as it was before this session.

    ``recent``: one edge into each weakly connected component that holds a related memory, from
    the most recent related one there; ties go to the higher similarity, then to the higher id.
    """
    chosen: dict[tuple[int, int], tuple[Pair, Judgement]] = {}
    for pair, judgement in zip(pairs, judgements, strict=True):
        if config.relation_aware and judgement.relation is None:
            continue
        at = view.graph.component(pair.older.id) if config.link_to == "recent" else pair.older.id
        best = chosen.get((pair.newer_index, at))
        if best is None or _recency(best[0]) < _recency(pair):
            chosen[pair.newer_index, at] = (pair, judgement)
    return [
        NewLink(
            older=pair.older.id,
            newer=pair.newer_index,
            relation=judgement.relation,
            explanation=judgement.explanation,
            similarity=pair.similarity,
            made_by=judgement.made_by,
            prompt=judgement.prompt,
        )
        for pair, judgement in chosen.values()
    ]


def _recency(pair: Pair) -> tuple[object, float, int]:
    return (pair.older.at, pair.similarity, pair.older.id)
