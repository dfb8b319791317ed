"""The page of a memory graph, which loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files

from theanine.cli.timeline_page.layout import WIDTH, Layout
from theanine.cli.timeline_page.routing import label
from theanine.text.words import format_date
from theanine.types import Link, Memory, Turn


def timeline_page(
    memories: Sequence[Memory], links: Sequence[Link], turns: Sequence[Turn], *, title: str
) -> str:
    """Return the page as HTML; stored text is embedded as data, never as markup or script.

    Args:
        memories: the memories to draw.
        links: links between them.
        turns: their source turns.
        title: the user's name.
    """
    layout = Layout(memories, links)
    data = {
        "title": title,
        "width": layout.width,
        "height": layout.height,
        "cardWidth": WIDTH,
        "columns": layout.columns,
        "gaps": layout.gaps,
        "lanes": layout.lanes,
        "unlinkedTop": layout.unlinked_top,
        "memories": [
            {
                "id": memory.id,
                "text": memory.text,
                "day": format_date(memory.at) if memory.dated else "",
                "session": memory.session,
                "madeBy": memory.made_by,
                "turns": memory.source_turns,
                "card": layout.cards[memory.id],
            }
            for memory in sorted(memories, key=lambda m: (*layout.cards[m.id][:2], m.id))
        ],
        "links": [
            {
                "older": link.older,
                "newer": link.newer,
                "relation": label(link),
                "explanation": link.explanation,
                "madeBy": link.made_by,
                "points": layout.lines[link.older, link.newer],
            }
            for link in links
        ],
        "labels": layout.labels,
        "turns": {
            turn.id: {
                "speaker": turn.speaker,
                "time": f"{format_date(turn.at)}, {turn.at:%H:%M}" if turn.dated else "",
                "text": turn.full_text,
            }
            for turn in turns
        },
    }
    return _fill_template(title, data)


def _fill_template(title: str, data: object) -> str:
    """Replace the ``@@NAME@@`` markers of ``page.html``. Only our own script may run."""
    script = _read("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":  # so that no text can open or close a script element
        text = text.replace(character, f"\\u{ord(character):04x}")
    values = {
        "TITLE": html.escape(title),
        "POLICY": "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        "STYLE": _read("page.css"),
        "DATA": text,
        "SCRIPT": script,
    }
    pieces = _read("page.html").split("@@")  # one pass, so that no marker in a value is replaced
    return "".join(values.get(piece, piece) if i % 2 else piece for i, piece in enumerate(pieces))


def _read(name: str) -> str:
    return files("theanine.cli.timeline_page").joinpath(name).read_text("utf-8")
