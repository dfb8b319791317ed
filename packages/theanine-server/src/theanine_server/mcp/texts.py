"""Format memories, turns and timelines for tool results: quoted as data, in pages of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from theanine.errors import BadInput
from theanine.fences import one_line, remembered_block
from theanine.text.words import format_date
from theanine.tokenizer import count_tokens
from theanine.types import Mark, Memory, Part, Timeline, Turn
from theanine_server.mcp.ids import RecordId

TITLE = 200
"""Maximum characters of a title."""


def fenced(items: Sequence[str], note: str = "") -> str:
    """Return texts in a block that marks them as data; ``note`` is a line of ours after it."""
    return "\n".join(filter(None, [remembered_block(items), note]))


def part_id(part: Part) -> RecordId | None:
    """Return the id of the memory or turn that matched the query; None without sources."""
    if part.timeline is not None:
        return RecordId("m", part.timeline.retrieved)
    if part.memories:
        return RecordId("m", part.memories[-1].id)
    return RecordId("t", part.source_turns[0].id) if part.source_turns else None


def hit_text(part: Part, id: RecordId) -> str:
    """Return a part's text, which begins with the memory ``id`` if that is what matched."""
    own = next((m.text for m in part.memories if id.kind == "m" and m.id == id.number), "")
    return part.text if part.text.startswith(own) else f"{own} {part.text}"


def title(text: str) -> str:
    """Return the beginning of a text on one line."""
    return one_line(text, TITLE)


def describe_memory(memory: Memory, mark: Mark | None = None) -> str:
    """Return a memory with its id and day, and what replaced it."""
    day = f" {format_date(memory.at)}" if memory.dated else ""
    state = ""
    if mark is not None:
        state = f" ({mark.kind}{f' by m{mark.by}' if mark.by else ''})"
    return f"m{memory.id}{day}{state}: {memory.text}"


def describe_turn(turn: Turn) -> str:
    """Return a turn with its id and time."""
    at = f" {format_date(turn.at)}, {turn.at:%H:%M}" if turn.dated else ""
    return f"t{turn.id}{at}, {turn.speaker}: {turn.full_text}"


def describe_timeline(timeline: Timeline) -> str:
    """Return the title and the memories of a timeline, one per line, with the relations in it."""
    lines = [timeline.title] if timeline.title else []
    for memory, link in timeline.steps:
        relation = f"m{link.older} {link.relation} → " if link else ""
        lines.append(f"{relation}{describe_memory(memory)}")
    return "\n".join(lines)


def timeline_data(timelines: Sequence[Timeline]) -> dict[str, Any]:
    """Return timelines as data for the page that draws them; hosts may also pass it to a model."""
    return {
        "timelines": [
            [
                {
                    "id": f"m{memory.id}",
                    "day": format_date(memory.at) if memory.dated else "",
                    "text": title(memory.text),
                    "relation": str(link.relation) if link else "",
                    "explanation": title(link.explanation) if link else "",
                }
                for memory, link in timeline.steps
            ]
            for timeline in timelines
        ],
        "titles": [title(timeline.title) for timeline in timelines],
    }


def read_page(texts: Sequence[str], number: int, budget: int) -> tuple[list[str], bool]:
    """Return the texts on page ``number`` (from 1) of ``budget`` tokens, and whether more follow.

    A text that is longer than a page is cut. Raises BadInput for a number beyond the last page.
    """
    pages: list[list[str]] = [[]]
    left = budget
    for text in texts:
        for position, piece in enumerate(_pieces(text, budget)):
            left -= count_tokens(piece)
            if left < 0 and pages[-1]:
                pages.append([])
                left = budget - count_tokens(piece)
            if position and pages[-1]:
                pages[-1][-1] += piece
            else:
                pages[-1].append(piece)
    if number > len(pages):
        raise BadInput(f"there is no page {number}: the last one is {len(pages)}")
    return pages[number - 1], number < len(pages)


def _pieces(text: str, budget: int) -> Iterator[str]:
    """Yield a text in pieces far smaller than a page, so that pages are nearly full.

    Pieces are counted in characters; a token is at least one byte, so each fits into a page.
    """
    size = max(budget // 16, 1)
    for start in range(0, max(len(text), 1), size):
        yield text[start : start + size]
