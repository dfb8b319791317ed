"""What of a session a call shows, and which of its turns the call is about."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from theanine.text.numbering import Line, split_windows
from theanine.types import Turn

LEAD = 2
"""Lines before a window that are shown with it, so that its first turns have a context."""


@dataclass(frozen=True, slots=True)
class Call:
    """The lines that a call shows, and the turns that it asks about by their numbers."""

    lines: Sequence[Line]
    asked: dict[int, Turn]

    @property
    def numbers(self) -> str:
        """The numbers asked about: ``1, 4, 5``."""
        return ", ".join(map(str, self.asked))

    @property
    def shown(self) -> dict[int, Turn]:
        """All turns that are shown, by number."""
        return {line.number: line.turn for line in self.lines}

    @property
    def touches(self) -> set[int]:
        """The sessions whose words are shown."""
        return {line.turn.session for line in self.lines}


def in_windows(session: Sequence[Turn], ids: Collection[int], most: int) -> Iterator[Call]:
    """Calls that ask about each turn of ``ids`` once, where it begins; a window or more each.

    A session that fits one window and has no more than ``most`` turns to ask about takes one call.
    """
    seen: set[int] = set()
    before: Sequence[Line] = ()
    for window in split_windows(session):
        asked = {
            line.number: line.turn
            for line in window
            if line.turn.id in ids and line.turn.id not in seen
        }
        seen.update(turn.id for turn in asked.values())
        numbers = list(asked)
        for start in range(0, len(numbers), most):
            some = {number: asked[number] for number in numbers[start : start + most]}
            yield Call([*before[-LEAD:], *window], some)
        before = window


def one_by_one(session: Sequence[Turn], ids: Collection[int]) -> Iterator[Call]:
    """A call for each turn of ``ids``, which shows the session up to that turn, or its end."""
    for number, turn in enumerate(session, 1):
        if turn.id in ids:
            past = split_windows(session[:number])
            before = past[-2][-LEAD:] if len(past) > 1 else []
            yield Call([*before, *past[-1]], {number: turn})
