"""Turns and sessions without times of their own, and giving them times.

Turns get times from their session's date or, in an undated history, from a synthetic calendar.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from theanine.importers.base import Intake, SessionBuilder
from theanine.importers.dates import DEFAULT_START, TURN, Calendar, positions
from theanine.importers.schema import Filled, Item
from theanine.types import ImportedMemory, Role, Transcript, Utterance

SYNTHETIC = "sessions on a made-up calendar"

SPEAKERS: Mapping[Role, str] = {"user": "User", "assistant": "Assistant"}
"""Speakers' names in a chat that has only roles."""


@dataclass(frozen=True, slots=True)
class UntimedTurn:
    """A turn that has no time yet, with its place in the source."""

    speaker: str
    text: str
    where: str
    role: Role = "user"
    key: str | None = None
    attachment: str = ""

    def at(self, at: datetime, position: int) -> Utterance:
        """Return the turn with a time; without a key it gets its position, from 1."""
        return Utterance(
            text=self.text,
            speaker=self.speaker,
            at=at,
            role=self.role,
            key=self.key or str(position),
            attachment=self.attachment,
        )


class ChatTurn(Item):
    """A turn of a chat with an assistant: ``{"role", "content"}``."""

    role: Literal["user", "assistant"]
    content: Filled

    def untimed(self, where: str, key: str) -> UntimedTurn:
        """Return it as a turn without a time."""
        return UntimedTurn(SPEAKERS[self.role], self.content, where, self.role, key)


@dataclass(frozen=True, slots=True)
class UntimedSession:
    """A session whose turns have no times yet.

    Attributes:
        at: its date; None in a source without dates.
        gap: time from the start of the previous session, if the source has gaps instead of dates.
    """

    key: str
    turns: Sequence[UntimedTurn]
    where: str
    at: datetime | None = None
    gap: timedelta | None = None
    memories: Sequence[ImportedMemory] = ()


def on_calendar(
    intake: Intake, sessions: Sequence[UntimedSession], notes: Counter[str]
) -> Iterator[Transcript]:
    """Yield undated sessions on a calendar that begins at the caller's ``start``."""
    calendar = Calendar(intake.options.start)
    for session in sessions:
        with intake.catching():
            times = calendar.place(len(session.turns), session.gap, session.where)
            builder = _build(intake, session, times, notes)
            if builder:
                notes[SYNTHETIC] += not calendar.dated
                yield builder.build(times[0], dated=calendar.dated)


def on_dates(
    intake: Intake, sessions: Sequence[UntimedSession], notes: Counter[str]
) -> Iterator[Transcript]:
    """Yield dated sessions, each ending before midnight and before the next session starts.

    If several start at the same time, each is moved to a minute after the end of the previous.
    """
    starts = sorted(session.at or DEFAULT_START for session in sessions)
    ends: dict[datetime, datetime] = {}
    for session in sessions:
        at = session.at or DEFAULT_START
        following = bisect_right(starts, at)
        start = ends[at] + TURN if at in ends else at
        before = starts[following] if following < len(starts) else None
        times = positions(start, len(session.turns), before)
        builder = _build(intake, session, times, notes)
        if builder:
            ends[at] = times[-1] if times else start
            yield builder.build(start)


def _build(
    intake: Intake, session: UntimedSession, times: Sequence[datetime], notes: Counter[str]
) -> SessionBuilder:
    builder = SessionBuilder(session.key, notes)
    builder.memories.extend(session.memories)
    for position, (turn, at) in enumerate(zip(session.turns, times, strict=False), 1):
        with intake.catching():
            builder.add(turn.at(at, position), turn.where)
    return builder
