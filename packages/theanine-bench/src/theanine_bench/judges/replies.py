"""Judges of a reply by its conversation and by the past."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field

from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import format_speaker, one_line
from theanine_bench.judges.answers import REASON
from theanine_bench.judges.judge import PROMPTS, Judge, JudgePrompt, always
from theanine_bench.judges.rendering import NOTHING, answer, bullet_list, conversation, past
from theanine_bench.samples import SampleResult

QUALITIES = {
    "fluency": "Fluency: it reads naturally, as a person would put it, varied and without "
    "needless repetition.",
    "coherence": "Coherence: it follows from the conversation as it has developed, takes up "
    "changes of topic, and makes sense as the next turn.",
    "consistency": "Consistency: it agrees with what is known of the speakers; whatever departs "
    "from that is a fault, and of two known things the later counts.",
}
"""LLM-Rsum's three qualities (appendix, evaluation prompts), paraphrased; part of the prompt."""
PERSPECTIVES = ("coherence", "consistency", "memorability", "engagingness", "humanness")
"""SeCom's five perspectives (appendix A.10), from COMEDY."""
STANCES = ("entails", "neutral", "contradicts")
AGREEMENTS = ("definitely disagree", "slightly disagree", "slightly agree", "definitely agree")


class Rating(BaseModel):
    """A rating from 1 to 100."""

    explanation: str = Field(description=REASON)
    score: int = Field(ge=1, le=100)


class Stance(BaseModel):
    """Whether a reply entails or contradicts the past."""

    explanation: str = Field(description=REASON)
    label: Literal["entails", "neutral", "contradicts"]


class Need(BaseModel):
    """Whether the next turn of a conversation needs the past."""

    explanation: str = Field(description="why, in a sentence")
    label: Literal["needs it", "does without"]


class Agreement(BaseModel):
    """How far the judge agrees that the recollection helps."""

    explanation: str = Field(description=REASON)
    label: Literal["definitely disagree", "slightly disagree", "slightly agree", "definitely agree"]


class Perspectives(BaseModel):
    """Five ratings from 0 to 3."""

    explanation: str = Field(description=REASON)
    coherence: int = Field(ge=0, le=3)
    consistency: int = Field(ge=0, le=3)
    memorability: int = Field(ge=0, le=3)
    engagingness: int = Field(ge=0, le=3)
    humanness: int = Field(ge=0, le=3)


def _reply_values(result: SampleResult) -> dict[str, str]:
    return {
        "past": past(result),
        "conversation": conversation(result),
        "reply": f"{format_speaker(result.speaker)}: {answer(result)}",
    }


def _published_rating(reply: str, _: Mapping[str, str]) -> dict[str, str]:
    """Read an explanation and a score in double brackets."""
    if not (scores := [*re.finditer(r"\[\[\s*(\d+)\s*\]\]", reply)]):
        raise InvalidReply("it lacks a score in the form [[score]]")
    return {"explanation": reply[: scores[-1].start()].strip(), "score": scores[-1][1]}


def _quality_judge(name: str) -> Judge:
    prompt = JudgePrompt(
        step=load_prompt(PROMPTS, "judge-quality", 1, Rating, published=_published_rating),
        values=lambda result: {**_reply_values(result), "quality": QUALITIES[name]},
        to_scores=lambda verdict: {name: float(verdict.score)},
    )
    return Judge(
        name=name,
        worst={name: 1.0},
        prompt=always(prompt),
        labels=range(1, 101),
        source="single model evaluation of LLM-Rsum (section 4 and appendix): 1 to 100",
    )


_JUDGES = (
    *map(_quality_judge, QUALITIES),
    Judge(
        name="entailment",
        worst={"entailment/entails": 0.0, "entailment/neutral": 0.0, "entailment/contradicts": 1.0},
        prompt=always(
            JudgePrompt(
                step=load_prompt(PROMPTS, "judge-entailment", 1, Stance),
                values=_reply_values,
                to_scores=lambda verdict: {
                    f"entailment/{label}": float(verdict.label == label) for label in STANCES
                },
            )
        ),
        labels=STANCES,
        binary=True,
        source="the third human evaluation of Theanine (appendix E.2): shares of each label",
    ),
    Judge(
        name="needs-past",
        worst={"needs-past": 0.0},
        prompt=always(
            JudgePrompt(
                step=load_prompt(PROMPTS, "judge-needs-past", 1, Need),
                values=lambda result: {
                    "past": past(result),
                    "conversation": conversation(result),
                    "next": one_line(result.reference) or NOTHING,
                },
                to_scores=lambda verdict: {"needs-past": float(verdict.label == "needs it")},
            )
        ),
        labels=("needs it", "does without"),
        binary=True,
        source="selection of turns before entailment is rated (Theanine, appendix E.2)",
    ),
    Judge(
        name="helpfulness",
        worst={"helpfulness": 0.0},
        prompt=always(
            JudgePrompt(
                step=load_prompt(PROMPTS, "judge-helpfulness", 1, Agreement),
                values=lambda result: {
                    "recalled": bullet_list(part["text"] for part in result.recalled),
                    "conversation": conversation(result),
                },
                to_scores=lambda verdict: {"helpfulness": float(verdict.label.endswith(" agree"))},
            )
        ),
        labels=AGREEMENTS,
        binary=True,
        source="agreement that what is retrieved helps (Theanine, appendix E.2): share that agrees",
    ),
    Judge(
        name="perspectives",
        worst={f"perspectives/{name}": 0.0 for name in PERSPECTIVES},
        prompt=always(
            JudgePrompt(
                step=load_prompt(PROMPTS, "judge-perspectives", 1, Perspectives),
                values=_reply_values,
                to_scores=lambda verdict: {
                    f"perspectives/{name}": float(getattr(verdict, name)) for name in PERSPECTIVES
                },
            )
        ),
        labels=range(4),
        source="the five perspectives of SeCom (appendix A.10) and COMEDY: 0 to 3 each",
    ),
)
METRICS = {judge.name: judge for judge in _JUDGES}
