"""Head to head: which of several runs' answers to one case is better, by a criterion.

The judge is asked in both orders (of more than two candidates: in a shuffled order and its
reverse; the same answer is shown once). A verdict that does not stand in both is a tie, and is
counted as a flip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, Field

from theanine.errors import SettingsError
from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import PromptTemplate, load_prompt
from theanine.text.formatting import format_speaker, one_line
from theanine_bench.judges.answers import REASON, grounds
from theanine_bench.judges.judge import PROMPTS
from theanine_bench.judges.rendering import NOTHING, conversation, lines, past, reference
from theanine_bench.samples import SampleResult, Score

LETTERS = "ABCDEFGH"
"""The runs' names in verdicts and measures, in the order in which they were given."""
TIE, FLIP = "tie", "flip"


class Better(BaseModel):
    """Which of two is better, the reason first."""

    explanation: str = Field(description=REASON)
    better: Literal[1, 2]

    @property
    def chosen(self) -> int:
        """Its place among those shown, from 1."""
        return self.better


class Best(BaseModel):
    """Which of several is best, without a reason."""

    best: int = Field(ge=1, le=len(LETTERS), description="its number")

    @property
    def chosen(self) -> int:
        """Its place among those shown, from 1."""
        return self.best


REPLIES = load_prompt(PROMPTS, "compare-replies", 1, Better)
WITH_PAST = load_prompt(PROMPTS, "compare-with-past", 1, Better)
RECALLED = load_prompt(PROMPTS, "compare-recalled", 1, Better)
ANSWERS = load_prompt(PROMPTS, "compare-answers", 1, Better)
CHOICE = load_prompt(PROMPTS, "choose-answer", 1, Best)

Candidate = Mapping[str, Any]
"""``{run, answer, made_by, recalled}``: one run's part of a compared item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """By what candidates are compared.

    Attributes:
        step: prompt and schema.
        values: fills the prompt, of an item and its candidates in the order to show them.
        compared: what of a candidate is compared.
        most: how many candidates it takes.
        source: whose criterion it is.
    """

    name: str
    step: PromptTemplate[Any]
    values: Callable[[SampleResult, Sequence[Candidate]], Mapping[str, str]]
    source: str
    compared: Callable[[Candidate], str] = lambda one: one_line(one["answer"] or "")
    max_runs: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseMetric:
    """The measure of a criterion: a 1 for the run that wins, by its letter, or for a tie."""

    criterion: Criterion
    runs: int = 2

    @property
    def name(self) -> str:
        """The criterion's."""
        return self.criterion.name

    @property
    def needs_judge(self) -> bool:
        """It asks a model."""
        return True

    @property
    def worst(self) -> Mapping[str, float]:
        """Its numbers' names; compared items always have an answer."""
        return self._values(TIE, flipped=False)

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """The outcome; the judge is not asked where there is nothing to compare.

        A run without an answer loses. Of several runs those with the same answer are shown as one,
        and win together: the outcome then has the letters of all, such as ``AC``.

        Raises ModelError when the judge fails in either order.
        """
        if judge is None:
            raise SettingsError(f"{self.name} is judged by a model: name one with --judge")
        candidates: Sequence[Candidate] = result.extra["candidates"]
        alike: dict[str, list[int]] = {}
        for place, one in enumerate(candidates):
            if one["answer"] is not None:
                alike.setdefault(self.criterion.compared(one), []).append(place)
        known = {LETTERS[same[0]]: _letters(same) for same in alike.values()}
        if len(known) <= 1:
            best = "".join(known.values())
            outcome = best if 0 < len(best) < len(candidates) else TIE
            why = "there is no difference" if outcome == TIE else "the others have no answer"
            return Score(values=self._values(outcome, flipped=False), verdict=_told(outcome, why))
        shown = orders(result.id, [same[0] for same in alike.values()])
        asked = [await self._ask(result, order, judge) for order in shown]
        chosen = {one["chosen"] for one in asked}
        outcome = known[chosen.pop()] if len(chosen) == 1 else TIE
        why = "the order decided" if outcome == TIE else "in both orders"
        by = {"model": judge.model, "prompt": self.criterion.step.label}
        verdict = {**_told(outcome, why), "asked": asked, **by}
        if merged := [letters for letters in known.values() if len(letters) > 1]:
            verdict["alike"] = merged
        return Score(values=self._values(outcome, flipped=outcome == TIE), verdict=verdict)

    async def _ask(
        self, item: SampleResult, order: Sequence[int], judge: ScopedChat
    ) -> dict[str, Any]:
        shown = [item.extra["candidates"][place] for place in order]
        said = await judge.ask(
            self.criterion.step,
            source_sessions=(),  # the judge's own scope has no sessions
            check=lambda said: None if said.chosen <= len(order) else f"there are {len(order)}",
            **self.criterion.values(item, shown),
        )
        letters = [LETTERS[place] for place in order]
        return {**said.model_dump(), "order": letters, "chosen": letters[said.chosen - 1]}

    def _values(self, outcome: str, *, flipped: bool) -> dict[str, float]:
        names = (*LETTERS[: self.runs], TIE)
        values = {f"{self.name}/{one}": float(one in outcome) for one in names}
        return {**values, f"{self.name}/{FLIP}": float(flipped)}


