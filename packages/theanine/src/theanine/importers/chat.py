"""Turns of a chat with an assistant, as several formats write them."""

from __future__ import annotations

from collections.abc import Mapping

from theanine.errors import BadInput
from theanine.importers.fields import text_in
from theanine.importers.timestamps import UntimedTurn
from theanine.types import Role

ROLES: dict[str, tuple[str, Role]] = {
    "user": ("User", "user"),
    "assistant": ("Assistant", "assistant"),
}
"""Speaker and role for the roles of a chat with an assistant."""


def said(turn: Mapping[str, object], where: str, key: str | None = None) -> UntimedTurn:
    """A turn written as ``{"role": "user" or "assistant", "content"}``."""
    role = text_in(turn, "role", where)
    if role not in ROLES:
        raise BadInput(f'the role "{role[:40]}" is neither user nor assistant', where)
    speaker, ours = ROLES[role]
    return UntimedTurn(speaker, text_in(turn, "content", where), where, ours, key)
