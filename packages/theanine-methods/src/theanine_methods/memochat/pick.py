"""Pick memos for a dialogue: the model chooses from the list of topics and summaries.

Source: the paper's retrieval stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, number_list
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.picks import find_pick_fault
from theanine.methods.shared.provenance import dialogue_sessions
from theanine.text.formatting import format_dialogue, format_memory
from theanine.types import Memory, Utterance
from theanine_methods.memochat.memos import SUMMARY_LIMIT, TOPIC_LIMIT

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

MEMO_LIMIT = TOPIC_LIMIT + SUMMARY_LIMIT
"""Maximum characters shown of a memo; an imported one may be longer."""


class Picked(BaseModel):
    """The model's reply."""

    memos: list[int] = Field(description="numbers of the notes picked")


PICK_MEMOS = load_prompt("theanine_methods.memochat", "pick-memos", 1, Picked)


async def pick_memos(
    memos: Sequence[Memory], dialogue: Sequence[Utterance], chat: ScopedChat, *, limit: int
) -> list[Memory]:
    """Return at most ``limit`` memos that help with the dialogue, the most useful first.

    The prompt shows memos without their turns. Raises ModelError when the model fails.
    """
    picked = await chat.ask(
        PICK_MEMOS,
        source_sessions={memo.session for memo in memos} | dialogue_sessions(dialogue),
        check=lambda picked: find_pick_fault(picked.memos, len(memos), limit, "notes"),
        bounds=ReplyBounds(50 + 10 * limit, number_list("memos", 1, len(memos), limit)),
        memos="\n".join(
            f"[{number}] {format_memory(memo, MEMO_LIMIT)}" for number, memo in enumerate(memos, 1)
        ),
        dialogue=format_dialogue(dialogue),
        most=str(limit),
    )
    return [memos[number - 1] for number in picked.memos]
