"""MemoChat: memos of what was talked about; the model picks those that it needs, and replies.

Source: Lu et al., "MemoChat" (2023), as Theanine (section 3), SeCom (section 3) and LLM-Rsum
(section 4) describe it where they compare with it: memorize in topic, summary and dialogue; let the
model select memos; reply from them.

Differences from the paper: the model answers in checked JSON, without spelling out its thoughts;
no turn is in two memos; turns that no memo covers are kept in one memo of other talk a session, so
that nothing becomes unreachable; where there are more memos than ``shown``, those that fit the
dialogue best are found first, and the model picks among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theanine.methods.base import Context, Estimate
from theanine.methods.memochat.config import MemoChatConfig
from theanine.methods.memochat.local_memos import local_memos, local_summary, telling
from theanine.methods.memochat.memos import MEMOS, Memo, memos_of, uncovered
from theanine.methods.memochat.pick import pick_memos
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.methods.shared.recall import query_text, retrieve
from theanine.methods.shared.respond import ReplyMixin
from theanine.methods.shared.statements import embed_memories, summarize_session
from theanine.segmentation.local import segment_locally
from theanine.segmentation.segments import exchange_starts
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

MEMO = "memo"
"""The kind of a memory that is a topic with its summary; its sources are a run of turns."""
OTHERS = "others"
"""The kind of the memory that keeps a session's turns that no memo covers."""
OTHER_TALK = "Other talk"
_MEMO_TOKENS = 90
_TURNS_PER_MEMO = 6


class MemoChat(ReplyMixin):
    """The method, in its three steps."""

    name = "memochat"
    Config = MemoChatConfig

    def __init__(self, config: MemoChatConfig | None = None) -> None:
        self.config = config or MemoChatConfig()

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """One call for each window of the session; about a memo for six turns."""
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
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Memos of the session that tile its turns; ready-made memories are memos as they are."""
        if given:
            taken = await summarize_session(session, turns, given, context)
            memories = [replace(memory, kind=MEMO) for memory in taken]
        else:
            memories = await self._memos(session, turns, context)
        return MemoryBatch(memories=memories, vectors=await embed_memories(memories, context))

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The picked memos with their turns, in time order, within the budget."""
        query = query_text(dialogue, self.config.query_turns)
        picked = await self._picked(query, dialogue, context)
        budget = context.token_budget(self.config.budget)
        parts: list[Part] = []
        for memory, score in picked:
            part, left = await self._part(memory, score, budget, context)
            if part:
                parts.append(part)
                budget = left
        parts.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(parts))

    async def _memos(
        self, session: Session, turns: Sequence[Turn], context: Context
    ) -> list[NewMemory]:
        if context.chat is None:
            texts = [turn.full_text for turn in turns]
            vectors = await context.embedder.embed(texts)
            spans = segment_locally(texts, vectors, exchange_starts(turns))
            memos = local_memos(turns, spans)
            return [_memory(memo, turns, LOCAL_MODEL, "") for memo in memos]
        memos = await memos_of(turns, context.chat)
        made = [_memory(memo, turns, context.chat.model, MEMOS.label) for memo in memos]
        return made + _others(uncovered(turns, memos), session)

    async def _picked(
        self, query: str, dialogue: Sequence[Utterance], context: Context
    ) -> list[tuple[Memory, float]]:
        """The memos for the dialogue, the most useful first, each with a score."""
        config, memories = self.config, context.index.memories
        if not query or not memories:
            return []
        if context.chat is None or config.picking == "retrieval":
            return await retrieve(query, dialogue, config.retrieved, context, config.retrieval)
        shown = sorted(memories, key=lambda memory: memory.order)
        if config.shown is not None and len(shown) > config.shown:
            found = await retrieve(query, dialogue, config.shown, context, config.retrieval)
            shown = sorted((memory for memory, _ in found), key=lambda memory: memory.order)
        picked = await pick_memos(
            shown,
            dialogue[-config.query_turns :] if config.query_turns else dialogue,
            context.chat,
            most=config.retrieved,
            undated=context.index.undated,
        )
        return [(memory, 1 / place) for place, memory in enumerate(picked, 1)]

    async def _part(
        self, memory: Memory, score: float, budget: int | None, context: Context
    ) -> tuple[Part | None, int | None]:
        """The memo with its turns, or without them where they don't fit; and what is left."""
        sources = tuple(await context.index.turns(memory.source_turns))
        text = format_memory(memory)
        whole = f"{text}\n{format_dialogue(sources)}" if self.config.evidence and sources else text
        part = Part(
            text=whole,
            memories=(memory,),
            source_turns=sources,
            score=score,
            made_by=memory.made_by,
        )
        if budget is None:
            return part, None
        for words in dict.fromkeys([whole, text]):
            if (cost := count_tokens(f"{words}\n")) <= budget:
                return replace(part, text=words), budget - cost
        return None, budget


def _memory(memo: Memo, turns: Sequence[Turn], made_by: str, prompt: str) -> NewMemory:
    covered = turns[memo.first : memo.last + 1]
    return _of(f"{memo.topic}: {memo.summary}", covered, MEMO, made_by, prompt)


def _others(turns: Sequence[Turn], session: Session) -> list[NewMemory]:
    """One memory of what no memo covers, if anyone's own words are among it."""
    if not (own := telling(turns)):
        return []
    summary = local_summary(own)
    return [_of(f"{OTHER_TALK}: {summary}", turns, OTHERS, LOCAL_MODEL, "")]


def _of(text: str, turns: Sequence[Turn], kind: str, made_by: str, prompt: str) -> NewMemory:
    return NewMemory(
        text=text,
        at=turns[-1].at,
        source_turns=tuple(turn.id for turn in turns),
        speakers=tuple(dict.fromkeys(turn.speaker for turn in turns)),
        kind=kind,
        made_by=made_by,
        prompt=prompt,
    )
