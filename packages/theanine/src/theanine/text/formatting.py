"""Format turns and memories for prompts, so that quoted text can't act as instructions.

All of it passes through :mod:`theanine.fences`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import date, datetime
from functools import cache, lru_cache

from theanine.fences import list_items, one_line
from theanine.text.attribution import memory_text
from theanine.text.words import format_date
from theanine.types import LOCAL_MODEL, Memory, Recollection, Turn, Utterance

NAME_LIMIT = 80
_MARKUP = frozenset(":[](){}<>|")
_INVISIBLE = ("Cf", "Co", "Cn")
_JOINERS = "\u200c\u200d"


@lru_cache(maxsize=1_000)
def format_speaker(speaker: str) -> str:
    """Return a speaker's name as one short line, without what would imitate a line of a prompt.

    Colons and brackets become spaces, in all their forms; dashes and the like are left out at the
    beginning, and invisible characters everywhere. ``?`` for a name of nothing else.
    """
    return one_line("".join(map(_name_character, speaker)), NAME_LIMIT).lstrip("-–—−#*•=~_ ") or "?"


@cache
def _name_character(character: str) -> str:
    if _MARKUP.intersection(unicodedata.normalize("NFKC", character)):
        return " "
    hidden = unicodedata.category(character) in _INVISIBLE and character not in _JOINERS
    return "" if hidden else character


def format_turn(turn: Utterance) -> str:
    """Return ``Ana: text [shares attachment]`` on one line."""
    return f"{format_speaker(turn.speaker)}: {one_line(turn.full_text)}"


def format_dialogue(dialogue: Iterable[Utterance]) -> str:
    """Return the dialogue with one utterance per line, without numbers or dates."""
    return "\n".join(map(format_turn, dialogue))


def group_by_day(lines: Iterable[tuple[str, str]]) -> str:
    """Join ``(day, line)`` pairs; each change of day adds a heading such as ``-- 8 May 2023``."""
    result: list[str] = []
    current: str | None = None
    for day, line in lines:
        if day != current:
            result.append(f"-- {day}")
            current = day
        result.append(line)
    return "\n".join(result)


def day_label(at: date, dated: bool) -> str:
    """Return the day as ``8 May 2023``, or ``date unknown``."""
    return format_date(at) if dated else "date unknown"


def format_dated_turns(turns: Iterable[Turn]) -> str:
    """Return turns with one per line, grouped under their days."""
    return group_by_day((day_label(turn.at, turn.dated), format_turn(turn)) for turn in turns)


def format_day(at: datetime, dated: bool) -> str:
    """Return ``(8 May 2023) `` with a trailing space, or an empty string if not dated."""
    return f"({format_date(at)}) " if dated else ""


def format_memory(memory: Memory, limit: int | None = None) -> str:
    """Return ``(8 May 2023) statement`` on one line; local statements include their own date."""
    date = "" if memory.made_by == LOCAL_MODEL else format_day(memory.at, memory.dated)
    return date + one_line(memory_text(memory), limit)


def format_recollection(recollection: Recollection) -> str:
    """Return the recollection's parts as a list for a prompt, or ``(nothing)``."""
    return list_items(part.text for part in recollection.parts) or "(nothing)"


def format_role(role: str) -> str:
    """Return the role as prompts name it: ``user`` or ``agent``.

    The text of prompts is part of the journal's key, so the assistant stays ``agent`` there.
    """
    return "agent" if role == "assistant" else role


def estimate_tokens(text: str) -> int:
    """Return an upper estimate of a text's tokens for any common tokenizer."""
    return len(text.encode("utf-8", "replace")) // 3 + 1
