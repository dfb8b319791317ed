"""Segment a session by a language model: all boundaries of a session, or of a window, at once.

Source: SeCom (2025), section 2.2 and appendix A.1. What is numbered is an exchange where a person
talks with an agent, and a turn between peers. A session too long for one call goes in windows that
overlap by a third; each boundary in an overlap is taken from the window that sees more around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.segmentation.segments import Span, exchange_starts, spans_between, tiling_fault
from theanine.text.formatting import estimate_tokens, format_role, format_speaker, one_line
from theanine.types import Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

WINDOW_TOKENS = 12_000
"""A session whose lines pass this, by a rough upper count, goes in several windows."""
LONGEST_TURN = 1_200
"""Characters of a turn that are shown: enough to tell what it is about."""
_LINE_TOKENS = 20


class Bounds(BaseModel):
    """One segment, as the model names it."""

    first: int = Field(description="number of its first turn")
    last: int = Field(description="number of its last turn")


class Segments(BaseModel):
    """The model's answer for one session, or for one window of a long one."""

    segments: list[Bounds]


SEGMENT = load_prompt("theanine.methods.secom", "segment", 1, Segments)
SEGMENT_GUIDED = load_prompt("theanine.methods.secom", "segment-guided", 1, Segments)

Window = tuple[int, int]
"""The first block of a window, counted from 0, and the one after its last."""


@dataclass(frozen=True, slots=True)
class Block:
    """What has one number in the prompt: a turn, or an exchange.

    Attributes:
        start: the place of its first turn in the session.
        lines: its turns as data for a prompt.
    """

    start: int
    lines: tuple[str, ...]

    @property
    def cost(self) -> int:
        """Tokens of its lines, roughly and at most."""
        return sum(estimate_tokens(line) + _LINE_TOKENS for line in self.lines)


async def ask_segments(
    turns: Sequence[Utterance],
    caller: ScopedChat,
    *,
    guidance: str = "",
    touches: Iterable[int] = (),
) -> list[Span]:
    """The session's segments, as spans that tile its turns.

    ``guidance`` is what :class:`theanine.methods.secom.guidance.Guidance` shows; ``touches`` are
    the sessions whose words are shown. Nothing is asked of what can't be divided. Raises
    UnusableReply when no reply tiles what it was shown, and any other ModelError when the model
    fails.
    """
    blocks = blocks_of(turns)
    if len(blocks) < 2:
        return spans_between([], len(turns))
    touched = set(touches)

    async def ask(window: Window) -> list[int]:
        first, end = window
        step = SEGMENT_GUIDED if guidance else SEGMENT
        values = {"guidance": guidance} if guidance else {}
        answer = await caller.ask(
            step,
            source_sessions=touched,
            check=partial(fault, first, end),
            turns=shown(blocks[first:end], first),
            **values,
        )
        return [one.first - 1 for one in answer.segments[1:]]

    windows = windows_over([block.cost for block in blocks])
    starts = stitched(windows, await gather([partial(ask, one) for one in windows]))
    return spans_between([blocks[start].start for start in starts], len(turns))


def blocks_of(turns: Sequence[Utterance]) -> list[Block]:
    """The session's exchanges, or its turns where nobody is an agent, with their lines."""
    starts = [place for place, begins in enumerate(exchange_starts(turns)) if begins]
    ends = [*starts[1:], len(turns)] if starts else []
    return [
        Block(start, tuple(_line(turn) for turn in turns[start:end]))
        for start, end in zip(starts, ends, strict=True)
    ]


def shown(blocks: Sequence[Block], first: int = 0) -> str:
    """``[3] Ana (user): words`` a block, its other turns indented under it."""
    lines: list[str] = []
    for number, block in enumerate(blocks, first + 1):
        lines.append(f"[{number}] {block.lines[0]}")
        lines += [f"    {line}" for line in block.lines[1:]]
    return "\n".join(lines)


def _line(turn: Utterance) -> str:
    text = one_line(turn.full_text, LONGEST_TURN)
    return f"{format_speaker(turn.speaker)} ({format_role(turn.role)}): {text}"


def fault(first: int, end: int, answer: Segments) -> str | None:
    """What keeps an answer from tiling the blocks ``first`` to ``end - 1``; None when it does."""
    spans = [(one.first, one.last) for one in answer.segments]
    return tiling_fault(spans, end - first, first + 1)


def windows_over(costs: Sequence[int], most: int = WINDOW_TOKENS) -> list[Window]:
    """Windows that cover all blocks in order, each overlapping the one before by a third of it.

    A window's costs stay within ``most``, but for the two blocks at least that it has, one of them
    new.
    """
    found: list[Window] = []
    first = end = 0
    while end < len(costs):
        needed = max(first + 2, end + 1)
        end, used = first, 0
        while end < len(costs) and (end < needed or used + costs[end] <= most):
            used += costs[end]
            end += 1
        found.append((first, end))
        first = max(first + 1, end - max(1, (end - first) // 3))
    return found


def stitched(windows: Sequence[Window], starts: Sequence[Sequence[int]]) -> list[int]:
    """Where segments begin, ascending, from what each window says; always a tiling.

    In an overlap the earlier window counts up to its middle, the later one after it. What a window
    says of a block outside itself, or of its own first one, is no boundary.
    """
    middles = [(later[0] + earlier[1]) // 2 for earlier, later in pairwise(windows)]
    found: set[int] = set()
    for place, ((first, end), said) in enumerate(zip(windows, starts, strict=True)):
        low = middles[place - 1] if place else first
        high = middles[place] if place < len(middles) else end - 1
        found.update(start for start in said if first < start < end and low < start <= high)
    return sorted(found)
