"""The turns of sessions that go on, so that a request reads only what it doesn't know."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from theanine.types import Scope, Turn

CAPACITY = 500
"""Dialogues that one client keeps: the most recently used ones."""


@dataclass(slots=True, eq=False)
class Dialogue:
    """Turns of one session, in order.

    Attributes:
        session: number of the session; None before there is one.
        epoch: ``ScopeVersion.epoch`` when they were read; a later one may have erased some.
        turns: without gaps from the session's first turn on.
    """

    session: int | None = None
    epoch: int = 0
    turns: list[Turn] = field(default_factory=list[Turn])

    @property
    def last(self) -> int:
        """The number of the last turn; 0 if there is none."""
        return self.turns[-1].id if self.turns else 0

    def follow(self, session: int | None, epoch: int) -> None:
        """Start again if it is another session, or something was erased."""
        if (session, epoch) != (self.session, self.epoch):
            self.session, self.epoch, self.turns = session, epoch, []

    def extend(self, turns: Iterable[Turn]) -> None:
        """Add turns that follow; another task may have added some of them, or started again."""
        self.turns += [t for t in turns if t.session == self.session and t.id > self.last]


class DialogueCache:
    """The dialogues of one client by the keys of their sessions."""

    def __init__(self) -> None:
        self._dialogues: OrderedDict[tuple[Scope, str], Dialogue] = OrderedDict()

    def get(self, scope: Scope, key: str) -> Dialogue:
        """Return the dialogue of a key; an empty one if it isn't there."""
        dialogue = self._dialogues.setdefault((scope, key), Dialogue())
        self._dialogues.move_to_end((scope, key))
        if len(self._dialogues) > CAPACITY:
            self._dialogues.popitem(last=False)
        return dialogue
