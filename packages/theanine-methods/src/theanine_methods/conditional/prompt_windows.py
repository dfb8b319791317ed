"""Prompt windows: which lines of a session a call shows, and which turns it asks about."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from theanine.text.numbering import Line, split_windows
from theanine.types import Turn

OVERLAP = 2
"""Lines of the previous window shown before a window, as context of its first turns."""


@dataclass(frozen=True, slots=True)
class PromptWindow:
    """The lines that one call shows, and the turns that it asks about, by number."""

    lines: Sequence[Line]
    targets: dict[int, Turn]

    @property
    def numbers(self) -> str:
        """The numbers of the targets: ``1, 4, 5``."""
        return ", ".join(map(str, self.targets))

    @property
    def turns(self) -> dict[int, Turn]:
        """All turns shown, by number."""
        return {line.number: line.turn for line in self.lines}

    @property
    def source_sessions(self) -> set[int]:
        """Ids of the sessions of the lines."""
        return {line.turn.session for line in self.lines}


def batched_windows(
    session: Sequence[Turn], ids: Collection[int], limit: int
) -> Iterator[PromptWindow]:
    """Ask about each turn of ``ids`` once, about at most ``limit`` turns in a call.

    A session that fits one window, with no more than ``limit`` targets, takes one call.
    """
    seen: set[int] = set()
    previous: Sequence[Line] = ()
    for window in split_windows(session):
        targets = {
            line.number: line.turn
            for line in window
            if line.turn.id in ids and line.turn.id not in seen
        }
        seen.update(turn.id for turn in targets.values())
        numbers = list(targets)
        for start in range(0, len(numbers), limit):
            batch = {number: targets[number] for number in numbers[start : start + limit]}
            yield PromptWindow([*previous[-OVERLAP:], *window], batch)
        previous = window


def single_windows(session: Sequence[Turn], ids: Collection[int]) -> Iterator[PromptWindow]:
    """Ask about each turn of ``ids`` in a call of its own that ends with that turn."""
    for number, turn in enumerate(session, 1):
        if turn.id in ids:
            windows = split_windows(session[:number])
            previous = windows[-2][-OVERLAP:] if len(windows) > 1 else []
            yield PromptWindow([*previous, *windows[-1]], {number: turn})
