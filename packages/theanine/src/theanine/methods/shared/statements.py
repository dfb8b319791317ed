"""Statements of a session: imported ones, or a summary."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import (
    STATEMENT_TOKENS,
    count_prompt_tokens,
    count_turn_tokens,
    estimate_statements,
)
from theanine.summarization import SUMMARIZE, summarize
from theanine.types import IMPORTED, ImportedMemory, NewMemory, Session, Turn


async def summarize_session(
    session: Session,
    turns: Sequence[Turn],
    imported: Sequence[ImportedMemory],
    context: Context,
) -> list[NewMemory]:
    """Return the imported memories if there are any, or else a summary of the session.

    Raises ModelError when the model fails.
    """
    if not imported:
        recalled = await context.index.recalled_texts(turns)
        return await summarize(turns, context.chat, recalled=recalled)
    by_key = {turn.key: turn for turn in await context.index.session_turns(session.id) if turn.key}
    memories: list[NewMemory] = []
    for memory in imported:
        sources = sorted(
            (by_key[key] for key in memory.source_keys if key in by_key), key=lambda turn: turn.id
        )
        memories.append(
            NewMemory(
                text=memory.text,
                at=sources[-1].at if sources else session.ended_at or session.started_at,
                source_turns=tuple(turn.id for turn in sources),
                speakers=memory.speakers,
                made_by=IMPORTED,
            )
        )
    return memories


def estimate_summary(turns: Sequence[Turn]) -> Estimate:
    """Estimate the summary of a session."""
    return Estimate(
        calls=1,
        input_tokens=count_prompt_tokens(SUMMARIZE) + count_turn_tokens(turns),
        output_tokens=estimate_statements(turns) * STATEMENT_TOKENS,
    )
