"""What attributed quotes quote: the words of ``Ana said on 8 May 2023: “her own words”``.

Memories made without a language model have this form; :mod:`theanine.text.attribution` writes it.
"""

from __future__ import annotations

import re

_WITHOUT_QUOTES = str.maketrans("", "", "“”")
_ATTRIBUTED = re.compile(r"(?s).{1,200}? (?:said|shared)(?: on \d{1,2} [A-Z][a-z]+ \d{1,4})?: (.+)")


def without_attribution(text: str) -> str:
    """Return what an attributed quote quotes; any other text is returned unchanged."""
    match = _ATTRIBUTED.fullmatch(text)
    return match[1] if match else text


def shown_words(text: str) -> str:
    """Return the words of a memory as a person reads them; of a quote, the quoted ones alone."""
    words = without_attribution(text)
    return words if words == text else words.translate(_WITHOUT_QUOTES)
