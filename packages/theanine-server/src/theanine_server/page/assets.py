"""The files of the page as they are served, and the policy under which a browser runs them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b

from theanine.demo import HARBOUR
from theanine.page.modules import STYLE, join_modules, join_styles, read_source

INDEX = "index.html"
ENTRY = "main.js"
DEMO = "demo.jsonl"
"""The bundled conversation, which an empty store offers to import."""
MEDIA_TYPES = {
    INDEX: "text/html; charset=utf-8",
    "icon.svg": "image/svg+xml",
    ENTRY: "text/javascript; charset=utf-8",
    STYLE: "text/css; charset=utf-8",
    DEMO: "application/x-ndjson; charset=utf-8",
}
"""Media types of the files, by name; all scripts are joined into one file, all styles too."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Content-Security-Policy: no other hosts, no inline script, no HTML from strings."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page.

    Attributes:
        content: its bytes.
        gzipped: the same, compressed.
        media_type: what it is.
        etag: changes with its content.
    """

    content: bytes
    gzipped: bytes
    media_type: str
    etag: str


_JOINED = {
    ENTRY: partial(join_modules, ENTRY),
    STYLE: join_styles,
    DEMO: partial(HARBOUR.read_text, "utf-8"),
}


@cache
def load_assets() -> Mapping[str, Asset]:
    """Return the files of the page by name."""
    return {
        name: Asset(
            content := _JOINED.get(name, partial(read_source, name))().encode(),
            gzip.compress(content, 9, mtime=0),
            media_type,
            f'"{blake2b(content, digest_size=12).hexdigest()}"',
        )
        for name, media_type in MEDIA_TYPES.items()
    }
