"""How remembered and spoken words stand in a prompt: quoted, attributed, and unable to break out.

A prompt fences quoted material between ``<<<name`` and ``>>>``. Everything that goes inside passes
through :func:`one_line`, so no quoted word can close a fence, open one, or start a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from theanine.text.words import format_date
from theanine.types import LOCAL_MODEL, Memory, Recollection, Turn, Utterance

NAME_LIMIT = 80
NO_MODEL_NOTICE = "No language model is configured, so I can only quote what I remember."
"""What the local reply says of itself; a turn that says it is never remembered."""
_MARKER = re.compile(r"<{3,}|>{3,}")
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def one_line(text: str, limit: int | None = None) -> str:
    """A text as data for a prompt: one line, no fence marker, no control characters.

    ``limit`` cuts to that many characters, marked by ``…``.
    """
    flat = _BREAKS.sub(" ", text).strip()
    flat = _MARKER.sub(lambda m: ("‹" if m[0][0] == "<" else "›") * len(m[0]), flat)
    return flat if limit is None or len(flat) <= limit else flat[:limit].rstrip() + "…"


def format_speaker(speaker: str) -> str:
    """A speaker's name as data for a prompt."""
    return one_line(speaker, NAME_LIMIT)


def format_turn(turn: Utterance) -> str:
    """``Ana: the words [shares a picture of …]`` on one line."""
    return f"{format_speaker(turn.speaker)}: {one_line(turn.full_text)}"


def format_dialogue(dialogue: Iterable[Utterance]) -> str:
    """A dialogue, one utterance a line, without numbers or dates."""
    return "\n".join(map(format_turn, dialogue))


def dialogue_sessions(dialogue: Iterable[Utterance]) -> set[int]:
    """The sessions whose words a dialogue shows; one not in the log yet has none."""
    return {said.session for said in dialogue if isinstance(said, Turn)}


def group_by_day(lines: Iterable[tuple[str, str]]) -> str:
    """Lines, each with its day, as one text: a day stands above its lines, as ``-- 8 May 2023``."""
    found: list[str] = []
    shown: str | None = None
    for today, line in lines:
        if today != shown:
            found.append(f"-- {today}")
            shown = today
        found.append(line)
    return "\n".join(found)


def day_label(at: datetime, dated: bool) -> str:
    """Return the day as ``8 May 2023``, or ``date unknown`` where there is none."""
    return format_date(at) if dated else "date unknown"


def format_dated_turns(turns: Iterable[Turn]) -> str:
    """Return turns, one a line, grouped under their days."""
    return group_by_day((day_label(turn.at, turn.dated), format_turn(turn)) for turn in turns)


def format_day(at: datetime, dated: bool) -> str:
    """Return ``(8 May 2023) `` with its trailing space, or an empty string without a date."""
    return f"({format_date(at)}) " if dated else ""


def format_memory(memory: Memory, limit: int | None = None) -> str:
    """Return ``(8 May 2023) statement`` on one line; local statements name their day themselves."""
    date = "" if memory.made_by == LOCAL_MODEL else format_day(memory.at, memory.dated)
    return date + one_line(memory.text, limit)


def format_recollection(recollection: Recollection) -> str:
    """Return the recollection's parts as a list for a prompt, or ``(nothing)``."""
    return "\n".join(f"- {one_line(part.text)}" for part in recollection.parts) or "(nothing)"


def format_role(role: str) -> str:
    """Return the role as prompts name it: ``user`` or ``agent``.

    The text of prompts is part of the journal's key, so the assistant stays ``agent`` there.
    """
    return "agent" if role == "assistant" else role


def estimate_tokens(text: str) -> int:
    """An upper guess of a text's tokens for any common tokenizer; fit for limits, not for bills."""
    return len(text.encode("utf-8", "replace")) // 3 + 1
