"""The agent under test on a copy of a store: its memory as it is, and the store left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from theanine.agent import AsyncAgent
from theanine.conversation import History, Scope, Utterance
from theanine.errors import EmbedderMismatch
from theanine.evaluation.runs.running import Running, ours
from theanine.methods.base import Reply
from theanine.remembering import RememberReport
from theanine.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Makes the run's agent, and gives its store the records before it is asked."""

    records: Sequence[Mapping[str, Any]]

    def __call__(self, running: Running, store: Store) -> CopiedAgent:
        """Over the run's store."""
        return CopiedAgent(ours(running, store), store, self.records)


class CopiedAgent:
    """The agent that the run's set-up describes, with memories that were made elsewhere."""

    def __init__(
        self, agent: AsyncAgent, store: Store, records: Sequence[Mapping[str, Any]]
    ) -> None:
        self._agent, self._store, self._records = agent, store, records

    async def __aenter__(self) -> Self:
        """Raises EmbedderMismatch where the vectors are of another embedder."""
        await self._agent.__aenter__()
        await self._store.restore([dict(record) for record in self._records])
        held = await self._store.embedder()
        if held and held[0] != self._agent.embedder_name:
            await self._agent.close()
            raise EmbedderMismatch(
                f"the store's vectors are of {held[0]}, and {self._agent.embedder_name} is to "
                f"search them: name its own with --embedder {held[0]}"
            )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._agent.__aexit__(kind, error, trace)

    async def log(self, history: History, user: str) -> object:
        """Take in further sessions."""
        return await self._agent.log(history, user)

    async def pending(self, user: str) -> Sequence[object]:
        """Sessions that the method has not remembered yet."""
        return await self._agent.pending(user)

    async def remember(self, user: str) -> Sequence[RememberReport]:
        """Remember those, in the copy."""
        return await self._agent.remember(user)

    async def reply(
        self,
        dialogue: Sequence[Utterance],
        scope: Scope,
        speaker: str,
        *,
        budget: int | None = None,
    ) -> Reply:
        """What the agent says next."""
        return await self._agent.reply(dialogue, scope, speaker, budget=budget)
