"""The page as one HTML file with script, style and data, which loads nothing."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from pydantic import TypeAdapter

from theanine.page.graph import MemoryGraph
from theanine.page.modules import join_modules, join_styles
from theanine.types import Link, Memory, Turn

ENTRY = "file.js"
_ROWS: TypeAdapter[Any] = TypeAdapter(
    dict[str, MemoryGraph | list[Memory] | list[Link] | list[Turn]]
)


def build_timeline_file(
    graph: MemoryGraph,
    memories: Sequence[Memory],
    links: Sequence[Link],
    turns: Sequence[Turn],
    *,
    user: str,
) -> str:
    """Return the timelines of a user as a page of HTML that loads nothing.

    Args:
        graph: what is drawn.
        memories: its memories, as they are shown when they are opened.
        links: their links, with explanations.
        turns: the turns of their sessions, in order.
        user: the user's name.
    """
    rows = {"graph": graph, "memories": [*memories], "links": [*links], "turns": [*turns]}
    data = {"user": user, **_ROWS.dump_python(rows, mode="json")}
    return _fill(
        join_modules(ENTRY), json.dumps(data, ensure_ascii=True, separators=(",", ":")), user
    )


def _fill(script: str, data: str, title: str) -> str:
    style = join_styles()
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{_digest(script)}'",
            f"style-src 'sha256-{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    for character in "<>&":  # so that no text can open or close an element
        data = data.replace(character, f"\\u{ord(character):04x}")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
