"""Let the model choose, in one call before a reply, which lines of the log bear on the dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, number_list
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.picks import find_pick_fault
from theanine.methods.shared.provenance import dialogue_sessions, source_sessions
from theanine.recall.select import Line
from theanine.recall.understand import cut_query
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import format_dialogue, one_line
from theanine.types import Memory, Turn, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


class Chosen(BaseModel):
    """The model's reply."""

    lines: list[int] = Field(description="numbers of the lines chosen")


CHOOSE = load_prompt("theanine.methods.theanine", "choose", 1, Chosen)
TOKENS_PER_NUMBER = 6


async def choose(
    lines: Sequence[Line],
    dialogue: Sequence[Utterance],
    today: str,
    index: ScopeIndex,
    chat: ScopedChat,
) -> list[Line]:
    """Return the lines that the reply to a dialogue needs, the most important first.

    Raises ModelError when the model fails.
    """
    memories = [line.owner for line in lines if isinstance(line.owner, Memory)]
    turns = [line.owner for line in lines if isinstance(line.owner, Turn)]
    turns += [turn for line in lines for turn in line.repetitions]
    sessions = {turn.session for turn in turns} | source_sessions(memories, index)
    chosen = await chat.ask(
        CHOOSE,
        source_sessions=sessions | dialogue_sessions(dialogue),
        check=lambda reply: find_pick_fault(reply.lines, len(lines), len(lines), "lines"),
        bounds=ReplyBounds(
            50 + TOKENS_PER_NUMBER * len(lines), number_list("lines", 1, len(lines), len(lines))
        ),
        limits=chat.limits.for_recall,
        dialogue=format_dialogue(
            replace(turn, text=cut_query(turn.full_text), attachment="") for turn in dialogue
        ),
        today=today,
        lines="\n".join(
            f"[{number}] {line.day}: {one_line(line.text)}" for number, line in enumerate(lines, 1)
        ),
    )
    return [lines[number - 1] for number in chosen.lines]
