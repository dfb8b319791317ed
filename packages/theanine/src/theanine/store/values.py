"""Values that a store takes and returns, besides those of ``theanine.types``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from theanine.filters import NO_FILTER, Filter
from theanine.folding import fold
from theanine.types import Scope, Turn, Usage, Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What is about to be erased, and is not shown any more.

    Attributes:
        everything: whether nothing of the scope is shown.
        sessions, turns, memories: their numbers; all of a session is hidden with it.
    """

    everything: bool = False
    sessions: frozenset[int] = frozenset()
    turns: frozenset[int] = frozenset()
    memories: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        """Whether anything is hidden."""
        return self.everything or bool(self.sessions or self.turns or self.memories)

    def has_session(self, session: int) -> bool:
        """Whether a session is hidden."""
        return self.everything or session in self.sessions

    def has_turn(self, turn: int, session: int) -> bool:
        """Whether a turn is hidden."""
        return turn in self.turns or self.has_session(session)

    def has_memory(self, memory: int, session: int) -> bool:
        """Whether a memory is hidden."""
        return memory in self.memories or self.has_session(session)

    def __or__(self, other: Hidden) -> Hidden:
        """Return what either hides."""
        return Hidden(
            everything=self.everything or other.everything,
            sessions=self.sessions | other.sessions,
            turns=self.turns | other.turns,
            memories=self.memories | other.memories,
        )


