"""A judge of recollections: would who reads one alone give the right answer?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, Field

from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import format_speaker, one_line
from theanine.text.words import format_date
from theanine.types import Utterance
from theanine_bench.judges.answers import REASON
from theanine_bench.judges.judge import PROMPTS
from theanine_bench.judges.rendering import bullet_list


class Told(BaseModel):
    """The verdict on a recollection, with its reason."""

    explanation: str = Field(description=REASON)
    label: Literal["right", "outdated", "nothing"]


RECALLED = load_prompt(PROMPTS, "judge-recalled", 1, Told)


async def judge_recollection(
    question: str,
    recollection: str,
    *,
    said: Iterable[Utterance],
    outdated: Iterable[Utterance],
    judge: ScopedChat,
) -> str:
    """Return ``right``, ``outdated`` or ``nothing``; without a call for an empty recollection.

    Args:
        said: the turns that answer the question.
        outdated: turns that answered it before.

    Raises ModelError.
    """
    if not recollection.strip():
        return "nothing"
    verdict = await judge.ask(
        RECALLED,
        source_sessions=(),  # the judge's own scope has no sessions
        question=one_line(question),
        said=_lines(said),
        outdated=_lines(outdated),
        recollection=bullet_list(recollection.splitlines()),
    )
    return verdict.label


def _lines(turns: Iterable[Utterance]) -> str:
    return bullet_list(
        f"{format_date(turn.at)}, {format_speaker(turn.speaker)}: {turn.text}" for turn in turns
    )
