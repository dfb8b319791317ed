"""Memory update: compare each new statement with similar old ones, and keep the list up to date.

Source: Bae et al., "Keep Me Updated! Memory Management in Long-term Conversations" (2022), as
Theanine (section 3, appendix H) runs it with a language model. The table of operations is in
:mod:`theanine_methods.memory_update.resolve`.

Differences from the paper:

- Nothing is deleted. A replaced, changed or ended statement stays, marked; a statement that repeats
  another stays too, but is not returned.
- Bae et al. compare with every old statement, this method with the nearest ``compared``.
- One call decides for a whole session (``asking="pairs"`` is Theanine's way).
- A change becomes one statement of what was and what is.
- A statement that ends an older one is returned (``endings=False`` returns neither, as Bae et al.).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from theanine.embeddings.base import Vectors
from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import count_prompt_tokens, estimate_statements
from theanine.methods.shared.memories import embed_memories
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.pairs import PAIRS_PER_CALL, pair_with_earlier
from theanine.methods.shared.provenance import source_sessions, source_turns
from theanine.methods.shared.recall import make_part, recall_memories, recall_newest
from theanine.methods.shared.statements import estimate_summary, summarize_session
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
from theanine_methods.memory_update.config import MemoryUpdateConfig
from theanine_methods.memory_update.decide import UPDATE, UPDATE_PAIR, decide
from theanine_methods.memory_update.merge import MERGE, Group, merge
from theanine_methods.memory_update.operations import ENDING, REPEAT
from theanine_methods.memory_update.resolve import Outcome, resolve

_PAIR_TOKENS = 40
"""Estimated tokens of one pair: the older statement, and its share of the newer one."""
_DECISION_TOKENS = 30
"""Estimated tokens of one decision in a reply."""


class MemoryUpdate(MethodBase[MemoryUpdateConfig]):
    """The method."""

    name = "memory-update"
    Config = MemoryUpdateConfig

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Make the session's statements, and marks on those that they replace or end."""
        statements = await summarize_session(session, turns, imported, context)
        statements.sort(key=lambda memory: memory.at)  # the order in which they are resolved
        vectors = await embed_memories(statements, context)
        pairs = pair_with_earlier(
            statements, vectors, session, context.index, self.config.compared, kinds=self._kinds
        )
        decisions = await decide(
            pairs,
            session,
            context.chat,
            asking=self.config.asking,
            source_sessions=partial(source_sessions, index=context.index),
        )
        outcomes = resolve(len(statements), decisions)
        memories, vectors = await _apply(statements, vectors, outcomes, session, context)
        return MemoryBatch(
            memories=memories, vectors=vectors, marks=_marks(outcomes), pairs=len(pairs)
        )

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate a session with earlier ones to compare with, without merges."""
        pairs = estimate_statements(turns) * self.config.compared
        if self.config.asking == "pairs":
            calls, prompt = pairs, UPDATE_PAIR
        else:
            calls, prompt = -(-pairs // PAIRS_PER_CALL), UPDATE
        return estimate_summary(turns) + Estimate(
            calls=calls,
            input_tokens=calls * count_prompt_tokens(prompt) + pairs * _PAIR_TOKENS,
            output_tokens=pairs * _DECISION_TOKENS,
        )

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the best live statements, or all of them, in time order, within the budget."""
        if self.config.recalled == "all":
            return await recall_newest(
                dialogue, context, self.config.budget, _part, kinds=self._kinds
            )
        return await recall_memories(dialogue, context, self.config, _part, kinds=self._kinds)

    @property
    def _kinds(self) -> tuple[str, ...]:
        return (STATEMENT, ENDING) if self.config.endings else (STATEMENT,)


async def _apply(
    statements: Sequence[NewMemory],
    vectors: Vectors,
    outcomes: Sequence[Outcome],
    session: Session,
    context: Context,
) -> tuple[list[NewMemory], Vectors]:
    """Return the new statements with their outcomes; changes are merged and embedded again."""
    changing = [position for position, outcome in enumerate(outcomes) if outcome.changes]
    texts = await merge(
        [Group(outcomes[position].changes, statements[position]) for position in changing],
        session,
        context.chat,
        source_sessions=partial(source_sessions, index=context.index),
    )
    memories = [
        replace(
            memory,
            kind=outcome.kind,
            derived_from=outcome.derived_from,
            derived_from_new=outcome.derived_from_new,
        )
        for memory, outcome in zip(statements, outcomes, strict=True)
    ]
    # The model merges all groups in one prompt, and may carry words from one to another.
    shown = sorted({id for position in changing for id in outcomes[position].derived_from})
    first_with: dict[str, int] = {}
    for position, text in zip(changing, texts, strict=True):
        memory, older = memories[position], outcomes[position].changes
        speakers = [name for changed in (*older, memory) for name in changed.speakers]
        memory = replace(memory, text=text, speakers=tuple(dict.fromkeys(speakers)))
        if context.chat:
            memory = replace(
                memory,
                derived_from=tuple(shown),
                made_by=context.chat.model,
                prompt=MERGE.label,
            )
        else:
            memory = replace(memory, made_by=LOCAL_MODEL, prompt="")
        if (first := first_with.setdefault(text, position)) != position:
            memory = replace(memory, kind=REPEAT, derived_from_new=(first,))
        memories[position] = memory
    if changing:
        vectors = np.array(vectors)
        vectors[changing] = await embed_memories([memories[i] for i in changing], context)
    return memories, vectors


def _marks(outcomes: Sequence[Outcome]) -> list[NewMark]:
    return [
        NewMark(
            memory=decision.pair.older.id,
            kind=kind,
            by=position,
            reason=decision.explanation,
            made_by=decision.made_by,
            prompt=decision.prompt,
        )
        for position, outcome in enumerate(outcomes)
        for kind, decision in outcome.marks
    ]


async def _part(memory: Memory, score: float, context: Context) -> Part:
    """Make a part of a statement with its source turns and those of what it was made from."""
    turns = await context.index.turns(source_turns(memory, context.index))
    return make_part(memory, score, format_memory(memory), turns)
