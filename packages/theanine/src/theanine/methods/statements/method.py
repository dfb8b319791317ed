"""Keep what each session is summarized to, and give back all of it, or what fits.

Source: "all memories" and "memory retrieval", the plain systems that Theanine (section 3) is
compared with. They share its summaries, so that only the recall differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.retrieve import ReplyMixin, query_text, retrieve, search_depth
from theanine.methods.shared.statements import embed_memories, estimate_summary, summarize_session
from theanine.methods.statements.config import AllMemoriesConfig, MemoryRetrievalConfig
from theanine.retrieval.budget import fit_budget, fit_prefix
from theanine.text.formatting import format_memory
from theanine.types import (
    ImportedMemory,
    Memory,
    MemoryBatch,
    Part,
    Recollection,
    Session,
    Turn,
    Utterance,
)


class _Statements(ReplyMixin):
    """Summarizes each session; what tells the two apart is their recall."""

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """The session's statements, or the ready-made memories as they are."""
        memories = await summarize_session(session, turns, given, context)
        return MemoryBatch(memories=memories, vectors=await embed_memories(memories, context))

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """One call: the summary."""
        return estimate_summary(turns)


class AllMemories(_Statements):
    """Gives back every statement, in time order."""

    name = "all-memories"
    Config = AllMemoriesConfig

    def __init__(self, config: AllMemoriesConfig | None = None) -> None:
        self.config = config or AllMemoriesConfig()

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Every statement; the newest are kept when a budget cuts."""
        newest = sorted(context.index.memories, key=lambda memory: memory.order, reverse=True)
        budget = context.token_budget(self.config.budget)
        kept = fit_prefix(((memory, format_memory(memory)) for memory in newest), budget)
        return await _recollection(
            query_text(dialogue, None), [(one, 0.0) for one in kept], context
        )


class MemoryRetrieval(_Statements):
    """Gives back the statements that fit the dialogue best."""

    name = "memory-retrieval"
    Config = MemoryRetrievalConfig

    def __init__(self, config: MemoryRetrievalConfig | None = None) -> None:
        self.config = config or MemoryRetrievalConfig()

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The best-fitting statements, in time order, within the budget."""
        config = self.config
        query = query_text(dialogue, config.query_turns)
        budget = context.token_budget(config.budget)
        most = search_depth(config.retrieved, budget)
        ranked = await retrieve(query, dialogue, most, context, config.retrieval)
        kept = fit_budget([(one, format_memory(one[0])) for one in ranked], budget)
        return await _recollection(query, kept, context)


async def _recollection(
    query: str, kept: Sequence[tuple[Memory, float]], context: Context
) -> Recollection:
    """The statements in time order, with their scores."""
    view = context.index
    parts = [
        Part(
            text=format_memory(memory),
            memories=(memory,),
            source_turns=tuple(await view.turns(memory.source_turns)),
            score=score,
        )
        for memory, score in sorted(kept, key=lambda one: one[0].order)
    ]
    return Recollection(query=query, parts=tuple(parts))
