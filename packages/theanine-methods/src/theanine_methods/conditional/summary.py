"""Summarize a whole session as one memory (section 3.1, "Summary-based", and appendix C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theanine.llm.bounds import ReplyBounds
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.memories import make_memory
from theanine.summarization import local_summarize
from theanine.text.formatting import one_line
from theanine.text.numbering import Line, ask_windows
from theanine.text.words import content_words
from theanine.types import NewMemory, Turn
from theanine_methods.conditional.config import SUMMARY

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

SUMMARIZE_SESSION = load_prompt(
    "theanine_methods.conditional", "conditional-summary", 1, str, ReplyBounds(400)
)
SUMMARY_LIMIT = 1_500
"""Maximum characters; the prompt asks for 100 words."""
QUOTES = 5
"""Maximum quotes in a local summary."""


async def summarize_session(turns: Sequence[Turn], chat: ScopedChat | None) -> list[NewMemory]:
    """Return the session as one memory.

    Empty for a session without text or, without a model, without disclosures. Raises ModelError
    when the model fails.
    """
    spoken = [turn for turn in turns if turn.full_text.strip()]
    if chat is None:
        return _local_summary(spoken)
    if not spoken:
        return []
    replies = await ask_windows(SUMMARIZE_SESSION, spoken, chat, _fault)
    text = " ".join(map(one_line, replies))
    prompt = SUMMARIZE_SESSION.label
    return [make_memory(text, spoken, kind=SUMMARY, made_by=chat.model, prompt=prompt)]


def _fault(_: Sequence[Line], text: str) -> str | None:
    too_long = len(text) > SUMMARY_LIMIT
    return f"keep the summary under {SUMMARY_LIMIT} characters" if too_long else None


def _local_summary(turns: Sequence[Turn]) -> list[NewMemory]:
    """Quote greedily: each quote adds the most content words that no earlier one has."""
    quotes = local_summarize(turns, show_dates=False)
    chosen: list[NewMemory] = []
    covered = frozenset[str]()
    while len(chosen) < QUOTES and quotes:
        best = max(quotes, key=lambda memory: len(content_words(memory.text) - covered))
        if not content_words(best.text) - covered:
            break
        chosen.append(best)
        covered |= content_words(best.text)
        quotes.remove(best)
    if not chosen:
        return []
    chosen.sort(key=lambda memory: memory.source_turns)
    quoted = {source for memory in chosen for source in memory.source_turns}
    text = " ".join(one_line(memory.text) for memory in chosen)
    return [make_memory(text, [turn for turn in turns if turn.id in quoted], kind=SUMMARY)]
