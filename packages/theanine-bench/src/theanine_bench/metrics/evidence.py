"""How much of a question's evidence was recalled, and how much of what was recalled is evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from theanine.llm.chat import ScopedChat
from theanine.text.formatting import one_line
from theanine_bench.samples import SampleResult, Score

EVIDENCE = "evidence"
EVIDENCE_HIT = "evidence hit"
PRECISION = "evidence precision"


@dataclass(frozen=True, slots=True)
class EvidenceRecalled:
    """The share, 0 to 1, of the turns in ``extra["evidence"]`` among the recollection's sources.

    Turns are matched by speaker and text. It distinguishes an answer that lacked the evidence from
    one that had it and was wrong.

    Attributes:
        any_turn: whether one turn is enough for a score of 1, as CausalEval counts evidence
            (``evidence_hit`` in ``benches/causal_eval/main.rs`` of JingxuanC/causal-memory).
    """

    name: str = EVIDENCE
    any_turn: bool = False
    needs_judge: bool = False

    @property
    def binary(self) -> bool:
        """Whether one turn is enough."""
        return self.any_turn

    @property
    def worst(self) -> Mapping[str, float]:
        """0."""
        return {self.name: 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score; none for a question without evidence."""
        wanted, recalled = _wanted_and_recalled(result)
        if not wanted:
            return Score(values={})
        share = len(wanted & recalled) / len(wanted)
        return Score(values={self.name: float(share > 0) if self.any_turn else share})


@dataclass(frozen=True, slots=True)
class EvidencePrecision:
    """The share, 0 to 1, of the recollection's source turns that are in ``extra["evidence"]``.

    Turns are matched by speaker and text.
    """

    name: str = PRECISION
    needs_judge: bool = False

    @property
    def worst(self) -> Mapping[str, float]:
        """0."""
        return {self.name: 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score; none for a question without evidence, or where nothing is recalled."""
        wanted, recalled = _wanted_and_recalled(result)
        if not wanted or not recalled:
            return Score(values={})
        return Score(values={self.name: len(wanted & recalled) / len(recalled)})


def _wanted_and_recalled(result: SampleResult) -> tuple[set[_Identity], set[_Identity]]:
    wanted = {_identity(turn) for turn in result.extra.get("evidence", ()) if turn["speaker"]}
    return wanted, {_identity(turn) for part in result.recalled for turn in part["sources"]}


_Identity = tuple[str, str]


def _identity(turn: Mapping[str, str]) -> _Identity:
    return one_line(turn["speaker"]), one_line(turn["text"])


METRICS = {
    EVIDENCE: EvidenceRecalled(),
    EVIDENCE_HIT: EvidenceRecalled(name=EVIDENCE_HIT, any_turn=True),
    PRECISION: EvidencePrecision(),
}
