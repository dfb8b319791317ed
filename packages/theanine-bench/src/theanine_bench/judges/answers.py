"""Judges of an answer against what is known to be right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_prompt
from theanine.text.formatting import one_line
from theanine_bench.judges.judge import PROMPTS, Judge, JudgePrompt, Unjudged, always
from theanine_bench.judges.rendering import (
    NOTHING,
    answer,
    answerable,
    conversation,
    evidence,
    reference,
)
from theanine_bench.metrics.ordering import order_score
from theanine_bench.samples import SampleResult
from theanine_bench.teafarm.metrics import CORRECT, INCORRECT
from theanine_bench.teafarm.metrics import JUDGE_PROMPT as TEAFARM

REASON = "why, with the evidence, in a sentence or two"


class Hundred(BaseModel):
    """A rating from 0 to 100, its reason first."""

    explanation: str = Field(description=REASON)
    score: int = Field(ge=0, le=100)


class Covered(BaseModel):
    """How much of the reference an answer covers: 0 nothing, 1 a part, 2 all."""

    score: Literal[0, 1, 2]


class Right(BaseModel):
    """Whether an answer is right, the reason first."""

    explanation: str = Field(description=REASON)
    label: Literal["right", "wrong"]


class PointVerdict(BaseModel):
    """How far an answer meets one point of a rubric."""

    point: int = Field(description="the point's number")
    explanation: str = Field(description="why, in a few words")
    met: Literal["fully", "partly", "no"]


class Points(BaseModel):
    """A verdict on each point of a rubric."""

    points: list[PointVerdict]


class EventSaid(BaseModel):
    """An event of an answer, and the point that it is, if it is one."""

    event: str = Field(description="the event in a few words of the answer")
    point: int | None = Field(description="the number of the point that is the same event, or null")


class Order(BaseModel):
    """The events of an answer in its order, and the points that are none of them."""

    events: list[EventSaid]
    missing: list[int] = Field(description="the numbers of the points that no event is")


GPT4SCORE = load_prompt(PROMPTS, "judge-gpt4score", 1, Hundred)
GPT_SCORE = load_prompt(PROMPTS, "judge-gpt-score", 1, Covered)
RIGHT = load_prompt(PROMPTS, "judge-right", 1, Right)
ABSTAINS = load_prompt(PROMPTS, "judge-abstains", 1, Right)
RUBRIC = load_prompt(PROMPTS, "judge-rubric", 1, Points)
ORDER = load_prompt(PROMPTS, "judge-order", 1, Order)
_MET = {"fully": 1.0, "partly": 0.5, "no": 0.0}


def _asked(item: SampleResult) -> dict[str, str]:
    return {"conversation": conversation(item), "answer": answer(item)}


def _compared(item: SampleResult) -> dict[str, str]:
    return {**_asked(item), "reference": reference(item)}


def grounds(item: SampleResult) -> dict[str, str]:
    """The reference and, where the case has them, the past turns that hold the answer.

    Raises Unjudged where the item has neither.
    """
    shown = evidence(item)
    try:
        return {"reference": reference(item), "evidence": shown}
    except Unjudged:
        if shown == NOTHING:
            raise
        return {"reference": NOTHING, "evidence": shown}


def _farmed(item: SampleResult) -> dict[str, str]:
    return {"question": one_line(item.question), "answer": reference(item), "reply": answer(item)}


def _rubric(item: SampleResult) -> list[str]:
    return [one_line(str(point)) for point in item.extra.get("rubric") or ()]


def _pointed(item: SampleResult) -> dict[str, str]:
    """Raises Unjudged where the case has no points."""
    lines = [f"{number}. {point}" for number, point in enumerate(_rubric(item), 1)]
    if not lines:
        raise Unjudged(f"there is no rubric for {item.id}, no points to judge its answer by")
    return {**_asked(item), "points": "\n".join(lines)}


def _each_once(item: SampleResult, points: Iterable[int]) -> str | None:
    """What is wrong with the numbers of a verdict's points, or None."""
    wanted, given = list(range(1, len(_rubric(item)) + 1)), sorted(points)
    return None if given == wanted else f"it needs the points {wanted}, each once, not {given}"