NOTHING_HIDDEN = Hidden()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeVersion:
    """The version of a scope's contents, by which a cache knows what it lacks.

    Attributes:
        scope_id: the store's number of the scope; 0 if the scope is unknown.
        epoch: rises when something is erased, replaced or re-embedded, which makes caches stale;
            no two scopes share one, so it tells a forgotten scope from one of the same names.
        memories: highest memory number that was ever committed.
        turns: highest turn number that was ever logged.
        marks: highest mark number that was ever committed.
        embedder: name of the active embedder; empty before the first vector.
        time_zone: IANA name of the user's time zone; empty for none.
        hidden: what is about to be erased.
        expires_at: when the first of its turns expires by itself; None if none does.
    """

    scope_id: int = 0
    epoch: int = 0
    memories: int = 0
    turns: int = 0
    marks: int = 0
    embedder: str = ""
    time_zone: str = ""
    hidden: Hidden = NOTHING_HIDDEN
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSettings:
    """What is set for one user.

    Attributes:
        time_zone: IANA name of the time zone in which dates are read and shown; None shows each
            turn's date at its own UTC offset and reads dates in UTC.
        retention: how long turns and memories are kept, by when they were said; None keeps them.
    """

    time_zone: str | None = None
    retention: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which rows of a list are wanted.

    Attributes:
        limit: maximum number of rows; None for all.
        after: the number of the row that they come after; None begins at the start.
        newest_first: from the highest number down.
        search: words that each row has, as :func:`theanine.folding.fold` has them, in any order.
        since, until: bounds of when it was said, inclusive; aware.
        where: what its metadata matches.
        in_effect: whether memories that were corrected, and the turns behind them, are left out.
        hidden: what is left out.
    """

    limit: int | None = None
    after: int | None = None
    newest_first: bool = False
    search: str = ""
    since: datetime | None = None
    until: datetime | None = None
    where: Filter = NO_FILTER
    in_effect: bool = False
    hidden: Hidden = NOTHING_HIDDEN

    @property
    def words(self) -> frozenset[str]:
        """The words of ``search``, folded."""
        return frozenset(fold(self.search).split())

    def matches(self, text: str) -> bool:
        """Return whether a text has all words."""
        folded = fold(text)
        return all(word in folded for word in self.words)


class TurnText(NamedTuple):
    """What a search for words needs of a turn; ``at`` is in microseconds since 1970."""

    id: int
    session: int
    at: int
    speaker: str
    text: str
    attachment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """The result of logging a transcript.

    Attributes:
        session: number of the session.
        new_turns: turns that were added.
        new_memories: imported memories that were added.
        new: whether the session itself was added.
        forgotten: turns and imported memories that were skipped because they were forgotten.
    """

    session: int
    new_turns: int
    new_memories: int = 0
    new: bool
    forgotten: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """The result of appending to a thread, or of logging messages in a session of their own.

    Attributes:
        session: number of the session that the thread has now; None if there is none.
        turns: the turns that were logged.
        previous: number of the last turn of that session before them; 0 if there was none.
        known: the utterances that were left out because the thread has them already.
        ended: number of the session that a pause had ended before; None if none was.
    """

    session: int | None
    turns: tuple[Turn, ...] = ()
    previous: int = 0
    known: tuple[Utterance, ...] = ()
    ended: int | None = None


PendingState = Literal["waiting", "running", "failed", "set aside", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An ended session that a method has not remembered.

    Attributes:
        attempts: how often remembering it has failed.
        failure: why it failed last; None if it hasn't.
        state: what becomes of it:

            - ``waiting``: it is remembered when its turn comes;
            - ``running``: a process is remembering this user, and this session is the next;
            - ``failed``: it is tried again;
            - ``set aside``: it has failed so often that no worker tries it again; ``remember`` and
              ``retry_remembering`` do;
            - ``cancelled``: nobody tries it, until ``retry_remembering``.

        retry_at: when workers try it again, by the database's clock; None for as soon as they can.
        due: whether a worker would try it now, if it is not set aside.
    """

    scope: Scope
    session: int
    method: str
    attempts: int = 0
    failure: str | None = None
    state: PendingState = "waiting"
    retry_at: datetime | None = None
    due: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """A model call and its result.

    Attributes:
        key: hash of step, version, model, settings and input (hexadecimal SHA-256).
        step: name of the step, such as ``relate``.
        version: version of its prompt.
        model: name of the model.
        settings: the settings of the call.
        prompt: the whole input as sent, in JSON.
        reply: the raw reply; empty if the call failed.
        error: why the call failed or its reply was unusable; empty if it was used.
        rejected: whether it ended in a failure: stored for the record, never replayed.
        input_tokens, output_tokens: as counted by the provider.
        cost: US dollars; None if the model's price is unknown.
        seconds: duration of the call.
        at: when it was answered.
        session: the session that was being remembered; None for calls made for a reply.
        touches: sessions quoted in the prompt; erasing one of them erases the text of this entry.
        epoch: ``ScopeVersion.epoch`` when the prompt was made; the text is not stored if something
            was erased since. None skips this check.
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
        session: the session that was being remembered, None for calls made for a reply.
    """

    scope: Scope
    session: int | None
    step: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What a model call may use of the budgets until it is in the journal.

    Attributes:
        session: the session that is being remembered; None for calls made for a reply.
        holder: the process that makes the call; see ``store.processes``.
        tokens: maximum tokens of prompt and reply.
        cost: maximum US dollars; 0 if the price is unknown before the call.
    """

    session: int | None
    holder: str
    tokens: int
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What model calls of a scope used, and what calls under way may still use."""

    costs: tuple[CostLine, ...] = ()
    reserved: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """What ``forget`` erased.

    Attributes:
        scope: the scope in which it was called.
        sessions, turns, memories, links, vectors: how many of each were erased.
        journal: entries whose text was erased; their token counts stay.
        kept: what was not erased, and why.
        pending_again: number of other sessions that are pending again, because memories of theirs
            were erased.
        kept_repeats: whether a turn that ``kept`` names repeats what was erased: a name, a number
            or a rare word of it, or half of the words of a sentence.
        files_verified: whether no erased text was found in any file afterwards, but for that of
            turns that ``kept`` names. False, for example, while an export reads an earlier state,
            and on a server, whose files can't be read.
        verified: whether ``files_verified``, and no turn that ``kept`` names repeats erased text.
        remaining: where a server may keep erased text for some time, and what goes on naming the
            user, such as a valid key; empty for a file without that.
    """

    scope: Scope
    sessions: int = 0
    turns: int = 0
    memories: int = 0
    links: int = 0
    vectors: int = 0
    journal: int = 0
    kept: tuple[str, ...] = ()
    pending_again: int = 0
    kept_repeats: bool = False
    files_verified: bool = False
    verified: bool = False
    remaining: str = ""

    def __str__(self) -> str:
        erased = f"sessions={self.sessions} turns={self.turns} memories={self.memories}"
        return f"{self.scope}: erased {erased}, {'' if self.verified else 'not '}verified"


@dataclass(slots=True)
class Restored:
    """What was restored.

    Attributes:
        new: records that the store didn't have.
        forgotten: users left out because they were forgotten since the export.
        uncounted: whether an export had no count, so that nothing tells whether it is whole.
        scope_ids: scopes that were added or changed.
        replaced: numbers of scopes that no longer exist.
        erased: whether anything that was stored is gone.
    """

    new: int = 0
    forgotten: int = 0
    uncounted: bool = False
    scope_ids: list[int] = field(default_factory=list[int])
    replaced: list[int] = field(default_factory=list[int])
    erased: bool = False
