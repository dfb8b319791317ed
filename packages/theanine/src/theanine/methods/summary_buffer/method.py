"""Summary buffer: the last turns as they were said, and a running summary of all before them.

Source: the system "SumMem" of SeCom (section 3), which names no figures; the library that it cites
keeps 2,000 tokens verbatim.

Differences: what leaves the buffer is folded in when a session ends, not in the middle of it. The
summary is that of LLM-Rsum: sentence by sentence, each with the turns behind it, every earlier
state kept. All of it is recalled; where a budget cuts, the buffer has at least half, newest first,
and of the summary the sentences that fit the dialogue best are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.recall import query_text, retrieve
from theanine.methods.shared.respond import ReplyMixin
from theanine.methods.shared.running_summary import (
    estimate_running_summary,
    summary_parts,
    update_running_summary,
)
from theanine.methods.shared.statements import embed_memories
from theanine.methods.shared.utterances import UTTERANCE, utterance_memories
from theanine.methods.summary_buffer.config import SummaryBufferConfig
from theanine.retrieval.budget import fit_budget, fit_prefix
from theanine.retrieval.scope_index import ScopeIndex
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


class SummaryBuffer(ReplyMixin):
    """Keeps the last turns verbatim, and a summary of what has left that buffer."""

    name = "summary-buffer"
    Config = SummaryBufferConfig

    def __init__(self, config: SummaryBufferConfig | None = None) -> None:
        self.config = config or SummaryBufferConfig()

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """The session's turns go into the buffer; what no longer fits goes into the summary.

        Ready-made memories, where there are any, become sentences of the summary as they are.
        """
        view = context.index
        held = [] if given else _buffered(view)
        said = [] if given else [turn for turn in turns if turn.full_text.strip()]
        known = await view.turns([memory.source_turns[0] for memory in held])
        leaving, staying = self._parted([*known, *said])
        gone = {turn.id for turn in leaving}
        left = [memory for memory in held if memory.source_turns[0] in gone]
        memories, marks = await update_running_summary(
            session, leaving, given, context, max_sentences=self.config.sentences, also_from=left
        )
        marks += [_left(memory, memories) for memory in left]
        new = {turn.id for turn in said}
        memories += utterance_memories([turn for turn in staying if turn.id in new])
        vectors = await embed_memories(memories, context) if memories else None
        return MemoryBatch(memories=memories, vectors=vectors, marks=marks)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """As many turns leave the buffer as come into it, once it is full."""
        return estimate_running_summary(turns, self.config.sentences)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The summary, in time order, then the buffer, in time order, a part a session."""
        query = query_text(dialogue, self.config.query_turns)
        sentences = await summary_parts(query, dialogue, context)
        said = await _verbatim(query, dialogue, context)
        budget = context.token_budget(self.config.budget)
        if budget is not None:
            room = max(budget // 2, budget - _cost(sentences))
            said = fit_prefix(((part, part.text) for part in said), room)
            sentences = fit_budget([(part, part.text) for part in sentences], budget - _cost(said))
        sentences.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=(*sentences, *_by_session(said, context.index)))

    def _parted(self, turns: Sequence[Turn]) -> tuple[list[Turn], list[Turn]]:
        """What leaves the buffer and what stays in it, both in time order."""
        ordered = sorted(turns, key=lambda turn: (turn.at, turn.id))
        room = self.config.buffer
        if self.config.unit == "turns":
            stays = min(room, len(ordered))
        else:
            newest = ((turn, f"\n{format_turn(turn)}") for turn in reversed(ordered))
            stays = len(fit_prefix(newest, room))
        first = len(ordered) - stays
        return ordered[:first], ordered[first:]


def _buffered(view: ScopeIndex) -> list[Memory]:
    """What is in the buffer, in time order."""
    mask = view.live_mask(UTTERANCE)
    found = [memory for memory, held in zip(view.memories, mask, strict=True) if held]
    return sorted(found, key=lambda memory: memory.order)


def _left(memory: Memory, made: Sequence[NewMemory]) -> NewMark:
    """Marks a turn that left the buffer, by the first sentence that rests on it."""
    by = next((i for i, one in enumerate(made) if memory.source_turns[0] in one.source_turns), None)
    return NewMark(memory=memory.id, kind="superseded", by=by, reason="it left the buffer")


async def _verbatim(query: str, dialogue: Sequence[Utterance], context: Context) -> list[Part]:
    """A part for each turn in the buffer, the newest first."""
    view = context.index
    most = len(_buffered(view))
    found = await retrieve(query, dialogue, most, context, "hybrid", kinds=[UTTERANCE])
    scores = {memory.id: score for memory, score in found}
    parts: list[Part] = []
    for memory in reversed(_buffered(view)):
        turns = tuple(await view.turns(memory.source_turns))
        parts.append(
            Part(
                text=format_dated_turns(turns),
                memories=(memory,),
                source_turns=turns,
                score=scores.get(memory.id, 0.0),
            )
        )
    return parts


def _by_session(parts: Sequence[Part], view: ScopeIndex) -> list[Part]:
    """One part for all turns of a session, in time order."""
    joined: list[Part] = []
    for _, run in groupby(reversed(parts), key=lambda part: part.source_turns[0].session):
        several = list(run)
        turns = tuple(turn for part in several for turn in part.source_turns)
        joined.append(
            Part(
                text=format_dated_turns(turns),
                memories=tuple(memory for part in several for memory in part.memories),
                source_turns=turns,
                score=max(part.score for part in several),
            )
        )
    return joined


def _cost(parts: Sequence[Part]) -> int:
    return sum(count_tokens(f"\n{part.text}\n") for part in parts)
