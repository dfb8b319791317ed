"""Keep the list of statements up to date: each new one is held against those it resembles.

Source: Bae et al., "Keep Me Updated! Memory Management in Long-term Conversations" (2022), as
Theanine (section 3, appendix H) runs it with a language model. What each operation does is the
table of :mod:`theanine.methods.memory_update.resolve`.

Differences from the paper: nothing is deleted. A statement that was replaced, changed or ended
stays, marked; one that only repeats another stays too, and is not given back. Bae et al. compare
with every old statement, we with the nearest few (``compared``). One call decides for a whole
session (``asking="pairs"`` is Theanine's way). A change becomes one statement that says what was
and what is. A statement that ends an older one is given back itself (``endings=False`` keeps
neither, as Bae et al. do).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from theanine.clock import micros
from theanine.embeddings.base import Vectors
from theanine.methods.base import Context, Estimate
from theanine.methods.memory_update.config import MemoryUpdateConfig
from theanine.methods.memory_update.decide import decide
from theanine.methods.memory_update.decision import ENDING, Pair
from theanine.methods.memory_update.estimate import estimate
from theanine.methods.memory_update.merge import MERGE, Group, merge
from theanine.methods.memory_update.resolve import Fate, resolve
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.recall import query_text, retrieve, search_depth
from theanine.methods.shared.respond import ReplyMixin
from theanine.methods.shared.statements import embed_memories, summarize_session
from theanine.retrieval.budget import fit_budget
from theanine.text.formatting import format_memory
from theanine.types import (
    LOCAL_MODEL,
    STATEMENT,
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


class MemoryUpdate(ReplyMixin):
    """Summarize, compare with what is live, and give back what is live."""

    name = "memory-update"
    Config = MemoryUpdateConfig

    def __init__(self, config: MemoryUpdateConfig | None = None) -> None:
        self.config = config or MemoryUpdateConfig()

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """The session's statements, and what they do to those of earlier sessions."""
        made = await summarize_session(session, turns, given, context)
        made.sort(key=lambda memory: memory.at)  # the order in which they meet the older ones
        vectors = await embed_memories(made, context)
        pairs = self._pairs(made, vectors, session, context)
        decisions = await decide(
            pairs,
            session.id,
            context.chat,
            asking=self.config.asking,
            behind=partial(source_sessions, index=context.index),
            undated=context.index.undated,
        )
        fates = resolve(len(made), decisions)
        memories, vectors = await _merged(made, vectors, fates, session, context)
        return MemoryBatch(
            memories=memories, vectors=vectors, marks=_marks(fates), pairs=len(pairs)
        )

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """What remembering a session of these turns will about take of a model."""
        return estimate(turns, self.config)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The best-fitting live statements, in time order, within the budget."""
        config = self.config
        query = query_text(dialogue, config.query_turns)
        budget = context.token_budget(config.budget)
        most = search_depth(config.retrieved, budget)
        found = await retrieve(query, dialogue, most, context, config.retrieval, kinds=self._kinds)
        parts = [await _part(memory, score, context) for memory, score in found]
        kept = fit_budget([(part, part.text) for part in parts], budget)
        kept.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(kept))

    @property
    def _kinds(self) -> tuple[str, ...]:
        return (STATEMENT, ENDING) if self.config.endings else (STATEMENT,)

    def _pairs(
        self, made: Sequence[NewMemory], vectors: Vectors, session: Session, context: Context
    ) -> list[Pair]:
        """Each new statement with the nearest live ones of earlier sessions, nearest first.

        One that is later than the new statement (sessions may overlap) is not compared.
        """
        if not made:
            return []
        view = context.index
        earlier = [known.id for known in view.sessions.values() if known.order < session.order]
        before = np.isin(view.session_of, earlier) & view.live_mask(*self._kinds)
        times = np.array([micros(memory.at) for memory in made], np.int64)
        among = before & (view.times <= times[:, None])
        found = view.nearest(vectors, self.config.compared, among=among)
        return [
            Pair(older, index, memory, similarity)
            for index, (memory, close) in enumerate(zip(made, found, strict=True))
            for older, similarity in close
        ]


async def _merged(
    made: Sequence[NewMemory],
    vectors: Vectors,
    fates: Sequence[Fate],
    session: Session,
    context: Context,
) -> tuple[list[NewMemory], Vectors]:
    """The new statements as their fates have them; what changes an older one is merged with it."""
    chosen = [index for index, fate in enumerate(fates) if fate.changes]
    texts = await merge(
        [Group(fates[index].changes, made[index]) for index in chosen],
        session.id,
        context.chat,
        behind=partial(source_sessions, index=context.index),
        undated=context.index.undated,
    )
    memories = [
        replace(memory, kind=fate.kind, derived_from=fate.origins, derived_from_new=fate.beside)
        for memory, fate in zip(made, fates, strict=True)
    ]
    shown = tuple(sorted({origin for index in chosen for origin in fates[index].origins}))
    for index, text in zip(chosen, texts, strict=True):
        memory = _rewritten(memories[index], fates[index], text, context)
        # A model had all of them before it at once, and may have carried words from one to another.
        memories[index] = replace(memory, derived_from=shown) if context.chat else memory
    if chosen:
        vectors = np.array(vectors)
        vectors[chosen] = await embed_memories([memories[index] for index in chosen], context)
    return memories, vectors


def _rewritten(memory: NewMemory, fate: Fate, text: str, context: Context) -> NewMemory:
    speakers = [name for older in fate.changes for name in older.speakers]
    return replace(
        memory,
        text=text,
        speakers=tuple(dict.fromkeys([*speakers, *memory.speakers])),
        made_by=context.chat.model if context.chat else LOCAL_MODEL,
        prompt=MERGE.label if context.chat else "",
    )


def _marks(fates: Sequence[Fate]) -> list[NewMark]:
    return [
        NewMark(
            memory=decision.pair.older.id,
            kind=kind,
            by=index,
            reason=decision.explanation,
            made_by=decision.made_by,
            prompt=decision.prompt,
        )
        for index, fate in enumerate(fates)
        for kind, decision in fate.marks
    ]


async def _part(memory: Memory, score: float, context: Context) -> Part:
    """One statement, with the turns behind it and behind what it was made of."""
    text = format_memory(memory)
    sources = await context.index.turns(context.index.source_turns(memory))
    return Part(text=text, memories=(memory,), source_turns=tuple(sources), score=score)
