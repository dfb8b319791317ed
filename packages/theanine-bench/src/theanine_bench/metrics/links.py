"""Figures of links: pairs judged alone, candidates, and the links drawn in whole histories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from theanine.types import REPLACED, Relation
from theanine_bench.samples import SampleResult
from theanine_methods.memory_update.operations import Operation

NONE = "None"
TYPED = frozenset(str(relation) for relation in Relation) - {str(Relation.SAME_TOPIC)}
"""Relations that say more than that two statements are on the same topic."""
CAUSAL = frozenset(map(str, (Relation.CAUSE, Relation.REASON)))
_REPLACED = frozenset(map(str, REPLACED))
KEPT = (3, 10)
"""Numbers of candidates among which the older turn is looked for."""


@dataclass(frozen=True, slots=True)
class LinkFigures:
    """Scores over the results that have a certain output."""

    name: str
    key: str
    compute: Callable[[Sequence[SampleResult]], Mapping[str, float]]

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """Return the scores as ``NAME/…``; empty if no result has the output."""
        chosen = [result for result in results if result.output and self.key in result.output]
        if not chosen:
            return {}
        return {f"{self.name}/{name}": value for name, value in self.compute(chosen).items()}


def relation_class(name: str) -> str:
    """Return the class of a relation: what replaced the older one, cause and effect, or itself."""
    if name in _REPLACED:
        return "replaced"
    return "caused" if name in TYPED else name


def _linked(results: Sequence[SampleResult]) -> Mapping[str, float]:
    """Precision and recall of a link, of whatever relation."""
    drawn = [r for r in results if r.output["relation"] != NONE]
    gold = [r for r in results if r.extra["label"] != NONE]
    right = sum(r.extra["label"] != NONE for r in drawn)
    return {"precision": _share(right, len(drawn)), "recall": _share(right, len(gold))}


def _related(results: Sequence[SampleResult]) -> Mapping[str, float]:
    """Precision and recall of a relation other than SameTopic."""
    drawn = [r for r in results if r.output["relation"] in TYPED]
    gold = sum(r.extra["label"] in TYPED for r in results)
    right = sum(r.output["relation"] == r.extra["label"] for r in drawn)
    return {
        "precision": _share(right, len(drawn)),
        "recall": _share(right, gold),
        "share of pairs with one": _share(gold, len(results)),
    }


def _same(results: Sequence[SampleResult]) -> Mapping[str, float]:
    """Counts links of cause and effect between statements that say the same."""
    same = [r for r in results if r.extra["same"]]
    return {"pairs": len(same), "causal": sum(r.output["relation"] in CAUSAL for r in same)}


def _updated(results: Sequence[SampleResult]) -> Mapping[str, float]:
    """Precision of memory-update's local decisions other than to append, and their numbers.

    To replace or pass over a statement is right if the label links the two and names no change: the
    labels don't say which of two statements says more. A change or an end is right if it does. The
    halves are of histories; the method's threshold was chosen on the development half.
    """
    scores: dict[str, float] = {}
    for half in ("development", "rest"):
        decided = [
            (r.output["operation"], r.extra["label"])
            for r in results
            if r.extra["half"] == half and r.output["operation"] != Operation.APPEND
        ]
        right = sum(
            label == Relation.CHANGED
            if operation in (Operation.CHANGE, Operation.DELETE)
            else label not in (NONE, Relation.CHANGED)
            for operation, label in decided
        )
        scores[f"decisions, {half}"] = len(decided)
        if decided:
            scores[f"precision, {half}"] = right / len(decided)
    return scores


def _candidates(results: Sequence[SampleResult]) -> Mapping[str, float]:
    """Share of pairs whose older turn is within two turns of one of the first candidates."""
    ranks = [r.output["rank"] for r in results]
    return {
        f"in {kept}": _share(sum(rank is not None and rank < kept for rank in ranks), len(ranks))
        for kept in KEPT
    }


def _edges(results: Sequence[SampleResult]) -> Mapping[str, float]:
    """Share of the gold edges between sessions that are linked, and of links that are on one."""
    told = [r for r in results if r.extra["edges"]]
    edges = sum(len(r.extra["edges"]) for r in told)
    links = sum(r.output["links"] for r in told)
    return {
        "linked": _share(sum(r.output["edges linked"] for r in told), edges),
        "precision of links": _share(sum(r.output["links on edges"] for r in told), links),
        "edges": edges,
        "links": links,
    } if told else {}  # fmt: skip


def _readers(results: Sequence[SampleResult]) -> Mapping[str, float]:
    """Share of the links that readers would draw, by relation, and of theirs that are drawn."""
    drawn: dict[str, list[int]] = {}
    for result in results:
        for name, (links, right) in result.output["drawn"].items():
            count = drawn.setdefault(name, [0, 0])
            count[0] += links
            count[1] += right
    links = sum(count for count, _ in drawn.values())
    typed = [count for name, count in drawn.items() if name in TYPED]
    wanted = sum(r.output["wanted"] for r in results)
    return {
        "links": links,
        "related": _share(sum(r.output["related"] for r in results), links),
        "typed links": sum(count for count, _ in typed),
        "typed right": _share(sum(right for _, right in typed), sum(count for count, _ in typed)),
        **{f"{name} right": _share(right, count) for name, (count, right) in sorted(drawn.items())},
        "pairs in timelines": sum(r.output["together"] for r in results),
        "pairs in timelines related": _share(
            sum(r.output["together related"] for r in results),
            sum(r.output["together"] for r in results),
        ),
        "wanted": wanted,
        "wanted in a timeline": _share(sum(r.output["wanted together"] for r in results), wanted),
        "wanted linked": _share(sum(r.output["wanted linked"] for r in results), wanted),
        "wanted typed": _share(sum(r.output["wanted typed"] for r in results), wanted),
    }


def _graph(results: Sequence[SampleResult]) -> Mapping[str, float]:
    """Links per memory, and the mean share of memories in a history's largest component.

    Short histories that tell a graph count only where there are no others.
    """
    results = [result for result in results if not result.extra["edges"]] or results
    memories = sum(r.output["memories"] for r in results)
    largest = [_share(r.output["largest"], r.output["memories"]) for r in results]
    return {
        "links per memory": _share(sum(r.output["links"] for r in results), memories),
        "largest component": sum(largest) / len(largest),
    }


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


METRICS = {
    "link": LinkFigures("link", "relation", _linked),
    "relation": LinkFigures("relation", "relation", _related),
    "same": LinkFigures("same", "relation", _same),
    "update": LinkFigures("update", "operation", _updated),
    "candidates": LinkFigures("candidates", "rank", _candidates),
    "edges": LinkFigures("edges", "memories", _edges),
    "readers": LinkFigures("readers", "wanted", _readers),
    "graph": LinkFigures("graph", "memories", _graph),
}
