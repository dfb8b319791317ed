"""The report of a remembered session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from theanine.types import Scope, Usage

LEASE = timedelta(minutes=2)
"""How long a lease lasts; it is renewed four times in that time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberReport:
    """The result of remembering one session.

    Attributes:
        session: its number; 0 if the data of the user is damaged, and not by one session.
        memories, links: how many were committed.
        pairs: how many (older, newer) pairs were compared for a relation.
        usage: model calls and tokens.
        notes: messages for the user, such as a step that fell back to its local version, or a reply
            that was cut off.
        failure: why the session is still pending, or None. It may quote what was said.
        damaged: whether that is because stored data can't be read.
        error: the type of the error that it failed by; empty if it didn't.
        attempts: how often the session has failed by now.
        set_aside: whether it has failed so often that no worker tries it again.
        seconds: how long it took.
    """

    scope: Scope
    session: int
    memories: int = 0
    links: int = 0
    pairs: int = 0
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    failure: str | None = None
    damaged: bool = False
    error: str = ""
    attempts: int = 0
    set_aside: bool = False
    seconds: float = 0.0

    def __str__(self) -> str:
        result = self.failure or f"memories={self.memories} links={self.links}"
        session = f", session {self.session}" if self.session else ""
        return f"{self.scope}{session}: {result}"


Progress = Callable[[RememberReport], None]
"""Called after each session."""
GoesOn = Callable[[Sequence[RememberReport]], bool]
"""Whether to go on after the sessions so far."""
