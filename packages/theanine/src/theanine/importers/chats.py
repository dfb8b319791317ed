"""Chats of services that know no sessions: a pause of three hours starts a new one.

A session is named after its chat and its first message's time, and a turn by its message's id or,
without one, by its time, speaker and words: so a later export of the same chat continues the
sessions that are logged.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from theanine.importers.base import Intake, SessionBuilder
from theanine.types import History, Role, Utterance

PAUSE = timedelta(hours=3)
MAX_TURNS = 500
"""A chat that never pauses is cut into sessions of so many turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message of a chat; ``key`` is its id in the service, or empty."""

    at: datetime
    speaker: str
    text: str
    where: str
    role: Role = "user"
    attachment: str = ""
    key: str = ""


class ChatSessions:
    """Cuts one chat into sessions; each is a part of the history ``name``.

    A message up to three hours older than the one before, as when a clock is set back, is moved to
    that one's time and counted. With ``either_order``, the messages may also come newest first.
    """

    def __init__(self, intake: Intake, name: str, chat: str, *, either_order: bool = False) -> None:
        self._intake, self._name, self._chat = intake, name, chat
        self._either_order = either_order
        self._messages: list[ChatMessage] = []
        self._starts = Counter[str]()

    def add(self, message: ChatMessage) -> Iterator[History]:
        """Add a message; yield the session before it if that has ended."""
        last = self._messages[-1].at if self._messages else message.at
        if abs(message.at - last) > PAUSE or len(self._messages) >= MAX_TURNS:
            yield from self.end()
        self._messages.append(message)

    def end(self) -> Iterator[History]:
        """Yield the session that was going on, if there is one."""
        messages, self._messages = self._messages, []
        if not messages:
            return
        if self._either_order:
            messages.sort(key=lambda message: message.at)
        start = f"{self._chat}/{messages[0].at:%Y-%m-%dT%H:%M:%S}"
        self._starts[start] += 1
        key = f"{start} ({self._starts[start]})" if self._starts[start] > 1 else start
        session = SessionBuilder(key, self._intake.notes, title=self._chat)
        uses = Counter[str]()
        for message in messages:
            key = message.key or _digest(message)
            uses[key] += 1
            turn = Utterance(
                text=message.text,
                speaker=message.speaker,
                at=message.at,
                role=message.role,
                key=f"{key} ({uses[key]})" if uses[key] > 1 else key,
                attachment=message.attachment,
            )
            with self._intake.catching():
                session.append(turn, message.where)
        if session:
            yield self._intake.part(self._name, session.build())


def chat_sessions(
    intake: Intake,
    name: str,
    chat: str,
    messages: Iterable[ChatMessage],
    *,
    either_order: bool = False,
) -> Iterator[History]:
    """Yield the sessions of one chat; see :class:`ChatSessions`."""
    sessions = ChatSessions(intake, name, chat, either_order=either_order)
    for message in messages:
        yield from sessions.add(message)
    yield from sessions.end()


def _digest(message: ChatMessage) -> str:
    content = f"{message.at:%Y-%m-%dT%H:%M:%S}\0{message.speaker}\0{message.text}"
    return hashlib.sha256(content.encode("utf-8")).hexdigest()[:16]
