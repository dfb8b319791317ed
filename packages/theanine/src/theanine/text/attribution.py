"""A turn's own words as a memory of one who has no language model: who said what, on which day."""

from __future__ import annotations

from theanine.summarization.local_summarize import LONGEST_QUOTE
from theanine.text.words import format_date
from theanine.types import Turn


def attribute_quote(turn: Turn, words: str | None = None, *, dated: bool) -> str:
    """``Ana said on 8 May 2023: “the words”``; all that the turn says unless ``words`` are given.

    The words stand on one line and are cut, where a word ends, to ``LONGEST_QUOTE`` characters. A
    turn that only shows something reads ``Ana shared on 8 May 2023: a red boat``. It is the form
    that :func:`theanine.summarization.local_summarize.own_words` takes apart again.
    """
    said = _clipped(turn.text if words is None else words)
    on = f" on {format_date(turn.at)}" if dated else ""
    if said:
        return f"{turn.speaker} said{on}: “{said}”"
    return f"{turn.speaker} shared{on}: {_clipped(turn.attachment)}"


def _clipped(text: str) -> str:
    flat = " ".join(text[: 2 * LONGEST_QUOTE].split())
    if len(flat) <= LONGEST_QUOTE:
        return flat
    cut = flat[:LONGEST_QUOTE]
    return cut[: cut.rfind(" ")] if " " in cut[LONGEST_QUOTE // 2 :] else cut
