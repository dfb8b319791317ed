"""Turns and sessions without times of their own, and giving them times.

Turns get times from their session's date or, in an undated history, from a synthetic calendar.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, SessionBuilder, history
from theanine.importers.dates import TURN, Calendar, positions
from theanine.types import History, ImportedMemory, Transcript

SYNTHETIC = "sessions on a synthetic calendar"


@dataclass(frozen=True, slots=True)
class UntimedSession:
    """A session whose turns have no times yet.

    Attributes:
        at: its date; None in a source without dates.
        gap: time from the start of the previous session, if the source has gaps instead of dates.
    """

    key: str
    turns: Sequence[Entry]
    where: str
    at: datetime | None = None
    gap: timedelta | None = None
    memories: Sequence[ImportedMemory] = ()


def make_history(intake: Intake, name: str, sessions: Iterable[UntimedSession]) -> History:
    """Return a history of sessions with turns or memories, after giving all turns their times.

    Sessions without dates are put on a calendar that begins at the caller's ``start``. Dated ones
    end before midnight and before the next session starts; if several start at the same time, each
    is moved to a minute after the end of the previous one.

    Raises:
        BadInput: only some sessions have a date.
    """
    sessions = list(sessions)
    starts = sorted(session.at for session in sessions if session.at)
    if starts and len(starts) < len(sessions):
        where = next(session.where for session in sessions if not session.at)
        raise BadInput("it has no date, but other sessions have one; add it", where)
    calendar = Calendar(intake.options.start)
    ends: dict[datetime, datetime] = {}
    transcripts: list[Transcript] = []
    for session in sessions:
        with intake.catching():
            builder = SessionBuilder(session.key, intake.notes)
            builder.memories.extend(session.memories)
            at, dated, count = session.at, True, len(session.turns)
            if at:
                following = bisect_right(starts, at)
                limit = starts[following] if following < len(starts) else None
                start = ends[at] + TURN if at in ends else at
                times = positions(start, count, limit)
            else:
                times = calendar.place(count, session.gap, session.where)
                start, dated = times[0], calendar.dated
            for position, (turn, time) in enumerate(zip(session.turns, times, strict=False), 1):
                with intake.catching():
                    turn.at, key = time, turn.key or str(position)
                    builder.add(intake.turn(turn, key), turn.where)
            if builder:
                if at:
                    ends[at] = times[-1] if times else start
                intake.notes[SYNTHETIC] += not dated
                transcripts.append(builder.build(start, dated=dated))
    return history(name, transcripts, intake.notes)
