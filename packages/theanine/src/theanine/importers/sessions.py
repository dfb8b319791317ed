"""Sessions of turns: built turn by turn, cut from a chat, or put on a calendar.

Services know no sessions of a chat: a pause of three hours starts a new one. It is named after its
chat and its first message's time, and a turn by its message's id or, without one, by its time,
speaker and words: so a later export of the same chat continues the sessions that are logged. A
reply to a thread whose session has ended joins that session, if the format joins sessions of one
key. Turns without times get them from their session's date or from a synthetic calendar.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import cast

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake
from theanine.importers.dates import TURN, Calendar, positions
from theanine.importers.words import notice_in
from theanine.importers.written_dates import time_in_name
from theanine.types import History, ImportedMemory, Transcript, Utterance

SYNTHETIC = "sessions on a synthetic calendar"
NO_TIME = "turns without a time"
PAUSE = timedelta(hours=3)
MAX_TURNS = 500
"""A chat that never pauses is cut into sessions of so many turns."""
_MAX_METADATA = 200


class SessionBuilder:
    """Builds a session turn by turn and checks each turn.

    Attributes:
        metadata: what is known about the session, such as its ``title``.
    """

    def __init__(self, key: str, notes: Counter[str], **metadata: str) -> None:
        self.key = key
        self.metadata: dict[str, str] = {}
        self.describe(**metadata)
        self.turns: list[Utterance] = []
        self.memories: list[ImportedMemory] = []
        self._notes = notes
        self._by_key: dict[str, Utterance] = {}
        self._uses = Counter[str]()

    def add(self, turn: Utterance, where: str) -> None:
        """Add a turn, whose texts the format has checked to be storable.

        Without a key it gets its position in the session. A turn with the same key and text as
        another is dropped and counted.

        Raises:
            BadInput: it is blank, is older than the turn before it, or has the key of a turn with
                other text.
        """
        if not turn.text.strip() and not turn.attachment:
            raise BadInput("an empty turn; give it text or leave it out", where)
        if not turn.speaker.strip():
            raise BadInput("a turn without a speaker; name the speaker", where)
        key = turn.key or self.next_key()
        if (same := self._by_key.get(key)) is not None:
            if (same.speaker, same.full_text) != (turn.speaker, turn.full_text):
                raise BadInput(
                    f'the key "{key}" is taken by another turn of session "{self.key}"; '
                    "give each turn its own",
                    where,
                )
            self._notes["repeated turns"] += 1
            return
        if self.turns and turn.at < self.turns[-1].at:
            raise BadInput(
                f"out of order: {turn.at.isoformat()} comes after {self.turns[-1].at.isoformat()} "
                f'in session "{self.key}"; sort the turns by time',
                where,
            )
        self.turns.append(turn if turn.key else replace(turn, key=key))
        self._by_key[key] = self.turns[-1]

    def describe(self, **metadata: str) -> None:
        """Set metadata of the session; long values are cut, and empty ones say nothing."""
        self.metadata |= {name: text[:_MAX_METADATA] for name, text in metadata.items() if text}

    def append(self, turn: Utterance, where: str) -> None:
        """Add a turn of a source that may be edited.

        As :meth:`add`, but a turn that is older than the one before is moved and counted, and the
        key of one without is made from its words, which stay when others are deleted.
        """
        if turn.key is None:
            content = f"{turn.role}\0{turn.text}\0{turn.attachment}".encode()
            key = hashlib.sha256(content).hexdigest()[:16]
            self._uses[key] += 1
            uses = self._uses[key]
            turn = replace(turn, key=f"{key} ({uses})" if uses > 1 else key)
        if self.turns and turn.at < self.turns[-1].at:
            turn = replace(turn, at=self.turns[-1].at)
            self._notes["turns moved to keep time order"] += 1
        self.add(turn, where)

    def next_key(self) -> str:
        """Return the key of the next turn if that has none: its position, from 1."""
        return str(len(self.turns) + 1)

    @property
    def keys(self) -> Set[str]:
        """The keys of the turns."""
        return self._by_key.keys()

    def build(self, at: datetime | None = None, *, dated: bool = True) -> Transcript:
        """Return the session. Its date is ``at``, by default the first turn's time."""
        return Transcript(
            key=self.key,
            turns=self.turns,
            at=at or self.turns[0].at,
            dated=dated,
            memories=self.memories,
            metadata=self.metadata,
        )

    def __bool__(self) -> bool:
        return bool(self.turns or self.memories)


