"""A conditional record before it is worded as one memory: what was said, why, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.types import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One record (section 3.1, "Conditional memory").

    Attributes:
        turn: the turn that was worth remembering.
        related: the turns that the context rests on, without ``turn``.
        context: why the speaker said it; empty where nothing shows it.
        knowledge: the note for later.
    """

    turn: Turn
    related: tuple[Turn, ...]
    context: str
    knowledge: str
