"""The data that every layer shares: turns, sessions, memories, links, recollections.

A log has sessions (:class:`Session`) of turns (:class:`Turn`). A method makes memories
(:class:`Memory`) and links (:class:`Link`) from them. A recall returns a :class:`Recollection`.

Provenance: ``source_turns`` are the turns that directly support a memory, ``derived_from`` the
memories that it was made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from theanine.fences import REMEMBERED_RULES, one_line, remembered_block

Role = Literal["user", "assistant", "system", "tool"]
"""Who a turn is by: a person, the assistant that uses this memory, the application that instructs
it, or a tool; a call of a tool and its result are both the tool's."""

SPOKEN: frozenset[Role] = frozenset({"user", "assistant"})
"""The roles whose turns are words of the dialogue; only they are remembered."""

Message: TypeAlias = Mapping[str, Any]
"""A message of a chat model's API, or one of its parts."""

CALLED = "[called "
"""Beginning of the words for a call of a tool, in turns of the tool."""

MessageFormat = Literal["openai", "responses", "anthropic"]
"""OpenAI's chat completions, OpenAI's responses, or Anthropic's messages."""

Scalar = str | int | float | bool | None
"""A value of metadata: what JSON calls a string, number, true, false or null."""
Metadata = Mapping[str, Scalar]
"""The caller's own data about a turn or a session, such as ``{"channel": "web"}``."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of stored data. Nothing is read or written across scopes.

    Attributes:
        user: the person.
        agent: the deployed agent that talks with the user.
        tenant: the customer whose data is isolated from all others'.
    """

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


# The log

FINISH = "finish"
"""The note on a reply that has not ended by itself: one of ``UNFINISHED``."""
UNFINISHED = ("length", "broken_off")
"""How such a reply ended: at the limit of tokens, or because its stream was not read further."""
CORRECTS = "corrects"
"""The note on a turn that logs a correction: the id of the memory that it corrects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A turn that is not in the log yet.

    Attributes:
        text: the words, verbatim.
        speaker: the speaker's name.
        at: the time, an aware datetime; its UTC offset is kept.
        role: see :data:`Role`; the speaker never decides it.
        key: the caller's own id, unique in the session; a key that is already logged changes
            nothing.
        attachment: what the speaker shared with the words, such as a picture's description.
        recalled: ids of the memories in the prompt that this turn replied to.
        notes: the method's notes on this turn, such as ``{"worth": "yes"}``; never words of the
            dialogue.
        metadata: the caller's own data, such as ``{"channel": "web"}``; never put in a prompt.
        content: the parts of the message that the text describes in words, such as images and
            calls of tools; empty where the text is all of it, and for turns that were read without
            their content.
    """

    text: str
    speaker: str
    at: datetime
    role: Role = "user"
    key: str | None = None
    attachment: str = ""
    recalled: tuple[int, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    metadata: Metadata = field(default_factory=dict[str, Scalar], hash=False)
    content: tuple[Message, ...] = field(default=(), hash=False, compare=False, repr=False)

    @property
    def broken_off(self) -> bool:
        """Whether this is a streamed reply of which only a part was received."""
        return self.notes.get(FINISH) == "broken_off"

    @property
    def corrects(self) -> int | None:
        """The id of the memory that this turn corrects; None for anything else that was said."""
        memory = self.notes.get(CORRECTS)
        return None if memory is None else int(memory)

    @property
    def full_text(self) -> str:
        """The text, followed by the attachment in brackets if there is one."""
        return f"{self.text} [shares {self.attachment}]" if self.attachment else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Utterance):
    """One utterance by one speaker, in the log.

    Attributes:
        id: number in the scope, from 1, in the order of logging.
        session: id of the session.
        dated: False when the source has no dates: then ``at`` only keeps the order.
        metadata: its own, over that of its session.
    """

    id: int
    session: int
    dated: bool = True

    def __str__(self) -> str:
        return f"{self.speaker}: {self.full_text}"


