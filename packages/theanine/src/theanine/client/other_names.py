"""Names of other memory systems' calls: an attempt to use one names the call here that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

C = TypeVar("C")

_OURS: Mapping[str, str] = {
    **dict.fromkeys(("query", "retrieve", "recollect"), "recall(…)"),
    **dict.fromkeys(("search_memories", "find"), "search(…)"),
    **dict.fromkeys(("get_all", "list", "list_memories", "search_facts"), "memories()"),
    **dict.fromkeys(("get_memory",), "get(memory)"),
    **dict.fromkeys(("update", "update_memory", "edit"), "correct(memory, text)"),
    **dict.fromkeys(("delete", "delete_memory", "remove"), "forget(memory=…)"),
    **dict.fromkeys(("delete_all", "delete_memories", "delete_users", "clear"), "forget_all()"),
    **dict.fromkeys(
        ("add_memory", "add_memories", "add_episode", "add_messages", "retain", "put", "store"),
        "add(…)",
    ),
    **dict.fromkeys(("chat", "ask"), "reply(…)"),
    **dict.fromkeys(("reflect",), "recall(…) or reply(…)"),
    **dict.fromkeys(("get_history", "memory_history"), "history(memory)"),
}
"""The calls of a user's handle, by the names that they have in mem0, Zep, Hindsight and others."""
_OF_A_USER = (
    "add", "recall", "search", "get", "history", "correct", "forget", "forget_all", "reply", "pin",
    "session", "log", "sessions", "turns", "memories", "marks", "links", "timelines",
)  # fmt: skip
"""Calls of a user's handle that others, and theanine 0.1, have on their client."""


def our_name(name: str, *, of_client: bool) -> str:
    """Return the call that does what a call of another system does, or an empty text."""
    call = _OURS.get(name, f"{name}(…)" if of_client and name in _OF_A_USER else "")
    return f"client.user(…).{call}" if call and of_client else call


def name_ours(*, of_client: bool) -> Callable[[type[C]], type[C]]:
    """Let a missing attribute of a class say which call does what one of that name does elsewhere.

    It is set at run time, so that type checkers still know that the attribute is missing.
    """

    def decorate(kind: type[C]) -> type[C]:
        def explain(self: Any, name: str) -> NoReturn:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if ours := our_name(name, of_client=of_client):
                message += f"; {ours} does it here"
            raise AttributeError(message, name=name, obj=self)

        setattr(kind, "__getattr__", explain)  # noqa: B010
        return kind

    return decorate
