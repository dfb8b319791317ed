"""Judges of an answer against a reference, evidence or a rubric."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import load_prompt
from theanine.llm.published import find_labeled
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
from theanine_bench.metrics.base import Labeled
from theanine_bench.metrics.ordering import order_score
from theanine_bench.samples import SampleResult

REASON = "why, with the evidence, in a sentence or two"


class TeaFarmVerdict(BaseModel):
    """TeaFarm's judge: a verdict by the paper's rule, and whether the reply is an open answer."""

    reason: str = Field(description="in one or two sentences")
    open: bool = Field(description="whether the reply leaves the point open")
    verdict: Literal["Correct", "Incorrect"]


CORRECT, INCORRECT = "Correct", "Incorrect"


def _published_verdict(reply: str, _: Mapping[str, str]) -> dict[str, object]:
    """Read the paper's verdict, which has no word on open answers."""
    fields = find_labeled(reply, {"reason": "Evaluation", "verdict": "Result"})
    return {
        "reason": fields["reason"],
        "open": False,
        "verdict": fields["verdict"].strip(" .{}\"'*"),
    }


TEAFARM_PROMPT = load_prompt(
    PROMPTS, "teafarm-judge", 2, TeaFarmVerdict, published=_published_verdict
)


class Hundred(BaseModel):
    """A rating from 0 to 100."""

    explanation: str = Field(description=REASON)
    score: int = Field(ge=0, le=100)


class Covered(BaseModel):
    """How much of the reference an answer covers: 0 nothing, 1 a part, 2 all."""

    score: Literal[0, 1, 2]


class Right(BaseModel):
    """Whether an answer is right."""

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
    """An event of an answer, and the point that it matches, if any."""

    event: str = Field(description="the event in a few words of the answer")
    point: int | None = Field(description="the number of the point that is the same event, or null")


class Order(BaseModel):
    """The events of an answer in its order, and the points without an event."""

    events: list[EventSaid]
    missing: list[int] = Field(description="the numbers of the points that no event is")


def _published_score(reply: str, _: Mapping[str, str]) -> dict[str, int]:
    numbers = {*re.findall(r"\d+(?:[.,]\d+)?", reply)}
    if len(numbers) != 1 or not numbers <= {"0", "1", "2"}:
        raise InvalidReply("it must hold one number alone: 0, 1 or 2")
    return {"score": int(numbers.pop())}


_POINT_SCORES = {"fully": 1.0, "partly": 0.5, "no": 0.0}


def _answer_values(result: SampleResult) -> dict[str, str]:
    return {"conversation": conversation(result), "answer": answer(result)}


def _reference_values(result: SampleResult) -> dict[str, str]:
    return {**_answer_values(result), "reference": reference(result)}


def grounds(result: SampleResult) -> dict[str, str]:
    """Return the reference and the labeled past turns that contain the answer.

    Raises Unjudged if the result has neither.
    """
    turns = evidence(result)
    try:
        return {"reference": reference(result), "evidence": turns}
    except Unjudged:
        if turns == NOTHING:
            raise
        return {"reference": NOTHING, "evidence": turns}


def _rubric(result: Labeled) -> list[str]:
    return [one_line(str(point)) for point in result.extra.get("rubric") or ()]


def _rubric_values(result: SampleResult) -> dict[str, str]:
    lines = [f"{number}. {point}" for number, point in enumerate(_rubric(result), 1)]
    if not lines:
        raise Unjudged(f"there is no rubric for {result.id}, no points to judge its answer by")
    return {**_answer_values(result), "points": "\n".join(lines)}


def _check_numbers(result: SampleResult, points: Iterable[int]) -> str | None:
    """Return what is wrong with the point numbers of a verdict, or None."""
    expected, actual = list(range(1, len(_rubric(result)) + 1)), sorted(points)
    if actual == expected:
        return None
    return f"it needs the points {expected}, each once, not {actual}"


def _check_points(result: SampleResult, verdict: Points) -> str | None:
    return _check_numbers(result, (each.point for each in verdict.points))


def _check_order(result: SampleResult, verdict: Order) -> str | None:
    matched = [event.point for event in verdict.events if event.point is not None]
    return _check_numbers(result, [*matched, *verdict.missing])


