"""What methods share after a session: its statements, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.embeddings.base import Vectors
from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import STATEMENT, statements_in, tokens_of, tokens_of_step
from theanine.summarization.local_summarize import own_words
from theanine.summarization.summarize import SUMMARIZE, summarize
from theanine.types import GivenMemory, NewMemory, Session, Turn

GIVEN = "given"
"""The maker's name on ready-made memories."""


async def statements_of(
    session: Session,
    turns: Sequence[Turn],
    given: Sequence[GivenMemory],
    context: Context,
) -> list[NewMemory]:
    """The statements of a session; ready-made memories, where there are any, as they are.

    Raises ModelError when the model fails.
    """
    if given:
        return await _taken(session, given, context)
    known = await context.view.reminders(turns)
    return await summarize(turns, context.chat, dated=session.dated, recalled=known)


async def embedded(memories: Sequence[NewMemory], context: Context) -> Vectors:
    """The statements' vectors, ``(n, d)``: of their own words, without who said them when."""
    return await context.embedder.embed([own_words(memory.text) for memory in memories])


def summary_estimate(turns: Sequence[Turn]) -> Estimate:
    """What :func:`statements_of` will about take."""
    return Estimate(
        calls=1,
        input_tokens=tokens_of_step(SUMMARIZE) + tokens_of(turns),
        output_tokens=statements_in(turns) * STATEMENT,
    )


async def _taken(
    session: Session, given: Sequence[GivenMemory], context: Context
) -> list[NewMemory]:
    by_key = {turn.key: turn for turn in await context.view.dialogue(session.id) if turn.key}
    memories: list[NewMemory] = []
    for one in given:
        sources = sorted(
            (by_key[key] for key in one.source_keys if key in by_key), key=lambda turn: turn.id
        )
        memories.append(
            NewMemory(
                text=one.text,
                at=sources[-1].at if sources else session.ended_at or session.started_at,
                sources=tuple(turn.id for turn in sources),
                speakers=one.speakers,
                made_by=GIVEN,
            )
        )
    return memories
