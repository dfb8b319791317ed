"""Fill a page's template: one HTML text that reaches for nothing outside itself.

Remembered words go in as data, never as markup or script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files


def filled(
    template: str,
    *,
    title: str,
    style: str,
    data: object,
    scripts: Sequence[str],
) -> str:
    """The page. ``template``, ``style`` and ``scripts`` name files of this package.

    In the template ``@@TITLE@@``, ``@@POLICY@@``, ``@@STYLE@@``, ``@@DATA@@`` and ``@@SCRIPTS@@``
    stand for what goes in. Only these scripts may run, and nothing may be loaded.
    """
    read = [_read(name) for name in scripts]
    hashes = " ".join(map(_hash, read))
    parts: Mapping[str, str] = {
        "TITLE": html.escape(title),
        "POLICY": "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'unsafe-inline'; script-src {hashes}",
        "STYLE": _read(style),
        "DATA": _harmless(data),
        "SCRIPTS": "\n".join(f"<script>{script}</script>" for script in read),
    }
    pieces = _read(template).split("@@")  # one pass: what is filled in is never looked at again
    return "".join(parts.get(piece, piece) if i % 2 else piece for i, piece in enumerate(pieces))


def _harmless(data: object) -> str:
    """JSON that can't end or open a script element, in any spelling."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read(name: str) -> str:
    return files("theanine.cli.timeline_page").joinpath(name).read_text("utf-8")


def _hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
