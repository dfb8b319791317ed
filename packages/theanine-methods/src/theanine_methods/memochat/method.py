"""MemoChat: memos of what was talked about; the model picks those that it needs, and replies.

Source: Lu et al., "MemoChat" (2023), as Theanine (section 3), SeCom (section 3) and LLM-Rsum
(section 4) describe their baseline: memorize topic, summary and dialogue; let the model select
memos; reply from them.

Differences from the paper:

- The model replies in checked JSON, without a chain of thought.
- A turn is in one memo at most; turns in none are kept in one memo of other talk for each session,
  so that everything stays reachable.
- With more memos than ``shown``, the model picks among the best by retrieval; these are returned
  with a note when no reply of the model is usable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anyio import to_thread

from theanine.errors import UnusableReply
from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.methods.shared.memories import make_memory, with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.recall import make_part, query_text, retrieve
from theanine.methods.shared.statements import summarize_session
from theanine.text.formatting import format_dialogue, format_memory
from theanine.text.numbering import split_windows
from theanine.tokenizer import count_tokens
from theanine.types import (
    LOCAL_MODEL,
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewMemory,
    Part,
    Recollection,
    Session,
    Turn,
    Utterance,
)
from theanine_methods.memochat.config import MemoChatConfig
from theanine_methods.memochat.memos import (
    MEMOS,
    Memo,
    informative_turns,
    local_summary,
    local_write_memos,
    uncovered_turns,
    write_memos,
)
from theanine_methods.memochat.pick import pick_memos
from theanine_methods.segmentation import exchange_starts, segment_locally
from theanine_methods.shared.repeats import join_repeated

MEMO = "memo"
"""The kind of a memo; its source turns are a run of turns."""
OTHERS = "others"
"""The kind of the memory of a session's turns that no memo covers."""
OTHER_TALK = "Other talk"
"""The topic of these turns."""
_MEMO_TOKENS = 90
"""Estimated tokens of one memo in a reply."""
_TURNS_PER_MEMO = 6


class MemoChat(MethodBase[MemoChatConfig]):
    """The method."""

    name = "memochat"
    Config = MemoChatConfig

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate one call for each window of the session, and a memo for six turns."""
        calls = len(split_windows(turns))
        return Estimate(
            calls=calls,
            input_tokens=calls * count_prompt_tokens(MEMOS) + count_turn_tokens(turns),
            output_tokens=_MEMO_TOKENS * (len(turns) // _TURNS_PER_MEMO + calls),
        )

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Make memos that cover the session's turns; imported memories are memos unchanged."""
        if imported:
            statements = await summarize_session(session, turns, imported, context)
            memories = [replace(memory, kind=MEMO) for memory in statements]
        else:
            memories = await _memos(turns, context)
        return await with_vectors(MemoryBatch(memories=memories), context)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the picked memos with their turns, in time order, within the budget.

        A memo whose turns exceed the budget is returned without them. While no reply of the model
        is usable, the best memos by retrieval are returned instead, with a note.
        """
        query = query_text(dialogue, self.config.query_turns, names=self.config.query_names)
        budget = context.token_budget(self.config.budget)
        parts: list[Part] = []
        notes: tuple[str, ...] = ()
        try:
            picked = await self._pick(query, dialogue, context)
        except UnusableReply as error:
            picked = await self._search(query, dialogue, context)
            notes = (f"no memo was picked, so these are the best by retrieval: {error}",)
        for memory, score in picked:
            turns = await context.index.turns(memory.source_turns)
            texts = [format_memory(memory)]
            if self.config.evidence and turns:
                texts.insert(0, f"{texts[0]}\n{format_dialogue(turns)}")
            for text in texts:
                if budget is not None:
                    cost = count_tokens(f"{text}\n")
                    if cost > budget:
                        continue
                    budget -= cost
                parts.append(make_part(memory, score, text, turns, memory.made_by))
                break
        parts.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(parts), notes=notes)

    async def _pick(
        self, query: str, dialogue: Sequence[Utterance], context: Context
    ) -> list[tuple[Memory, float]]:
        """Return the memos for the dialogue with scores, the most useful first."""
        config, memories = self.config, context.index.live_memories()
        if not query or not memories:
            return []
        if context.chat is None or config.picking == "retrieval":
            return await self._search(query, dialogue, context)
        shown = memories
        if config.shown is not None and len(shown) > config.shown:
            ranked = await retrieve(query, dialogue, config.shown, context, config.retrieval)
            shown = [memory for memory, _ in ranked]
        picked = await pick_memos(
            sorted(shown, key=lambda memory: memory.order),
            dialogue[-config.query_turns :] if config.query_turns else dialogue,
            context.chat,
            limit=config.retrieved,
        )
        return [(memory, 1 / rank) for rank, memory in enumerate(picked, 1)]

    async def _search(
        self, query: str, dialogue: Sequence[Utterance], context: Context
    ) -> list[tuple[Memory, float]]:
        config = self.config
        return await retrieve(query, dialogue, config.retrieved, context, config.retrieval)


async def _memos(turns: Sequence[Turn], context: Context) -> list[NewMemory]:
    if context.chat is None:
        texts = [turn.full_text for turn in turns]
        spans = await to_thread.run_sync(segment_locally, texts, None, exchange_starts(turns))
        return [_memory(memo, turns, LOCAL_MODEL, "") for memo in local_write_memos(turns, spans)]
    memos = await write_memos(turns, context.chat)
    memories = join_repeated(
        _memory(memo, turns, context.chat.model, MEMOS.label) for memo in memos
    )
    others = uncovered_turns(turns, memos)
    if informative := informative_turns(others):
        text = f"{OTHER_TALK}: {local_summary(informative)}"
        memories.append(make_memory(text, others, kind=OTHERS))
    return memories


def _memory(memo: Memo, turns: Sequence[Turn], made_by: str, prompt: str) -> NewMemory:
    covered = turns[memo.first : memo.last + 1]
    text = f"{memo.topic}: {memo.summary}"
    return make_memory(text, covered, kind=MEMO, made_by=made_by, prompt=prompt)