def orders(case: str, places: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Both orders in which candidates are shown; of more than two shuffled, the same each time."""
    order = list(places)
    if len(order) > 2:
        Random(case).shuffle(order)
    return order, order[::-1]


def _letters(places: Sequence[int]) -> str:
    return "".join(LETTERS[place] for place in places)


def _told(outcome: str, why: str) -> dict[str, Any]:
    return {"outcome": outcome, "why": why}


def _responses(item: SampleResult, shown: Sequence[Candidate]) -> str:
    speaker = format_speaker(item.speaker)
    answers = [one_line(one["answer"] or "") or NOTHING for one in shown]
    return "\n".join(f"{number}: {speaker}: {words}" for number, words in enumerate(answers, 1))


def _plain(criterion: str) -> Callable[[SampleResult, Sequence[Candidate]], Mapping[str, str]]:
    return lambda item, shown: {
        "criterion": criterion,
        "conversation": conversation(item),
        "responses": _responses(item, shown),
    }


def _by_the_past(
    criterion: str,
) -> Callable[[SampleResult, Sequence[Candidate]], Mapping[str, str]]:
    plain = _plain(criterion)
    return lambda item, shown: {**plain(item, shown), "past": past(item)}


def _recollections(item: SampleResult, shown: Sequence[Candidate]) -> Mapping[str, str]:
    first, second = (lines(one["recalled"]) for one in shown)
    return {"conversation": conversation(item), "first": first, "second": second}


def _grounded(item: SampleResult, shown: Sequence[Candidate]) -> Mapping[str, str]:
    told = {"conversation": conversation(item), "responses": _responses(item, shown)}
    return {**grounds(item), **told}


def _options(item: SampleResult, shown: Sequence[Candidate]) -> Mapping[str, str]:
    answers = [one_line(one["answer"] or "") or NOTHING for one in shown]
    return {
        "reference": reference(item),
        "conversation": conversation(item),
        "answers": "\n".join(f"{number}: {words}" for number, words in enumerate(answers, 1)),
    }


_G_EVAL = "G-Eval, head to head (Theanine, appendix D and figures 20 to 22)"
CRITERIA: Mapping[str, Criterion] = {
    one.name: one
    for one in (
        Criterion(
            name="specificity",
            step=REPLIES,
            values=_plain(
                "Specificity: the response is detailed and precise, and what it says is clear, "
                "particular to this conversation and no commonplace."
            ),
            source=_G_EVAL,
        ),
        Criterion(
            name="memorability",
            step=WITH_PAST,
            values=_by_the_past(
                "Memorability: the response recalls the past rightly where the conversation calls "
                "for it; the more of what matters it takes up, the better."
            ),
            source=_G_EVAL,
        ),
        Criterion(
            name="consistency",
            step=WITH_PAST,
            values=_by_the_past(
                "Consistency: nothing in the response contradicts the past as it is now. To say "
                "nothing of the past is no contradiction."
            ),
            source=_G_EVAL,
        ),
        Criterion(
            name="helpfulness",
            step=RECALLED,
            values=_recollections,
            source="helpfulness of retrieved memories (Theanine, section 4.2 and figure 23)",
            compared=lambda one: lines(one["recalled"]),
        ),
        Criterion(
            name="overall",
            step=WITH_PAST,
            values=_by_the_past(
                "Overall: weigh whether the response is coherent with the conversation, consistent "
                "with the past, and natural and fluent; then which of the two you would prefer."
            ),
            source="pairwise model evaluation of LLM-Rsum (appendix)",
        ),
        Criterion(
            name="answer",
            step=ANSWERS,
            values=_grounded,
            source="pairwise comparison of SeCom and MemoChat (SeCom, appendix A.4)",
        ),
        Criterion(
            name="gsb",
            step=CHOICE,
            values=_options,
            source="Good / Same / Bad of conditional memory (appendix B.2, table 14)",
        ),
        Criterion(
            name="choice",
            step=CHOICE,
            values=_options,
            source="multiple choice of conditional memory (appendix B.3, table 15)",
            max_runs=len(LETTERS),
        ),
    )
}
"""By what runs can be compared, by name."""


def find_criterion(name: str, runs: int = 2) -> Criterion:
    """The criterion of that name. Raises SettingsError for an unknown one, or for too many runs."""
    if name not in CRITERIA:
        raise SettingsError(f"unknown criterion {name!r}; there are: {', '.join(CRITERIA)}")
    if not 2 <= runs <= CRITERIA[name].max_runs:
        raise SettingsError(
            f"{name} compares {'two' if CRITERIA[name].max_runs == 2 else f'2 to {len(LETTERS)}'} "
            f"runs, not {runs}" + ("; choice takes more" if CRITERIA[name].max_runs < runs else "")
        )
    return CRITERIA[name]
