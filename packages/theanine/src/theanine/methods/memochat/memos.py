"""After a session: memos of what was talked about, each a topic, a summary and a run of turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.text.numbering import Line, format_numbered, split_windows
from theanine.types import Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

LONGEST_TOPIC = 120
"""Characters; the prompt asks for 8 words."""
LONGEST_SUMMARY = 600
"""Characters; the prompt asks for 60 words."""


class MemoOfTurns(BaseModel):
    """One memo, as the model writes it; turns are numbered from 1."""

    topic: str = Field(description="what the run is about, in a few words")
    summary: str = Field(description="what was said about it")
    first: int = Field(description="number of its first turn")
    last: int = Field(description="number of its last turn")


class MemosOfSession(BaseModel):
    """The model's answer for one session, or for one window of a long one."""

    memos: list[MemoOfTurns]


MEMOS = load_prompt("theanine.methods.memochat", "memos", 1, MemosOfSession)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """What a run of turns is about, and what was said; ``first`` and ``last`` count from 0."""

    topic: str
    summary: str
    first: int
    last: int


async def memos_of(
    turns: Sequence[Turn],
    caller: ScopedChat,
) -> list[Memo]:
    """The model's memos of a session, in order; turns of small talk may be in none.

    A very long session is shown in windows, each asked about for itself. Raises ModelError when
    the model fails or keeps answering unusably.
    """

    async def ask(window: Sequence[Line]) -> list[MemoOfTurns]:
        answer = await caller.ask(
            MEMOS,
            source_sessions={line.turn.session for line in window},
            check=_checker(window),
            turns=format_numbered(window),
        )
        return sorted(answer.memos, key=lambda memo: memo.first)

    answers = await gather([partial(ask, window) for window in split_windows(turns)])
    return [
        Memo(
            topic=_flat(memo.topic),
            summary=_flat(memo.summary),
            first=memo.first - 1,
            last=memo.last - 1,
        )
        for memos in answers
        for memo in memos
    ]


def uncovered(turns: Sequence[Turn], memos: Sequence[Memo]) -> list[Turn]:
    """The turns with words that no memo covers, in order."""
    covered = {place for memo in memos for place in range(memo.first, memo.last + 1)}
    return [
        turn for place, turn in enumerate(turns) if place not in covered and turn.full_text.strip()
    ]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _checker(window: Sequence[Line]) -> Callable[[MemosOfSession], str | None]:
    lowest, highest = window[0].number, window[-1].number

    def check(answer: MemosOfSession) -> str | None:
        upto = lowest - 1
        for memo in sorted(answer.memos, key=lambda memo: memo.first):
            if fault := _fault(memo, lowest, highest):
                return fault
            if memo.first <= upto:
                return f"turn {memo.first} is in two memos; give each turn to one at most"
            upto = memo.last
        return None

    return check


def _fault(memo: MemoOfTurns, lowest: int, highest: int) -> str | None:
    span = f"the memo of turns {memo.first} to {memo.last}"
    if memo.last < memo.first:
        return f"{span} ends before it begins"
    if memo.first < lowest or memo.last > highest:
        return f"{span} passes the turns shown, {lowest} to {highest}"
    for name, text, longest in (
        ("topic", memo.topic, LONGEST_TOPIC),
        ("summary", memo.summary, LONGEST_SUMMARY),
    ):
        if not text.strip():
            return f"{span} has an empty {name}"
        if len(text) > longest:
            return f"the {name} of {span} is too long, keep it under {longest} characters"
    return None
