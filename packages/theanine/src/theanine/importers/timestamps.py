"""Gives times to turns that have none of their own: by their session's date, or a calendar."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from theanine.importers.base import Intake, SessionBuilder
from theanine.importers.dates import DEFAULT_START, TURN, Calendar, positions
from theanine.types import ImportedMemory, Role, Transcript, Utterance

SYNTHETIC = "sessions on a made-up calendar"


@dataclass(frozen=True, slots=True)
class UntimedTurn:
    """A turn that has no time yet, and its place in the source."""

    speaker: str
    text: str
    where: str
    role: Role = "user"
    key: str | None = None
    shared: str = ""

    def turn(self, position: int, at: datetime) -> Utterance:
        """It as an utterance. Without a key it is named by its position, from 0."""
        return Utterance(
            text=self.text,
            speaker=self.speaker,
            at=at,
            role=self.role,
            key=self.key or str(position + 1),
            attachment=self.shared,
        )


@dataclass(frozen=True, slots=True)
class UntimedSession:
    """A session whose turns have no times yet.

    Attributes:
        at: its date; None in a source without dates.
        gap: how long after the one before it this one began, where the source tells it instead.
    """

    key: str
    turns: Sequence[UntimedTurn]
    where: str
    at: datetime | None = None
    gap: timedelta | None = None
    memories: Sequence[ImportedMemory] = ()


def on_calendar(
    intake: Intake, sittings: Sequence[UntimedSession], notes: Counter[str]
) -> Iterator[Transcript]:
    """Undated sessions on a calendar that begins at the caller's ``start``."""
    calendar = Calendar(intake.options.start)
    for sitting in sittings:
        with intake.catching():
            times = calendar.place(len(sitting.turns), sitting.gap, sitting.where)
            draft = _filled(intake, sitting, times, notes)
            if draft:
                notes[SYNTHETIC] += not calendar.dated
                yield draft.done(times[0], dated=calendar.dated)


def on_dates(
    intake: Intake, sittings: Sequence[UntimedSession], notes: Counter[str]
) -> Iterator[Transcript]:
    """Dated sessions, each kept short of midnight and of the next one's beginning.

    Of several at the very same time each begins a minute after the one before it has ended.
    """
    starts = sorted(sitting.at or DEFAULT_START for sitting in sittings)
    ends: dict[datetime, datetime] = {}
    for sitting in sittings:
        at = sitting.at or DEFAULT_START
        later = bisect_right(starts, at)
        begin = ends[at] + TURN if at in ends else at
        before = starts[later] if later < len(starts) else None
        times = positions(begin, len(sitting.turns), before)
        draft = _filled(intake, sitting, times, notes)
        if draft:
            ends[at] = times[-1] if times else begin
            yield draft.done(begin)


def _filled(
    intake: Intake, sitting: UntimedSession, times: Sequence[datetime], notes: Counter[str]
) -> SessionBuilder:
    draft = SessionBuilder(sitting.key, notes)
    draft.memories.extend(sitting.memories)
    for i, said in enumerate(sitting.turns):
        with intake.catching():
            draft.add(said.turn(i, times[i]), said.where)
    return draft
