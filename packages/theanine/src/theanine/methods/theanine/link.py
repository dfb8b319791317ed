"""Phase I, step 4: choose the earlier memories to link to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.config import Linking
from theanine.methods.theanine.judgement import Judgement
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import NewLink

_Judged = tuple[Pair, Judgement]
MOST_PROBABLE = 2
"""Links into a new memory that ``link_to=best`` draws at most."""


def choose_links(
    pairs: Sequence[Pair],
    judgements: Sequence[Judgement],
    index: ScopeIndex,
    linking: Linking,
) -> list[NewLink]:
    """Return the edges into the new memories, given the graph before this session.

    With ``best``, a new memory gets an edge from each of the two related memories of the highest
    chance. With ``recent``, and where a model judged, it gets one from each weakly connected
    component that has a related memory: from the most recent one. Ties go to the more recent one,
    then to the higher similarity, then the higher id.
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
        ranked = sorted(related, key=_chance, reverse=True)
        count = Counter[int]()
        best: list[_Judged] = []
        for pair, judgement in ranked:
            count[pair.newer_index] += 1
            if count[pair.newer_index] <= MOST_PROBABLE:
                best.append((pair, judgement))
        return sorted(best, key=lambda judged: judged[0].newer_index)
    chosen: dict[tuple[int, int], _Judged] = {}
    for pair, judgement in related:
        older = pair.older.id
        target = older if linking.link_to == "all" else index.graph.component(older)
        best_yet = chosen.get((pair.newer_index, target))
        if best_yet is None or _recency(best_yet[0]) < _recency(pair):
            chosen[pair.newer_index, target] = (pair, judgement)
    return list(chosen.values())


def _chance(judged: _Judged) -> tuple[object, ...]:
    pair, judgement = judged
    return (judgement.chance or 0.0, *_recency(pair))


def _recency(pair: Pair) -> tuple[object, float, int]:
    return (pair.older.at, pair.similarity, pair.older.id)
