"""The page of the memory graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theanine.cli.timeline_page.fill import filled
from theanine.cli.timeline_page.layout import WIDTH, Drawing
from theanine.cli.timeline_page.route import relation
from theanine.text.words import format_date
from theanine.types import Link, Memory, Session, Turn


def timeline_page(
    memories: Sequence[Memory],
    links: Sequence[Link],
    turns: Sequence[Turn],
    sessions: Sequence[Session],
    *,
    title: str,
) -> str:
    """The whole page as one HTML text that reaches for nothing outside itself.

    Args:
        memories, links: what is drawn; links between other memories are left out.
        turns: the memories' source turns.
        sessions: of the memories; those without dates are named instead of dated.
        title: whose memory it is.
    """
    undated = frozenset(session.id for session in sessions if not session.dated)
    numbers = {memory.id for memory in memories}
    kept = [link for link in links if link.older in numbers and link.newer in numbers]
    drawn = Drawing(memories, kept, undated)
    data = {
        "title": title,
        "width": drawn.width,
        "height": drawn.height,
        "card": WIDTH,
        "columns": drawn.columns,
        "gaps": drawn.gaps,
        "lanes": drawn.lanes,
        "loose": drawn.loose,
        "memories": [
            _memory(memory, drawn.cards[memory.id], undated)
            for memory in sorted(memories, key=lambda m: (*drawn.cards[m.id][:2], m.id))
        ],
        "links": [_link(link, drawn.wires[link.older, link.newer]) for link in kept],
        "labels": drawn.labels,
        "turns": {turn.id: _turn(turn, undated) for turn in turns},
    }
    return filled("page.html", title=title, style="page.css", data=data, scripts=["page.js"])


def _memory(memory: Memory, place: tuple[int, int, int], undated: frozenset[int]) -> dict[str, Any]:
    return {
        "id": memory.id,
        "text": memory.text,
        "day": "" if memory.session in undated else format_date(memory.at),
        "session": memory.session,
        "by": memory.made_by,
        "turns": list(memory.source_turns),
        "place": place,
    }


def _link(link: Link, wire: Sequence[tuple[int, int]]) -> dict[str, Any]:
    return {
        "older": link.older,
        "newer": link.newer,
        "relation": relation(link),
        "why": link.explanation,
        "by": link.made_by,
        "wire": wire,
    }


def _turn(turn: Turn, undated: frozenset[int]) -> dict[str, str]:
    when = "" if turn.session in undated else f"{format_date(turn.at)}, {turn.at:%H:%M}"
    return {"speaker": turn.speaker, "when": when, "words": turn.full_text}
