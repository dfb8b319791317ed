"""The share of a question's evidence that was recalled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from theanine.llm.chat import ScopedChat
from theanine.text.formatting import one_line
from theanine_bench.samples import SampleResult, Score

EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True)
class EvidenceRecalled:
    """The share, 0 to 1, of the turns in ``extra["evidence"]`` among the recollection's sources.

    Turns are matched by speaker and text. It distinguishes an answer that lacked the evidence from
    one that had it and was wrong.
    """

    name: str = EVIDENCE
    needs_judge: bool = False
    worst: Mapping[str, float] = field(default_factory=lambda: {EVIDENCE: 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the share; no score for a question without evidence."""
        wanted = {_identity(turn) for turn in result.extra.get("evidence", ()) if turn["speaker"]}
        recalled = {_identity(turn) for part in result.recalled for turn in part["sources"]}
        return Score(values={EVIDENCE: len(wanted & recalled) / len(wanted)} if wanted else {})


def _identity(turn: Mapping[str, str]) -> tuple[str, str]:
    return one_line(turn["speaker"]), one_line(turn["text"])


METRICS = {EVIDENCE: EvidenceRecalled()}
