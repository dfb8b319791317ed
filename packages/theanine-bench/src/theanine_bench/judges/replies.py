"""Judges of a reply in its conversation: how it reads, and how it stands to the past."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_prompt
from theanine_bench.judges.answers import REASON
from theanine_bench.judges.judge import PROMPTS, Judge, JudgePrompt, always
from theanine_bench.judges.rendering import conversation, past, recalled, reply
from theanine_bench.samples import SampleResult

QUALITIES = {
    "fluency": "Fluency: it reads naturally, as a person would put it, varied and without "
    "needless repetition.",
    "coherence": "Coherence: it follows from the conversation as it has developed, takes up "
    "changes of topic, and makes sense as the next turn.",
    "consistency": "Consistency: it agrees with what is known of the speakers; whatever departs "
    "from that is a fault, and of two known things the later counts.",
}
"""LLM-Rsum's three qualities (appendix, evaluation prompts), in our words."""
PERSPECTIVES = ("coherence", "consistency", "memorability", "engagingness", "humanness")
"""SeCom's five perspectives (appendix A.10), which are COMEDY's."""
STANCES = ("entails", "neutral", "contradicts")
AGREEMENTS = ("definitely disagree", "slightly disagree", "slightly agree", "definitely agree")


class Rating(BaseModel):
    """A rating from 1 to 100, its reason first."""

    explanation: str = Field(description=REASON)
    score: int = Field(ge=1, le=100)


class Stance(BaseModel):
    """How a reply stands to the past, the reason first."""

    explanation: str = Field(description=REASON)
    label: Literal["entails", "neutral", "contradicts"]


class Agreement(BaseModel):
    """How far a rater agrees that what was recalled helps, the reason first."""

    explanation: str = Field(description=REASON)
    label: Literal["definitely disagree", "slightly disagree", "slightly agree", "definitely agree"]


class Perspectives(BaseModel):
    """Five ratings from 0 to 3, their reason first."""

    explanation: str = Field(description=REASON)
    coherence: int = Field(ge=0, le=3)
    consistency: int = Field(ge=0, le=3)
    memorability: int = Field(ge=0, le=3)
    engagingness: int = Field(ge=0, le=3)
    humanness: int = Field(ge=0, le=3)


QUALITY = load_prompt(PROMPTS, "judge-quality", 1, Rating)
ENTAILMENT = load_prompt(PROMPTS, "judge-entailment", 1, Stance)
HELPFULNESS = load_prompt(PROMPTS, "judge-helpfulness", 1, Agreement)
FIVE = load_prompt(PROMPTS, "judge-perspectives", 1, Perspectives)


def _shown(item: SampleResult) -> dict[str, str]:
    return {"past": past(item), "conversation": conversation(item), "reply": reply(item)}


def _quality(name: str) -> Judge:
    form = JudgePrompt(
        step=QUALITY,
        values=lambda item: {**_shown(item), "quality": QUALITIES[name]},
        to_scores=lambda said: {name: float(said.score)},
    )
    return Judge(
        name=name,
        worst={name: 1.0},
        prompt=always(form),
        labels=range(1, 101),
        source="single model evaluation of LLM-Rsum (section 4 and appendix): 1 to 100",
    )


def _stance(verdict: Stance) -> dict[str, float]:
    return {f"entailment/{label}": float(verdict.label == label) for label in STANCES}


STANCE = JudgePrompt(step=ENTAILMENT, values=_shown, to_scores=_stance)
HELP = JudgePrompt(
    step=HELPFULNESS,
    values=lambda item: {"recalled": recalled(item), "conversation": conversation(item)},
    to_scores=lambda said: {"helpfulness": float(said.label.endswith(" agree"))},
)
SEEN_BY_FIVE = JudgePrompt(
    step=FIVE,
    values=_shown,
    to_scores=lambda said: {
        f"perspectives/{name}": float(getattr(said, name)) for name in PERSPECTIVES
    },
)

REPLY_JUDGES = (
    *map(_quality, QUALITIES),
    Judge(
        name="entailment",
        worst={"entailment/entails": 0.0, "entailment/neutral": 0.0, "entailment/contradicts": 1.0},
        prompt=always(STANCE),
        labels=STANCES,
        source="the third human evaluation of Theanine (appendix F): shares of each label",
    ),
    Judge(
        name="helpfulness",
        worst={"helpfulness": 0.0},
        prompt=always(HELP),
        labels=AGREEMENTS,
        source="agreement that what was retrieved helps (Theanine, appendix F): share that agrees",
    ),
    Judge(
        name="perspectives",
        worst={f"perspectives/{name}": 0.0 for name in PERSPECTIVES},
        prompt=always(SEEN_BY_FIVE),
        labels=range(4),
        source="the five perspectives of SeCom (appendix A.10) and COMEDY: 0 to 3 each",
    ),
)
"""The judges of this module."""
