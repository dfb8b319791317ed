"""Pairwise metrics: which of several runs answers a sample best, by a criterion.

The judge is asked in two orders: both of two candidates, or a shuffled order and its reverse. A
verdict that changes with the order is a tie and counts as a flip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, Field

from theanine.errors import SettingsError
from theanine.llm.chat import ScopedChat
from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import PromptTemplate, load_prompt
from theanine.llm.published import partition_label
from theanine.text.formatting import format_speaker, one_line
from theanine_bench.judges.answers import REASON, grounds
from theanine_bench.judges.judge import PROMPTS
from theanine_bench.judges.rendering import NOTHING, bullet_list, conversation, past, reference
from theanine_bench.samples import SampleResult, Score

LETTERS = "ABCDEFGH"
"""The names of the runs in verdicts and scores, in the order of the command line."""
TIE, FLIP = "tie", "flip"


class Better(BaseModel):
    """Which of two is better."""

    explanation: str = Field(description=REASON)
    better: Literal[1, 2]

    @property
    def chosen(self) -> int:
        """Its number among the candidates shown, from 1."""
        return self.better


class Best(BaseModel):
    """Which of several is best."""

    best: int = Field(ge=1, le=len(LETTERS), description="its number")

    @property
    def chosen(self) -> int:
        """Its number among the candidates shown, from 1."""
        return self.best


_OPTION = re.compile(r"([^.!?\n]*)\bresponse\W*([12])\W+is\s+((?:\w+\s+)?better)\b", re.IGNORECASE)
_DOUBT = re.compile(r"\b(?:not?|never|neither|nor|hardly|if|whether)\b|n['’]t\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\bA (?!is\b|because\b)[a-z]")


def _published_better(reply: str, _: Mapping[str, str]) -> dict[str, object]:
    """Read G-Eval's better response, or LLM-Rsum's option that one of them is better."""
    before, found, better = partition_label(reply, "Better Response")
    line = better.strip().partition("\n")[0]
    options = [*_OPTION.finditer(reply)]
    named = {*re.findall(r"\d+", line)} if found else {option[2] for option in options}
    said = line if found else " ".join(option[1] + option[3] for option in options)
    if len(named) != 1 or not named <= {"1", "2"} or _DOUBT.search(said):
        raise InvalidReply("it doesn't say which response is better")
    explanation = partition_label(before, "Explanation")[2] or before
    return {"explanation": explanation.strip(), "better": int(named.pop())}


def _published_best(reply: str, _: Mapping[str, str]) -> dict[str, int]:
    """Read the letter of the best answer, if no other one is in the reply."""
    letters = {*re.findall(rf"\b[{LETTERS}]\b", reply)}
    if len(letters) != 1 or _ARTICLE.search(reply) or _DOUBT.search(reply):
        raise InvalidReply("it must name one option by its letter, and no other")
    return {"best": LETTERS.index(letters.pop()) + 1}


REPLIES = load_prompt(PROMPTS, "compare-replies", 1, Better, published=_published_better)
WITH_PAST = load_prompt(PROMPTS, "compare-with-past", 1, Better, published=_published_better)
RECALLED = load_prompt(PROMPTS, "compare-recalled", 1, Better)
ANSWERS = load_prompt(PROMPTS, "compare-answers", 1, Better)
CHOICE = load_prompt(PROMPTS, "choose-answer", 1, Best, published=_published_best)

Candidate = Mapping[str, Any]
"""``{run, answer, made_by, recalled}``: one run's part of a compared result."""
Values = Callable[[SampleResult, Sequence[Candidate]], Mapping[str, str]]
"""Returns the prompt's values for a result and its candidates in the order to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A criterion to compare candidates by.

    Attributes:
        compared: returns the compared text of a candidate; equal texts are one candidate.
        source: the paper.
    """

    name: str
    step: PromptTemplate[Any]
    values: Values
    source: str
    compared: Callable[[Candidate], str] = lambda candidate: one_line(candidate["answer"] or "")
    max_runs: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseMetric:
    """The metric of a criterion: 1 for each winning run's letter or for a tie, else 0."""

    criterion: Criterion
    runs: int = 2
    binary = True
    needs_judge = True

    @property
    def name(self) -> str:
        """The criterion's name."""
        return self.criterion.name

    @property
    def worst(self) -> Mapping[str, float]:
        """The scores' names; compared results always have an answer."""
        return self._values(TIE, flipped=False)

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """Return the outcome, without a model call if there is nothing to compare.

        A run without an answer loses. Runs with the same answer are shown as one and win together:
        the outcome has all their letters, such as ``AC``.

        Raises ModelError if the judge fails in either order.
        """
        if judge is None:
            raise SettingsError(f"{self.name} is judged by a model: name one with --judge")
        candidates: Sequence[Candidate] = result.extra["candidates"]
        groups: dict[str, list[int]] = {}
        for index, candidate in enumerate(candidates):
            if candidate["answer"] is not None:
                groups.setdefault(self.criterion.compared(candidate), []).append(index)
        letters = {
            LETTERS[same[0]]: "".join(LETTERS[index] for index in same) for same in groups.values()
        }
        if len(letters) <= 1:
            best = "".join(letters.values())
            outcome = best if 0 < len(best) < len(candidates) else TIE
            why = "there is no difference" if outcome == TIE else "the others have no answer"
            verdict: dict[str, Any] = {"outcome": outcome, "why": why}
            return Score(values=self._values(outcome, flipped=False), verdict=verdict)
        replies = [
            await self._ask(result, order, judge)
            for order in orders(result.id, [same[0] for same in groups.values()])
        ]
        chosen = {reply["chosen"] for reply in replies}
        outcome = letters[chosen.pop()] if len(chosen) == 1 else TIE
        verdict = {
            "outcome": outcome,
            "why": "the order decided" if outcome == TIE else "in both orders",
            "asked": replies,
            "model": judge.model,
            "prompt": self.criterion.step.label,
        }
        if merged := [group for group in letters.values() if len(group) > 1]:
            verdict["alike"] = merged
        return Score(values=self._values(outcome, flipped=outcome == TIE), verdict=verdict)

    async def _ask(
        self, result: SampleResult, order: Sequence[int], judge: ScopedChat
    ) -> dict[str, Any]:
        shown = [result.extra["candidates"][index] for index in order]
        verdict = await judge.ask(
            self.criterion.step,
            self.criterion.name,
            source_sessions=(),  # the judge's own scope has no sessions
            check=lambda reply: None if reply.chosen <= len(order) else f"there are {len(order)}",
            bounds=None,
            repairs=None,
            limits=None,
            **self.criterion.values(result, shown),
        )
        letters = [LETTERS[index] for index in order]
        return {**verdict.model_dump(), "order": letters, "chosen": letters[verdict.chosen - 1]}

    def _values(self, outcome: str, *, flipped: bool) -> dict[str, float]:
        names = (*LETTERS[: self.runs], TIE)
        values = {f"{self.name}/{name}": float(name in outcome) for name in names}
        return {**values, f"{self.name}/{FLIP}": float(flipped)}


