"""Retrieval metrics of a result: ``recall@K``, ``nDCG@K``, ``session hit@K``, ``DCG``, ``MRR``,
``within N`` (evidence recalled within N tokens), ``precision N`` (share of the turns recalled
within N tokens that are evidence), ``tokens N`` (tokens of that recollection), and ``score of
evidence`` and ``score of others``.

They read ``SampleResult.output`` as :mod:`theanine_bench.tasks.retrieval` writes it, and the last
two as :mod:`theanine_bench.tasks.evidence` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from theanine.llm.chat import ScopedChat
from theanine_bench.metrics.ranking import dcg, hit_at, ndcg_at, recall_at, reciprocal_rank
from theanine_bench.samples import SampleResult, Score

NAMES = ("recall@K", "session hit@K", "nDCG@K", "DCG", "MRR", "within N", "precision N", "tokens N")
HIT = "session hit@"
_NAME = re.compile(rf"(recall@|{HIT}|nDCG@|within |precision |tokens )(\d+)|(DCG|MRR)")


@dataclass(frozen=True, slots=True)
class RetrievalMetric:
    """A metric of how a question's evidence was ranked; 0 if the recall failed.

    Attributes:
        name: one of ``NAMES``, with a number for its letter.
    """

    name: str
    needs_judge: bool = False

    @property
    def binary(self) -> bool:
        """Whether it is a hit."""
        return self.name.startswith(HIT)

    @property
    def worst(self) -> Mapping[str, float]:
        """0."""
        return {self.name: 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score under the metric's name; none for a precision of nothing."""
        if not result.output:
            return Score(values=self.worst)
        value = self._compute(result.output)
        return Score(values={} if value is None else {self.name: value})

    def _compute(self, output: Mapping[str, Any]) -> float | None:
        """Return the value; None for the precision of a recollection that is empty."""
        match = _NAME.fullmatch(self.name)
        assert match
        kind, k = match[1] or match[3], int(match[2] or 0)
        gold = output["gold"]
        match kind:
            case "recall@":
                return recall_at(output["ranked"], gold, k)
            case kind if kind == HIT:
                return hit_at(output["sessions"], output["gold_sessions"], k)
            case "nDCG@":
                return ndcg_at(output["ranked"], gold, k, output["gold_units"])
            case "DCG":
                return dcg(output["ranked"], gold)
            case "MRR":
                return reciprocal_rank(output["ranked"], gold)
            case "within ":
                return recall_at([output["within"][str(k)]], gold, 1)
            case "precision ":
                returned = output["returned"][str(k)]
                return len(output["within"][str(k)]) / returned if returned else None
            case _:
                return output["tokens"][str(k)]


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The mean retrieval score of the ranked units with evidence, or of the others.

    None is given where there are no such units. Source: SeCom (2025), figure 3c, the similarity of
    a question to relevant and irrelevant segments.

    Attributes:
        units: ``evidence`` or ``others``.
    """

    name: str
    units: str
    needs_judge: bool = False

    @property
    def worst(self) -> Mapping[str, float]:
        """0."""
        return {self.name: 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score under the metric's name."""
        value = result.output.get("scores", {}).get(self.units)
        return Score(values={} if value is None else {self.name: value})


METRICS = {
    f"score of {units}": MeanScore(f"score of {units}", units) for units in ("evidence", "others")
}


def find_metric(name: str) -> RetrievalMetric | None:
    """Return the retrieval metric of that name, or None."""
    return RetrievalMetric(name) if _NAME.fullmatch(name) else None
