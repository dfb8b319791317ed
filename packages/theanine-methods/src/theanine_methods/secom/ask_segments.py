"""Segment a session with a language model, in one call for the session or for each window.

Source: SeCom (2025), section 2.2 and appendix A.1. The prompt numbers the exchanges of a session
with the assistant, and the turns of a session between peers. A session too long for one call is
split into windows that overlap by a third; each boundary in an overlap is taken from the window
that shows more turns around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, number_between
from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import estimate_tokens, format_role, format_speaker, one_line
from theanine.types import Utterance
from theanine_methods.segmentation import Span, exchange_starts, spans_between, tiling_fault

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

WINDOW_TOKENS = 12_000
"""Maximum tokens of one window, by an upper estimate."""
TURN_LIMIT = 1_200
"""Characters shown of a turn."""
_LINE_TOKENS = 20


class Bounds(BaseModel):
    """One segment, as the model names it."""

    first: int = Field(description="number of its first turn")
    last: int = Field(description="number of its last turn")


class Segments(BaseModel):
    """The model's answer for one session, or for one window of a long one."""

    segments: list[Bounds]


SEGMENT = load_prompt("theanine_methods.secom", "segment", 1, Segments)
SEGMENT_GUIDED = load_prompt("theanine_methods.secom", "segment-guided", 1, Segments)

Window = tuple[int, int]
"""First block of a window, counted from 0, and the block after its last."""


@dataclass(frozen=True, slots=True)
class Block:
    """A turn or an exchange, with one number in the prompt.

    Attributes:
        start: index of its first turn in the session.
        lines: its turns, formatted for a prompt.
    """

    start: int
    lines: tuple[str, ...]

    @property
    def cost(self) -> int:
        """Upper estimate of its tokens."""
        return sum(estimate_tokens(line) + _LINE_TOKENS for line in self.lines)


async def ask_segments(
    turns: Sequence[Utterance],
    chat: ScopedChat,
    *,
    guidance: str = "",
    source_sessions: Iterable[int] = (),
) -> list[Span]:
    """Return the session's segments, as spans that tile its turns.

    A session of a single block is not sent to the model.

    Args:
        turns: the session.
        chat: the language model.
        guidance: text of a :class:`theanine_methods.secom.guidance.Guidance`.
        source_sessions: numbers of the sessions that the prompt quotes.

    Raises:
        UnusableReply: no reply tiles the turns it was shown.
        ModelError: the model fails.
    """
    blocks = split_into_blocks(turns)
    if len(blocks) < 2:
        return spans_between([], len(turns))
    sessions = set(source_sessions)

    async def ask(window: Window) -> list[int]:
        first, end = window
        step = SEGMENT_GUIDED if guidance else SEGMENT
        values = {"guidance": guidance} if guidance else {}
        answer = await chat.ask(
            step,
            source_sessions=sessions,
            check=partial(fault, first, end),
            bounds=ReplyBounds(
                50 + 30 * (end - first),
                {
                    "segments": {"minItems": 1, "maxItems": end - first},
                    "segments[].first": number_between(first + 1, end),
                    "segments[].last": number_between(first + 1, end),
                },
            ),
            repairs=None,
            limits=None,
            turns=format_blocks(blocks[first:end], first),
            **values,
        )
        return [segment.first - 1 for segment in answer.segments[1:]]

    windows = split_into_windows([block.cost for block in blocks])
    starts = stitch(windows, await gather([partial(ask, window) for window in windows]))
    return spans_between([blocks[start].start for start in starts], len(turns))


def split_into_blocks(turns: Sequence[Utterance]) -> list[Block]:
    """Split a session into exchanges, or into turns when all roles are the same."""
    starts = [index for index, begins in enumerate(exchange_starts(turns)) if begins]
    ends = [*starts[1:], len(turns)] if starts else []
    return [
        Block(start, tuple(_line(turn) for turn in turns[start:end]))
        for start, end in zip(starts, ends, strict=True)
    ]


def format_blocks(blocks: Sequence[Block], first: int = 0) -> str:
    """Format each block as ``[3] Ana (user): words``, with its other turns indented under it."""
    lines: list[str] = []
    for number, block in enumerate(blocks, first + 1):
        lines.append(f"[{number}] {block.lines[0]}")
        lines += [f"    {line}" for line in block.lines[1:]]
    return "\n".join(lines)


def _line(turn: Utterance) -> str:
    text = one_line(turn.full_text, TURN_LIMIT)
    return f"{format_speaker(turn.speaker)} ({format_role(turn.role)}): {text}"


def fault(first: int, end: int, answer: Segments) -> str | None:
    """Return why an answer doesn't tile the blocks ``first`` to ``end - 1``, or None."""
    spans = [(segment.first, segment.last) for segment in answer.segments]
    return tiling_fault(spans, end - first, first + 1)


def split_into_windows(costs: Sequence[int], limit: int = WINDOW_TOKENS) -> list[Window]:
    """Split blocks with these costs into windows that overlap by a third.

    A window costs at most ``limit``, but has at least two blocks, one of them new.
    """
    windows: list[Window] = []
    first = end = 0
    while end < len(costs):
        min_end = max(first + 2, end + 1)
        end, cost = first, 0
        while end < len(costs) and (end < min_end or cost + costs[end] <= limit):
            cost += costs[end]
            end += 1
        windows.append((first, end))
        first = max(first + 1, end - max(1, (end - first) // 3))
    return windows


def stitch(windows: Sequence[Window], starts: Sequence[Sequence[int]]) -> list[int]:
    """Merge the windows' segment starts into those of the session, ascending.

    In an overlap the earlier window decides up to the middle, the later one after it. A start
    outside its window, or at the window's first block, is ignored.
    """
    middles = [(later[0] + earlier[1]) // 2 for earlier, later in pairwise(windows)]
    merged: set[int] = set()
    for position, ((first, end), window_starts) in enumerate(zip(windows, starts, strict=True)):
        low = middles[position - 1] if position else first
        high = middles[position] if position < len(middles) else end - 1
        merged.update(
            start for start in window_starts if first < start < end and low < start <= high
        )
    return sorted(merged)
