"""Calls of version 0.1 that named the user, such as ``client.recall(text, user="ana")``.

Deprecated: ``client.user("ana").recall(text)`` replaces them. This module goes in the next release.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from theanine.deprecation import warn_renamed

C = TypeVar("C")
WARN = True

_POSITION_OF_USER = {
    "recall": 1,
    "log": 1,
    **dict.fromkeys(
        (
            "session", "remember", "estimate", "rebuild", "sessions", "turns", "memories", "marks",
            "links", "timelines", "pending", "costs", "warm_up", "forget", "export",
        ),
        0,
    ),
}  # fmt: skip


def accept_old_calls(client: type[C]) -> type[C]:
    """Let the methods of a user handle be called on the client, with the user as argument."""
    for name, position in _POSITION_OF_USER.items():
        setattr(client, name, _old_call(name, position, getattr(client, name, None)))
    return client


def _old_call(name: str, position: int, current: Callable[..., Any] | None) -> Callable[..., Any]:
    """Forward a call with a user to the user's handle, and one without to ``current``."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = {key: kwargs.pop(key) for key in ("agent", "tenant") if key in kwargs}
        user = kwargs.pop("user", None)
        if len(args) > position:
            user = args[position]
            args = args[:position] + args[position + 1 :]
        if user is None and current:
            return current(self, *args, **kwargs)
        if user is None and name == "log":
            user = (kwargs.get("history") or args[0]).name
        if WARN:
            warn_renamed(f"client.{name}() with a user", f"client.user(…).{name}()")
        new = "forget_all" if name == "forget" and not kwargs else name
        return getattr(self.user(user, **scope), new)(*args, **kwargs)

    if current:
        return wraps(current)(call)
    call.__name__, call.__doc__ = name, f"Deprecated: ``client.user(…).{name}()`` replaces it."
    return call
