"""What a run asks: an agent of ours, and the base of all that take its place."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import theanine
from theanine.client.client import AsyncClient
from theanine.methods.base import Reply
from theanine.remembering.remember import RememberReport
from theanine.store import Store
from theanine.types import History
from theanine_bench.samples import Case


class Tested:
    """Passes everything on to an agent of ours; what takes its place overrides what differs.

    Entering it opens the run's store.
    """

    def __init__(self, agent: AsyncClient) -> None:
        self._agent = agent

    async def __aenter__(self) -> Self:
        await self._agent.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._agent.__aexit__(kind, error, trace)

    async def log(self, history: History, user: str) -> None:
        """Take in the sessions; the same ones again change nothing."""
        await self._agent.log(history, user)

    async def pending(self, user: str) -> Sequence[object]:
        """What of the user is not remembered yet."""
        return await self._agent.pending(user)

    async def remember(self, user: str) -> Sequence[RememberReport]:
        """Remember what is pending; a failure is in its report."""
        return await self._agent.remember(user)

    async def reply(self, case: Case, user: str, budget: int | None) -> Reply:
        """What the agent, as the case's speaker, says next. Raises ModelError."""
        return await self._agent.user(user).reply(
            case.dialogue, speaker=case.speaker, budget=budget
        )


def log_alone(store: Store) -> AsyncClient:
    """An agent that keeps the log and remembers nothing, for what answers in its own way."""
    return theanine.aopen(store, method="no-memory")
