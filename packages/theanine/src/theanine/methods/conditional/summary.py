"""One memory of a whole session: the summary-based view (section 3.1, appendix C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from theanine.llm.gather import concurrently
from theanine.llm.prompt import load_step
from theanine.methods.conditional.config import SUMMARY
from theanine.summarization.local_summarize import local_summarize
from theanine.text.formatting import one_line
from theanine.text.numbering import Line, numbered, windows_of
from theanine.text.words import content
from theanine.types import LOCAL, NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import Caller

SUMMARIZE_SESSION = load_step("theanine.methods.conditional", "conditional-summary", 1, str)
LONGEST_SUMMARY = 1_500
"""Characters; the prompt asks for 100 words."""
QUOTES = 5
"""Quotations that make a summary without a model."""


async def summary(
    turns: Sequence[Turn], caller: Caller | None, *, dated: bool = True
) -> list[NewMemory]:
    """The session as one memory; none where nothing was said, or, locally, nothing disclosed.

    ``dated=False`` shows no dates. Raises ModelError when the model fails or keeps answering
    unusably.
    """
    said = [turn for turn in turns if turn.words.strip()]
    if caller is None:
        return _local(said)
    if not said:
        return []
    calls = [partial(_ask, window, caller, dated) for window in windows_of(said)]
    text = " ".join(await concurrently(calls))
    return [_memory(text, said, caller.model, SUMMARIZE_SESSION.label)]


async def _ask(window: Sequence[Line], caller: Caller, dated: bool) -> str:
    text = await caller.ask(
        SUMMARIZE_SESSION,
        touches={line.turn.session for line in window},
        check=_fault,
        turns=numbered(window, dated=dated),
    )
    return one_line(text)


def _fault(text: str) -> str | None:
    if not text.strip():
        return "the summary is empty"
    too_long = len(text) > LONGEST_SUMMARY
    return f"keep the summary under {LONGEST_SUMMARY} characters" if too_long else None


def _local(turns: Sequence[Turn]) -> list[NewMemory]:
    """The quotations that together say most: each one brings the most words not said yet."""
    told = local_summarize(turns, dated=False)
    chosen: list[NewMemory] = []
    said = frozenset[str]()
    while len(chosen) < QUOTES and told:
        best = max(told, key=lambda memory: len(content(memory.text) - said))
        if not content(best.text) - said:
            break
        chosen.append(best)
        said |= content(best.text)
        told.remove(best)
    if not chosen:
        return []
    chosen.sort(key=lambda memory: memory.sources)
    quoted = {source for memory in chosen for source in memory.sources}
    text = " ".join(one_line(memory.text) for memory in chosen)
    return [_memory(text, [turn for turn in turns if turn.id in quoted], LOCAL, "")]


def _memory(text: str, turns: Sequence[Turn], made_by: str, prompt: str) -> NewMemory:
    return NewMemory(
        text=text,
        at=max(turn.at for turn in turns),
        sources=tuple(sorted(turn.id for turn in turns)),
        speakers=tuple(dict.fromkeys(turn.speaker for turn in turns)),
        kind=SUMMARY,
        made_by=made_by,
        prompt=prompt,
    )
