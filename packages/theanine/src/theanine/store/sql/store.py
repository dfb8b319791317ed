"""The store over any SQL database.

Each method calls a function of this package in a transaction; see
:mod:`theanine.store.sql.database`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import sqlalchemy as sa

from theanine.cancellation import finish
from theanine.errors import DamagedData, NotFound, TheanineError
from theanine.store.notifications import Listener
from theanine.store.sql import (
    commit,
    corrections,
    ends,
    erase,
    erasures,
    holders,
    integrity,
    journal,
    leases,
    listing,
    method_data,
    remembering,
    reservations,
    threads,
    transcripts,
    turns,
    upgrade,
    user_settings,
)
from theanine.store.sql import export as export_rows
from theanine.store.sql import memories as memory_rows
from theanine.store.sql import pending as pending_sessions
from theanine.store.sql import restore as restoring
from theanine.store.sql import vectors as vector_rows
from theanine.store.sql.changes import count_change
from theanine.store.sql.claims import erase_answers
from theanine.store.sql.database import (
    QUICK_ROWS,
    SqlDatabase,
    changing,
    counted,
    reading,
    writing,
)
from theanine.store.sql.fixed import Read
from theanine.store.sql.outbox import announcing
from theanine.store.sql.preconditions import check_precondition
from theanine.store.sql.rows import turn_from_row
from theanine.store.sql.turns import SELECT_TURNS_BY_ID, select_latest_turns, select_turn_by_key
from theanine.store.values import ForgetReport, Restored, ScopeVersion
from theanine.telemetry import memory_operation
from theanine.types import LOCAL_MODEL, Link, Memory, MemoryBatch, Role, Scope, Turn

if TYPE_CHECKING:
    from theanine.store.residue_scan import Probes

_log = logging.getLogger(__name__)

_EXPORT_BATCH = 500


def _few_numbers(ids: Sequence[int] | None, after: int, upto: int | None) -> Sequence[int] | None:
    """Return the numbers that are asked for, if they are few: ``ids``, or those of a range."""
    if ids is None and upto is not None:
        ids = range(after + 1, upto + 1)
    return ids if ids is not None and len(ids) <= QUICK_ROWS else None


class SqlStore(SqlDatabase):
    """Base class of the stores in SQL databases; see :class:`theanine.store.base.Store`.

    An adapter adds connections, transactions, and erasing from files.
    """

    # for adapters to implement

    def _find_damage(self, db: sa.Connection) -> list[str]:
        """Return the damage that the database itself reports."""
        raise NotImplementedError

    @property
    def _remaining(self) -> str:
        """Where erased text may be found after it was removed from all that can be read."""
        return ""

    def check_files(self) -> None:
        """Raise StoreUnavailable if what is open is no longer what the store's address names."""

    def _scrub_files(self, engine: sa.Engine, probes: Probes, scope_id: int) -> bool:
        """Remove a scope's erased texts from every file; return whether none is found."""
        raise NotImplementedError

    def _finish_erasing(self, engine: sa.Engine) -> None:
        """Complete an erasure that had to wait for the end of a long read."""
        raise NotImplementedError

    # the log

    start_session = changing(turns.start_session)
    append_turns = changing(turns.append_turns)
    end_session = changing(turns.end_session)
    log_transcript = changing(transcripts.log_transcript)
    continue_thread = changing(threads.continue_thread)
    log_transcripts = changing(transcripts.log_transcripts)
    renew_holder = writing(holders.renew_holder)
    orphaned_sessions = reading(turns.load_orphaned_sessions)
    scopes = reading(turns.load_scopes)
    sessions = reading(turns.load_sessions)
    assistants = reading(turns.load_assistants)
    turns_with_recalls = reading(turns.load_turns_with_recalls)
    turn_metadata = reading(listing.load_turn_metadata)
    turn_texts = reading(listing.load_turn_texts)
    count_turns = reading(turns.count_turns)
    list_sessions = reading(listing.list_sessions)
    list_turns = reading(listing.list_turns)
    list_memories = reading(listing.list_memories)

    async def end_idle_sessions(
        self, scope: Scope | None, at: datetime, method: str
    ) -> list[tuple[Scope, int]]:
        ended: list[tuple[Scope, int]] = []
        for owner in await self.read(threads.load_idle_scopes, scope, at):
            end = counted(threads.end_idle_sessions)
            ended += [(owner, number) for number in await self.write(end, owner, at, method)]
        return ended

    async def open_session(
        self, scope: Scope, thread: str, at: datetime | None = None
    ) -> int | None:
        return await self._read_quickly(threads.find_open_session, scope, thread, at)

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
        numbers = _few_numbers(ids, after, upto)
        fixed: Read | None = None
        if session is None and role is None and not with_content:
            if thread is None and key is None and last is None and numbers is not None:
                fixed = Read(SELECT_TURNS_BY_ID, numbers)
            elif thread is not None and ids is None and upto is None and not after:
                if key is not None and last is None:
                    fixed = select_turn_by_key(thread, key)
                elif key is None and last is not None and last <= QUICK_ROWS:
                    fixed = select_latest_turns(thread, last)
        if fixed is not None:
            [rows] = await self._read_rows(scope, [fixed])
            return self._run(lambda: list(map(turn_from_row, rows)))
        few = numbers is not None
        if role is None and (thread is not None or session is not None):
            few |= key is not None or (last is not None and last <= QUICK_ROWS)
        read = self._read_quickly if few else self.read
        return await read(
            turns.load_turns,
            scope,
            session=session,
            thread=thread,
            role=role,
            key=key,
            ids=ids,
            last=last,
            after=after,
            upto=upto,
            with_content=with_content,
        )

    # remembering

    pending = reading(pending_sessions.load_pending)
    due_scopes = reading(pending_sessions.load_due_scopes)
    unmarked_scopes = reading(pending_sessions.load_unmarked_scopes)
    mark_pending = changing(pending_sessions.mark_all_pending)
    pending_input = reading(remembering.load_pending_input)
    acquire_lease = writing(leases.acquire_lease)
    renew_lease = writing(leases.renew_lease)
    release_lease = writing(leases.release_lease)
    claim_task = writing(leases.claim_task)
    now = reading(leases.load_time)

    def listener(self) -> Listener | None:
        return None

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
        durable = any(memory.made_by != LOCAL_MODEL for memory in batch.memories)
        return await self._write(
            durable,
            counted(commit.commit_batch),
            scope,
            session,
            method,
            batch,
            embedder=embedder,
            lease=lease,
            at=at,
            seen=seen,
        )

    record_failure = changing(pending_sessions.record_failure)
    retry_sessions = changing(pending_sessions.retry_sessions)
    cancel_session = changing(pending_sessions.cancel_session)
    methods = reading(method_data.count_memories)
    default_method = reading(remembering.load_default_method)
    delete_method_data = changing(method_data.delete_method_data)
    promote = changing(method_data.promote_stage)

    # memories

    async def memories(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
        ids: Sequence[int] | None = None,
    ) -> list[Memory]:
        numbers = _few_numbers(ids, after, upto)
        if numbers is None:
            return await self.read(
                memory_rows.load_memories, scope, method=method, after=after, upto=upto, ids=ids
            )
        numbers = [each for each in numbers if after < each and (upto is None or each <= upto)]
        rows = await self._read_rows(scope, memory_rows.select_memories_by_id(numbers))
        read = self._run(lambda: memory_rows.memories_from_rows(*rows))
        return [memory for memory in read if method in (None, memory.method)]

    async def turns_and_memories(
        self, scope: Scope, turns: Sequence[int], memories: Sequence[int]
    ) -> tuple[list[Turn], list[Memory]]:
        reads = [Read(SELECT_TURNS_BY_ID, turns), *memory_rows.select_memories_by_id(memories)]
        turn_rows, *of_memories = await self._read_rows(scope, reads)
        return self._run(
            lambda: (
                list(map(turn_from_row, turn_rows)),
                memory_rows.memories_from_rows(*of_memories),
            )
        )

    vectors = reading(vector_rows.load_vectors)

    async def links(
        self,
        scope: Scope,
        *,
        method: str | None = None,
        after: int = 0,
        upto: int | None = None,
        newer: Sequence[int] | None = None,
    ) -> list[Link]:
        numbers = newer if newer is not None else _few_numbers(None, after, upto)
        if numbers is None:
            return await self.read(
                memory_rows.load_links, scope, method=method, after=after, upto=upto
            )
        numbers = [each for each in numbers if after < each and (upto is None or each <= upto)]
        [rows] = await self._read_rows(scope, memory_rows.select_links_by_newer(numbers))
        return memory_rows.links_from_rows(rows, method)

    marks = reading(memory_rows.load_marks)
    correct_memory = changing(corrections.correct_memory)
    set_pin = changing(corrections.set_pin)
    accept_memory = changing(corrections.accept_memory)
    carry_marks = changing(corrections.carry_marks)

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        rows = await self._read_rows(scope, memory_rows.SELECT_VERSION)
        return memory_rows.version_from_rows(*rows)

    # the journal

    find_journal_entry = reading(journal.find_entry)
    add_journal_entry = changing(journal.add_entry)
    reject_journal_entries = changing(journal.reject_entries)
    retire_journal_entry = changing(journal.retire_entry)
    costs = reading(journal.sum_costs)
    spending = reading(reservations.load_spending)
    reserve = writing(reservations.reserve)
    renew_reservation = writing(reservations.renew_reservation)
    release_reservation = writing(reservations.release_reservation)

    # maintenance

    downgrade = writing(upgrade.downgrade)
    """Return the schema to an earlier revision; only ``close`` may be called afterwards."""

    async def find_bypass(self) -> str:
        """Return why this role sees the rows of all scopes, such as "is a superuser".

        Empty if row-level security holds, or if the database has none.
        """
        return ""

    async def check_integrity(self) -> str:
        def find_damage(db: sa.Connection) -> list[str]:
            return self._find_damage(db) or [
                *integrity.find_dangling_references(db),
                *integrity.find_damaged_json(db),
            ]

        return "; ".join(await self.read(find_damage))

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
        def forget(db: sa.Connection) -> erase.Erased:
            return erase.forget(
                db,
                scope,
                session=session,
                thread=thread,
                memory=memory,
                turn=turn,
                keep_turns=keep_turns,
            )

        return await self._forget(scope, forget)

    ended = reading(ends.load_ended)

    async def expire(
        self, scope: Scope, before: datetime | None, ended_by: datetime
    ) -> ForgetReport | None:
        if not await self.read(erase.has_expired, scope, before, ended_by):
            return None
        return await self._forget(scope, lambda db: erase.expire(db, scope, before, ended_by))

    async def _forget(
        self, scope: Scope, work: Callable[[sa.Connection], erase.Erased]
    ) -> ForgetReport:
        engine = self.engine

        def erase_rows(db: sa.Connection) -> tuple[erase.Erased, int]:
            check_precondition(db)
            return self._erase(db, scope, work)

        def run() -> ForgetReport:  # one thread, so that a cancelled call still scrubs the files
            return self._verify(engine, *self._call_writing(engine, erase_rows, scope))

        return await self._finish(run)

    async def erase_due(self) -> list[ForgetReport]:
        receipts: list[ForgetReport] = []
        while (due := await self.read(erasures.find_due_erasure)) is not None:
            if not await self.write_concurrently(True, erasures.take_erasure, due):
                continue
            try:
                with memory_operation(due.operation, due.scope.agent, due.scope.tenant):
                    receipt = await self._finish(partial(self._erase_hidden, due))
            except TheanineError as error:
                _log.warning("%s: something hidden can't be erased: %s", due.scope, error)
                await self.write_concurrently(True, erasures.fail_erasure, due, str(error))
                continue
            if receipt is not None:
                receipts.append(receipt)
        return receipts

    def _erase_hidden(self, due: erasures.DueErasure) -> ForgetReport | None:
        engine = self.engine

        def erase_rows(db: sa.Connection) -> tuple[erase.Erased, int] | None:
            if due.is_done or not erasures.renew_erasure(db, due):
                return None
            try:
                return self._erase(db, due.scope, partial(erasures.erase_hidden, due=due))
            except NotFound:
                erasures.note_already_erased(db, due)
                return None

        outcome = self._call_writing(engine, erase_rows, due.scope)
        receipt = None
        if outcome is None:
            self._finish_erasing(engine)
        else:
            receipt = self._verify(engine, *outcome)
        end = partial(erasures.end_erasure, due=due, report=receipt)
        self._call_writing(engine, end, None, alone=False)
        return receipt

    def _verify(self, engine: sa.Engine, erased: erase.Erased, scope_id: int) -> ForgetReport:
        """Remove erased texts from the files, and return the report with what was found there."""
        report, probes = erased
        clean = self._scrub_files(engine, probes, scope_id)
        return replace(
            report,
            files_verified=clean,
            verified=clean and not report.kept_repeats,
            remaining="; ".join(filter(None, [self._remaining, report.remaining])),
        )

    def _erase(
        self, db: sa.Connection, scope: Scope, work: Callable[[sa.Connection], erase.Erased]
    ) -> tuple[erase.Erased, int]:
        """Erase from the tables and tell webhooks; return the report and the scope's number."""
        scope_id = memory_rows.load_scope_version(db, scope).scope_id
        with announcing(db, scope):
            erase_answers(db, scope)  # while they name the user
            erased = work(db)
            self._note_erasure(db, [scope_id])
        count_change(db, scope)
        return erased, scope_id

    def _note_erasure(self, db: sa.Connection, scope_ids: Sequence[int]) -> None:
        """Record that the files must follow what was erased from scopes in the tables."""

    async def write_sidecar(
        self, scope: Scope, name: str, epoch: int, parts: Sequence[bytes]
    ) -> bool:
        return False

    async def read_sidecar(self, scope: Scope, name: str) -> bytes | None:
        return None

    async def active_embedder(self) -> tuple[str, int] | None:
        row = await self.read(vector_rows.load_active_embedder)
        return None if row is None else (row.name, row.dimension)

    unembedded_memories = reading(vector_rows.load_unembedded)
    add_vectors = changing(vector_rows.add_vectors)
    switch_embedder = changing(vector_rows.switch_embedder)
    settings = reading(user_settings.load_settings)
    set_time_zone = changing(user_settings.set_time_zone)
    _set_retention = changing(user_settings.set_retention)

    async def set_retention(self, owner: Scope | str | None, retention: timedelta | None) -> None:
        if isinstance(owner, str):  # no other tenant's business
            set_retention = user_settings.set_tenant_retention
            await self.write_concurrently(True, set_retention, owner, retention)
        else:
            await self._set_retention(owner, retention)

    retentions = reading(user_settings.load_retentions)

    export_versions = reading(export_rows.load_export_versions)
    export_settings = reading(export_rows.export_settings)

    async def restore(
        self, records: Iterable[Mapping[str, Any]], *, partial: bool = False
    ) -> Restored:
        engine = self.engine

        def run() -> Restored:
            with self._write_transaction(engine) as db:
                with announcing(db, None):
                    restored = restoring.restore_records(db, records, partial=partial)
                if restored.erased:
                    erase_answers(db, None)
                    self._note_erasure(db, restored.replaced)
            if restored.erased:
                self._finish_erasing(engine)
            return restored

        return await self._finish(run)

    async def export(self, scope: Scope | None = None) -> AsyncIterator[dict[str, Any]]:
        """Yield all records of one state of the database, however long the consumer takes.

        Raises DamagedData after the last record if that names scopes that were left out.
        """
        left_out: list[Mapping[str, Any]] = []
        engine = self.engine
        run = anyio.to_thread.run_sync
        transaction = self._read_transaction(engine, scope)
        db = await run(self._run, transaction.__enter__)
        records = export_rows.export_records(db, scope)

        def end() -> None:
            records.close()  # an open cursor would go on reading the old state
            transaction.__exit__(None, None, None)
            self._finish_erasing(engine)

        try:
            while batch := await run(self._run, lambda: list(islice(records, _EXPORT_BATCH))):
                for record in batch:
                    yield record
                    left_out = record.get("left_out", [])
        finally:
            await finish(run(self._run, end))
        if left_out:
            users = ", ".join(str(Scope(**each["scope"])) for each in left_out)
            raise DamagedData(
                f"{self.location}: the export lacks data of {users}, because stored values are "
                "damaged; `theanine doctor` names the rows"
            )
