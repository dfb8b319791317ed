"""A memory client on a copy of a store, which is left unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from theanine.errors import EmbedderMismatch
from theanine_bench.targets.target import ClientTarget, TargetContext


class Copied(ClientTarget):
    """The client that the run's configuration describes, with memories made elsewhere.

    ``records``, an export, are restored into the run's store before the first sample.
    """

    def __init__(self, context: TargetContext, records: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(context)
        self._store, self._records = context.store, records

    async def __aenter__(self) -> Self:
        """Raises EmbedderMismatch if the vectors are of another embedder."""
        await super().__aenter__()
        await self._store.restore([dict(record) for record in self._records])
        embedder = await self._store.active_embedder()
        if embedder and embedder[0] != self.client.embedder_name:
            await self.client.close()
            raise EmbedderMismatch(
                f"the store's vectors are of {embedder[0]}, but {self.client.embedder_name} is "
                f"configured: use --embedder {embedder[0]}"
            )
        return self
