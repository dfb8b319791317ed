"""Keep what each session is summarized to, and give back all of it, or what fits.

Source: "all memories" and "memory retrieval", the plain systems that Theanine (section 3) is
compared with. They share its summaries, so that only the recall differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.retrieve import Replying, as_many, query_of, retrieve
from theanine.methods.shared.statements import embedded, statements_of, summary_estimate
from theanine.methods.statements.config import AllMemoriesConfig, MemoryRetrievalConfig
from theanine.retrieval.budget import leading, within
from theanine.text.formatting import shown
from theanine.types import (
    GivenMemory,
    Memory,
    Part,
    Recollection,
    Remembered,
    Session,
    Turn,
    Utterance,
)


class _Statements(Replying):
    """Summarizes each session; what tells the two apart is their recall."""

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[GivenMemory],
        context: Context,
    ) -> Remembered:
        """The session's statements, or the ready-made memories as they are."""
        memories = await statements_of(session, turns, given, context)
        return Remembered(memories=memories, vectors=await embedded(memories, context))

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """One call: the summary."""
        return summary_estimate(turns)


class AllMemories(_Statements):
    """Gives back every statement, in time order."""

    name = "all-memories"
    Config = AllMemoriesConfig

    def __init__(self, config: AllMemoriesConfig | None = None) -> None:
        self.config = config or AllMemoriesConfig()

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Every statement; the newest are kept when a budget cuts."""
        newest = sorted(context.view.memories, key=lambda memory: memory.order, reverse=True)
        undated = context.view.undated
        budget = context.room(self.config.budget)
        kept = leading(((memory, shown(memory, undated)) for memory in newest), budget)
        return await _recollection(query_of(dialogue, None), [(one, 0.0) for one in kept], context)


class MemoryRetrieval(_Statements):
    """Gives back the statements that fit the dialogue best."""

    name = "memory-retrieval"
    Config = MemoryRetrievalConfig

    def __init__(self, config: MemoryRetrievalConfig | None = None) -> None:
        self.config = config or MemoryRetrievalConfig()

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The best-fitting statements, in time order, within the budget."""
        config = self.config
        query = query_of(dialogue, config.query_turns)
        budget = context.room(config.budget)
        most = as_many(config.retrieved, budget)
        ranked = await retrieve(query, dialogue, most, context, config.retrieval)
        undated = context.view.undated
        kept = within([(one, shown(one[0], undated)) for one in ranked], budget)
        return await _recollection(query, kept, context)


async def _recollection(
    query: str, kept: Sequence[tuple[Memory, float]], context: Context
) -> Recollection:
    """The statements in time order, with their scores."""
    view = context.view
    parts = [
        Part(
            text=shown(memory, view.undated),
            memories=(memory,),
            sources=tuple(await view.turns(memory.sources)),
            score=score,
        )
        for memory, score in sorted(kept, key=lambda one: one[0].order)
    ]
    return Recollection(query=query, parts=tuple(parts))
