"""Judges of two benchmarks of memory systems: HaluMem's answers, MemOps' operations."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_prompt
from theanine.text.formatting import one_line
from theanine_bench.judges.answers import REASON, grounds
from theanine_bench.judges.judge import PROMPTS, Judge, JudgePrompt, always
from theanine_bench.judges.rendering import NOTHING, answer, conversation, evidence, reference
from theanine_bench.samples import SampleResult

LABELS = ("correct", "hallucination", "omission")
CHECKS = {
    "leakage": "it says what the user asked to forget",
    "over_forget": "it treats as forgotten what the user did not ask to forget",
    "stale_value": "it gives an old value as the present one",
    "reflection_precision": "everything that it infers is supported",
    "reflection_recall": "it draws the inference that was to be drawn",
    "trajectory_order": "the steps are in the right order",
    "final_state": "the last state is right",
    "intermediate_state": "the states in between that were asked for are right",
    "trajectory_provenance": "it names adequate evidence for each step",
}
"""MemOps' further metrics (``5.5-evaluate_operation_metrics.py``), in words; part of the prompt."""
_TRAJECTORY = ("trajectory_order", "final_state", "intermediate_state", "trajectory_provenance")
_BY_OPERATION = {
    "Forget": ("leakage", "over_forget"),
    "Update": ("stale_value",),
    "Reflect": ("reflection_precision", "reflection_recall"),
    "TrajectoryOps": _TRAJECTORY,
}


class HaluMemVerdict(BaseModel):
    """Whether an answer is right, invents something or lacks something."""

    explanation: str = Field(description=REASON)
    label: Literal["correct", "hallucination", "omission"]


class Checked(BaseModel):
    """Whether a check holds of an answer."""

    check: str = Field(description="the check's name")
    holds: bool


class MemOpsVerdict(BaseModel):
    """Whether an answer is right, and what else holds of it."""

    explanation: str = Field(description=REASON)
    right: bool
    checks: list[Checked]


def checks_for(result: SampleResult) -> tuple[str, ...]:
    """Return the names of the further metrics that MemOps applies to a question."""
    checks = _BY_OPERATION.get(str(result.extra.get("operation", "")), ())
    return checks if checks == _TRAJECTORY or not result.extra.get("trajectory") else (
        *checks,
        *_TRAJECTORY,
    )  # fmt: skip


def _memops_values(result: SampleResult) -> dict[str, str]:
    return {
        "conversation": conversation(result),
        "answer": answer(result),
        "reference": reference(result),
        "evidence": evidence(result),
        "state": one_line(str(result.extra.get("memory_state", ""))) or NOTHING,
        "rubric": one_line(str(result.extra.get("judge_rubric", ""))) or NOTHING,
        "checks": "\n".join(f"{name}: {CHECKS[name]}" for name in checks_for(result)) or NOTHING,
    }


def _find_fault(result: SampleResult, verdict: MemOpsVerdict) -> str | None:
    expected, actual = sorted(checks_for(result)), sorted(each.check for each in verdict.checks)
    return None if actual == expected else f"it needs the checks {expected}, each once"


def _memops_scores(verdict: MemOpsVerdict) -> dict[str, float]:
    checks = {f"memops/{each.check}": float(each.holds) for each in verdict.checks}
    return {"memops": float(verdict.right), **checks}


_JUDGES = (
    Judge(
        name="halumem",
        worst={"halumem/correct": 0.0, "halumem/hallucination": 0.0, "halumem/omission": 1.0},
        prompt=always(
            JudgePrompt(
                step=load_prompt(PROMPTS, "judge-halumem", 1, HaluMemVerdict),
                values=lambda result: {
                    **grounds(result),
                    "conversation": conversation(result),
                    "answer": answer(result),
                },
                to_scores=lambda verdict: {
                    f"halumem/{label}": float(verdict.label == label) for label in LABELS
                },
            )
        ),
        labels=LABELS,
        binary=True,
        source="HaluMem's question answering (eval/evaluation.py): shares of each label",
    ),
    Judge(
        name="memops",
        worst={"memops": 0.0},
        prompt=always(
            JudgePrompt(
                step=load_prompt(PROMPTS, "judge-memops", 1, MemOpsVerdict),
                values=_memops_values,
                to_scores=_memops_scores,
                check=_find_fault,
            )
        ),
        labels=("right", "wrong"),
        binary=True,
        source="MemOps' answers, and its metrics by operation, such as leakage and stale values",
    ),
)
METRICS = {judge.name: judge for judge in _JUDGES}
