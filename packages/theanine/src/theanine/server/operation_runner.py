"""Running operations: in each process of the service, a task takes those that wait."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import anyio
import sqlalchemy as sa
from pydantic import TypeAdapter

from theanine.client import AsyncClient, OpenOptions
from theanine.clock import Clock
from theanine.errors import DamagedData, TheanineError
from theanine.remembering.remember import RememberReport
from theanine.server.comparing import compare
from theanine.server.operations import (
    HeldOperation,
    Operation,
    State,
    end_operation,
    extend_lease,
    release_operation,
    take_operation,
)
from theanine.store.sql import schema as t
from theanine.store.sql.scopes import scope_from_row
from theanine.store.sql.store import SqlStore
from theanine.store.values import ForgetReport
from theanine.types import Scope

_log = logging.getLogger(__name__)

MAX_DETAILS = 1_000
"""Maximum reports or receipts in the result of an operation."""
POLL = 2.0
"""Seconds between checks for new work and for cancellations."""
_DETAILS: TypeAdapter[list[Any]] = TypeAdapter(list[RememberReport | ForgetReport])


class OperationRunner:
    """Runs operations in this process, one after the other."""

    def __init__(
        self, options: OpenOptions, client: AsyncClient, store: SqlStore, clock: Clock
    ) -> None:
        self._options, self._client, self._store, self._clock = options, client, store, clock
        self._wake = anyio.Event()
        self._done = 0
        self._running = anyio.CancelScope()

    def wake(self) -> None:
        """Check for work and cancellations at once."""
        self._wake.set()

    def stop(self) -> None:
        """End :meth:`run`; the operation in progress waits for another process."""
        self._running.cancel()

    async def run(self) -> None:
        """Run operations until they are stopped; one that fails ends no other."""
        with self._running:
            await self._run_all()

    async def _run_all(self) -> None:
        while True:
            try:
                await self._store.erase_due()
                held = await self._store.write_concurrently(True, take_operation, self._clock())
                if held is not None:
                    await self._run(held)
                    continue
            except TheanineError as error:  # the store can't be reached: try again later
                _log.warning("operations: %s", error)
            await self._wait()

    async def _wait(self) -> None:
        with anyio.move_on_after(POLL):
            await self._wake.wait()
        self._wake = anyio.Event()

    async def _run(self, held: HeldOperation) -> None:
        self._done = 0
        state: State = "cancelled"
        counts, details, error = Counter[str](), list[Any](), ""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._report, held, group.cancel_scope)
                try:
                    await self._work(held, counts, details)
                    failures = counts["failures"]
                    state = "failed" if failures else "succeeded"
                    error = f"{failures} sessions or users failed" if failures else ""
                except TheanineError as failure:
                    state, error = "failed", str(failure)
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
            True, end_operation, held, state, self._clock(), self._done, result, error
        )

    async def _report(self, held: HeldOperation, running: anyio.CancelScope) -> None:
        """Extend the operation's lease; stop the operation once it was cancelled or taken over."""
        while await self._store.write_concurrently(True, extend_lease, held, self._done):
            await self._wait()
        running.cancel()

    async def _work(self, held: HeldOperation, counts: Counter[str], details: list[Any]) -> None:
        operation = held.operation
        for scope in await self._store.read(_load_scopes, held):
            try:
                await self._work_on(scope, operation, counts, details)
            except DamagedData as error:  # the others are sound
                counts["failures"] += 1
                _log.error("operations: %s: %s", scope, error)

    async def _work_on(
        self, scope: Scope, operation: Operation, counts: Counter[str], details: list[Any]
    ) -> None:
        if operation.kind == "compare":
            run = run_name(operation)
            await compare(
                self._store, self._options, scope, run, **operation.options, progress=self._reach
            )
            return
        memory = self._client.user(scope.user, agent=scope.agent, tenant=scope.tenant)
        if operation.kind == "expire":
            for receipt in await memory.expire():
                counts.update(turns=receipt.turns, memories=receipt.memories)
                details.append(receipt)
                self._done += 1
            return
        if operation.kind == "remember":
            reports = await memory.remember(progress=self._count)
        else:
            rebuilt = await memory.rebuild(progress=self._count, **operation.options)
            reports = list(rebuilt.reports)
            counts.update({f"replaced {name}": n for name, n in rebuilt.replaced.items()})
        for report in reports:
            counts.update(sessions=1, memories=report.memories, links=report.links)
            counts["failures"] += report.failure is not None
            details.append(report)

    def _count(self, report: object) -> None:
        self._done += 1

    def _reach(self, done: int) -> None:
        self._done = done


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
