"""Multiple choice: the option that an answer names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from theanine.llm.chat import ScopedChat
from theanine_bench.samples import SampleResult, Score

CHOICE = "choice"
_FORMS = (
    re.compile(r"(?i:final answer)\W*([A-Za-z])\b"),
    re.compile(r"(?i:answer)\W*([A-Z])\b"),
    re.compile(r"\b([A-Z])\W*$"),
)


def format_options(options: Sequence[str]) -> str:
    """Return a question's options with letters, and how to answer it."""
    lines = [f"{chr(ord('A') + number)}. {option}" for number, option in enumerate(options)]
    return "\n".join(
        ["Which of these fits best?", *lines, "Give reasons, then end with 'Final answer: LETTER'."]
    )


def find_choice(answer: str) -> str:
    """Return the letter that an answer names; empty if it names none."""
    matches = (form.search(answer) for form in _FORMS)
    return next((match[1].upper() for match in matches if match), "")


@dataclass(frozen=True, slots=True)
class RightChoice:
    """1 if the answer names the letter ``extra["choice"]``, else 0.

    Source: the accuracy of PersonaMem-v2 (``inference.py`` of bowen-upenn/PersonaMem-v2).
    """

    name: str = CHOICE
    needs_judge: bool = False
    binary: bool = True

    @property
    def worst(self) -> Mapping[str, float]:
        """0."""
        return {self.name: 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score; none for a question without options."""
        if CHOICE not in result.extra:
            return Score(values={})
        return Score(
            values={self.name: float(find_choice(result.answer or "") == result.extra[CHOICE])}
        )


METRICS = {CHOICE: RightChoice()}
