"""Keep each session's summary as statements; recall all of them, or retrieve the best.

Source: "all memories" and "memory retrieval", the baselines of Theanine (section 3). They share its
summaries, so that only recall differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.memories import with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.recall import recall_memories, recall_newest, statement_part
from theanine.methods.shared.statements import estimate_summary, summarize_session
from theanine.types import ImportedMemory, MemoryBatch, Recollection, Session, Turn, Utterance
from theanine_methods.statements.config import AllMemoriesConfig, MemoryRetrievalConfig

C = TypeVar("C")


class _Statements(MethodBase[C]):
    """Summarizes each session."""

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Keep the session's statements, or the imported memories if there are any."""
        memories = await summarize_session(session, turns, imported, context)
        return await with_vectors(MemoryBatch(memories=memories), context)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Return the cost of the summary."""
        return estimate_summary(turns)


class AllMemories(_Statements[AllMemoriesConfig]):
    """Recalls every statement, in time order."""

    name = "all-memories"
    Config = AllMemoriesConfig

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return every statement; a budget keeps the newest."""
        return await recall_newest(dialogue, context, self.config.budget, statement_part)


class MemoryRetrieval(_Statements[MemoryRetrievalConfig]):
    """Recalls the statements that rank best for the dialogue."""

    name = "memory-retrieval"
    Config = MemoryRetrievalConfig

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the best statements in time order, within the budget."""
        return await recall_memories(dialogue, context, self.config, statement_part)
