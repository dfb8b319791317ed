"""Select sentences of the summary for a dialogue: the model chooses from all.

Source: RSum-LLM as Theanine's first version describes it (section 4.2), which selects top memories
before a reply. LLM-Rsum itself shows the whole summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, number_list
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.picks import find_pick_fault
from theanine.methods.shared.provenance import dialogue_sessions, source_sessions
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import format_dialogue
from theanine.types import Part, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


class Selected(BaseModel):
    """The model's reply."""

    sentences: list[int] = Field(description="numbers of the sentences selected")


SELECT_SENTENCES = load_prompt(
    "theanine_methods.recursive_summary", "select-sentences", 1, Selected
)


async def select_sentences(
    parts: Sequence[Part],
    dialogue: Sequence[Utterance],
    chat: ScopedChat,
    index: ScopeIndex,
    *,
    limit: int,
) -> list[Part]:
    """Return at most ``limit`` parts that help with the dialogue, the most useful first.

    Raises ModelError when the model fails.
    """
    shown = sorted(parts, key=lambda part: part.memories[0].order)
    sources = source_sessions([memory for part in parts for memory in part.memories], index)
    selected = await chat.ask(
        SELECT_SENTENCES,
        source_sessions=set(sources) | dialogue_sessions(dialogue),
        check=lambda reply: find_pick_fault(reply.sentences, len(shown), limit, "sentences"),
        bounds=ReplyBounds(50 + 10 * limit, number_list("sentences", 1, len(shown), limit)),
        summary="\n".join(f"[{number}] {part.text}" for number, part in enumerate(shown, 1)),
        dialogue=format_dialogue(dialogue),
        most=str(limit),
    )
    return [shown[number - 1] for number in selected.sentences]
