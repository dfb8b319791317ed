"""Show a session to a model as numbered lines, in windows of a size that a model can take.

The model answers with turn numbers, which count from 1 within the session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel

from theanine.llm.bounds import Keywords, ReplyBounds, number_list
from theanine.llm.gather import gather
from theanine.llm.prompt import PromptTemplate
from theanine.text.formatting import (
    estimate_tokens,
    format_role,
    format_speaker,
    group_by_day,
    one_line,
)
from theanine.text.words import containment, format_date, weekday, words
from theanine.types import Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

T = TypeVar("T")
N = TypeVar("N", bound=BaseModel)
WINDOW_TOKENS = 12_000
"""Maximum tokens of a window, by an upper estimate."""
TOKENS_PER_NOTE = 40
"""Tokens of a window, by an upper estimate, that may give one note more."""
MAX_SOURCE_TURNS = 6
"""Maximum turns that a bounded reply names as the support of one note."""
COPIED = 0.9
"""Share of a line's words that a copy of it has."""
OWN_TOKENS = 300
"""Tokens of a reply's own words beside the lines that it copies."""
_NUMBERED = re.compile(r"^\[(\d+)\] (?:\([^()]*\) |[^:\n]*\): )?(.*)$", re.MULTILINE)
"""A numbered line, with what stands before its text: a date, or a speaker and role."""
_LINE_TOKENS = 30
"""Tokens of a line besides its text: number, name, role, and a heading with the day."""
_MAX_CHARACTERS = 8_000
"""Maximum characters of one line, which fit a window in any script."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a prompt.

    Attributes:
        number: the turn's position in its session, from 1.
        turn: the turn.
        text: its text, formatted as data for a prompt; a part of it for a very long turn.
    """

    number: int
    turn: Turn
    text: str

    @property
    def shown(self) -> str:
        """``[3] Ana (user): text``; prompts call the assistant's role ``agent``."""
        turn = self.turn
        role = format_role(turn.role)
        if turn.role == "assistant" and turn.recalled:
            role += ", recalled"
        return f"[{self.number}] {format_speaker(turn.speaker)} ({role}): {self.text}"


def split_windows(turns: Sequence[Turn]) -> list[list[Line]]:
    """Return the session's lines in order, in windows of at most ``WINDOW_TOKENS``.

    A very long turn is split into several lines with its number, so that two adjacent windows may
    share that turn.
    """
    windows: list[list[Line]] = []
    used = WINDOW_TOKENS
    for number, turn in enumerate(turns, 1):
        text = one_line(turn.full_text)
        for start in range(0, len(text) or 1, _MAX_CHARACTERS):
            line = Line(number, turn, text[start : start + _MAX_CHARACTERS])
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
    return group_by_day(
        (
            f"{weekday(line.turn.at)}, {format_date(line.turn.at)}"
            if line.turn.dated
            else "dates unknown",
            line.shown,
        )
        for line in window
    )


async def ask_windows(
    step: PromptTemplate[T],
    turns: Sequence[Turn],
    chat: ScopedChat,
    check: Callable[[Sequence[Line], T], str | None],
    bounds: Callable[[Sequence[Line]], ReplyBounds] | None = None,
    *,
    quoted_sessions: Collection[int] = (),
    **values: Any,
) -> list[T]:
    """Ask a step about each window of a session, and return the replies in order.

    The step's values are ``turns`` and other texts, which quote other sessions. ``check`` returns
    what is wrong with the reply to a window, or None; ``bounds`` returns its bounds, by default the
    step's. Raises ModelError when the model fails.
    """

    async def ask(window: Sequence[Line]) -> T:
        return await chat.ask(
            step,
            source_sessions={*quoted_sessions, *(line.turn.session for line in window)},
            check=partial(check, window),
            bounds=bounds(window) if bounds else None,
            turns=format_numbered(window),
            **values,
        )

    return await gather([partial(ask, window) for window in split_windows(turns)])


def copied_lines(copy: str, listing: str) -> list[int]:
    """Return the numbers of the lines ``[3] text`` of a prompt whose words a reply has copied.

    A line counts if the copy has ``COPIED`` of its words; a name or a date before them may lack.
    """
    copied = frozenset(words(copy))
    return [
        int(number)
        for number, text in _NUMBERED.findall(listing)
        if (line := frozenset(words(text))) and containment(line, copied) >= COPIED
    ]


def copying_tokens(listing: str) -> int:
    """Return the most tokens of a reply that copies lines of a prompt, with a few of its own."""
    return estimate_tokens(listing) + OWN_TOKENS


def merge_repeated(notes: Iterable[N], text: Callable[[N], str]) -> list[N]:
    """Return the notes of one reply with each text once, supported by all that its repeats name.

    Case and spaces make no difference. Of repeats, the first is kept, and lists are joined.
    """
    merged: dict[str, N] = {}
    for note in notes:
        key = " ".join(text(note).split()).casefold()
        if key not in merged:
            merged[key] = note
            continue
        first = merged[key]
        joined = {
            name: [*dict.fromkeys([*cast("list[object]", values), *getattr(note, name)])]
            for name, values in first
            if isinstance(values, list)
        }
        merged[key] = first.model_copy(update=joined)
    return list(merged.values())


def most_notes(window: Sequence[Line]) -> int:
    """Return how many notes on a window are enough: by its length, as the checks demand."""
    tokens = sum(estimate_tokens(line.text) for line in window)
    return min(3 + tokens // TOKENS_PER_NOTE, max(12, 2 * len(window)))


def turn_numbers(path: str, window: Sequence[Line], *, least: int = 0) -> dict[str, Keywords]:
    """Return the bounds of a list of turns that support a note."""
    most = min(MAX_SOURCE_TURNS, len(window))
    return number_list(path, window[0].number, window[-1].number, most, least=least)


def note_fault(
    text: str,
    turns: Collection[int],
    window: Sequence[Line],
    *,
    limit: int,
    turns_required: bool = True,
) -> str | None:
    """Return what is wrong with a note of at most ``limit`` characters on turns of a window."""
    if not text.strip():
        return "its text is empty"
    if len(text) > limit:
        return f"its text is too long, keep it under {limit} characters"
    if not turns and turns_required:
        return "it names no turn that supports it"
    return turns_fault(turns, window)


def turns_fault(turns: Collection[int], window: Sequence[Line]) -> str | None:
    """Return an error for turn numbers that are not in the window, or None."""
    numbers = {line.number for line in window}
    if wrong := sorted(set(turns) - numbers):
        return f"turns {wrong} were not shown; shown are {min(numbers)} to {max(numbers)}"
    return None
