"""Let the model choose, in one call before a reply, which lines of the log bear on the dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, number_list
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.provenance import dialogue_sessions, source_sessions
from theanine.recall.select import Line
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import format_dialogue, one_line
from theanine.types import Memory, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


class Chosen(BaseModel):
    """The model's reply."""

    lines: list[int] = Field(description="numbers of the lines chosen")


CHOOSE = load_prompt("theanine.methods.theanine", "choose", 1, Chosen)
MOST = 30
"""Lines that are chosen at most."""
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
    turns = {line.owner.session for line in lines if not isinstance(line.owner, Memory)}
    most = min(MOST, len(lines))
    chosen = await chat.ask(
        CHOOSE,
        source_sessions=turns | source_sessions(memories, index) | dialogue_sessions(dialogue),
        check=lambda reply: _find_fault(reply.lines, len(lines)),
        bounds=ReplyBounds(
            50 + TOKENS_PER_NUMBER * most, number_list("lines", 1, len(lines), most)
        ),
        dialogue=format_dialogue(dialogue),
        today=today,
        lines="\n".join(
            f"[{number}] {line.day}: {one_line(line.text)}" for number, line in enumerate(lines, 1)
        ),
    )
    return [lines[number - 1] for number in dict.fromkeys(chosen.lines)]


def _find_fault(numbers: Sequence[int], shown: int) -> str | None:
    strange = sorted({number for number in numbers if not 1 <= number <= shown})
    return f"there are no lines {strange}, only 1 to {shown}" if strange else None
