"""Questions about each session of a data set, as SeCom made its test set of LoCoMo.

SeCom (section 3, appendix A.7) prompts a model for question-answer pairs of each session, as Alonso
et al. (2024) do, and prints neither its prompt nor the number of pairs. Ours also asks for the
turns that answer a question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from theanine.fences import one_line
from theanine.importers import read_histories
from theanine.llm.bounds import ReplyBounds
from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import day_label, format_turn, group_by_day
from theanine.types import Transcript
from theanine_bench.files import write_atomically
from theanine_bench.generation.drafts import PACKAGE, Draft, expect_call
from theanine_bench.samples import spread

TOKENS_PER_PAIR = 80
"""Expected tokens of a question with its answer and evidence."""
Record = dict[str, Any]


class Pair(BaseModel):
    """A question with its answer."""

    question: str
    answer: str
    evidence: list[int] = Field(description="numbers of the turns that answer it")


class Pairs(BaseModel):
    """The reply with all questions of a session."""

    questions: list[Pair]


QUESTIONS = load_prompt(PACKAGE, "generate-questions", 1, Pairs, ReplyBounds(4_000))


def question_drafts(
    data: Path, count: int = 5, limit: int | None = None
) -> list[Draft[list[Record]]]:
    """Return a draft for each session of any imported format: ``count`` questions about it.

    ``limit`` is the most sessions, evenly spaced. A draft's records are those of a questions file,
    as :mod:`theanine_bench.datasets.questions` reads it. Raises BadInput for an unreadable file.
    """
    sessions = [
        (history.name, transcript)
        for history in read_histories(data).histories
        for transcript in history.transcripts
        if transcript.turns
    ]
    return [_draft(user, session, count) for user, session in spread(sessions, limit)]


def _draft(user: str, session: Transcript, count: int) -> Draft[list[Record]]:
    text = group_by_day(
        (day_label(turn.at, session.dated), f"[{number}] {format_turn(turn)}")
        for number, turn in enumerate(session.turns, 1)
    )
    return Draft(
        id=f"{user}, session {session.key}",
        write=partial(_write, user=user, session=session, text=text, count=count),
        calls=[expect_call(QUESTIONS, TOKENS_PER_PAIR * count, text)],
    )


async def _write(
    chat: ScopedChat, user: str, session: Transcript, text: str, count: int
) -> list[Record]:
    reply = await chat.ask(
        QUESTIONS,
        check=lambda pairs: find_fault(pairs, count, len(session.turns)),
        session=text,
        count=str(count),
    )
    return list(_records(reply, user, session))


def find_fault(pairs: Pairs, count: int, turns: int) -> str | None:
    """Return what is wrong with the model's questions, worded for the model; None if nothing."""
    if len(pairs.questions) != count:
        return f"wanted are exactly {count} questions, not {len(pairs.questions)}"
    for number, pair in enumerate(pairs.questions, 1):
        if not pair.question.strip() or not pair.answer.strip():
            return f"question {number}: a text is empty"
        if not pair.evidence or set(pair.evidence) - set(range(1, turns + 1)):
            return f"question {number}: its evidence must name turns from 1 to {turns}"
    return None


def _records(pairs: Pairs, user: str, session: Transcript) -> Iterator[Record]:
    for pair in pairs.questions:
        keys = [session.turns[number - 1].key for number in sorted(set(pair.evidence))]
        yield {
            "user": user,
            "question": one_line(pair.question),
            "answer": one_line(pair.answer),
            "category": "session",
            **({"sources": keys} if all(keys) else {}),
        }


def write_questions(out: Path, sessions: Sequence[Sequence[Record]]) -> int:
    """Write the records of all sessions as JSON Lines; return their number."""
    lines = [json.dumps(record, ensure_ascii=False) for records in sessions for record in records]
    write_atomically(out, "".join(f"{line}\n" for line in lines))
    return len(lines)
