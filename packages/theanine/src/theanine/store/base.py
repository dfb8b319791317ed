"""The store's interface. One contract suite tests every implementation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from theanine.store.notifications import Listener
from theanine.store.values import (
    Continued,
    CostLine,
    ForgetReport,
    Hidden,
    JournalEntry,
    Listing,
    Logged,
    Pending,
    Reservation,
    Restored,
    ScopeVersion,
    Spending,
    TurnText,
    UserSettings,
)
from theanine.types import (
    ImportedMemory,
    Link,
    Mark,
    Memory,
    MemoryBatch,
    Metadata,
    Role,
    Scope,
    Session,
    Transcript,
    Turn,
    Utterance,
)


class Store(Protocol):
    """Stores turns, memories, links, vectors and the journal of many scopes.

    Each call is one transaction and may be made from several processes at once. Unknown scopes read
    as empty; writing creates them. Times are aware; vectors are ``(n, d)`` float32 with unit norm.
    """

    @property
    def location(self) -> str:
        """The location as the user gave it, without secrets."""
        ...

    async def open(self) -> None:
        """Open the store, creating or migrating it if needed. Raises NotAStore."""
        ...

    async def close(self) -> None:
        """Release all resources. A second call does nothing."""
        ...

    # the log

    async def start_session(
        self,
        scope: Scope,
        at: datetime,
        *,
        key: str | None = None,
        holder: str = "",
        metadata: Metadata | None = None,
    ) -> int:
        """Start a session and return its number, or that of the open session with this key.

        ``holder`` identifies the process that runs the session; see ``store.processes``. Raises
        BadInput if the session with this key has ended or has other metadata.
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
        """Append to an open session, durably; an utterance with a logged key is not added again.

        ``epoch`` is the ``ScopeVersion.epoch`` at which the memories that the text is based on were
        read; None if there are none.

        Raises:
            BadInput: a turn is earlier than the one before it.
            NotFound: the session is unknown or has ended.
            Stale: something was erased since ``epoch``.
        """
        ...

    async def end_session(
        self, scope: Scope, session: int, at: datetime | None, method: str
    ) -> bool:
        """End the session and mark it as pending for ``method``; False if it had ended before.

        It ends at the last turn's time, or at ``at`` if that is later. A session without turns is
        deleted instead.
        """
        ...

    async def log_transcript(self, scope: Scope, transcript: Transcript, method: str) -> Logged:
        """Log a whole, ended session; turns that are logged already are left unchanged.

        A remembered session that gains turns becomes pending again, for its new turns only.
        """
        ...

    async def log_transcripts(
        self, scope: Scope, transcripts: Sequence[Transcript], method: str
    ) -> list[Logged]:
        """Log several transcripts in one transaction, all of them or none."""
        ...

    async def continue_thread(
        self,
        scope: Scope,
        thread: str | None,
        utterances: Sequence[Utterance],
        *,
        method: str,
        pause: timedelta | None = None,
        resent: bool = False,
        arriving: bool = False,
        end: bool = False,
        epoch: int | None = None,
        holder: str = "",
    ) -> Continued:
        """Append to a thread's open session, or to a new one, durably.

        A thread is named by the application's own key; any process may append to it. Its session
        belongs to no process. An utterance whose key the thread has is not added again.

        Args:
            thread: None for a session of its own.
            method: sessions that end are pending for it.
            pause: how long a session without turns stays open; the next turn starts a new one.
            resent: the utterances may begin with what the thread has; see ``store.resent``.
            arriving: the utterances were given their times when they arrived: they are put after
                the session's last turn where another process was faster.
            end: end the session after the turns.
            epoch: as in :meth:`append_turns`.
            holder: as in :meth:`start_session`, for a session of its own that stays open.

        Raises:
            BadInput: a turn is earlier than the one before it.
            Stale: something was erased since ``epoch``.
        """
        ...

    async def open_session(
        self, scope: Scope, thread: str, at: datetime | None = None
    ) -> int | None:
        """Return the number of the thread's open session; None if it has paused at a time."""
        ...

    async def end_idle_sessions(
        self, scope: Scope | None, at: datetime, method: str
    ) -> list[tuple[Scope, int]]:
        """End the sessions of threads that have paused at a time, at their last turns."""
        ...

    async def renew_holder(self, holder: str, lasting: timedelta) -> None:
        """Say that a process with open sessions lives for so long, by the database's clock."""
        ...

    async def orphaned_sessions(
        self, scope: Scope | None = None, *, remote: bool = False
    ) -> list[tuple[Scope, Session]]:
        """Return open sessions whose holder is a dead process.

        One of another machine, or of another pid namespace, is dead when it was not renewed in
        time. With ``remote``, all sessions of other machines are returned.
        """
        ...

    async def scopes(self) -> list[Scope]:
        """Return all scopes with content, sorted."""
        ...

    async def sessions(
        self, scope: Scope, method: str, *, after: int = 0, ids: Sequence[int] | None = None
    ) -> list[Session]:
        """Return sessions in time order, with whether ``method`` has remembered them.

        All of them, those numbered above ``after``, or those with these ``ids``.
        """
        ...

    async def turns(
        self,
        scope: Scope,
        *,
        session: int | None = None,
        thread: str | None = None,
        role: Role | None = None,
        key: str | None = None,
        ids: Sequence[int] | None = None,
        last: int | None = None,
        after: int = 0,
        upto: int | None = None,
        with_content: bool = False,
    ) -> list[Turn]:
        """Return turns by number: of one session, thread, role or key, or the ``last`` n.

        Only those numbered above ``after`` and up to ``upto``; or those of ``ids``, which go with
        no other condition than ``session``. The ``content`` of messages, which can be large, is
        read on request only.
        """
        ...

    async def count_turns(
        self, scope: Scope, *, session: int | None = None, thread: str | None = None
    ) -> int:
        """Return the number of turns of a session or of a thread."""
        ...

    async def list_sessions(
        self, scope: Scope, listing: Listing, method: str, *, thread: str | None = None
    ) -> list[Session]:
        """Return a page of sessions, by number; of one thread, if it is named.

        Words are searched in their turns, and in the ``title`` of their metadata.
        """
        ...

    async def list_turns(
        self,
        scope: Scope,
        listing: Listing,
        *,
        session: int | None = None,
        thread: str | None = None,
        with_content: bool = False,
    ) -> list[Turn]:
        """Return a page of turns, by number; of one session or thread, if it is named."""
        ...

    async def list_memories(
        self, scope: Scope, listing: Listing, method: str, *, pinned: bool | None = None
    ) -> list[Memory]:
        """Return a page of a method's memories, by number; pinned or unpinned ones, if named."""
        ...

    async def turn_texts(
        self, scope: Scope, *, after: int = 0, upto: int | None = None
    ) -> list[TurnText]:
        """Return what a search for words needs of turns numbered above ``after``, up to ``upto``.

        Much faster than :meth:`turns`, for all turns of a scope.
        """
        ...

    async def turn_metadata(
        self, scope: Scope, *, after: int = 0, upto: int | None = None
    ) -> list[tuple[int, Metadata]]:
        """Return numbers, above ``after`` and up to ``upto``, and metadata of turns that have any.

        It includes their session's.
        """
        ...

    async def assistants(self, scope: Scope) -> frozenset[str]:
        """Return the names under which only assistants speak."""
        ...

    async def turns_with_recalls(self, scope: Scope, *, after: int = 0) -> list[Turn]:
        """Return turns numbered above ``after`` whose speaker was shown memories."""
        ...

    # remembering

    async def pending(
        self,
        method: str,
        scope: Scope | None = None,
        *,
        set_aside: bool = True,
        cancelled: bool = False,
        limit: int | None = None,
    ) -> list[Pending]:
        """Return ended sessions that ``method`` has not remembered, per scope in time order.

        Without ``set_aside``, none that failed too often or was cancelled; with ``cancelled``, also
        those that were. At most ``limit``, the first ones.
        """
        ...

    async def due_scopes(
        self, method: str, *, after: int = 0, limit: int
    ) -> tuple[list[Scope], int]:
        """Return scopes with a session to remember now, whose lease is free.

        The second value goes on as ``after``; it is 0 at the end. Sessions that were ended for
        other methods count once :meth:`mark_pending` was called. The cost grows with ``limit`` and
        with what is pending there, not with the store.
        """
        ...

    async def unmarked_scopes(
        self, method: str, *, after: int = 0, limit: int
    ) -> tuple[list[Scope], int]:
        """Return scopes with a session that was ended for other methods only.

        The second value goes on as ``after``; it is 0 at the end. All sessions are read.
        """
        ...

    async def mark_pending(self, scope: Scope, method: str) -> None:
        """Mark the scope's sessions that were ended for other methods as pending for this one."""
        ...

    async def pending_input(
        self, scope: Scope, session: int, method: str
    ) -> tuple[list[Turn], list[ImportedMemory]]:
        """Return the session's turns and imported memories that ``method`` has not remembered."""
        ...

    async def acquire_lease(self, scope: Scope, holder: str, lasting: timedelta) -> int | None:
        """Acquire the exclusive right to remember in this scope; return the lease's number.

        The number rises with each taking. None if another holder has the lease, or if the scope
        doesn't exist (any more). Its time runs by the database's clock. In a file, a lease whose
        holder is a dead process counts as free; on a server, only one that has expired.
        """
        ...

    async def renew_lease(self, scope: Scope, number: int, lasting: timedelta) -> bool:
        """Have the lease last so long from now; False if it is no longer held by this number.

        Erasing anything in the scope revokes the lease, because what its holder read is stale.
        """
        ...

    async def release_lease(self, scope: Scope, number: int) -> None:
        """Release the lease if it is still held by this number."""
        ...

    async def erase_due(self) -> list[ForgetReport]:
        """Erase what was hidden for a pause that is over, and store and return the receipts."""
        ...

    async def claim_task(self, name: str, every: timedelta) -> bool:
        """Return whether nobody has claimed this task of the whole store in this time."""
        ...

    async def now(self) -> datetime:
        """Return the database's time."""
        ...

    def listener(self) -> Listener | None:
        """Return what waits for notifications of pending sessions; None if the store sends none."""
        ...

    async def commit_batch(
        self,
        scope: Scope,
        session: int,
        method: str,
        batch: MemoryBatch,
        *,
        embedder: str,
        lease: int,
        at: datetime,
        seen: tuple[int, int] | None = None,
    ) -> list[Memory]:
        """Commit memories, vectors, links and marks, and mark the session as remembered.

        What was made without a model is on disk at the latest when the lease is released; if the
        machine fails before, the session is pending again.

        ``seen`` is the highest turn number and the count of imported memories that
        ``pending_input`` returned: what was logged later stays pending. None covers all that is
        logged now. A second commit changes nothing and returns an empty list.

        Raises:
            LeaseLost: the lease is no longer held by the number ``lease``.
            NotFound: the session was forgotten.
            EmbedderMismatch: the store's vectors are from another embedder.
        """
        ...

    async def record_failure(
        self,
        scope: Scope,
        session: int,
        method: str,
        reason: str,
        *,
        lease: int,
        retry_in: timedelta | None = None,
        holds_up: bool = False,
        epoch: int | None = None,
    ) -> None:
        """Record why remembering failed; the session stays pending.

        The reason may quote turns: it is not stored if something was erased since ``epoch``, the
        ``ScopeVersion.epoch`` at which they were read.

        Args:
            retry_in: after what time workers try again; None sets it aside.
            holds_up: no other session of the scope is due before that, either.

        Raises LeaseLost, with nothing recorded, if the lease is no longer held by this number.
        """
        ...

    async def retry_sessions(self, scope: Scope, method: str, session: int | None = None) -> int:
        """Have failed, set aside and cancelled sessions wait again; return how many.

        All of the scope's, or one, which is also taken from who is remembering it. Raises NotFound,
        and BadInput for one that is open or remembered.
        """
        ...

    async def cancel_session(self, scope: Scope, method: str, session: int) -> bool:
        """Have nobody remember a session, not even who is at it; False if it was cancelled before.

        Raises NotFound, and BadInput for one that is open or remembered.
        """
        ...

    async def methods(self, scope: Scope | None = None) -> dict[str, int]:
        """Return the methods with memories or pending sessions, and their numbers of memories."""
        ...

    async def default_method(self) -> str:
        """Return the method for callers that name none; empty before the first.

        It is the first method that a session was pending for, until :meth:`delete_method_data`
        replaces it in all scopes.
        """
        ...

    async def delete_method_data(
        self, methods: Sequence[str], scope: Scope | None = None, *, replacement: str | None = None
    ) -> int | None:
        """Delete all data derived by the methods, in one or all scopes; return how many memories.

        The log, imported memories and the journal stay, so a method can remember again. Leases are
        revoked. With ``replacement``, nothing is deleted and None is returned while sessions are
        pending for that method; otherwise ``Turn.recalled`` then names the replacement's memory
        that shares the most source turns with each deleted one.
        """
        ...

    async def promote(self, stage: str, method: str, scope: Scope | None = None) -> int | None:
        """Replace the method's data by what was remembered under the name ``stage``.

        Returns how many memories were replaced; None, with no change, while sessions are pending
        for ``stage``. ``Turn.recalled`` is updated as in :meth:`delete_method_data`.
        """
        ...

    # memories

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        """Return the version of the scope's contents, in one cheap read."""
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
        """Return memories by number, above ``after`` and up to ``upto``, or ``ids`` among them."""
        ...

    async def turns_and_memories(
        self, scope: Scope, turns: Sequence[int], memories: Sequence[int]
    ) -> tuple[list[Turn], list[Memory]]:
        """Return turns and memories by number, of one state of the scope, in one cheap read."""
        ...

    async def vectors(
        self, scope: Scope, *, method: str | None = None, after: int = 0, upto: int | None = None
    ) -> tuple[list[int], Any]:
        """Return memory numbers and their ``(n, d)`` float32 vectors from the active embedder."""
        ...

    async def links(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
        newer: Sequence[int] | None = None,
    ) -> list[Link]:
        """Return links by (newer, older) whose newer memory is above ``after``, up to ``upto``.

        With ``newer``, only those whose newer memory is one of these.
        """
        ...

    async def marks(self, scope: Scope, *, method: str | None = None, after: int = 0) -> list[Mark]:
        """Return marks by number, above ``after``."""
        ...

    async def correct_memory(
        self,
        scope: Scope,
        memory: int,
        text: str,
        vector: Any,
        *,
        speaker: str = "",
        embedder: str,
        at: datetime,
        ends: Metadata = ...,
    ) -> Memory:
        """Log a correction of a memory as the user's turn, and return the memory that it makes.

        The turn is by ``speaker``, or by the scope's user. It has the old memory's metadata but for
        its ``verify_by``, and the new ``ends``. The old memory is marked as corrected,
        and linked as changed. ``vector`` is the text's, of shape ``(d,)`` and unit norm.

        Raises:
            BadInput: the text is empty, or the memory was corrected before.
            NotFound: there is no such memory.
            EmbedderMismatch: the store's vectors are from another embedder.
        """
        ...

    async def set_pin(self, scope: Scope, memory: int, pinned: bool) -> bool:
        """Pin a memory or take its pin off, by a mark; False if it was so already.

        Raises NotFound, and BadInput for pinning a memory that was corrected.
        """
        ...

    async def carry_marks(self, method: str, scope: Scope | None = None) -> None:
        """Give the corrections and pins of other methods' memories to those on the same turns.

        A memory of ``method`` is corrected if it was made from nothing else than the corrected one
        and from half of that, and if the correction is remembered. One that was pinned, or whose
        pin was taken off, later than the other's stays as it is. A second call changes nothing.
        """
        ...

    # the journal

    async def find_journal_entry(self, scope: Scope, key: str) -> JournalEntry | None:
        """Return the usable entry with this key, if the call was made before."""
        ...

    async def add_journal_entry(
        self, scope: Scope, entry: JournalEntry, reservation: int = 0
    ) -> None:
        """Add a call, durably, and release the reservation with this number.

        Does nothing if its session or scope was forgotten meanwhile. If another session that its
        prompt quotes (``touches``) was forgotten, the counts are stored without the text.
        """
        ...

    async def reject_journal_entries(self, scope: Scope, keys: Sequence[str], error: str) -> None:
        """Mark entries as failures, which are never replayed."""
        ...

    async def retire_journal_entry(self, scope: Scope, key: str) -> None:
        """Keep an entry for the costs alone: it is never replayed again, and is no failure."""
        ...

    async def costs(self, scope: Scope | None = None) -> list[CostLine]:
        """Return sums of the journal by scope, session, step and model."""
        ...

    async def reserve(self, scope: Scope, reservation: Reservation, lasting: timedelta) -> int:
        """Reserve what a call may use, for so long by the database's clock, and return a number.

        It is above those of the scope's earlier reservations, or 0 for an unknown scope, whose
        calls aren't journalled.
        """
        ...

    async def spending(self, scope: Scope, before: int) -> Spending:
        """Return :meth:`costs`, and the reservations with a number below ``before``.

        Those that weren't renewed in time, or of a dead process, are left out.
        """
        ...

    async def renew_reservation(self, scope: Scope, number: int, lasting: timedelta) -> None:
        """Let a reservation last so long from now on, unless it was released."""
        ...

    async def release_reservation(self, scope: Scope, number: int) -> None:
        """Release a reservation without a journal entry, if it is still there."""
        ...

    # maintenance

    async def check_integrity(self) -> str:
        """Return what is damaged, in one line; empty if nothing is.

        Either the database's own message, or the rows that refer to missing rows.
        """
        ...

    async def forget(
        self,
        scope: Scope,
        *,
        session: int | None = None,
        thread: str | None = None,
        memory: int | None = None,
        turn: int | Sequence[int] | None = None,
        keep_turns: bool = False,
    ) -> ForgetReport:
        """Erase a scope, session, thread, turns or a memory, from every file. Raises NotFound.

        Of several turns, those that don't exist are passed over if one does.
        A memory goes with the source turns that no other memory of its method uses, unless
        ``keep_turns``.

        Memories that were derived from an erased one are erased too, and their sessions become
        pending again. The scope's lease is revoked, so that no erased data is written back. A
        cancelled call either completes or has not begun. A long read, such as an export, keeps the
        data in the files: after waiting for 30 s the report is not verified, and the files are
        cleaned when that read ends or the store is next opened.
        """
        ...

    async def ended(self, scope: Scope, at: datetime) -> Hidden:
        """Return the turns and memories whose own end, ``expires``, has come at a time."""
        ...

    async def expire(
        self, scope: Scope, before: datetime | None, ended_by: datetime
    ) -> ForgetReport | None:
        """Erase the turns and imported memories from before a time, as :meth:`forget` does.

        Also those whose own end, ``expires``, has come by ``ended_by``. Returns None if there are
        none. Of those without a date nothing tells the age.
        """
        ...

    async def settings(self, owner: Scope | str | None) -> UserSettings:
        """Return what is set for a scope, for a tenant or, with None, for all of the store."""
        ...

    async def set_time_zone(self, scope: Scope, name: str | None) -> None:
        """Set a user's time zone, by its IANA name. Raises SettingsError for an unknown one."""
        ...

    async def set_retention(self, owner: Scope | str | None, retention: timedelta | None) -> None:
        """Set how long the turns of a scope, of a tenant or, with None, all are kept.

        A scope's own setting goes before its tenant's, and that before the store's. Raises
        SettingsError for less than a minute.
        """
        ...

    async def retentions(
        self, scope: Scope | None, ended_by: datetime
    ) -> list[tuple[Scope, timedelta | None]]:
        """Return the scopes whose turns expire, and after how long.

        None for those in which only something with an end of its own does, which has come.
        """
        ...

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        """Write or replace data derived from a scope: a file next to the store, or a row.

        False, with nothing written, if something was erased since ``epoch``, or if the store keeps
        no such data or not so much. ``forget`` deletes all of its scope.
        """
        ...

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        """Return the data, or None. They may be torn after a crash of the machine."""
        ...

    async def active_embedder(self) -> tuple[str, int] | None:
        """Return name and dimension of the embedder in use; None before the first vector."""
        ...

    async def unembedded_memories(
        self, name: str, limit: int
    ) -> tuple[list[tuple[Scope, int, str]], int]:
        """Return memories without a vector from ``name``, at most ``limit``, and their total.

        Each is a scope, a number and a text.
        """
        ...

    async def add_vectors(
        self, name: str, owners: Sequence[tuple[Scope, int]], vectors: Any
    ) -> None:
        """Add vectors from an embedder, active or not, for memories that have none from it."""
        ...

    async def switch_embedder(self, name: str, dimension: int) -> bool:
        """Make an embedder active and delete the vectors of others.

        False while a memory has no vector from it: embed those, then try again.
        """
        ...

    def export(self, scope: Scope | None = None) -> AsyncIterator[dict[str, Any]]:
        """Yield everything as JSON-ready records, without loss; see ``docs/storage.md``.

        A scope with a damaged value raises DamagedData. In an export of all, the others are there
        by then, and the last record names it.
        """
        ...

    async def export_versions(self, scope: Scope | None = None) -> dict[Scope, Mapping[str, int]]:
        """Return the version of the export of each scope, or of one; none if it is unknown.

        It counts the changes of each store; see ``docs/storage.md``. That of a scope of which only
        a part was restored is empty.
        """
        ...

    async def export_settings(self) -> list[dict[str, Any]]:
        """Return those records of the whole store's export that belong to no scope."""
        ...

    async def restore(
        self, records: Iterable[Mapping[str, Any]], *, partial: bool = False
    ) -> Restored:
        """Bring the store to the state of exports, where theirs is newer; see ``docs/storage.md``.

        Records are read as they are needed. All or nothing. Raises BadInput, naming the record, for
        one that is malformed; for a scope of which the store holds anything but an earlier or a
        later state; and unless ``partial`` for records that are not whole exports.
        """
        ...
