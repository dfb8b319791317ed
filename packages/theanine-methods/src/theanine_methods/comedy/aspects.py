"""The three aspects of the compressed memory, and the kinds of memories for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from theanine.types import Turn

Aspect = Literal["events", "portrait", "relation"]
"""Past events, the user's portrait, and the relation of user and agent.

Also the kind of a sentence of the compressed memory.
"""
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)

_ASPECT_BY_KIND: dict[str, Aspect] = {
    kind: aspect for aspect in ASPECTS for kind in (aspect, f"session-{aspect}")
}


def session_kind(aspect: Aspect) -> str:
    """Return the kind of a session memory, such as ``session-events``."""
    return f"session-{aspect}"


def aspect_of(kind: str) -> Aspect:
    """Return the aspect of a kind of memory. Raises KeyError for another method's kind."""
    return _ASPECT_BY_KIND[kind]


def subjects(aspect: Aspect, sources: Sequence[Turn], session: Sequence[Turn]) -> tuple[str, ...]:
    """Return who a session memory is about.

    Events are about the speakers of the source turns; a portrait is about the users; a relation is
    about all speakers, users first.
    """
    if aspect == "relation":
        turns = sorted(session, key=lambda turn: turn.role == "assistant")
    elif aspect == "portrait":
        turns = _users(sources) or _users(session) or sources
    else:
        turns = sources
    return tuple(dict.fromkeys(turn.speaker for turn in turns))


def _users(turns: Sequence[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.role == "user"]