def _unmet(item: SampleResult, verdict: Points) -> str | None:
    return _each_once(item, (one.point for one in verdict.points))


def _unordered(item: SampleResult, verdict: Order) -> str | None:
    named = [one.point for one in verdict.events if one.point is not None]
    return _each_once(item, [*named, *verdict.missing])


def _right(verdict: Right) -> dict[str, float]:
    return {"right": float(verdict.label == "right")}


def _share(verdict: Points) -> float:
    met = [_MET[one.met] for one in verdict.points]
    return sum(met) / len(met)


def _in_order(verdict: Order) -> dict[str, float]:
    events = [None if one.point is None else one.point - 1 for one in verdict.events]
    named = sum(event is not None for event in events)
    return {"right": order_score(named + len(verdict.missing), events)}


_BY_REFERENCE = JudgePrompt(step=RIGHT, values=_compared, to_scores=_right)
_BY_SILENCE = JudgePrompt(step=ABSTAINS, values=_asked, to_scores=_right)
_BY_POINTS = JudgePrompt(
    step=RUBRIC, values=_pointed, to_scores=lambda said: {"right": _share(said)}, check=_unmet
)
_BY_ORDER = JudgePrompt(step=ORDER, values=_pointed, to_scores=_in_order, check=_unordered)
POINTED = JudgePrompt(
    step=RUBRIC, values=_pointed, to_scores=lambda said: {"points": _share(said)}, check=_unmet
)


def _form_of_right(
    item: SampleResult,
) -> JudgePrompt[Order] | JudgePrompt[Points] | JudgePrompt[Right]:
    if _rubric(item):
        return _BY_ORDER if item.extra.get("ordered") else _BY_POINTS
    return _BY_REFERENCE if answerable(item) else _BY_SILENCE


GROUNDED = JudgePrompt(
    step=GPT4SCORE,
    values=lambda item: {**grounds(item), **_asked(item)},
    to_scores=lambda said: {"gpt4score": float(said.score)},
)
COVERED = JudgePrompt(
    step=GPT_SCORE, values=_compared, to_scores=lambda said: {"gpt-score": float(said.score)}
)
FARMED = JudgePrompt(
    step=TEAFARM,
    values=_farmed,
    to_scores=lambda said: {"teafarm": float(said.verdict == CORRECT)},
)

ANSWER_JUDGES = (
    Judge(
        name="gpt4score",
        worst={"gpt4score": 0.0},
        prompt=always(GROUNDED),
        labels=range(101),
        source="GPT4Score of SeCom (section 3.1) and MemoChat: 0 to 100",
    ),
    Judge(
        name="gpt-score",
        worst={"gpt-score": 0.0},
        prompt=always(COVERED),
        labels=range(3),
        source="GPT-score of conditional memory (section 5.2, table 13): 0, 1 or 2",
    ),
    Judge(
        name="right",
        worst={"right": 0.0},
        prompt=_form_of_right,
        labels=("right", "wrong"),
        source="right or wrong, as LoCoMo and LongMemEval are judged; BEAM's points and order",
    ),
    Judge(
        name="points",
        worst={"points": 0.0},
        prompt=always(POINTED),
        labels=("right", "wrong"),
        source="BEAM's points, for questions of order as well: their mean of 1, 0.5 and 0",
    ),
    Judge(
        name="teafarm",
        worst={"teafarm": 0.0},
        prompt=always(FARMED),
        labels=(CORRECT, INCORRECT),
        source="TeaFarm's judge (Theanine, appendix H, figure 25)",
    ),
)
"""The judges of this module."""
