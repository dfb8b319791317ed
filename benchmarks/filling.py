"""Fill stores of any size through the store's port, with real vectors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random

from words import statements

from theanine.embeddings.static import StaticEmbedder
from theanine.store import open_store
from theanine.types import MemoryBatch, NewLink, NewMemory, Relation, Scope, Transcript, Utterance

START = datetime(2020, 1, 1, tzinfo=UTC)
A_SESSION = 100
HOLDER = "benchmark"


async def fill(path: Path, scopes: Sequence[str], memories: int, already: int = 0) -> None:
    """Bring each scope to ``memories`` memories, a third of them linked to an earlier one.

    ``already`` exist from an earlier call, in whole sessions.
    """
    store, embedder = open_store(str(path)), StaticEmbedder()
    await store.open()
    texts = statements(already)
    try:
        for user in scopes:
            scope = Scope(user)
            for session in range(already // A_SESSION, -(-memories // A_SESSION)):
                count = min(A_SESSION, memories - session * A_SESSION)
                batch = list(islice(texts, count))
                at = START + timedelta(days=session)
                turns = [
                    Utterance(text=text, speaker="Ana", at=at + timedelta(minutes=minute))
                    for minute, text in enumerate(batch)
                ]
                key = f"session-{session}"
                logged = await store.log_transcript(
                    scope, Transcript(key=key, turns=turns, at=at), "theanine"
                )
                lease = await store.acquire_lease(scope, HOLDER, timedelta(days=36_500)) or 0
                await store.commit_batch(
                    scope,
                    logged.session,
                    "theanine",
                    await _remembered(session, turns, embedder),
                    embedder=embedder.name,
                    lease=lease,
                    at=at,
                )
                await store.release_lease(scope, lease)
    finally:
        await store.close()


async def _remembered(
    session: int, turns: Sequence[Utterance], embedder: StaticEmbedder
) -> MemoryBatch:
    rng = Random(session)
    first = session * A_SESSION + 1
    made = [
        NewMemory(text=turn.text, at=turn.at, source_turns=(first + i,), speakers=("Ana",))
        for i, turn in enumerate(turns)
    ]
    links = [
        NewLink(older=rng.randrange(1, first), newer=i, relation=Relation.SAME_TOPIC)
        for i in range(len(made))
        if first > 1 and rng.random() < 1 / 3
    ]
    vectors = await embedder.embed([memory.text for memory in made])
    return MemoryBatch(memories=made, vectors=vectors, links=links)