def orders(seed: str, candidates: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Return an order of the candidates and its reverse; more than two are shuffled by the seed."""
    order = list(candidates)
    if len(order) > 2:
        Random(seed).shuffle(order)
    return order, order[::-1]


def _answers(candidates: Sequence[Candidate]) -> list[str]:
    return [one_line(candidate["answer"] or "") or NOTHING for candidate in candidates]


def _numbered_answers(candidates: Sequence[Candidate], speaker: str = "") -> str:
    answers = _answers(candidates)
    return "\n".join(f"{number}: {speaker}{text}" for number, text in enumerate(answers, 1))


def _responses(result: SampleResult, candidates: Sequence[Candidate]) -> dict[str, str]:
    speaker = f"{format_speaker(result.speaker)}: "
    answers = _answers(candidates)
    return {
        "conversation": conversation(result),
        "responses": _numbered_answers(candidates, speaker),
        **{f"response_{number}": f"{speaker}{text}" for number, text in enumerate(answers, 1)},
    }


def _with_past(criterion: str) -> Values:
    return lambda result, candidates: {
        "criterion": criterion,
        "past": past(result),
        **_responses(result, candidates),
    }


def _recollections(result: SampleResult, candidates: Sequence[Candidate]) -> Mapping[str, str]:
    first, second = (bullet_list(candidate["recalled"]) for candidate in candidates)
    return {"conversation": conversation(result), "first": first, "second": second}


def _choices(result: SampleResult, candidates: Sequence[Candidate]) -> Mapping[str, str]:
    return {
        "reference": reference(result),
        "conversation": conversation(result),
        "answers": _numbered_answers(candidates),
        "options": "\n".join(
            f"{letter}: {text}" for letter, text in zip(LETTERS, _answers(candidates), strict=False)
        ),
    }


_G_EVAL = "G-Eval, head to head (Theanine, first version, appendix D and figures 20 to 22)"
CRITERIA: Mapping[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            name="specificity",
            step=REPLIES,
            values=lambda result, candidates: {
                "criterion": "Specificity: the response is detailed and precise, and what it says "
                "is clear, particular to this conversation and no commonplace.",
                **_responses(result, candidates),
            },
            source=_G_EVAL,
        ),
        Criterion(
            name="memorability",
            step=WITH_PAST,
            values=_with_past(
                "Memorability: the response recalls the past rightly where the conversation calls "
                "for it; the more of what matters it takes up, the better."
            ),
            source=_G_EVAL,
        ),
        Criterion(
            name="consistency",
            step=WITH_PAST,
            values=_with_past(
                "Consistency: nothing in the response contradicts the past as it is now. To say "
                "nothing of the past is no contradiction."
            ),
            source=_G_EVAL,
        ),
        Criterion(
            name="helpfulness",
            step=RECALLED,
            values=_recollections,
            source="helpfulness of retrieved memories (Theanine, section 4 and figure 23)",
            compared=lambda candidate: bullet_list(candidate["recalled"]),
        ),
        Criterion(
            name="overall",
            step=WITH_PAST,
            values=_with_past(
                "Overall: weigh whether the response is coherent with the conversation, consistent "
                "with the past, and natural and fluent; then which of the two you would prefer."
            ),
            source="pairwise model evaluation of LLM-Rsum (appendix)",
        ),
        Criterion(
            name="answer",
            step=ANSWERS,
            values=lambda result, candidates: {
                **grounds(result),
                **_responses(result, candidates),
            },
            source="pairwise comparison of SeCom and MemoChat (SeCom, appendix A.4)",
        ),
        Criterion(
            name="gsb",
            step=CHOICE,
            values=_choices,
            source="Good / Same / Bad of conditional memory (appendix B.2, table 14)",
        ),
        Criterion(
            name="choice",
            step=CHOICE,
            values=_choices,
            source="multiple choice of conditional memory (appendix B.3, table 15)",
            max_runs=len(LETTERS),
        ),
    )
}


def find_criterion(name: str, runs: int = 2) -> Criterion:
    """Return a criterion by name. Raises SettingsError if it is unknown or takes fewer runs."""
    if name not in CRITERIA:
        raise SettingsError(f"unknown criterion {name!r}; there are: {', '.join(CRITERIA)}")
    criterion = CRITERIA[name]
    if not 2 <= runs <= criterion.max_runs:
        accepted = "two" if criterion.max_runs == 2 else f"2 to {criterion.max_runs}"
        hint = "; choice takes more" if criterion.max_runs == 2 else ""
        raise SettingsError(f"{name} compares {accepted} runs, not {runs}{hint}")
    return criterion
