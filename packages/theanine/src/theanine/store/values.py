"""What a store answers with: versions, outcomes, waiting sessions, calls and receipts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from theanine.types import Scope, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeVersion:
    """Which version of a scope's contents a cache holds.

    Attributes:
        scope_id: the store's own number of the scope; 0 when the scope is unknown.
        epoch: rises whenever something is erased, replaced or re-embedded: all that is cached is
            then stale.
        memories: the highest memory number that was ever committed.
        turns: the highest turn number that was ever logged.
        marks: the highest number of a mark that was ever committed.
        embedder: the name of the embedder whose vectors are in use; empty before the first vector.
    """

    scope_id: int = 0
    epoch: int = 0
    memories: int = 0
    turns: int = 0
    marks: int = 0
    embedder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What became of a transcript.

    Attributes:
        session: the session's number.
        new_turns: how many of its turns were not in the log yet.
        new_memories: how many of its ready-made memories were not stored yet.
        new: whether the session itself was unknown.
        forgotten: how many of its turns and ready-made memories were forgotten, and stay so.
    """

    session: int
    new_turns: int
    new_memories: int = 0
    new: bool
    forgotten: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A session that ended and waits to be remembered by a method."""

    scope: Scope
    session: int
    method: str
    attempts: int = 0
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One model call and what came of it.

    Attributes:
        key: hash of step, version, model, settings and input (hexadecimal SHA-256).
        step: name of the step, such as ``relate``.
        version: version of its prompt.
        model: the model's name.
        settings: the settings it was called with.
        prompt: the whole input as sent, JSON.
        reply: the raw reply; empty when the call failed.
        error: why the call or its reply was no use; empty when it was used.
        rejected: True when the reply ended in a failure: kept for the record, never replayed.
        input_tokens, output_tokens: as the provider counted them.
        cost: US dollars, or None when the model's price is unknown.
        seconds: how long the call took.
        at: when it was answered.
        session: the session that was being remembered, or None for calls before a reply.
        touches: numbers of the sessions whose words are in the prompt; erasing one of them erases
            the words of this entry.
        epoch: the scope's ``State.epoch`` when the prompt was made; if something was erased since,
            the words are not kept. None where nobody looked.
    """

    key: str
    step: str
    version: int
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    prompt: str = ""
    reply: str = ""
    error: str = ""
    rejected: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    at: datetime
    session: int | None = None
    touches: tuple[int, ...] = ()
    epoch: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine(Usage):
    """Usage of one step, model and session, summed over the journal.

    Attributes:
        session: the session that was being remembered, or None for calls before a reply.
    """

    scope: Scope
    session: int | None
    step: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """What ``forget`` erased.

    Attributes:
        scope: whose.
        sessions, turns, memories, links, vectors, journal: how many rows of each are gone; for the
            journal, how many entries lost their words (their token counts stay for the accounts).
        kept: what was named but had to stay, and why.
        anew: how many other sessions wait to be remembered anew, as memories of theirs were made
            of what is gone.
        verified: True when afterwards no erased text was found in any file of the store. False
            for one while a reader, such as an export, holds on to what was there before.
    """

    scope: Scope
    sessions: int = 0
    turns: int = 0
    memories: int = 0
    links: int = 0
    vectors: int = 0
    journal: int = 0
    kept: tuple[str, ...] = ()
    anew: int = 0
    verified: bool = False
