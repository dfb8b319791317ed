"""Was the agent fooled? Judged by a model, or checked by phrases that a person wrote."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, Field

from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import one_line
from theanine.text.words import is_unspaced
from theanine_bench.samples import SampleResult, Score

CORRECT, INCORRECT = "Correct", "Incorrect"
JUDGED = "success"
"""The measure of a judging model: 1 where the reply agrees with the right answer, else 0."""
RULED = "success_by_rule"
"""The same by phrases alone: no judge read the reply."""


class Verdict(BaseModel):
    """What the judge says: why, and then which."""

    reason: str = Field(description="in one or two sentences")
    verdict: Literal["Correct", "Incorrect"]


JUDGE = load_prompt("theanine_bench.teafarm", "teafarm-judge", 1, Verdict)


@dataclass(frozen=True, slots=True)
class Judged:
    """Success by a judge that sees the question, the right answer and the reply (Figure 25)."""

    name: str = JUDGED
    needs_judge: bool = True
    worst: Mapping[str, float] = field(default_factory=lambda: {JUDGED: 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """1 for Correct. Raises ModelError when the judge fails."""
        assert judge  # a run with a judging measure is refused without one
        said = await judge.ask(
            JUDGE,
            check=lambda verdict: None if verdict.reason.strip() else "the reason is empty",
            question=one_line(result.question),
            answer=one_line(result.reference),
            reply=one_line(result.answer or ""),
        )
        return Score(values={JUDGED: float(said.verdict == CORRECT)}, verdict=said.model_dump())


@dataclass(frozen=True, slots=True)
class Ruled:
    """Success by the question's own ``must say`` and ``must not say``. Asks nobody.

    Case, spaces and the shape of quotation marks don't count; a phrase stands for whole words,
    where its script has spaces between them.
    """

    name: str = RULED
    needs_judge: bool = False
    worst: Mapping[str, float] = field(default_factory=lambda: {RULED: 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """1 when a reply has all that it must have and nothing that it must not."""
        faults = faults_of(
            result.answer or "",
            result.extra.get("must_say", ()),
            result.extra.get("must_not_say", ()),
        )
        verdict = INCORRECT if faults else CORRECT
        reason = "; ".join(faults) or "it says what it must, and nothing that it must not"
        return Score(
            values={RULED: float(not faults)}, verdict={"reason": reason, "verdict": verdict}
        )


def faults_of(reply: str, must: tuple[str, ...], must_not: tuple[str, ...]) -> list[str]:
    """What a reply lacks, or has too much; empty when it is right."""
    said = _plain(reply)
    lacks = [line for line in must if not _has(said, line)]
    has = [line for line in must_not if _has(said, line)]
    return [f"it doesn't say “{one}”" for one in lacks] + [f"it says “{one}”" for one in has]


def _has(said: str, line: str) -> bool:
    """Whether one of the line's alternatives occurs as whole words."""
    phrases = filter(None, (_plain(phrase) for phrase in line.split("|")))
    return any(
        one in said if is_unspaced(one) else re.search(rf"(?<!\w){re.escape(one)}(?!\w)", said)
        for one in phrases
    )


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(text.replace("’", "'").replace("“", '"').replace("”", '"').split())
