"""Make memories of turns, and batches of memories with their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from theanine.embeddings.base import Vectors
from theanine.embeddings.encoder import DIMENSION
from theanine.embeddings.encoder import NAME as ENCODER
from theanine.methods.base import Context
from theanine.quotes import without_attribution
from theanine.text.formatting import format_dialogue
from theanine.types import LOCAL_MODEL, STATEMENT, MemoryBatch, NewMemory, Turn


def make_memory(
    text: str,
    turns: Sequence[Turn],
    *,
    kind: str = STATEMENT,
    speakers: Iterable[str] | None = None,
    made_by: str = LOCAL_MODEL,
    prompt: str = "",
) -> NewMemory:
    """Return a memory that turns of one session support, given in order.

    Its time is that of the last one. Without ``speakers`` it is about the turns' speakers.
    """
    names = [turn.speaker for turn in turns] if speakers is None else speakers
    return NewMemory(
        text=text,
        at=turns[-1].at,
        source_turns=tuple(turn.id for turn in turns),
        speakers=tuple(dict.fromkeys(names)),
        kind=kind,
        made_by=made_by,
        prompt=prompt,
    )


def excerpt_memories(excerpts: Iterable[Sequence[Turn]], kind: str) -> list[NewMemory]:
    """Return a memory of the verbatim text of each excerpt that has any."""
    return [
        make_memory(format_dialogue(turns), turns, kind=kind)
        for turns in excerpts
        if any(turn.full_text.strip() for turn in turns)
    ]


async def embed_memories(memories: Sequence[NewMemory], context: Context) -> Vectors:
    """Embed the memories' texts without attributions; ``(n, d)``."""
    return await context.embedder.embed([without_attribution(memory.text) for memory in memories])


async def embed_later(memories: Sequence[NewMemory], context: Context) -> Vectors:
    """Return no vectors where to make them takes long and nothing compares them yet, ``(0, d)``.

    :meth:`ScopeIndex.make_vectors` makes them for what does.
    """
    if context.embedder.name == ENCODER:
        return np.zeros((0, DIMENSION), np.float32)
    return await embed_memories(memories, context)


async def with_vectors(batch: MemoryBatch, context: Context) -> MemoryBatch:
    """Return the batch with a vector for each memory."""
    if not batch.memories:
        return batch
    return replace(batch, vectors=await embed_memories(batch.memories, context))
