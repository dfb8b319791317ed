"""One memory of a whole session: the summary-based view (section 3.1, appendix C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.methods.conditional.config import SUMMARY
from theanine.summarization import local_summarize
from theanine.text.formatting import one_line
from theanine.text.numbering import Line, format_numbered, split_windows
from theanine.text.words import content_words
from theanine.types import LOCAL_MODEL, NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

SUMMARIZE_SESSION = load_prompt("theanine.methods.conditional", "conditional-summary", 1, str)
LONGEST_SUMMARY = 1_500
"""Characters; the prompt asks for 100 words."""
QUOTES = 5
"""Quotations that make a summary without a model."""


async def summary(
    turns: Sequence[Turn],
    caller: ScopedChat | None,
) -> list[NewMemory]:
    """The session as one memory; none where nothing was said, or, locally, nothing disclosed.

     Raises ModelError when the model fails or keeps answering
    unusably.
    """
    said = [turn for turn in turns if turn.full_text.strip()]
    if caller is None:
        return _local(said)
    if not said:
        return []
    calls = [partial(_ask, window, caller) for window in split_windows(said)]
    text = " ".join(await gather(calls))
    return [_memory(text, said, caller.model, SUMMARIZE_SESSION.label)]


async def _ask(window: Sequence[Line], caller: ScopedChat) -> str:
    text = await caller.ask(
        SUMMARIZE_SESSION,
        source_sessions={line.turn.session for line in window},
        check=_fault,
        turns=format_numbered(window),
    )
    return one_line(text)


def _fault(text: str) -> str | None:
    if not text.strip():
        return "the summary is empty"
    too_long = len(text) > LONGEST_SUMMARY
    return f"keep the summary under {LONGEST_SUMMARY} characters" if too_long else None


def _local(turns: Sequence[Turn]) -> list[NewMemory]:
    """The quotations that together say most: each one brings the most words not said yet."""
    told = local_summarize(turns, show_dates=False)
    chosen: list[NewMemory] = []
    said = frozenset[str]()
    while len(chosen) < QUOTES and told:
        best = max(told, key=lambda memory: len(content_words(memory.text) - said))
        if not content_words(best.text) - said:
            break
        chosen.append(best)
        said |= content_words(best.text)
        told.remove(best)
    if not chosen:
        return []
    chosen.sort(key=lambda memory: memory.source_turns)
    quoted = {source for memory in chosen for source in memory.source_turns}
    text = " ".join(one_line(memory.text) for memory in chosen)
    return [_memory(text, [turn for turn in turns if turn.id in quoted], LOCAL_MODEL, "")]


def _memory(text: str, turns: Sequence[Turn], made_by: str, prompt: str) -> NewMemory:
    return NewMemory(
        text=text,
        at=max(turn.at for turn in turns),
        source_turns=tuple(sorted(turn.id for turn in turns)),
        speakers=tuple(dict.fromkeys(turn.speaker for turn in turns)),
        kind=SUMMARY,
        made_by=made_by,
        prompt=prompt,
    )
