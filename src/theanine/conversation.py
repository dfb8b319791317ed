"""What was said, by whom, when, and whose memory it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Role = Literal["user", "agent"]
"""Who speaks: a person (``user``) or the assistant that this memory serves (``agent``)."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory it is. Nothing is ever read or written across scopes."""

    user: str
    agent: str = "default"
    tenant: str = "default"

    def __str__(self) -> str:
        parts = [self.user]
        if self.agent != "default" or self.tenant != "default":
            parts.append(self.agent)
        if self.tenant != "default":
            parts.append(self.tenant)
        return " @ ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One thing said, as the caller hands it in.

    Attributes:
        text: the words, exactly as they were said.
        speaker: the speaker's name.
        at: when, an aware datetime; its own UTC offset is kept.
        role: ``user`` for a person, ``agent`` for the assistant.
        key: the caller's own id, unique in its session; hearing the same key again changes nothing.
        shared: what the speaker showed beside the words, such as a picture's description.
        recalled: ids of the memories that were in front of the agent when it said this.
        notes: what the agent's method noted as it said this, such as ``{"worth": "yes"}``; never
            words of the dialogue.
    """

    text: str
    speaker: str
    at: datetime
    role: Role = "user"
    key: str | None = None
    shared: str = ""
    recalled: tuple[int, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    @property
    def words(self) -> str:
        """The text with what was shown beside it."""
        return f"{self.text} [shares {self.shared}]" if self.shared else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Utterance):
    """One utterance in the log.

    Attributes:
        id: its number in the scope, from 1, in the order in which turns were logged.
        session: the number of its session.
    """

    id: int
    session: int

    def __str__(self) -> str:
        return f"{self.speaker}: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A run of turns.

    Attributes:
        id: its number in the scope, from 1, in the order in which sessions were logged.
        key: the caller's own id, unique in the scope (an imported session's name in its file).
        started_at: the first turn's time, aware, in the zone in which it was said.
        ended_at: when it ended; None while it is open.
        dated: False when the source gave no dates and the times only keep the order.
        turn_count: how many turns it has.
        remembered_at: when its memories were committed; None before.
        failure: why remembering it failed last, or None.
    """

    id: int
    key: str
    started_at: datetime
    ended_at: datetime | None = None
    dated: bool = True
    turn_count: int = 0
    remembered_at: datetime | None = None
    failure: str | None = None

    @property
    def order(self) -> tuple[datetime, int]:
        """Sorts sessions as they happened: by start, then by number."""
        return (self.started_at, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenMemory:
    """A ready-made memory that comes with an imported session (``import --memories``).

    Attributes:
        text: the statement.
        speakers: who it is about.
        source_keys: keys of the turns that it came from, if its file names them.
    """

    text: str
    speakers: tuple[str, ...] = ()
    source_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One whole session from elsewhere, before it is logged.

    Attributes:
        key: its name in its source, unique in the scope; the same key twice changes nothing.
        turns: what was said, in order.
        at: the session's own date, for sessions that hold only memories.
        dated: False when the source gave no dates and ``at`` only keeps the order.
        memories: ready-made memories, or empty.
    """

    key: str
    turns: Sequence[Utterance]
    at: datetime
    dated: bool = True
    memories: Sequence[GivenMemory] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The sessions of one relationship, as read from a file.

    Attributes:
        name: what the source calls it; the user's name in the store unless the caller gives one.
        transcripts: the sessions, oldest first.
        notes: what was odd in the source and how often, such as ``{"turns without a date": 3}``.
    """

    name: str
    transcripts: Sequence[Transcript]
    notes: Mapping[str, int] = field(default_factory=dict[str, int])
