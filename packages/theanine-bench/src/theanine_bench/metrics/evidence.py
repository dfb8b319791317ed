"""How much of a question's evidence the agent had in front of it as it answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from theanine.llm.chat import ScopedChat
from theanine.text.formatting import one_line
from theanine_bench.samples import SampleResult, Score

EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True)
class EvidenceRecalled:
    """The share of the turns in ``extra["evidence"]`` that are among the recollection's sources.

    Turns are known again by speaker and words. It tells an answer that lacked the evidence from one
    that had it all and was wrong all the same. Asks nobody.
    """

    name: str = EVIDENCE
    needs_judge: bool = False
    worst: Mapping[str, float] = field(default_factory=lambda: {EVIDENCE: 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """The share; no value for a question that names no evidence."""
        wanted = {_words(one) for one in result.extra.get("evidence", ()) if one["speaker"]}
        have = {_words(source) for part in result.recalled for source in part["sources"]}
        return Score(values={EVIDENCE: len(wanted & have) / len(wanted)} if wanted else {})


def _words(turn: Mapping[str, str]) -> tuple[str, str]:
    return one_line(turn["speaker"]), one_line(turn["text"])