SetAside = Literal["failed", "cancelled"]
"""Why workers leave a session alone: it has failed too often, or somebody cancelled it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The turns of one conversation, from its start to its end or to a long pause.

    Attributes:
        id: number in the scope, from 1, in the order of logging.
        key: the session's own name, unique in the scope; for an imported session its name in the
            file.
        thread: the application's key of the conversation that the session continues; None for a
            session of its own.
        started_at: the first turn's time, aware, in that turn's UTC offset.
        ended_at: when it ended; None while it is open.
        dated: False when the source has no dates: then the times only keep the order.
        turn_count: number of turns.
        remembered_at: when its memories were committed; None before.
        failure: why the last attempt to remember it failed; None if it didn't.
        set_aside: why workers leave it alone: ``failed`` too often, or ``cancelled``; else None.
        metadata: the caller's own data, which all of its turns have too.
    """

    id: int
    key: str
    started_at: datetime
    ended_at: datetime | None = None
    dated: bool = True
    turn_count: int = 0
    remembered_at: datetime | None = None
    failure: str | None = None
    metadata: Metadata = field(default_factory=dict[str, Scalar], hash=False)
    thread: str | None = None
    set_aside: SetAside | None = None

    def __str__(self) -> str:
        turns = "1 turn" if self.turn_count == 1 else f"{self.turn_count} turns"
        state = "open" if self.ended_at is None else "remembered" if self.remembered_at else "ended"
        when = f"{self.started_at:%Y-%m-%d %H:%M}, " if self.dated else ""
        return f"session {self.id}: {when}{turns}, {state}"

    @property
    def order(self) -> tuple[datetime, int]:
        """Sort key: start time, then id."""
        return (self.started_at, self.id)


# Importing


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMemory:
    """A memory that was read from a file together with its session.

    Attributes:
        text: the statement.
        speakers: the people it is about.
        source_keys: keys of the turns that support it, if the file names them.
    """

    text: str
    speakers: tuple[str, ...] = ()
    source_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A complete session that is not in the log yet.

    Attributes:
        key: the session's name in its source, unique in the scope; a key that is already logged
            adds only what is new.
        turns: the turns in order; empty if there are only memories.
        at: the session's date.
        dated: False when the source has no dates: then ``at`` only keeps the order.
        memories: imported memories.
        metadata: the caller's own data about the session, for all of its turns and memories.
        revised: whether the source may have been edited since an earlier import. Then logged turns
            stay as they are whatever it says now, and new ones are added at the end; otherwise a
            difference is an error.
    """

    key: str
    turns: Sequence[Utterance]
    at: datetime
    dated: bool = True
    memories: Sequence[ImportedMemory] = ()
    metadata: Metadata = field(default_factory=dict[str, Scalar], hash=False)
    revised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All sessions with one user, as read from a file.

    Attributes:
        name: the source's name for it; the default name of the user.
        transcripts: the sessions, oldest first.
        notes: irregularities of the source and their counts, such as
            ``{"turns without a date": 3}``.
    """

    name: str
    transcripts: Sequence[Transcript]
    notes: Mapping[str, int] = field(default_factory=dict[str, int])


# Memories


class Relation(StrEnum):
    """How an older memory relates to a newer one.

    Source: Theanine, appendix B.1, but for two: ``FULFILLED`` (the newer one tells that what was
    planned has happened) and ``CORRECTED`` (what the older one tells was never so).
    """

    CHANGED = "Changed"
    FULFILLED = "Fulfilled"
    CORRECTED = "Corrected"
    CAUSE = "Cause"
    REASON = "Reason"
    HINDERED_BY = "HinderedBy"
    REACT = "React"
    WANT = "Want"
    SAME_TOPIC = "SameTopic"


REPLACED = frozenset({Relation.CHANGED, Relation.FULFILLED, Relation.CORRECTED})
"""Relations after which the newer memory holds instead of the older one."""

LOCAL_MODEL = "local"
"""``made_by`` of everything that was made without a language model."""
IMPORTED = "given"
"""``made_by`` of imported memories."""
CALLER = "caller"
"""``made_by`` of a memory that the caller wrote, as a correction of another one."""
QUOTING = (LOCAL_MODEL, CALLER)
"""``made_by`` of memories that say what their source turns say."""
NO_MODEL_NOTICE = "No language model is configured, so I can only quote what I remember."
"""Added to local replies; a turn that has it is never remembered."""

STATEMENT = "statement"
"""``kind`` of a memory that states one fact about its speakers."""
STATE = "state"
"""``kind`` of a memory that tells in one sentence what holds now, since when, and what it was.

It is made from the two memories that a change links, and recall returns it in place of both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One stored statement, digest or excerpt.

    Attributes:
        id: number in the scope, from 1, in the order of commit.
        session: id of the session that it was made from.
        text: the words.
        at: the time of the last turn that supports it, aware, in that turn's UTC offset.
        session_ended_at: when its session ended (the paper's time of a memory), aware, UTC.
        kind: ``statement``, or a kind that its method defines.
        speakers: the people it is about.
        cues: other words by which one may ask for it; recall searches them with the text.
        source_turns: ids of the turns that directly support it, ascending. Empty for an imported
            memory whose file names no turns, and for one made only from other memories.
        derived_from: ids of the memories that it was made from, ascending; forgetting one of them
            erases this one as well.
        method: id of the method that made it.
        made_by: the model's name; ``local`` without a model, ``given`` for an imported memory,
            ``caller`` for a correction.
        prompt: name and version of the prompt, such as ``summarize@1``; empty without a model.
        dated: False when its session has no dates: then the times only keep the order.
        metadata: what all turns and memories that it was made from have in common; its session's
            if it names none.
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
    metadata: Metadata = field(default_factory=dict[str, Scalar], hash=False)
    cues: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text

    @property
    def order(self) -> tuple[datetime, int]:
        """Sort key: time, then id."""
        return (self.at, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A directed edge from an older memory to a newer one.

    Attributes:
        older, newer: memory ids.
        relation: None for a link by similarity and order alone (``relation_aware=False``).
        explanation: the reason in the model's words, or the local cue that matched.
        similarity: cosine similarity of the two memories' vectors, -1 to 1.
        made_by: the model's name, or ``local``.
        prompt: name and version of the prompt; empty without a model.
    """

    older: int
    newer: int
    relation: Relation | None
    explanation: str = ""
    similarity: float = 0.0
    made_by: str = LOCAL_MODEL
    prompt: str = ""


