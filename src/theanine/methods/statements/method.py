"""Keep what each session is summarized to, and give back all of it, or what fits.

Source: "all memories" and "memory retrieval", the plain systems that Theanine (section 3) is
compared with. They share its summaries, so that only the recall differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.conversation import GivenMemory, Session, Turn, Utterance
from theanine.memory import Memory, Part, Recollection, Remembered
from theanine.methods.base import Context, Estimate, Reply
from theanine.methods.retrieving import query_of, reply, retrieve
from theanine.methods.statements.config import AllMemoriesConfig, MemoryRetrievalConfig
from theanine.methods.summarizing import embedded, statements_of, summary_estimate
from theanine.retrieval.budget import within
from theanine.steps.quoting import one_line, when


class _Statements:
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

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Reply from the dialogue and the statements."""
        return await reply(dialogue, recollection, speaker, context)


class AllMemories(_Statements):
    """Gives back every statement, in time order."""

    name = "all-memories"
    Config = AllMemoriesConfig

    def __init__(self, config: AllMemoriesConfig | None = None) -> None:
        self.config = config or AllMemoriesConfig()

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Every statement; the newest are kept when a budget cuts."""
        newest = sorted(context.view.memories, key=lambda memory: memory.order, reverse=True)
        ranked = [(memory, 0.0) for memory in newest]
        query = query_of(dialogue, None)
        return await _recollection(query, ranked, self.config.budget, context, gaps=False)


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
        ranked = await retrieve(query, dialogue, config.retrieved, context, config.retrieval)
        return await _recollection(query, ranked, config.budget, context)


async def _recollection(
    query: str,
    ranked: Sequence[tuple[Memory, float]],
    budget: int | None,
    context: Context,
    *,
    gaps: bool = True,
) -> Recollection:
    undated = context.view.undated
    parts: list[tuple[Part, str]] = []
    for memory, score in ranked:
        text = one_line(memory.text)
        if memory.made_by != "local":  # a local statement names its day itself
            text = when(memory.at, memory.session, undated) + text
        sources = tuple(await context.view.turns(memory.sources))
        parts.append((Part(text=text, memories=(memory,), sources=sources, score=score), text))
    kept = within(parts, budget if context.budget is None else context.budget, gaps=gaps)
    kept.sort(key=lambda part: part.memories[0].order)
    return Recollection(query=query, parts=tuple(kept))
