"""Summary buffer: the latest turns verbatim, and a running summary of all earlier ones.

Without a buffer it is "SumMem", a baseline of SeCom (section 3), which cites LangChain's
conversation summary memory: a running summary and nothing verbatim. With one it is LangChain's
summary buffer memory.

Differences from that library:

- Turns leave the buffer for the summary when a session ends, not during it.
- The summary is that of LLM-Rsum (:mod:`theanine_methods.summarization.running_summary`): by
  sentence, each with its source turns, every earlier version kept.
- All of it is recalled. With a budget, the buffer has at least half of it, newest turns first, and
  the best sentences for the dialogue are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.memories import excerpt_memories, with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.recall import (
    excerpt_part,
    fit_parts,
    live_by_time,
    query_text,
    retrieve,
)
from theanine.retrieval.budget import fit_prefix
from theanine.text.formatting import format_dated_turns, format_turn
from theanine.tokenizer import count_tokens
from theanine.types import (
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewMark,
    NewMemory,
    Part,
    Recollection,
    Session,
    Turn,
    Utterance,
)
from theanine_methods.shared.excerpts import UTTERANCE
from theanine_methods.shared.running_summary import (
    estimate_running_summary,
    summary_parts,
    update_running_summary,
)
from theanine_methods.summary_buffer.config import SummaryBufferConfig


class SummaryBuffer(MethodBase[SummaryBufferConfig]):
    """The method."""

    name = "summary-buffer"
    Config = SummaryBufferConfig

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Add the session's turns to the buffer, and what no longer fits to the summary.

        Imported memories, if any, become sentences of the summary instead.
        """
        buffered = [] if imported else live_by_time(context.index, UTTERANCE)
        spoken = [] if imported else [turn for turn in turns if turn.full_text.strip()]
        old_turns = await context.index.turns([memory.source_turns[0] for memory in buffered])
        leaving, staying = self._split([*old_turns, *spoken])
        leaving_ids = {turn.id for turn in leaving}
        left = [memory for memory in buffered if memory.source_turns[0] in leaving_ids]
        memories, marks = await update_running_summary(
            session,
            leaving,
            imported,
            context,
            max_sentences=self.config.sentences,
            rewrite=self.config.rewrite,
            also_from=left,
        )
        marks += [_left_mark(memory, memories) for memory in left]
        new_ids = {turn.id for turn in spoken}
        memories += excerpt_memories([[turn] for turn in staying if turn.id in new_ids], UTTERANCE)
        return await with_vectors(MemoryBatch(memories=memories, marks=marks), context)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate a full buffer, which as many turns leave as come in."""
        return estimate_running_summary(turns, self.config.sentences, rewrite=self.config.rewrite)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the summary, then the buffer with a part for each session, in time order."""
        query = query_text(dialogue, self.config.query_turns)
        sentences = await summary_parts(query, dialogue, context)
        turns = await _turn_parts(query, dialogue, context)
        budget = context.token_budget(self.config.budget)
        if budget is not None:
            room = max(budget // 2, budget - _cost(sentences))
            turns = fit_prefix(((part, part.text) for part in turns), room)
            rest = budget - _cost(turns)
            sentences = fit_parts(sentences, rest)
        sentences.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=(*sentences, *_join_sessions(turns)))

    def _split(self, turns: Sequence[Turn]) -> tuple[list[Turn], list[Turn]]:
        """Return the turns that leave the buffer and those that stay, both in time order."""
        ordered = sorted(turns, key=lambda turn: (turn.at, turn.id))
        if self.config.unit == "turns":
            staying = min(self.config.buffer, len(ordered))
        else:
            newest = ((turn, f"\n{format_turn(turn)}") for turn in reversed(ordered))
            staying = len(fit_prefix(newest, self.config.buffer))
        first = len(ordered) - staying
        return ordered[:first], ordered[first:]


def _left_mark(memory: Memory, new: Sequence[NewMemory]) -> NewMark:
    """Mark a turn that left the buffer, by the first sentence that it supports."""
    turn = memory.source_turns[0]
    by = next((i for i, sentence in enumerate(new) if turn in sentence.source_turns), None)
    return NewMark(memory=memory.id, kind="superseded", by=by, reason="it left the buffer")


async def _turn_parts(query: str, dialogue: Sequence[Utterance], context: Context) -> list[Part]:
    """Return a part for each turn in the buffer, newest first."""
    k = len(context.index.live_memories(UTTERANCE))
    ranked = await retrieve(query, dialogue, k, context, "hybrid", kinds=[UTTERANCE])
    scores = {memory.id: score for memory, score in ranked}
    return [
        await excerpt_part(memory, scores.get(memory.id, 0.0), context)
        for memory in reversed(live_by_time(context.index, UTTERANCE))
    ]


def _join_sessions(parts: Sequence[Part]) -> list[Part]:
    """Join parts of single turns, newest first, into one for each session, in time order."""
    joined: list[Part] = []
    for _, run in groupby(reversed(parts), key=lambda part: part.source_turns[0].session):
        session_parts = list(run)
        turns = tuple(turn for part in session_parts for turn in part.source_turns)
        joined.append(
            Part(
                text=format_dated_turns(turns),
                memories=tuple(memory for part in session_parts for memory in part.memories),
                source_turns=turns,
                score=max(part.score for part in session_parts),
            )
        )
    return joined


def _cost(parts: Sequence[Part]) -> int:
    return sum(count_tokens(f"\n{part.text}\n") for part in parts)
