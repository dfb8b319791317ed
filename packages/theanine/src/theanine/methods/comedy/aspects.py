"""The three parts of the compressed memory, and the kinds of memories that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from theanine.types import Turn

Aspect = Literal["events", "portrait", "relation"]
"""What happened; who the user is; how user and agent stand to each other. Also the kind of a
sentence of the compressed memory."""
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)


def note_kind(aspect: Aspect) -> str:
    """The kind of a session memory: ``session-events``, ``session-portrait`` and so on."""
    return f"session-{aspect}"


_OF_KIND: dict[str, Aspect] = {
    kind: aspect for aspect in ASPECTS for kind in (aspect, note_kind(aspect))
}


def aspect_of(kind: str) -> Aspect:
    """Which part a memory of either kind belongs to. Raises KeyError for any other kind."""
    return _OF_KIND[kind]


def about(aspect: Aspect, supporting: Sequence[Turn], session: Sequence[Turn]) -> tuple[str, ...]:
    """Who a session memory is about: who said it; of a portrait the users; of a relation all."""
    if aspect == "relation":
        chosen = sorted(session, key=lambda turn: turn.role == "assistant")
    elif aspect == "portrait":
        chosen = _users(supporting) or _users(session) or supporting
    else:
        chosen = supporting
    return tuple(dict.fromkeys(turn.speaker for turn in chosen))


def _users(turns: Sequence[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.role == "user"]