MarkKind = Literal["superseded", "withdrawn", "corrected", "pinned", "unpinned", "accepted"]
"""What a mark says of a memory.

``superseded``: a newer memory replaced it; ``withdrawn``: it no longer holds; ``corrected``: the
caller corrected it; ``pinned``: it is in every recollection, until a mark ``unpinned``;
``accepted``: a person said that it is right.
"""
PIN_KINDS = ("pinned", "unpinned")
"""The kinds of marks that pin a memory, or take its pin off."""
LIVE_KINDS = (*PIN_KINDS, "accepted")
"""The kinds of marks that leave a memory in effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A note on a memory: that it is no longer in effect, or pinned. It is not changed itself.

    Attributes:
        id: number in the scope, from 1, in the order of commit.
        memory: id of the marked memory.
        kind: see :data:`MarkKind`.
        by: id of the memory that replaced it, or None.
        session: id of the session whose remembering marked it; forgetting that session removes
            the mark.
        reason: the reason in the model's words, or the local rule.
        method: id of the method that marked it.
        made_by: the model's name, or ``local``.
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


# Recall


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Memories about one matter, oldest first.

    Attributes:
        memories: the memories; none only repeats another one.
        links: those between them. In a recollection they join each memory to the next one.
        retrieved: id of the memory that was asked for or retrieved; the newest one otherwise.
        title: a few words that say what it is about; empty in a recollection.
    """

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
    retrieved: int
    title: str = ""

    @property
    def steps(self) -> tuple[tuple[Memory, Link | None], ...]:
        """Each memory with the relation that says most of how it follows from an earlier one.

        None stands for no relation, or for one on the same topic, as all are.
        """
        best: dict[int, Link] = {}
        for link in self.links:
            if link.relation not in (None, Relation.SAME_TOPIC):
                known = best.get(link.newer)
                if known is None or _strength(link) <= _strength(known):
                    best[link.newer] = link
        return tuple((memory, best.get(memory.id)) for memory in self.memories)

    def __str__(self) -> str:
        return "\n".join(memory.text for memory in self.memories)


