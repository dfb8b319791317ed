"""COMEDY: compress the memories of all sessions into events, the user's portrait and the relation.

Source: Chen et al., "Compress to Impress" (2024), as Theanine (section 3) describes its baseline:
memories of each session are compressed into short sentences on events, the user, and the relation
of user and agent, which augment every reply. Nothing is retrieved.

Differences from the paper:

- Each sentence names the notes that support it, so that it can be traced to turns and forgotten
  with them.
- The compressed memory is remade after each session instead of before each reply; earlier versions
  stay readable.
- When the session memories exceed ``input_budget``, the previous compressed memory is compressed
  with the session memories since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import (
    STATEMENT_TOKENS,
    count_prompt_tokens,
    count_turn_tokens,
    estimate_statements,
)
from theanine.methods.shared.memories import with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.recall import live_by_time, query_text
from theanine.methods.shared.statements import summarize_session
from theanine.retrieval.scope_index import ScopeIndex
from theanine.summarization import drop_recalled
from theanine.text.numbering import split_windows
from theanine.types import (
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewMark,
    NewMemory,
    Recollection,
    Session,
    Turn,
    Utterance,
)
from theanine_methods.comedy.aspects import ASPECTS, aspect_of, session_kind
from theanine_methods.comedy.compress import (
    COMPRESS,
    LINE_TOKENS,
    TracedText,
    compress,
    local_compress,
)
from theanine_methods.comedy.config import ComedyConfig
from theanine_methods.comedy.parts import aspect_parts
from theanine_methods.comedy.session_memory import (
    SESSION_MEMORY,
    local_aspect,
    local_note_session,
    note_session,
)

SESSION_KINDS = tuple(session_kind(aspect) for aspect in ASPECTS)
"""The kinds of session memories."""


class Comedy(MethodBase[ComedyConfig]):
    """The method."""

    name = "comedy"
    Config = ComedyConfig

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate the session memories, and one compression of a full compressed memory."""
        calls = len(split_windows(turns))
        note_tokens = estimate_statements(turns) * STATEMENT_TOKENS
        notes = Estimate(
            calls=calls,
            input_tokens=calls * count_prompt_tokens(SESSION_MEMORY) + count_turn_tokens(turns),
            output_tokens=note_tokens,
        )
        if not self.config.compress or not turns:
            return notes
        compressed_tokens = len(ASPECTS) * self.config.sentences * (STATEMENT_TOKENS + LINE_TOKENS)
        return notes + Estimate(
            calls=1,
            input_tokens=count_prompt_tokens(COMPRESS) + note_tokens + compressed_tokens,
            output_tokens=compressed_tokens,
        )

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Make the session's memories, and remake the compressed memory."""
        notes = await _session_memories(session, turns, imported, context)
        if not notes:
            return MemoryBatch()
        compressed = await self._compress(notes, session, context) if self.config.compress else []
        previous = context.index.live_memories(*ASPECTS) if compressed else []
        memories = [*notes, *compressed]
        marks = [_superseded(memory, compressed, len(notes)) for memory in previous]
        return await with_vectors(MemoryBatch(memories=memories, marks=marks), context)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the compressed memory in its three parts, within the budget.

        Session memories that are not in it yet come before it.
        """
        query = query_text(dialogue, None)
        options = context.options
        # The compressed memory tells of all time before: bounds inside of it need the notes.
        if self.config.compress and options.since is None and options.until is None:
            memories = _not_compressed(context.index)[::-1]
            memories += context.index.live_memories(*ASPECTS)
        else:
            memories = live_by_time(context.index, *SESSION_KINDS)[::-1]
        budget = context.token_budget(self.config.budget)
        parts = await aspect_parts(memories, query, budget, context.index)
        return Recollection(query=query, parts=parts)

    async def _compress(
        self, notes: Sequence[NewMemory], session: Session, context: Context
    ) -> list[NewMemory]:
        index, chat = context.index, context.chat
        new = [_trace_new(note, position, session) for position, note in enumerate(notes)]
        stored = [_trace(memory, index) for memory in index.live_memories(*SESSION_KINDS)]
        session_memories = _in_order([*stored, *new])
        if chat is None:
            compressed = local_compress(session_memories, self.config.sentences)
            return [_sentence(item, "") for item in compressed]
        compressed = await compress(
            session_memories,
            [_trace(memory, index) for memory in index.live_memories(*ASPECTS)],
            _in_order([*(_trace(memory, index) for memory in _not_compressed(index)), *new]),
            chat,
            max_sentences=self.config.sentences,
            input_budget=self.config.input_budget,
        )
        return [_sentence(item, COMPRESS.label) for item in compressed]


async def _session_memories(
    session: Session,
    turns: Sequence[Turn],
    imported: Sequence[ImportedMemory],
    context: Context,
) -> list[NewMemory]:
    if imported:
        memories = await summarize_session(session, turns, imported, context)
        return [
            replace(memory, kind=session_kind(local_aspect(memory.text))) for memory in memories
        ]
    if context.chat is None:
        return local_note_session(turns)
    notes = await note_session(turns, context.chat)
    return drop_recalled(notes, turns, await context.index.recalled_texts(turns))


def _not_compressed(index: ScopeIndex) -> list[Memory]:
    """Return the session memories since the compressed memory, in time order.

    There are some only where forgetting erased the latest compressed memory.
    """
    last = max((memory.id for memory in index.live_memories(*ASPECTS)), default=0)
    return [memory for memory in live_by_time(index, *SESSION_KINDS) if memory.id > last]


def _trace(memory: Memory, index: ScopeIndex) -> TracedText:
    return TracedText(
        aspect=aspect_of(memory.kind),
        text=memory.text,
        at=memory.at,
        dated=memory.dated,
        speakers=memory.speakers,
        session=memory.session,
        source_turns=frozenset(memory.source_turns),
        derived_from=frozenset({memory.id}),
        source_sessions=frozenset(source_sessions([memory], index)),
        made_by=memory.made_by,
    )


def _trace_new(note: NewMemory, position: int, session: Session) -> TracedText:
    return TracedText(
        aspect=aspect_of(note.kind),
        text=note.text,
        at=note.at,
        dated=session.dated,
        speakers=note.speakers,
        session=session.id,
        source_turns=frozenset(note.source_turns),
        derived_from_new=frozenset({position}),
        source_sessions=frozenset({session.id}),
        made_by=note.made_by,
    )


def _in_order(items: Sequence[TracedText]) -> list[TracedText]:
    return sorted(items, key=lambda item: (item.at, item.session))


def _sentence(item: TracedText, prompt: str) -> NewMemory:
    return NewMemory(
        text=item.text,
        at=item.at,
        source_turns=tuple(sorted(item.source_turns)),
        speakers=item.speakers,
        derived_from=tuple(sorted(item.derived_from)),
        derived_from_new=tuple(sorted(item.derived_from_new)),
        kind=item.aspect,
        made_by=item.made_by,
        prompt=prompt,
    )


def _superseded(memory: Memory, compressed: Sequence[NewMemory], offset: int) -> NewMark:
    """Mark a sentence of the previous compressed memory, by the first new one of its aspect."""
    by = next((i for i, new in enumerate(compressed) if new.kind == memory.kind), 0)
    return NewMark(
        memory=memory.id,
        kind="superseded",
        by=offset + by,
        reason="the compressed memory was made anew",
        made_by=compressed[by].made_by,
        prompt=compressed[by].prompt,
    )
