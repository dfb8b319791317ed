"""Attributed quotes: ``Ana said on 8 May 2023: “her own words”``.

Memories made without a language model have this form.
"""

from __future__ import annotations

import re

from theanine.text.words import format_date
from theanine.types import LOCAL_MODEL, Memory, Turn

QUOTE_LIMIT = 400
"""Maximum characters of quoted words in one memory."""
_DATED = re.compile(r"(?s)(.{1,200}? (?:said|shared) on )\d{1,2} [A-Z][a-z]+ \d{1,4}(: .+)")


def attribute_quote(turn: Turn, text: str | None = None) -> str:
    """Quote ``text``, or the whole turn, with its speaker and day on one line.

    The quote is cut at a word boundary to ``QUOTE_LIMIT`` characters. A turn that has only an
    attachment gives ``Ana shared on 8 May 2023: a red boat``.
    """
    quote = _flatten(turn.text if text is None else text)
    if quote:
        return f"{attribution(turn, 'said')}: “{quote}”"
    return f"{attribution(turn, 'shared')}: {_flatten(turn.attachment)}"


def attribution(turn: Turn, verb: str, *, show_date: bool = True) -> str:
    """Return ``Ana said on 8 May 2023``, without the date where the turn has none."""
    date = f" on {format_date(turn.at)}" if show_date and turn.dated else ""
    return f"{turn.speaker} {verb}{date}"


def memory_text(memory: Memory) -> str:
    """Return a memory's text; a quote names the day in the time zone that the user has now."""
    if memory.made_by != LOCAL_MODEL or not memory.dated or len(memory.source_turns) != 1:
        return memory.text
    match = _DATED.fullmatch(memory.text)
    return f"{match[1]}{format_date(memory.at)}{match[2]}" if match else memory.text


def clip_quote(text: str) -> str:
    """Cut a text to ``QUOTE_LIMIT`` characters, at a word boundary in the second half if any."""
    if len(text) <= QUOTE_LIMIT:
        return text
    cut = text[:QUOTE_LIMIT]
    return cut[: cut.rfind(" ")] if " " in cut[QUOTE_LIMIT // 2 :] else cut


def _flatten(text: str) -> str:
    return clip_quote(" ".join(text[: 2 * QUOTE_LIMIT].split()))