def _strength(link: Link) -> int:
    """Return the position of a link's relation among all, the one that says most first."""
    return list(Relation).index(link.relation or Relation.SAME_TOPIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One piece of a recollection, with its provenance.

    Attributes:
        text: the words for the prompt.
        memories: the memories that the text was made from, in its order.
        source_turns: the turns that support those memories, in time order.
        timeline: the timeline that the text was made from, or None.
        score: rank score of what was retrieved; higher is better, the scale is the method's own.
        relevance: probability that the part is evidence for the query, 0 to 1; None where the
            method does not estimate it.
        made_by: the name of the model that wrote the text, or ``local``.
        pinned: whether it is returned whatever is asked: its memory is pinned or, without a memory,
            it is what is known of the user.
        scope: the scope that it was recalled from, where there are several; else None.
    """

    text: str
    memories: tuple[Memory, ...]
    source_turns: tuple[Turn, ...]
    timeline: Timeline | None = None
    score: float = 0.0
    relevance: float | None = None
    made_by: str = LOCAL_MODEL
    pinned: bool = False
    scope: Scope | None = None

    @property
    def is_profile(self) -> bool:
        """Whether it is what is known of the user, which no memory and no question brought."""
        return self.pinned and not self.memories

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """The result of a recall; empty (and false) when nothing relevant is stored.

    Attributes:
        query: the text that retrieval ranked by.
        parts: the pieces, in the order of the prompt.
        best_relevance: relevance of the best candidate, returned or not; None if there is no
            candidate or the method does not estimate relevance.
        min_relevance: the relevance that the best candidate must have for anything to be returned.
        notes: deviations from the configuration, such as a step for which there was no time.
        user: the user's name in the dialogue.
    """

    query: str
    parts: tuple[Part, ...] = ()
    best_relevance: float | None = None
    min_relevance: float = 0.0
    notes: tuple[str, ...] = ()
    user: str = ""

    @property
    def text(self) -> str:
        """The text of all parts, one per line."""
        return "\n".join(part.text for part in self.parts)

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The timelines of the parts that have one."""
        return tuple(part.timeline for part in self.parts if part.timeline is not None)

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories of all parts, each once, in order of first appearance."""
        memories = {(part.scope, m.id): m for part in self.parts for m in part.memories}
        return tuple(memories.values())

    @property
    def source_turns(self) -> tuple[Turn, ...]:
        """The source turns of all parts, each once, in time order."""
        turns = {(part.scope, t.id): t for part in self.parts for t in part.source_turns}
        return tuple(sorted(turns.values(), key=lambda t: (t.at, t.id)))

    @property
    def items(self) -> tuple[str, ...]:
        """The lines for a prompt: who speaks in the text, then the text of each part.

        Names are quoted data as the text is: what people are called may come from anywhere. Empty
        if nothing is relevant.
        """
        texts = tuple(part.text for part in self.parts)
        return tuple(filter(None, (self._speakers, *texts))) if any(map(str.strip, texts)) else ()

    @property
    def _speakers(self) -> str:
        """Who the user is, and under which names the assistant speaks in the text."""
        names = dict.fromkeys(t.speaker for t in self.source_turns if t.role == "assistant")
        own = " and ".join(one_line(name, 80) for name in names)
        user = f"{one_line(self.user, 80)} is the user." if self.user else ""
        return " ".join(filter(None, [user, f"What {own} said, you said." if own else ""]))

    def messages(self) -> list[Message]:
        """Return what to put after the user's newest message; nothing if nothing is relevant.

        One message of the user's role, in which ``items`` are fenced as data, after rules for the
        model: what it is, and how to use it. It belongs at the end, so that a provider's cache
        keeps all before it. ``add`` leaves it out when it comes back with the conversation.
        """
        block = remembered_block(self.items, REMEMBERED_RULES)
        return [{"role": "user", "content": block}] if block else []

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        counts = f"parts={len(self.parts)} source_turns={len(self.source_turns)}"
        return f"<Recollection for {self.query!r:.60}: {counts}>"


# What a method returns for one session


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory without an id; fields as in :class:`Memory`.

    Attributes:
        derived_from: ids of stored memories that it was made from.
        derived_from_new: indexes of earlier memories of the same batch that it was made from; the
            store adds their ids to ``derived_from``.
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
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLink:
    """A link to a new memory: ``older`` is a stored id, ``newer`` an index in the same batch.

    Attributes:
        within_batch: whether ``older`` is an index in the same batch as well, below ``newer``.
    """

    older: int
    newer: int
    relation: Relation | None
    explanation: str = ""
    similarity: float = 0.0
    made_by: str = LOCAL_MODEL
    prompt: str = ""
    within_batch: bool = False


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
    """Everything that a method made from one session; committed in one transaction.

    Attributes:
        memories: new memories, in order.
        vectors: ``(n, d)`` float32 of unit norm; row i belongs to ``memories[i]``. Without rows,
            ``(0, d)``, they are made when memories are first compared by them.
        links: links to the new memories.
        marks: marks on stored memories.
        pairs: number of (older, newer) pairs that were compared for a relation.
        notes: messages for the user, such as a step that fell back to its local version.
    """

    memories: Sequence[NewMemory] = ()
    vectors: object = None
    links: Sequence[NewLink] = ()
    marks: Sequence[NewMark] = ()
    pairs: int = 0
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Calls to a language model, their tokens and their cost. Add two with ``+``.

    Attributes:
        calls: requests sent to the model.
        replayed: replies taken from the journal instead; they cost nothing.
        failed: those of ``calls`` that brought no reply, or none that could be used.
        input_tokens, output_tokens: tokens of ``calls``, as counted by the provider.
        cost: US dollars for ``calls``; None if the price of any is unknown.
        seconds: time spent waiting for the model, summed over concurrent calls.
        truncated: texts that were cut off at their bound of tokens, and used up to there; none of
            them is stored.
    """

    calls: int = 0
    replayed: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    truncated: int = 0

    def __add__(self, other: Usage) -> Usage:
        unknown = self.cost is None or other.cost is None
        return Usage(
            calls=self.calls + other.calls,
            replayed=self.replayed + other.replayed,
            failed=self.failed + other.failed,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=None if unknown else (self.cost or 0.0) + (other.cost or 0.0),
            seconds=self.seconds + other.seconds,
            truncated=self.truncated + other.truncated,
        )