def history(name: str, transcripts: Iterable[Transcript], notes: Counter[str]) -> History:
    """Return a history with its sessions sorted by time; count those that had to be moved."""
    unordered = list(transcripts)
    ordered = sorted(unordered, key=lambda transcript: transcript.at)
    if moved := sum(a is not b for a, b in zip(unordered, ordered, strict=True)):
        notes["sessions sorted by time"] += moved
    counted = dict(+notes)
    notes.clear()
    return History(name=name, transcripts=ordered, notes=counted)


class ChatSessions:
    """Cuts one chat into sessions; each is a part of the history ``name``.

    A message up to three hours older than the one before, as when a clock is set back, is moved to
    that one's time and counted. With ``either_order``, the messages may also come newest first.
    """

    def __init__(self, intake: Intake, name: str, chat: str, *, either_order: bool = False) -> None:
        self._intake, self._name, self._chat = intake, name, chat
        self._either_order = either_order
        self._messages: list[Entry] = []
        self._undated: list[Entry] = []
        self._last: datetime | None = None
        self._key = ""
        self._threads: dict[str, str] = {}
        self._late: dict[str, list[Entry]] = {}
        self._starts = Counter[str]()
        self._people: set[str] = set()

    def add(self, message: Entry) -> Iterator[History]:
        """Add a message; yield the session before it if that has ended."""
        if message.at is None:
            self._intake.repaired(NO_TIME, message.where)
            if self._last is None:
                self._undated.append(message)
                return
            message = replace(message, at=self._last)
        at = self._last = cast("datetime", message.at)
        if self._undated:
            undated, self._undated = self._undated, []
            for each in undated:
                yield from self.add(replace(each, at=at))
        thread = self._threads.get(message.thread) if message.thread != message.key else None
        if thread is not None and thread != self._key:
            self._late.setdefault(thread, []).append(message)
            return
        last = cast("datetime", self._messages[-1].at) if self._messages else at
        if abs(at - last) > PAUSE or len(self._messages) >= MAX_TURNS:
            if thread is not None:
                self._late.setdefault(thread, []).append(message)
                return
            yield from self._end()
        if not self._messages:
            start = f"{self._chat}/{at:%Y-%m-%dT%H:%M:%S}"
            self._starts[start] += 1
            self._key = f"{start} ({self._starts[start]})" if self._starts[start] > 1 else start
        for each in filter(None, (message.thread, message.key)):
            self._threads.setdefault(each, self._key)
        self._messages.append(message)
        self._people.add(message.name)

    def end(self) -> Iterator[History]:
        """Yield the session that was going on, if there is one, and late replies to others."""
        if self._undated:
            at = time_in_name(self._intake.name, self._intake.options.local)
            if (at := at or self._intake.source.modified) is None:
                where = self._undated[0].where
                self._undated = []
                raise BadInput("no message of the chat has a time; export it again", where)
            self._undated[0] = replace(self._undated[0], at=at)
            undated, self._undated = self._undated, []
            for each in undated:
                yield from self.add(each)
        yield from self._end()
        late, self._late = self._late, {}
        for key, messages in late.items():
            yield from self._session(key, messages)

    def _end(self) -> Iterator[History]:
        messages, self._messages = self._messages, []
        if not messages:
            return
        key = self._key
        if self._either_order and messages != (ordered := sorted(messages, key=_time)):
            messages = ordered
            key = f"{self._chat}/{messages[0].at:%Y-%m-%dT%H:%M:%S}"
        yield from self._session(key, messages)

    def _session(self, key: str, messages: list[Entry]) -> Iterator[History]:
        session = SessionBuilder(key, self._intake.notes, title=self._chat)
        uses = Counter[str]()
        for message in messages:
            message.name = message.name or self._intake.speaker_of("user")
            why = notice_in(message.text, message.name, self._people)
            if why and not message.attachment:
                self._intake.notes[why] += 1
                continue
            key = message.key or _digest(message)
            uses[key] += 1
            key = f"{key} ({uses[key]})" if uses[key] > 1 else key
            with self._intake.catching():
                session.append(self._intake.turn(message, key), message.where)
        if session:
            yield self._intake.part(self._name, session.build())


def _time(message: Entry) -> datetime:
    return cast("datetime", message.at)


def chat_sessions(
    intake: Intake,
    name: str,
    chat: str,
    messages: Iterable[Entry],
    *,
    either_order: bool = False,
) -> Iterator[History]:
    """Yield the sessions of one chat; see :class:`ChatSessions`."""
    sessions = ChatSessions(intake, name, chat, either_order=either_order)
    for message in messages:
        yield from sessions.add(message)
    yield from sessions.end()


def _digest(message: Entry) -> str:
    content = f"{message.at:%Y-%m-%dT%H:%M:%S}\0{message.name}\0{message.text}"
    return hashlib.sha256(content.encode("utf-8")).hexdigest()[:16]


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
