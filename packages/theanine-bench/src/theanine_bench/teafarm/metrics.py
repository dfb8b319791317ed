"""TeaFarm's success metric: judged by a model, or decided by phrases that a person wrote."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from theanine.llm.chat import ScopedChat
from theanine.text.formatting import one_line
from theanine.text.words import is_unspaced
from theanine_bench.judges.answers import CORRECT, INCORRECT, TEAFARM_PROMPT, teafarm_scores
from theanine_bench.samples import SampleResult, Score

SUCCESS = "success"
"""The judged metric: 1 if the reply agrees with the right answer, else 0; 0 for an open answer."""
SUCCESS_BY_PAPER = f"{SUCCESS}/paper"
"""The same by the paper's rule, which leaves open answers to the judge."""
SUCCESS_BY_RULE = "success_by_rule"
"""The metric by phrases."""


@dataclass(frozen=True, slots=True)
class JudgedSuccess:
    """Success by a judge who sees the question, the right answer and the reply (figure 26)."""

    name: str = SUCCESS
    needs_judge: bool = True
    binary: bool = True
    worst: Mapping[str, float] = field(
        default_factory=lambda: {SUCCESS: 0.0, SUCCESS_BY_PAPER: 0.0}
    )

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """Return success by our rule and by the paper's. Raises ModelError if the judge fails."""
        assert judge  # a run without a judge is refused
        reply = await judge.ask(
            TEAFARM_PROMPT,
            check=lambda verdict: None if verdict.reason.strip() else "the reason is empty",
            question=one_line(result.question),
            answer=one_line(result.reference),
            reply=one_line(result.answer or ""),
        )
        scores = teafarm_scores(reply, SUCCESS)
        verdict = CORRECT if scores[SUCCESS] else INCORRECT
        record = {**reply.model_dump(), "verdict": verdict, "by_paper": reply.verdict}
        return Score(values=scores, verdict=record)


@dataclass(frozen=True, slots=True)
class RuleSuccess:
    """Success by the question's ``must say`` and ``must not say`` phrases.

    Case, spaces, the shape of quotation marks and full-width forms don't count. A phrase matches
    whole words, except in scripts without spaces.
    """

    name: str = SUCCESS_BY_RULE
    needs_judge: bool = False
    binary: bool = True
    worst: Mapping[str, float] = field(default_factory=lambda: {SUCCESS_BY_RULE: 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """Return 1 for a reply with all that it must and nothing that it must not say, else 0."""
        faults = find_faults(
            result.answer or "",
            result.extra.get("must_say", ()),
            result.extra.get("must_not_say", ()),
        )
        verdict = {
            "reason": "; ".join(faults) or "it says what it must, and nothing that it must not",
            "verdict": INCORRECT if faults else CORRECT,
        }
        return Score(values={SUCCESS_BY_RULE: float(not faults)}, verdict=verdict)


def find_faults(reply: str, must: Sequence[str], must_not: Sequence[str]) -> list[str]:
    """Return what a reply lacks, or has but must not; empty if it is right."""
    text = _normalize(reply)
    missing = [line for line in must if not _contains(text, line)]
    forbidden = [line for line in must_not if _contains(text, line)]
    return [f"it doesn't say “{line}”" for line in missing] + [
        f"it says “{line}”" for line in forbidden
    ]


def _contains(text: str, line: str) -> bool:
    """Return whether one of the line's alternatives occurs in the text."""
    phrases = filter(None, (_normalize(phrase) for phrase in line.split("|")))
    return any(
        phrase in text
        if is_unspaced(phrase)
        else re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)
        for phrase in phrases
    )


def _normalize(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(text.replace("’", "'").replace("“", '"').replace("”", '"').split())
