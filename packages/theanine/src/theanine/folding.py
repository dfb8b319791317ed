"""Fold what differs only by how it was typed: case, accents, typographic quotes and dashes.

``fold`` of ``core/words.js`` does the same in the page.
"""

from __future__ import annotations

import re
import unicodedata

CROSSED = str.maketrans("đøłħŧı", "dolhti")
"""Letters that differ by a stroke or a dot, which Unicode takes for letters of their own."""
_TYPED = str.maketrans(
    dict.fromkeys("‘’‚‛ʼʹˈ′´`", "'")
    | dict.fromkeys("“”„‟«»″", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00ad\u200b\u2060\ufeff", "")
)
"""Punctuation that keyboards have in one form only, and characters that nobody sees."""
_ACCENTED = re.compile("([a-z\u00df-\u024f\u0370-\u03ff])[\u0300-\u036f]+")
"""A letter with its accents; in other scripts, marks make other letters."""


def fold(text: str) -> str:
    """Return a text in a form in which words are alike that people take for the same.

    ``Café`` is ``cafe``, ``don’t`` is ``don't``, and full-width forms are plain ones.
    """
    if text.isascii():
        return text.lower().replace("`", "'")
    text = unicodedata.normalize("NFKD", text.translate(_TYPED)).casefold()
    text = unicodedata.normalize("NFKD", text).translate(_TYPED).translate(CROSSED)
    return unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", text))
