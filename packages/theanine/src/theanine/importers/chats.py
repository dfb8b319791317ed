"""Chats between people as sessions: a pause of three hours starts a new one.

Messengers know no sessions. A session is named after its chat and its first message's time, and a
turn by its message's id or, without one, by its time, speaker and words: so a later export of the
same chat continues the sessions that are logged.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from theanine.importers.base import Intake, SessionBuilder
from theanine.types import History, Utterance

PAUSE = timedelta(hours=3)
MAX_TURNS = 500
"""A chat that never pauses is cut into sessions of so many turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message of a chat between people; ``key`` is its id in the service, or empty."""

    at: datetime
    speaker: str
    text: str
    where: str
    attachment: str = ""
    key: str = ""


def chat_sessions(
    intake: Intake, name: str, chat: str, messages: Iterable[ChatMessage]
) -> Iterator[History]:
    """Yield the sessions of a chat, each as a part of the history ``name``.

    A message up to three hours older than the one before, as when a clock is set back, is moved to
    that one's time and counted.
    """
    session: SessionBuilder | None = None
    starts = Counter[str]()
    uses = Counter[str]()
    for message in messages:
        if session and (
            abs(message.at - session.turns[-1].at) > PAUSE or len(session.turns) >= MAX_TURNS
        ):
            yield intake.part(name, session.build())
            session = None
        if not session:
            start = f"{chat}/{message.at:%Y-%m-%dT%H:%M:%S}"
            starts[start] += 1
            key = f"{start} ({starts[start]})" if starts[start] > 1 else start
            session, uses = SessionBuilder(key, intake.notes, title=chat), Counter[str]()
        key = message.key or _digest(message)
        uses[key] += 1
        turn = Utterance(
            text=message.text,
            speaker=message.speaker,
            at=message.at,
            key=f"{key} ({uses[key]})" if uses[key] > 1 else key,
            attachment=message.attachment,
        )
        with intake.catching():
            session.append(turn, message.where)
    if session:
        yield intake.part(name, session.build())


def _digest(message: ChatMessage) -> str:
    content = f"{message.at:%Y-%m-%dT%H:%M:%S}\0{message.speaker}\0{message.text}"
    return hashlib.sha256(content.encode("utf-8")).hexdigest()[:16]
