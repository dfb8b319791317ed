"""What methods share after a session: its statements, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.embeddings.base import Vectors
from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import (
    STATEMENT,
    count_prompt_tokens,
    count_turn_tokens,
    estimate_statements,
)
from theanine.summarization import SUMMARIZE, summarize
from theanine.text.attribution import without_attribution
from theanine.types import ImportedMemory, NewMemory, Session, Turn

GIVEN = "given"
"""The maker's name on ready-made memories."""


async def summarize_session(
    session: Session,
    turns: Sequence[Turn],
    given: Sequence[ImportedMemory],
    context: Context,
) -> list[NewMemory]:
    """The statements of a session; ready-made memories, where there are any, as they are.

    Raises ModelError when the model fails.
    """
    if given:
        return await _taken(session, given, context)
    known = await context.index.recalled_texts(turns)
    return await summarize(turns, context.chat, recalled=known)


async def embed_memories(memories: Sequence[NewMemory], context: Context) -> Vectors:
    """The statements' vectors, ``(n, d)``: of their own words, without who said them when."""
    return await context.embedder.embed([without_attribution(memory.text) for memory in memories])


def estimate_summary(turns: Sequence[Turn]) -> Estimate:
    """What :func:`statements_of` will about take."""
    return Estimate(
        calls=1,
        input_tokens=count_prompt_tokens(SUMMARIZE) + count_turn_tokens(turns),
        output_tokens=estimate_statements(turns) * STATEMENT,
    )


async def _taken(
    session: Session, given: Sequence[ImportedMemory], context: Context
) -> list[NewMemory]:
    by_key = {turn.key: turn for turn in await context.index.session_turns(session.id) if turn.key}
    memories: list[NewMemory] = []
    for one in given:
        sources = sorted(
            (by_key[key] for key in one.source_keys if key in by_key), key=lambda turn: turn.id
        )
        memories.append(
            NewMemory(
                text=one.text,
                at=sources[-1].at if sources else session.ended_at or session.started_at,
                source_turns=tuple(turn.id for turn in sources),
                speakers=one.speakers,
                made_by=GIVEN,
            )
        )
    return memories
