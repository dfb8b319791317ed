"""The store's port: what every store must offer. One contract suite holds them all to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from theanine.store.values import (
    CostLine,
    ForgetReport,
    JournalEntry,
    Logged,
    Pending,
    ScopeVersion,
)
from theanine.types import (
    ImportedMemory,
    Link,
    Mark,
    Memory,
    MemoryBatch,
    Scope,
    Session,
    Transcript,
    Turn,
    Utterance,
)


class Store(Protocol):
    """Keeps turns, memories, links, vectors and the journal of many scopes.

    Every call is one transaction: it happens whole or not at all, whatever kills the process.
    All are safe to call from several processes at once. Unknown scopes read as empty; writing
    creates them. Times are aware; vectors are ``(n, d)`` float32 with unit norm.
    """

    @property
    def location(self) -> str:
        """Where it is, as the user named it, without secrets."""
        ...

    async def open(self) -> None:
        """Create or migrate it if need be. Raises NotAStore."""
        ...

    async def close(self) -> None:
        """Let go of everything. A second call does nothing."""
        ...

    # the log

    async def start_session(
        self, scope: Scope, at: datetime, *, key: str | None = None, holder: str = ""
    ) -> int:
        """Begin an open session and give its number. ``holder`` names the process that talks.

        The key of a session that is still open goes on with that one. Raises BadInput for the key
        of one that has ended.
        """
        ...

    async def append_turns(
        self,
        scope: Scope,
        session: int,
        utterances: Sequence[Utterance],
        *,
        epoch: int | None = None,
    ) -> list[Turn]:
        """Append to an open session, durably. A known key gives the turn as it was logged.

        Raises BadInput for a turn earlier than the last one; NotFound for an unknown session, or
        one that has ended; Stale, for words made of memories, when ``epoch`` is the scope's
        ``State.epoch`` as these were read and something was erased since.
        """
        ...

    async def end_session(self, scope: Scope, session: int, at: datetime, method: str) -> bool:
        """Mark the session ended and let ``method`` remember it. False if it had ended before.

        A session without turns is removed instead.
        """
        ...

    async def log_transcript(self, scope: Scope, transcript: Transcript, method: str) -> Logged:
        """Log a whole session that has ended, in one transaction; known turns are left alone.

        A session that was remembered and now gains turns waits to be remembered again: its new
        turns alone are remembered.
        """
        ...

    async def orphaned_sessions(
        self, scope: Scope | None = None, *, remote: bool = False
    ) -> list[tuple[Scope, Session]]:
        """Open sessions whose holder was a process of this machine that has ended since.

        With ``elsewhere`` also those of other machines, of which nothing can be told from here.
        """
        ...

    async def scopes(self) -> list[Scope]:
        """All scopes that hold anything, sorted."""
        ...

    async def sessions(
        self, scope: Scope, method: str, *, after: int = 0, only: int | None = None
    ) -> list[Session]:
        """Sessions in time order, with the state of their remembering by ``method``.

        All of them, those numbered above ``after``, or ``only`` one.
        """
        ...

    async def turns(
        self,
        scope: Scope,
        *,
        session: int | None = None,
        ids: Sequence[int] | None = None,
        last: int | None = None,
    ) -> list[Turn]:
        """Turns in order of number: of one session, of given numbers, or the last so many."""
        ...

    # remembering

    async def pending(self, method: str, scope: Scope | None = None) -> list[Pending]:
        """Ended sessions that ``method`` has not remembered, per scope in time order."""
        ...

    async def pending_input(
        self, scope: Scope, session: int, method: str
    ) -> tuple[list[Turn], list[ImportedMemory]]:
        """What of an ended session ``method`` has not remembered: turns and ready-made memories."""
        ...

    async def acquire_lease(
        self, scope: Scope, holder: str, until: datetime, now: datetime
    ) -> bool:
        """Take the right to remember in this scope. False while another holds it.

        The lease of a process of this machine that is no longer alive counts as free. False as
        well for a scope that holds nothing, such as one that was forgotten meanwhile.
        """
        ...

    async def renew_lease(self, scope: Scope, holder: str, until: datetime) -> bool:
        """Keep the lease for longer. False, and it stays free, once ``holder`` has lost it.

        Whatever is erased in the scope takes the lease away: what its holder has read is stale.
        """
        ...

    async def release_lease(self, scope: Scope, holder: str) -> None:
        """Give the lease back, if ``holder`` still has it."""
        ...

    async def commit_batch(
        self,
        scope: Scope,
        session: int,
        method: str,
        batch: MemoryBatch,
        *,
        embedder: str,
        holder: str,
        at: datetime,
        seen: tuple[int, int] | None = None,
    ) -> list[Memory]:
        """Commit memories, vectors, links and the remembered mark in one transaction.

        ``seen`` is the highest turn number and the count of ready-made memories that
        ``unremembered`` gave: what was logged after that stays to be remembered. None takes
        everything that is logged now as seen.

        Doing it twice changes nothing: the second call gives an empty list. Raises LeaseLost when
        ``holder`` no longer has the lease, NotFound when the session was forgotten meanwhile, and
        EmbedderMismatch when the store's vectors are another embedder's.
        """
        ...

    async def record_failure(
        self,
        scope: Scope,
        session: int,
        method: str,
        reason: str,
        *,
        epoch: int | None = None,
    ) -> None:
        """Note why remembering failed, for the user to see; the session stays pending.

        The reason may quote what was read: it is not kept when something was erased since
        ``epoch``, the scope's ``State.epoch`` at that time.
        """
        ...

    async def methods(self, scope: Scope | None = None) -> dict[str, int]:
        """Methods that have remembered or were to remember, with how many memories each holds."""
        ...

    async def default_method(self) -> str:
        """The method that is used here where none is named; empty before the first.

        The first that was to remember anything, until :meth:`drop` put another in its place
        everywhere.
        """
        ...

    async def delete_method_data(
        self, methods: Sequence[str], scope: Scope | None = None, *, replacement: str | None = None
    ) -> int | None:
        """Drop all that methods made of the log, in one scope or in all; gives how many memories.

        The log, ready-made memories and the journal stay, so each can remember it anew. With
        ``once``, nothing is dropped while sessions there wait for that method, and None is given;
        in ``Turn.recalled``, for each that is gone then stands the one of its memories that shares
        most of the same turns. Whoever is remembering there loses the lease.
        """
        ...

    async def promote(self, stage: str, method: str, scope: Scope | None = None) -> int | None:
        """Let what was remembered as ``stage`` be the method's own, instead of what it had made.

        Gives how many memories it had; None, and nothing is changed, while sessions there wait for
        ``stage``. In ``Turn.recalled``, for each that is gone stands the one that shares most of
        the same turns.
        """
        ...

    # memories

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        """The version of the scope's contents: one cheap read."""
        ...

    async def memories(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
        ids: Sequence[int] | None = None,
    ) -> list[Memory]:
        """Memories numbered above ``after`` and up to ``upto``, and ``ids`` alone if given.

        In order of number.
        """
        ...

    async def vectors(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> tuple[list[int], Any]:
        """Memory numbers and their ``(n, d)`` float32 vectors in the embedder in use."""
        ...

    async def links(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> list[Link]:
        """Links whose newer memory is numbered so, by (newer, older)."""
        ...

    async def marks(self, scope: Scope, *, method: str | None = None, after: int = 0) -> list[Mark]:
        """Marks numbered above ``after``, in order of number."""
        ...

    async def turns_with_recalls(self, scope: Scope, *, after: int = 0) -> list[Turn]:
        """Turns numbered above ``after`` whose speaker had memories in front of them."""
        ...

    # the journal

    async def find_journal_entry(self, scope: Scope, key: str) -> JournalEntry | None:
        """The usable entry of this key, if the call was made before."""
        ...

    async def add_journal_entry(self, scope: Scope, entry: JournalEntry) -> None:
        """Keep a call, durably.

        Does nothing if its session or scope was forgotten meanwhile. If only a session that its
        prompt quotes (``touches``) was, the counts are kept without the words.
        """
        ...

    async def reject_journal_entries(self, scope: Scope, keys: Sequence[str], error: str) -> None:
        """Mark entries as failures: never replayed again."""
        ...

    async def costs(self, scope: Scope | None = None) -> list[CostLine]:
        """Sums of the journal by scope, session, step and model."""
        ...

    # upkeep

    async def check_integrity(self) -> str:
        """What is damaged, in one line; empty when it is sound.

        Either in the database's own words, or the rows that refer to others which aren't there.
        """
        ...

    async def forget(
        self, scope: Scope, *, session: int | None = None, memory: int | None = None
    ) -> ForgetReport:
        """Erase a whole scope, one session or one memory, from every file. Raises NotFound.

        Memories that were made of an erased one go too, and their sessions wait to be remembered
        anew. Whoever is remembering in the scope loses the lease, so that nothing erased comes
        back. A cancelled call is done whole or not begun. While a long read such as an export
        lasts, the files still hold the words: after waiting for half a minute the receipt is not
        verified, and they go when that read ends or the store is opened next.
        """
        ...

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        """Keep a file of what was made from a scope, in place of the last one of that name.

        False, with nothing kept, when something was erased since ``epoch``, and in a store that
        keeps no files. ``forget`` erases all files of its scope.
        """
        ...

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        """The file as it was kept last, or None. A crash of the machine may have torn it."""
        ...

    async def active_embedder(self) -> tuple[str, int] | None:
        """Name and dimension of the embedder whose vectors are in use; None before the first."""
        ...

    async def unembedded_memories(
        self, name: str, limit: int
    ) -> tuple[list[tuple[Scope, int, str]], int]:
        """Up to ``size`` memories that lack a vector by ``name``, and how many lack one in all."""
        ...

    async def add_vectors(
        self, name: str, owners: Sequence[tuple[Scope, int]], vectors: Any
    ) -> None:
        """Store vectors by another embedder beside those in use, or such as these lack."""
        ...

    async def switch_embedder(self, name: str, dimension: int) -> bool:
        """Switch to another embedder once every memory has its vector, and drop the old ones.

        False when a memory was added meanwhile: embed what is missing, then try again.
        """
        ...

    def export(self, scope: Scope | None = None) -> AsyncIterator[dict[str, Any]]:
        """Everything, as JSON-ready records, for a lossless export; see ``docs/storage.md``."""
        ...

    async def restore(self, records: Sequence[dict[str, Any]]) -> int:
        """Take in records of :meth:`dump`; known ones are left alone. Gives how many were new.

        All or nothing. Raises BadInput, naming the record, for one that is malformed or that
        contradicts what is stored under the same number.
        """
        ...
