"""Chats of services that know no sessions: a pause of three hours starts a new one.

A session is named after its chat and its first message's time, and a turn by its message's id or,
without one, by its time, speaker and words: so a later export of the same chat continues the
sessions that are logged. A reply to a thread whose session has ended joins that session, if the
format joins sessions of one key.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, SessionBuilder
from theanine.importers.written_dates import time_in_name
from theanine.types import History

NO_TIME = "turns without a time"
PAUSE = timedelta(hours=3)
MAX_TURNS = 500
"""A chat that never pauses is cut into sessions of so many turns."""


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
        if message.thread:
            self._threads.setdefault(message.thread, self._key)
        self._messages.append(message)

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
