"""A recall whose question is still being embedded while another session is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

import theanine
from theanine.client.client import AsyncClient
from theanine.embeddings.base import Vectors
from theanine.embeddings.hashing import HashEmbedder
from theanine.store import open_store

pytestmark = pytest.mark.anyio

AT = datetime(2024, 3, 1, 12, tzinfo=UTC)
FIRST = ["I moved to Paris in 2019 and I love boats.", "My sister Mia lives in Rome since 2015."]
MASKED = ["memory-update", "memorybank", "conditional", "recursive-summary", "summary-buffer"]


class Waiting(HashEmbedder):
    """Embeds a question about boats only once it is let."""

    def __init__(self) -> None:
        super().__init__(64)
        self.asked, self.let = anyio.Event(), anyio.Event()

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Like ``embed``, later."""
        if "boats" in texts[0]:
            self.asked.set()
            await self.let.wait()
        return await self.embed(texts)


async def _heard(agent: AsyncClient, *texts: str) -> None:
    async with agent.user("ana").session() as talk:
        for text in texts:
            await talk.hear(text, at=AT)


@pytest.mark.slow
@pytest.mark.parametrize("said", [FIRST[:1], FIRST])
@pytest.mark.parametrize("method", MASKED)
async def test_memories_committed_during_a_recall_do_no_harm(
    tmp_path: Path, method: str, said: list[str]
) -> None:
    embedder, store = Waiting(), open_store(str(tmp_path / "m.db"))
    async with theanine.aopen(store, method=method, embedder=embedder) as agent:
        await _heard(agent, *said)
        found: list[str] = []

        async def recall() -> None:
            found.append((await agent.user("ana").recall("Which boats do I love?")).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(recall)
            await embedder.asked.wait()
            await _heard(agent, "I bought a red car in Lyon in 2021, and I sold it.")
            await agent.user("ana").recall("Which car?")  # another window of the same user
            embedder.let.set()
        again = await agent.user("ana").recall("Which boats do I love?")
    assert "boats" in found[0]
    assert found == [again.text]
