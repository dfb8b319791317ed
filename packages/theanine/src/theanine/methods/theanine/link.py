"""Phase I, step 4: choose the earlier memories to link to."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.config import Linking
from theanine.methods.theanine.judgement import Judgement
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import NewLink

_Judged = tuple[Pair, Judgement]


def choose_links(
    pairs: Sequence[Pair],
    judgements: Sequence[Judgement],
    index: ScopeIndex,
    linking: Linking,
) -> list[NewLink]:
    """Return the edges into the new memories, given the graph before this session.

    With ``all``, and with ``best`` where judgements have a chance, a new memory gets an edge from
    each related memory. Otherwise it gets one from each weakly connected component that has a
    related memory: from the most recent one. Ties go to the higher similarity, then the higher id.
    """
    related = [
        (pair, judgement)
        for pair, judgement in zip(pairs, judgements, strict=True)
        if not (linking.relation_aware and judgement.relation is None)
    ]
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
        for pair, judgement in _choose(related, index, linking)
    ]


def _choose(related: Sequence[_Judged], index: ScopeIndex, linking: Linking) -> list[_Judged]:
    if linking.link_to == "best" and all(one.chance is not None for _, one in related):
        return list(related)
    chosen: dict[tuple[int, int], _Judged] = {}
    for pair, judgement in related:
        older = pair.older.id
        target = older if linking.link_to == "all" else index.graph.component(older)
        best_yet = chosen.get((pair.newer_index, target))
        if best_yet is None or _recency(best_yet[0]) < _recency(pair):
            chosen[pair.newer_index, target] = (pair, judgement)
    return list(chosen.values())


def _recency(pair: Pair) -> tuple[object, float, int]:
    return (pair.older.at, pair.similarity, pair.older.id)
