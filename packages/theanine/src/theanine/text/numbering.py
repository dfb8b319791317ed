"""A session as numbered lines for a prompt, in windows of a size that a model can take.

The model answers with turn numbers, which count from 1 within the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theanine.text.formatting import estimate_tokens, format_speaker, group_by_day, one_line
from theanine.text.words import format_date, weekday
from theanine.types import Turn

WINDOW_TOKENS = 12_000
"""A session whose turns pass this (by a rough upper count) is shown in several windows."""
_LINE_TOKENS = 30
"""What a line costs beside its words: number, name, role, a day above it."""
_PIECE = 8_000
"""Characters of one line at most: of any script they fit a window."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a prompt.

    Attributes:
        number: the turn's place in its session, from 1.
        turn: the turn.
        text: its words as data for a prompt; of a very long turn one piece of them.
    """

    number: int
    turn: Turn
    text: str

    @property
    def shown(self) -> str:
        """``[3] Ana (user): the words``; prompts call the assistant's role ``agent``."""
        turn = self.turn
        role = "agent" if turn.role == "assistant" else "user"
        if turn.role == "assistant" and turn.recalled:
            role += ", recalled"
        return f"[{self.number}] {format_speaker(turn.speaker)} ({role}): {self.text}"


def split_windows(turns: Sequence[Turn]) -> list[list[Line]]:
    """The session's lines in order, in windows of at most ``WINDOW_TOKENS``; none for no turns.

    A very long turn is cut into pieces, each a line with the turn's number, so that neighbouring
    windows may share that one turn.
    """
    windows: list[list[Line]] = []
    used = WINDOW_TOKENS
    for line in _lines(turns):
        cost = estimate_tokens(line.text) + _LINE_TOKENS
        if used + cost > WINDOW_TOKENS:
            windows.append([])
            used = 0
        windows[-1].append(line)
        used += cost
    return windows


def format_numbered(window: Sequence[Line]) -> str:
    """Return the lines as one text, grouped under their days with weekdays.

    The weekday lets a reader resolve "last Friday".
    """
    return group_by_day((_day(line.turn), line.shown) for line in window)


def _lines(turns: Sequence[Turn]) -> list[Line]:
    lines: list[Line] = []
    for number, turn in enumerate(turns, 1):
        text = one_line(turn.full_text)
        pieces = [text[i : i + _PIECE] for i in range(0, len(text), _PIECE)] or [""]
        lines += [Line(number, turn, piece) for piece in pieces]
    return lines


def _day(turn: Turn) -> str:
    return f"{weekday(turn.at)}, {format_date(turn.at)}" if turn.dated else "dates unknown"
