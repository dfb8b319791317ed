"""The agent under test on a copy of a store: its memory as it is, and the store left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from theanine.errors import EmbedderMismatch
from theanine.store import Store
from theanine_bench.runs.runner import Running, agent_of
from theanine_bench.targets.target import Tested


class Copied(Tested):
    """The agent that the run's set-up describes, with memories that were made elsewhere.

    The run's store is given these ``records`` before the agent is asked.
    """

    def __init__(
        self, records: Sequence[Mapping[str, Any]], running: Running, store: Store
    ) -> None:
        super().__init__(agent_of(running, store))
        self._store, self._records = store, records

    async def __aenter__(self) -> Self:
        """Raises EmbedderMismatch where the vectors are of another embedder."""
        await super().__aenter__()
        await self._store.restore([dict(record) for record in self._records])
        held = await self._store.active_embedder()
        if held and held[0] != self._agent.embedder_name:
            await self._agent.close()
            raise EmbedderMismatch(
                f"the store's vectors are of {held[0]}, and {self._agent.embedder_name} is to "
                f"search them: name its own with --embedder {held[0]}"
            )
        return self
