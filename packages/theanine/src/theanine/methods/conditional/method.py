"""Conditional memory: record what is worth it, with why it was said; reflect on what is found.

Source: Yuan et al., "Personalized Large Language Model Assistant with Evolving Conditional Memory"
(sections 3.1 and 3.2, appendix C).

Differences from the paper: a decision is made with the reply as in the paper, and for turns that no
reply of this agent decided about (imported history, a second turn before one reply) in one call
after the session; records are made after the session, by default all in one call, where a context
may also rest on later turns of it; one prompt asks for context and note, by numbers instead of
copies of the related turns; each kind of memory has its own K when several are searched; a
reflection selects whole memories and by default goes with hybrid retrieval over the dialogue's
last six turns (``ConditionalConfig.paper()`` has the paper's ways). A search that finds nothing new
ends the reflection. Ready-made memories are taken in as they are and searched like one more kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from theanine.methods.base import Context, Estimate, Reply
from theanine.methods.conditional.config import CONDITIONAL, HISTORY, SUMMARY, ConditionalConfig
from theanine.methods.conditional.decide import decide, users_turns
from theanine.methods.conditional.estimate import estimate
from theanine.methods.conditional.record import record
from theanine.methods.conditional.reflect import Found, Scene, search_and_reflect
from theanine.methods.conditional.reply import plain_reply, reply_and_decide
from theanine.methods.conditional.summary import summary
from theanine.methods.shared.recall import query_text, retrieve
from theanine.methods.shared.statements import embed_memories, summarize_session
from theanine.retrieval.budget import fit_budget
from theanine.summarization import drop_recalled
from theanine.text.formatting import NO_MODEL_NOTICE, format_day, format_turn, one_line
from theanine.types import (
    STATEMENT,
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


class Conditional:
    """The method of the paper, with any of its three kinds of memory."""

    name = "conditional"
    Config = ConditionalConfig

    def __init__(self, config: ConditionalConfig | None = None) -> None:
        self.config = config or ConditionalConfig()

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """The views of the session that are kept; ready-made memories stand for what is asked."""
        memories: list[NewMemory] = []
        if HISTORY in self.config.views:
            memories += await self._history(turns, context)
        if given:
            memories += await summarize_session(session, turns, given, context)
        else:
            memories += await self._asked(session, turns, context)
        if not memories:
            return MemoryBatch()
        return MemoryBatch(memories=memories, vectors=await embed_memories(memories, context))

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """The decision where replies have not made it, the records and the summary."""
        return estimate(turns, self.config)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The best of each kind, after reflection, in time order, within the budget."""
        query = query_text(dialogue, self.config.query_turns)
        scene = Scene(dialogue, context.index.undated, partial(_sessions_behind, context))
        query, found = await search_and_reflect(
            partial(self._search, dialogue, context),
            query,
            scene,
            self.config.rounds,
            context.chat,
        )
        parts = [await _part(memory, score, context) for memory, score in found]
        budget = context.token_budget(self.config.budget)
        kept = fit_budget([(part, part.text) for part in parts], budget)
        kept.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(kept))

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Reply, and decide whether the user's turn is worth a record; the notes keep it."""
        say = reply_and_decide if self.config.decides else plain_reply
        return await say(dialogue, recollection, speaker, context)

    async def _history(self, turns: Sequence[Turn], context: Context) -> list[NewMemory]:
        """Every turn as it was said, but for an agent's that only repeats what was recalled."""
        memories = [
            NewMemory(
                text=format_turn(turn),
                at=turn.at,
                source_turns=(turn.id,),
                speakers=(turn.speaker,),
                kind=HISTORY,
            )
            for turn in turns
            if turn.full_text.strip()
            and not (turn.role == "assistant" and NO_MODEL_NOTICE in turn.text)
        ]
        return drop_recalled(memories, turns, await context.index.recalled_texts(turns))

    async def _asked(
        self, session: Session, turns: Sequence[Turn], context: Context
    ) -> list[NewMemory]:
        """The session's summary and its conditional records, as far as they are kept."""
        made: list[NewMemory] = []
        if SUMMARY in self.config.views:
            made += await summary(turns, context.chat)
        if CONDITIONAL in self.config.views and turns:
            whole = await _upto(turns[-1], context)
            chosen = users_turns(turns)
            if self.config.selection:
                chosen = await decide(turns, whole, context.chat)
            made += await record(chosen, whole, context.chat, self.config)
        return made

    async def _search(self, dialogue: Sequence[Utterance], context: Context, query: str) -> Found:
        """The K best of each kind that is kept, and of the ready-made ones, best first."""
        found: list[tuple[Memory, float]] = []
        for kind in (*self.config.views, STATEMENT):
            most, how = self.config.most(kind), self.config.retrieval
            found += await retrieve(query, dialogue, most, context, how, kinds=[kind])
        return sorted(found, key=lambda one: (-one[1], one[0].id))


async def _upto(last: Turn, context: Context) -> list[Turn]:
    """The session up to a turn, also what of it was remembered before."""
    return [turn for turn in await context.index.session_turns(last.session) if turn.id <= last.id]


async def _sessions_behind(context: Context, memory: Memory) -> set[int]:
    turns = await context.index.turns(memory.source_turns)
    return {memory.session} | {turn.session for turn in turns}


async def _part(memory: Memory, score: float, context: Context) -> Part:
    return Part(
        text=format_day(memory.at, memory.dated) + one_line(memory.text),
        memories=(memory,),
        source_turns=tuple(await context.index.turns(memory.source_turns)),
        score=score,
        made_by=memory.made_by,
    )
