"""Before a reply: the model picks, from the list of topics and summaries, what it needs again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_prompt
from theanine.methods.memochat.memos import LONGEST_SUMMARY, LONGEST_TOPIC
from theanine.text.formatting import dialogue_sessions, format_dialogue, format_memory
from theanine.types import Memory, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


class Picked(BaseModel):
    """The model's choice."""

    memos: list[int] = Field(description="numbers of the notes picked")


PICK_MEMOS = load_prompt("theanine.methods.memochat", "pick-memos", 1, Picked)
LONGEST_SHOWN = LONGEST_TOPIC + LONGEST_SUMMARY
"""Characters shown of one memo; a ready-made one may be longer."""


async def pick_memos(
    memos: Sequence[Memory],
    dialogue: Sequence[Utterance],
    caller: ScopedChat,
    *,
    most: int,
    undated: Collection[int] = (),
) -> list[Memory]:
    """At most ``most`` of the memos, the most useful first; none where none helps.

    The model sees each memo's text with its day (none for sessions in ``undated``), not its turns.
    Raises ModelError when the model fails or keeps answering unusably.
    """

    def check(picked: Picked) -> str | None:
        return _fault(picked.memos, len(memos), most)

    picked = await caller.ask(
        PICK_MEMOS,
        source_sessions={memo.session for memo in memos} | dialogue_sessions(dialogue),
        check=check,
        memos="\n".join(
            f"[{number}] {format_memory(memo, LONGEST_SHOWN)}"
            for number, memo in enumerate(memos, 1)
        ),
        dialogue=format_dialogue(dialogue),
        most=str(most),
    )
    return [memos[number - 1] for number in picked.memos]


def _fault(numbers: Sequence[int], shown: int, most: int) -> str | None:
    if strange := sorted({number for number in numbers if not 1 <= number <= shown}):
        return f"there are no notes {strange}, only 1 to {shown}"
    if doubled := sorted({number for number in numbers if numbers.count(number) > 1}):
        return f"notes {doubled} are picked more than once"
    if len(numbers) > most:
        return f"{len(numbers)} notes are too many: pick the {most} most useful"
    return None
