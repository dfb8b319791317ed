"""Recursive summary: after each session, a new summary from the previous one and the session.

Source: Wang et al., "Recursively Summarizing Enables Long-Term Dialogue Memory in Large Language
Models" (LLM-Rsum): memory management (section 3.2.1), response (3.2.2), demonstrations (6.3),
utterances as local memory (6.4).

Differences from the paper:

- Each sentence names the turns and earlier sentences that support it. So every sentence is a memory
  of its own, and the current summary is the live ones.
- By default a reply names only what changes, which costs less and prevents drift: an earlier
  sentence leaves the summary only when it is named as outdated or included in a new one. With
  ``rewrite`` the model writes the whole summary again, as in the paper.
- Sentences show the day of their last source turn.
- A session that exceeds one prompt is added window by window.
- With ``selected`` the model selects sentences before a reply, as in Theanine's comparison.
- With a token budget the best sentences for the dialogue are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from theanine.errors import UnusableReply
from theanine.methods.base import Context, Estimate, Reply
from theanine.methods.shared.memories import excerpt_memories, with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.recall import make_part, pack, query_text, retrieve
from theanine.methods.shared.respond import forbid_chat_options, reply
from theanine.text.formatting import format_day, format_turn
from theanine.types import (
    STATEMENT,
    ImportedMemory,
    MemoryBatch,
    Part,
    Recollection,
    Session,
    Turn,
    Utterance,
)
from theanine_methods.recursive_summary.config import RecursiveSummaryConfig
from theanine_methods.recursive_summary.few_shot import (
    demonstrations,
    read_examples,
    respond_few_shot,
)
from theanine_methods.recursive_summary.select import select_sentences
from theanine_methods.segmentation import exchanges
from theanine_methods.shared.excerpts import UTTERANCE
from theanine_methods.shared.running_summary import (
    estimate_running_summary,
    summary_parts,
    update_running_summary,
)


class RecursiveSummary(MethodBase[RecursiveSummaryConfig]):
    """The method."""

    name = "recursive-summary"
    Config = RecursiveSummaryConfig

    def __init__(self, config: RecursiveSummaryConfig | None = None) -> None:
        """Raise BadInput for a file of examples that can't be read or has too few."""
        super().__init__(config)
        count, file = self.config.demonstrations, self.config.examples
        self.examples = read_examples(Path(file), count) if file else demonstrations()[:count]

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Make summary M_i from M_{i-1} and the session, and mark the sentences it replaces."""
        memories, marks = await update_running_summary(
            session,
            turns,
            imported,
            context,
            max_sentences=self.config.sentences,
            rewrite=self.config.rewrite,
        )
        if self.config.utterances:
            unit = self.config.local_unit
            excerpts = [[turn] for turn in turns] if unit == UTTERANCE else exchanges(turns)
            memories += excerpt_memories(excerpts, unit)
        return await with_vectors(MemoryBatch(memories=memories, marks=marks), context)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate one call for each window of the session."""
        return estimate_running_summary(turns, self.config.sentences, rewrite=self.config.rewrite)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the current summary, then the best of local memory, each in time order."""
        query = query_text(dialogue, self.config.query_turns)
        parts = await summary_parts(query, dialogue, context)
        notes: tuple[str, ...] = ()
        if limit := self.config.selected:
            try:
                parts = await self._select(parts, dialogue, context, limit)
            except UnusableReply as error:
                parts = parts[:limit]
                notes = (f"no sentence was selected, so these are the best by retrieval: {error}",)
        parts += await self._local_parts(query, dialogue, context)
        recollection = pack(
            query,
            parts,
            context.token_budget(self.config.budget),
            lambda memory: (memory.kind != STATEMENT, memory.order),
        )
        return replace(recollection, notes=recollection.notes + notes)

    async def _select(
        self, parts: list[Part], dialogue: Sequence[Utterance], context: Context, limit: int
    ) -> list[Part]:
        """Return the parts of the summary for the dialogue, best first."""
        if context.chat is None or not parts:
            return parts[:limit]
        return await select_sentences(parts, dialogue, context.chat, context.index, limit=limit)

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Reply from the dialogue and the summary, after demonstrations if configured."""
        if context.chat is None or not self.examples:
            return await reply(dialogue, recollection, speaker, context, prompt=self.reply_prompt)
        forbid_chat_options(context, "a reply with demonstrations")
        return await respond_few_shot(
            dialogue,
            recollection,
            speaker,
            context.chat,
            examples=self.examples,
            source_sessions=source_sessions(recollection.memories, context.index),
        )

    async def _local_parts(
        self, query: str, dialogue: Sequence[Utterance], context: Context
    ) -> list[Part]:
        config = self.config
        if not config.utterances:
            return []
        ranked = await retrieve(
            query,
            dialogue,
            config.utterances,
            context,
            config.retrieval,
            kinds=[config.local_unit],
        )
        parts: list[Part] = []
        for memory, score in ranked:
            turns = await context.index.turns(memory.source_turns)
            text = format_day(memory.at, memory.dated) + " ".join(map(format_turn, turns))
            parts.append(make_part(memory, score, text, turns))
        return parts
