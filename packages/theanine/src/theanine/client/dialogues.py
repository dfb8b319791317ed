"""The newest turns of threads, so that a request reads only what its client doesn't know."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from theanine.types import CALLED, Scope, Turn

CAPACITY = 500
"""Dialogues that one client keeps: the most recently used ones."""
KEPT = 1_000
"""Turns of a dialogue that are kept: the newest ones."""


@dataclass(slots=True, eq=False)
class Dialogue:
    """The newest turns of one thread, in order and without gaps.

    Attributes:
        epoch: ``ScopeVersion.epoch`` when they were read; a later one may have erased some.
        turns: as far as they were read.
        complete: whether they begin with the thread's first turn.
        older_system: the newest system turn before them; None if there is none, or if
            ``searched`` is false.
        searched: whether that was looked for.
    """

    epoch: int = -1
    turns: list[Turn] = field(default_factory=list[Turn])
    complete: bool = False
    older_system: Turn | None = None
    searched: bool = False

    @property
    def last(self) -> int:
        """The number of the last turn; 0 if there is none."""
        return self.turns[-1].id if self.turns else 0

    def has(self, count: int | None) -> bool:
        """Whether it has the newest ``count`` turns of the thread, or all with None."""
        return self.complete or (count is not None and len(self.turns) >= count)

    def replace(self, turns: Sequence[Turn], epoch: int, *, complete: bool) -> None:
        """Start again from these turns."""
        self.epoch, self.turns, self.complete = epoch, list(turns), complete
        self.older_system, self.searched = None, complete

    def extend(self, turns: Iterable[Turn]) -> None:
        """Add turns that follow; another task may have added some of them."""
        self.turns += [turn for turn in turns if turn.id > self.last]
        if len(self.turns) > KEPT:
            del self.turns[:-KEPT]
            self.complete = self.searched = False


class DialogueCache:
    """The dialogues of one client by the keys of their threads."""

    def __init__(self) -> None:
        self._dialogues: OrderedDict[tuple[Scope, str], Dialogue] = OrderedDict()

    def get(self, scope: Scope, key: str) -> Dialogue:
        """Return the dialogue of a key; an empty one if it isn't there."""
        dialogue = self._dialogues.setdefault((scope, key), Dialogue())
        self._dialogues.move_to_end((scope, key))
        if len(self._dialogues) > CAPACITY:
            self._dialogues.popitem(last=False)
        return dialogue


def newest(turns: Sequence[Turn], count: int | None) -> list[Turn]:
    """Return the newest ``count`` turns, and those before them with the calls of their results.

    None for all. A chat model's API refuses the result of a call that it isn't shown.
    """
    start = 0 if count is None else max(len(turns) - count, 0)
    while start and turns[start].role == "tool" and not _is_call(turns[start]):
        start -= 1
    while start and _is_call(turns[start]) and _is_call(turns[start - 1]):
        start -= 1
    return list(turns[start:])


def _is_call(turn: Turn) -> bool:
    return turn.role == "tool" and turn.text.startswith(CALLED)
