"""Recursive summary: after each session a summary made of the one before and of what was said.

Source: Wang et al., "Recursively Summarizing Enables Long-Term Dialogue Memory in Large Language
Models" (LLM-Rsum): memory management (section 3.2.1), response (3.2.2), demonstrations (6.3),
utterances as local memory beside the summary (6.4).

Differences from the paper: each sentence of the summary names the turns and the earlier sentences
that it rests on, and one that still holds is named by its number instead of written again, which
costs less and keeps it from drifting. So every sentence is a memory of its own, and the summary
after a session is what was live then. Sentences show the day of their last source. A session that
passes one prompt is taken in window by window. With a token budget the sentences that fit the
dialogue best are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate, Reply
from theanine.methods.recursive_summary.config import RecursiveSummaryConfig
from theanine.methods.recursive_summary.few_shot import respond_few_shot
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.recall import query_text, retrieve
from theanine.methods.shared.respond import reply
from theanine.methods.shared.running_summary import (
    estimate_running_summary,
    summary_parts,
    update_running_summary,
)
from theanine.methods.shared.statements import embed_memories
from theanine.methods.shared.utterances import UTTERANCE, utterance_memories
from theanine.retrieval.budget import fit_budget
from theanine.text.formatting import format_day, format_turn
from theanine.types import (
    ImportedMemory,
    MemoryBatch,
    NewMemory,
    Part,
    Recollection,
    Session,
    Turn,
    Utterance,
)


class RecursiveSummary:
    """Keeps one summary of all sessions, sentence by sentence, and every earlier state of it."""

    name = "recursive-summary"
    Config = RecursiveSummaryConfig

    def __init__(self, config: RecursiveSummaryConfig | None = None) -> None:
        self.config = config or RecursiveSummaryConfig()

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """M_i from M_{i-1} and the session; what it takes the place of is marked superseded."""
        memories, marks = await update_running_summary(
            session, turns, given, context, max_sentences=self.config.sentences
        )
        if self.config.utterances:
            memories += utterance_memories(turns)
        return MemoryBatch(
            memories=memories, vectors=await _vectors(memories, context), marks=marks
        )

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """One call a session, or one for each window of a very long one."""
        return estimate_running_summary(turns, self.config.sentences)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The summary as it stands, in time order, then the utterances that fit, in time order."""
        query = query_text(dialogue, self.config.query_turns)
        parts = await summary_parts(query, dialogue, context)
        parts += await self._said(query, dialogue, context)
        budget = context.token_budget(self.config.budget)
        kept = fit_budget([(part, part.text) for part in parts], budget)
        kept.sort(key=lambda part: (part.memories[0].kind == UTTERANCE, part.memories[0].order))
        return Recollection(query=query, parts=tuple(kept))

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Reply from the dialogue and the summary, after demonstrations where they are set."""
        if context.chat is None or not self.config.demonstrations:
            return await reply(dialogue, recollection, speaker, context)
        return await respond_few_shot(
            dialogue,
            recollection,
            speaker,
            context.chat,
            examples=self.config.demonstrations,
            touches=source_sessions(recollection.memories, context.index),
        )

    async def _said(
        self, query: str, dialogue: Sequence[Utterance], context: Context
    ) -> list[Part]:
        """The past utterances that fit best: the local memory beside the global one."""
        view = context.index
        if not self.config.utterances:
            return []
        found = await retrieve(
            query,
            dialogue,
            self.config.utterances,
            context,
            self.config.retrieval,
            kinds=[UTTERANCE],
        )
        parts: list[Part] = []
        for memory, score in found:
            turns = tuple(await view.turns(memory.source_turns))
            text = format_day(memory.at, memory.dated) + " ".join(map(format_turn, turns))
            parts.append(Part(text=text, memories=(memory,), source_turns=turns, score=score))
        return parts


async def _vectors(memories: Sequence[NewMemory], context: Context) -> object:
    return await embed_memories(memories, context) if memories else None
