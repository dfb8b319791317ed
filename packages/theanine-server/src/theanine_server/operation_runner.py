"""Running operations: each process of the service takes those that wait, and erases what is due.

Erasures have a task of their own, and operations several slots of which a tenant has one, so that
nobody waits for another tenant's model.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import anyio
import sqlalchemy as sa
from anyio.abc import TaskGroup
from pydantic import TypeAdapter

from theanine.client import AsyncClient, OpenOptions
from theanine.clock import Clock
from theanine.errors import DamagedData, TheanineError
from theanine.remembering.report import RememberReport
from theanine.store.sql import schema as t
from theanine.store.sql.scopes import scope_from_row
from theanine.store.sql.store import SqlStore
from theanine.store.values import ForgetReport
from theanine.types import Scope
from theanine_server.comparing import compare
from theanine_server.operations import (
    KEPT,
    HeldOperation,
    Operation,
    State,
    delete_ended_operations,
    end_operation,
    extend_lease,
    release_operation,
    take_operation,
)

_log = logging.getLogger(__name__)

MAX_DETAILS = 1_000
"""Maximum reports or receipts in the result of an operation."""
SLOTS = 4
"""Maximum operations that a process runs at once, each of another tenant."""
POLL = 2.0
"""Seconds between checks for new work and for cancellations."""
CLEANING = 3_600.0
"""Seconds after which operations are deleted that ended long ago."""
_DETAILS: TypeAdapter[list[Any]] = TypeAdapter(list[RememberReport | ForgetReport])


class _Progress:
    """How much of an operation is done."""

    def __init__(self) -> None:
        self.done = 0

    def count(self, report: object = None) -> None:
        """Count one more session or user."""
        self.done += 1

    def reach(self, done: int) -> None:
        """Set how much is done."""
        self.done = done


class OperationRunner:
    """Runs operations and erasures in this process."""

    def __init__(
        self, options: OpenOptions, client: AsyncClient, store: SqlStore, clock: Clock
    ) -> None:
        self._options, self._client, self._store, self._clock = options, client, store, clock
        self._wake = anyio.Event()
        self._running = anyio.CancelScope()
        self._cleaned = -CLEANING

    def wake(self) -> None:
        """Check for work and cancellations at once."""
        woken, self._wake = self._wake, anyio.Event()
        woken.set()

    def stop(self) -> None:
        """End :meth:`run`; operations in progress wait for another process."""
        self._running.cancel()

    async def run(self) -> None:
        """Run operations until they are stopped; one that fails ends no other."""
        with self._running:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._repeat, self._erase)
                slots = anyio.Semaphore(SLOTS)
                await self._repeat(partial(self._start, tasks, slots))

    async def _repeat(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Do some work as long as there is any, and again whenever there may be."""
        while True:
            wake, more = self._wake, False
            try:
                more = await work()
            except TheanineError as error:  # the store can't be reached: try again later
                _log.warning("operations: %s", error)
            if not more:
                await _wait(wake)

    async def _erase(self) -> bool:
        await self._store.erase_due()
        if (now := time.monotonic()) - self._cleaned > CLEANING:
            await self._store.write_concurrently(
                False, delete_ended_operations, self._clock() - KEPT
            )
            self._cleaned = now
        return False

    async def _start(self, tasks: TaskGroup, slots: anyio.Semaphore) -> bool:
        """Start the next operation when a slot is free; False if there is none."""
        await slots.acquire()
        held = None
        try:
            held = await self._store.write_concurrently(True, take_operation, self._clock())
        finally:
            if held is None:
                slots.release()
            else:
                tasks.start_soon(self._run_in_slot, held, slots)
        return held is not None

    async def _run_in_slot(self, held: HeldOperation, slots: anyio.Semaphore) -> None:
        try:
            await self._run(held)
        except TheanineError as error:  # the store can't be reached: another process takes it
            _log.warning("operations: %s", error)
        finally:
            slots.release()
        self.wake()  # the tenant's next one may begin

    async def _run(self, held: HeldOperation) -> None:
        progress, state = _Progress(), cast(State, "cancelled")
        counts, details, error = Counter[str](), list[Any](), ""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._report, held, progress, group.cancel_scope)
                try:
                    await self._work(held, counts, details, progress)
                    failures = counts["failures"]
                    state = "failed" if failures else "succeeded"
                    error = f"{failures} sessions or users failed" if failures else ""
                except TheanineError as failure:
                    state, error = "failed", str(failure)
                except Exception as failure:  # noqa: BLE001  # of a method's code: others go on
                    _log.exception("operations: %s failed", held.operation.id)
                    state, error = "failed", f"an unexpected {type(failure).__name__}; see the log"
                group.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():  # the service stops
            with anyio.CancelScope(shield=True):
                await self._store.write_concurrently(True, release_operation, held)
            raise
        name = "receipts" if held.operation.kind == "expire" else "reports"
        listed = _DETAILS.dump_python(details[:MAX_DETAILS], mode="json")
        result = {**counts, name: listed}
        if held.operation.kind == "compare":
            result = {"run": run_name(held.operation)}
        await self._store.write_concurrently(
            True, end_operation, held, state, self._clock(), progress.done, result, error
        )

    async def _report(
        self, held: HeldOperation, progress: _Progress, running: anyio.CancelScope
    ) -> None:
        """Extend the operation's lease; stop the operation once it was cancelled or taken over."""
        wake = self._wake
        while await self._store.write_concurrently(True, extend_lease, held, progress.done):
            await _wait(wake)
            wake = self._wake
        running.cancel()

    async def _work(
        self,
        held: HeldOperation,
        counts: Counter[str],
        details: list[Any],
        progress: _Progress,
    ) -> None:
        operation = held.operation
        for scope in await self._store.read(_load_scopes, held):
            try:
                await self._work_on(scope, operation, counts, details, progress)
            except DamagedData as error:  # the others are sound
                counts["failures"] += 1
                _log.error("operations: %s: %s", scope, error)

    async def _work_on(
        self,
        scope: Scope,
        operation: Operation,
        counts: Counter[str],
        details: list[Any],
        progress: _Progress,
    ) -> None:
        if operation.kind == "compare":
            run = run_name(operation)
            await compare(
                self._store, self._options, scope, run, **operation.options, progress=progress.reach
            )
            return
        memory = self._client.user(scope.user, agent=scope.agent, tenant=scope.tenant)
        if operation.kind == "expire":
            for receipt in await memory.expire():
                counts.update(turns=receipt.turns, memories=receipt.memories)
                details.append(receipt)
                progress.count()
            return
        if operation.kind == "remember":
            reports = await memory.remember(progress=progress.count)
        else:
            rebuilt = await memory.rebuild(progress=progress.count, **operation.options)
            reports = list(rebuilt.reports)
            counts.update({f"replaced {name}": n for name, n in rebuilt.replaced.items()})
        for report in reports:
            counts.update(sessions=1, memories=report.memories, links=report.links)
            counts["failures"] += report.failure is not None
            details.append(report)


async def _wait(wake: anyio.Event) -> None:
    """Wait until there may be something new."""
    with anyio.move_on_after(POLL):
        await wake.wait()


def run_name(operation: Operation) -> str:
    """Return the name of the run that a comparison writes."""
    return f"own-{operation.created_at:%Y-%m-%d}-{operation.id[:6]}"


def _load_scopes(db: sa.Connection, held: HeldOperation) -> list[Scope]:
    """Return the scopes that an operation is about."""
    operation, names = held.operation, t.scope.c
    query = sa.select(t.scope).where(names.tenant == held.tenant).order_by(names.id)
    if operation.user is not None:
        query = query.where(names.user == operation.user)
    if operation.agent is not None:
        query = query.where(names.agent == operation.agent)
    return [scope_from_row(row) for row in db.execute(query)]