def teafarm_scores(verdict: TeaFarmVerdict, name: str) -> dict[str, float]:
    """Return ``NAME``, where an open answer is incorrect, and ``NAME/paper``.

    The paper's rule (figure 26) names only answers that align with the right one or contradict it,
    which leaves open ones to the judge.
    """
    correct = verdict.verdict == CORRECT
    return {name: float(correct and not verdict.open), f"{name}/paper": float(correct)}


def _right_score(verdict: Right) -> dict[str, float]:
    return {"right": float(verdict.label == "right")}


def _mean_points(verdict: Points) -> float:
    return sum(_POINT_SCORES[each.met] for each in verdict.points) / len(verdict.points)


def _order_score(verdict: Order) -> dict[str, float]:
    events = [None if event.point is None else event.point - 1 for event in verdict.events]
    matched = sum(event is not None for event in events)
    return {"right": order_score(matched + len(verdict.missing), events)}


_BY_REFERENCE = JudgePrompt(
    step=load_prompt(PROMPTS, "judge-right", 1, Right),
    values=_reference_values,
    to_scores=_right_score,
)
_BY_ABSTENTION = JudgePrompt(
    step=load_prompt(PROMPTS, "judge-abstains", 1, Right),
    values=_answer_values,
    to_scores=_right_score,
)
_BY_ORDER = JudgePrompt(
    step=load_prompt(PROMPTS, "judge-order", 1, Order),
    values=_rubric_values,
    to_scores=_order_score,
    check=_check_order,
)


def _by_points(name: str) -> JudgePrompt[Points]:
    return JudgePrompt(
        step=load_prompt(PROMPTS, "judge-rubric", 1, Points),
        values=_rubric_values,
        to_scores=lambda verdict: {name: _mean_points(verdict)},
        check=_check_points,
    )


_BY_POINTS = _by_points("right")


def _right_prompt(result: SampleResult) -> JudgePrompt[Any]:
    if _rubric(result):
        return _BY_ORDER if result.extra.get("ordered") else _BY_POINTS
    return _BY_REFERENCE if answerable(result) else _BY_ABSTENTION


_JUDGES = (
    Judge(
        name="gpt4score",
        worst={"gpt4score": 0.0},
        prompt=always(
            JudgePrompt(
                step=load_prompt(PROMPTS, "judge-gpt4score", 1, Hundred),
                values=lambda result: {**grounds(result), **_answer_values(result)},
                to_scores=lambda verdict: {"gpt4score": float(verdict.score)},
            )
        ),
        labels=range(101),
        source="GPT4Score of SeCom (section 3.1) and MemoChat: 0 to 100",
    ),
    Judge(
        name="gpt-score",
        worst={"gpt-score": 0.0},
        prompt=always(
            JudgePrompt(
                step=load_prompt(
                    PROMPTS, "judge-gpt-score", 1, Covered, published=_published_score
                ),
                values=_reference_values,
                to_scores=lambda verdict: {"gpt-score": float(verdict.score)},
            )
        ),
        labels=range(3),
        source="GPT-score of conditional memory (section 5.2, table 13): 0, 1 or 2",
    ),
    Judge(
        name="right",
        worst={"right": 0.0},
        prompt=_right_prompt,
        labels=("right", "wrong"),
        binary=lambda sample: not _rubric(sample),
        source="right or wrong, as LoCoMo and LongMemEval are judged; BEAM's points and order",
    ),
    Judge(
        name="points",
        worst={"points": 0.0},
        prompt=always(_by_points("points")),
        labels=("right", "wrong"),
        source="BEAM's points, also for questions of order: their mean of 1, 0.5 and 0",
    ),
    Judge(
        name="teafarm",
        worst={"teafarm": 0.0, "teafarm/paper": 0.0},
        prompt=always(
            JudgePrompt(
                step=TEAFARM_PROMPT,
                values=lambda result: {
                    "question": one_line(result.question),
                    "answer": reference(result),
                    "reply": answer(result),
                },
                to_scores=lambda verdict: teafarm_scores(verdict, "teafarm"),
            )
        ),
        labels=(CORRECT, INCORRECT),
        binary=True,
        source="TeaFarm's judge (Theanine, appendix H, figure 26); /paper without our rule for "
        "open answers",
    ),
)
METRICS = {judge.name: judge for judge in _JUDGES}
