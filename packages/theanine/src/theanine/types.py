"""Turns, sessions, memories, links and recollections: the data that every layer shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

Role = Literal["user", "assistant"]
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
    attachment: str = ""
    recalled: tuple[int, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    @property
    def full_text(self) -> str:
        """The text with what was shown beside it."""
        return f"{self.text} [shares {self.attachment}]" if self.attachment else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Utterance):
    """One utterance in the log.

    Attributes:
        id: number in the scope, from 1, in the order in which turns were logged.
        session: number of its session.
        dated: whether ``at`` is a real time; False when the source of the session gave no dates,
            so that ``at`` only keeps the order.
    """

    id: int
    session: int
    dated: bool = True

    def __str__(self) -> str:
        return f"{self.speaker}: {self.full_text}"


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
class ImportedMemory:
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
    memories: Sequence[ImportedMemory] = ()


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


class Relation(StrEnum):
    """How an older memory A stands to a newer memory B (Theanine, appendix A.1)."""

    CHANGED = "Changed"
    CAUSE = "Cause"
    REASON = "Reason"
    HINDERED_BY = "HinderedBy"
    REACT = "React"
    WANT = "Want"
    SAME_TOPIC = "SameTopic"


LOCAL_MODEL = "local"
"""The model's name on everything that was made without a language model."""

STATEMENT = "statement"
"""The kind of a memory that says one thing about its speakers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered statement.

    Attributes:
        id: its number in the scope, from 1, in the order of commit.
        session: the number of the session that it came from.
        text: the statement.
        at: the time of the last turn that supports it, aware, in that turn's own UTC offset.
        made_at: when its session ended (the paper's time of a memory), aware, UTC.
        kind: what sort of memory: ``statement``, or a name that its method gives it.
        speakers: who it is about.
        sources: ids of the turns that it rests on directly, ascending; empty for ready-made
            memories whose file names no turns, and for those made of other memories alone.
        origins: ids of the memories that it was made of, ascending: forgetting one of them takes
            this one along.
        method: the method that made it.
        made_by: the model that made it, ``local`` or ``given``.
        prompt: name and version of the prompt, such as ``summarize@1``; empty without a model.
        dated: whether ``at`` is a real time; False when the session that it came from has no dates.
    """

    id: int
    session: int
    text: str
    at: datetime
    session_ended_at: datetime
    kind: str = STATEMENT
    speakers: tuple[str, ...] = ()
    source_turns: tuple[int, ...] = ()
    derived_from: tuple[int, ...] = ()
    method: str = "theanine"
    made_by: str = LOCAL_MODEL
    prompt: str = ""
    dated: bool = True

    @property
    def order(self) -> tuple[datetime, int]:
        """Sorts memories as they happened: by time, then by number."""
        return (self.at, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A directed edge from an older memory to a newer one.

    Attributes:
        older, newer: memory ids.
        relation: None when linked by similarity and order alone (``relation_aware=False``).
        explanation: why, in the words of the model or the local cue that fired.
        similarity: cosine of the two memories' vectors, -1 to 1.
        made_by: the model, or ``local``.
        prompt: name and version of the prompt; empty without a model.
    """

    older: int
    newer: int
    relation: Relation | None
    explanation: str = ""
    similarity: float = 0.0
    made_by: str = LOCAL_MODEL
    prompt: str = ""


MarkKind = Literal["superseded", "withdrawn"]
"""Why a memory is no longer live: a newer one took its place, or what it says no longer holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Says that a memory is no longer live. The memory itself stays as it is.

    Attributes:
        id: its number in the scope, from 1, in the order of commit.
        memory: the memory that is marked.
        kind: see :data:`MarkKind`.
        by: the memory that took its place, or None.
        session: the session whose remembering marked it; forgetting that session lifts the mark.
        reason: why, in the words of the model or of the local rule.
        method: the method that marked it.
        made_by: the model, or ``local``.
        prompt: name and version of the prompt; empty without a model.
    """

    id: int
    memory: int
    kind: MarkKind
    by: int | None = None
    session: int
    reason: str = ""
    method: str = "theanine"
    made_by: str = LOCAL_MODEL
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A directed path of linked memories, oldest first.

    ``links[i]`` joins ``memories[i]`` to ``memories[i + 1]``. ``retrieved`` is the id of the memory
    whose retrieval brought this path up.
    """

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
    retrieved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One piece of a recollection, with where it came from.

    Attributes:
        text: the words that the responder is given.
        memories: the memories that it rests on, in the order of ``text``.
        sources: the turns that those memories rest on, in time order.
        timeline: the path behind it, or None when the part is no timeline.
        score: how well its retrieved memory fits the dialogue; higher is better, no fixed scale.
        made_by: the model that worded it, or ``local``.
    """

    text: str
    memories: tuple[Memory, ...]
    source_turns: tuple[Turn, ...]
    timeline: Timeline | None = None
    score: float = 0.0
    made_by: str = LOCAL_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """What a method hands the responder before a reply: empty when nothing is remembered."""

    query: str
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """All parts, one a line."""
        return "\n".join(part.text for part in self.parts)

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The paths behind the parts."""
        return tuple(part.timeline for part in self.parts if part.timeline is not None)

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Every memory behind any part, once, in order of first appearance."""
        return tuple({m.id: m for part in self.parts for m in part.memories}.values())

    @property
    def source_turns(self) -> tuple[Turn, ...]:
        """Every source turn behind any part, once, in time order."""
        turns = {t.id: t for part in self.parts for t in part.source_turns}
        return tuple(sorted(turns.values(), key=lambda t: (t.at, t.id)))

    def __bool__(self) -> bool:
        return bool(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory that a method has made and that the store has not numbered yet.

    ``origins`` are stored memories that it was made of; ``beside`` are others of the same batch,
    by their index, each before its own. Both become ``Memory.origins``.
    """

    text: str
    at: datetime
    source_turns: tuple[int, ...]
    speakers: tuple[str, ...] = ()
    derived_from: tuple[int, ...] = ()
    derived_from_new: tuple[int, ...] = ()
    kind: str = STATEMENT
    made_by: str = LOCAL_MODEL
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLink:
    """A link to a new memory: ``newer`` is its index in the same batch, ``older`` a stored id."""

    older: int
    newer: int
    relation: Relation | None
    explanation: str = ""
    similarity: float = 0.0
    made_by: str = LOCAL_MODEL
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMark:
    """A mark on a stored memory; ``by`` is the index of a new memory in the same batch."""

    memory: int
    kind: MarkKind
    by: int | None = None
    reason: str = ""
    made_by: str = LOCAL_MODEL
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBatch:
    """All that a method makes of one session; the store commits it whole or not at all.

    Attributes:
        memories: new memories, in order.
        vectors: ``(n, d)`` float32, unit norm; row i belongs to ``memories[i]``.
        links: edges into the new memories.
        marks: on stored memories that are no longer live.
        pairs: how many (older, newer) pairs were related.
        notes: what its user should know, such as a step that fell back on its local version.
    """

    memories: Sequence[NewMemory] = ()
    vectors: object = None
    links: Sequence[NewLink] = ()
    marks: Sequence[NewMark] = ()
    pairs: int = 0
    notes: Sequence[str] = ()
