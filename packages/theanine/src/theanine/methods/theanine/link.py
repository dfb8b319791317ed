"""Phase I, step 4: choose the earlier memories to link to."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.config import TheanineConfig
from theanine.methods.theanine.judgement import Judgement
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import NewLink


def choose_links(
    pairs: Sequence[Pair],
    judgements: Sequence[Judgement],
    index: ScopeIndex,
    config: TheanineConfig,
) -> list[NewLink]:
    """Return the edges into the new memories, given the graph before this session.

    With ``recent``, a new memory gets one edge from each weakly connected component that has a
    related memory: from the most recent one; ties go to the higher similarity, then the higher id.
    """
    chosen: dict[tuple[int, int], tuple[Pair, Judgement]] = {}
    for pair, judgement in zip(pairs, judgements, strict=True):
        if config.relation_aware and judgement.relation is None:
            continue
        target = (
            index.graph.component(pair.older.id) if config.link_to == "recent" else pair.older.id
        )
        best = chosen.get((pair.newer_index, target))
        if best is None or _recency(best[0]) < _recency(pair):
            chosen[pair.newer_index, target] = (pair, judgement)
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
