"""COMEDY: all session memories compressed into events, the user's portrait, and their relation.

Source: Chen et al., "Compress to Impress" (2024), as Theanine (section 3) describes it where it
compares with it: memories of each session, compressed into short sentences of events, of the user
and of the relation of user and agent, which augment every reply. Nothing is retrieved.

Differences from the paper: each sentence names what it rests on, so that it can be traced to turns
and forgotten with them; the compressed memory is made anew after each session instead of before
each reply, every earlier one stays readable; and where the session memories no longer fit
``input_budget``, the earlier compressed memory is compressed with those since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theanine.methods.base import Context, Estimate
from theanine.methods.comedy.aspects import ASPECTS, aspect_of, note_kind
from theanine.methods.comedy.compress import COMPRESS, LINE_TOKENS, Piece, compress
from theanine.methods.comedy.config import ComedyConfig
from theanine.methods.comedy.hand_over import hand_over
from theanine.methods.comedy.local_compress import local_compress
from theanine.methods.comedy.local_notes import local_aspect, local_notes
from theanine.methods.comedy.notes import SESSION_MEMORY, notes_of
from theanine.methods.shared.estimates import (
    STATEMENT,
    count_prompt_tokens,
    count_turn_tokens,
    estimate_statements,
)
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.recall import query_text
from theanine.methods.shared.respond import ReplyMixin
from theanine.methods.shared.statements import embed_memories, summarize_session
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

NOTES = tuple(note_kind(aspect) for aspect in ASPECTS)
"""The kinds of session memories."""


class Comedy(ReplyMixin):
    """The method, in its three steps."""

    name = "comedy"
    Config = ComedyConfig

    def __init__(self, config: ComedyConfig | None = None) -> None:
        self.config = config or ComedyConfig()

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """The session memories, and one compression of as much as there may be by then."""
        calls = len(split_windows(turns))
        notes = estimate_statements(turns) * STATEMENT
        asked = Estimate(
            calls=calls,
            input_tokens=calls * count_prompt_tokens(SESSION_MEMORY) + count_turn_tokens(turns),
            output_tokens=notes,
        )
        if not self.config.compress or not turns:
            return asked
        held = len(ASPECTS) * self.config.sentences * (STATEMENT + LINE_TOKENS)
        return asked + Estimate(
            calls=1,
            input_tokens=count_prompt_tokens(COMPRESS) + notes + held,
            output_tokens=held,
        )

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """The session's memories, and the compressed memory made anew of all there are."""
        notes = await self._notes(session, turns, given, context)
        if not notes:
            return MemoryBatch()
        made = await self._compressed(notes, session, context) if self.config.compress else []
        memories = [*notes, *made]
        earlier = _live(context.index, ASPECTS) if made else []
        marks = [_superseded(memory, made, len(notes)) for memory in earlier]
        vectors = await embed_memories(memories, context)
        return MemoryBatch(memories=memories, vectors=vectors, marks=marks)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The compressed memory in its three parts, within the budget.

        Session memories that are not in it yet are handed over as they are, before it.
        """
        query = query_text(dialogue, None)
        shown = _since(context.index, compressing=self.config.compress)[::-1]
        if self.config.compress:
            shown += _live(context.index, ASPECTS)
        budget = context.token_budget(self.config.budget)
        return Recollection(query=query, parts=await hand_over(shown, query, budget, context.index))

    async def _notes(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> list[NewMemory]:
        if given:  # taken as they are; only what they show is told apart
            taken = await summarize_session(session, turns, given, context)
            return [replace(one, kind=note_kind(local_aspect(one.text))) for one in taken]
        if context.chat is None:
            return local_notes(turns)
        made = await notes_of(turns, context.chat)
        return drop_recalled(made, turns, await context.index.recalled_texts(turns))

    async def _compressed(
        self, notes: Sequence[NewMemory], session: Session, context: Context
    ) -> list[NewMemory]:
        """The sentences of the compressed memory, made of stored and of new session memories."""
        view, config, caller = context.index, self.config, context.chat
        fresh = [_new_piece(note, index, session) for index, note in enumerate(notes)]
        every = _in_order([*(_piece(one, view) for one in _live(view, NOTES)), *fresh])
        if caller is None:
            return [_sentence(piece, "") for piece in local_compress(every, config.sentences)]
        made = await compress(
            every,
            [_piece(one, view) for one in _live(view, ASPECTS)],
            _in_order([*(_piece(one, view) for one in _since(view, compressing=True)), *fresh]),
            caller,
            sentences=config.sentences,
            input_budget=config.input_budget,
            undated=view.undated,
        )
        return [_sentence(piece, COMPRESS.label) for piece in made]


def _live(view: ScopeIndex, kinds: Sequence[str]) -> list[Memory]:
    """The memories of these kinds that nothing superseded, in order of number."""
    wanted = view.live_mask(*kinds)
    return [memory for memory, one in zip(view.memories, wanted, strict=True) if one]


def _since(view: ScopeIndex, *, compressing: bool) -> list[Memory]:
    """The session memories that are not in the compressed memory, in order of time.

    Where it is made after every session there are none, unless forgetting took the last of it.
    """
    last = max((one.id for one in _live(view, ASPECTS)), default=0) if compressing else 0
    fresh = [memory for memory in _live(view, NOTES) if memory.id > last]
    return sorted(fresh, key=lambda memory: memory.order)


def _piece(memory: Memory, view: ScopeIndex) -> Piece:
    return Piece(
        aspect=aspect_of(memory.kind),
        text=memory.text,
        at=memory.at,
        speakers=memory.speakers,
        session=memory.session,
        sources=frozenset(memory.source_turns),
        origins=frozenset({memory.id}),
        behind=frozenset(source_sessions([memory], view)),
        made_by=memory.made_by,
    )


def _new_piece(note: NewMemory, index: int, session: Session) -> Piece:
    return Piece(
        aspect=aspect_of(note.kind),
        text=note.text,
        at=note.at,
        speakers=note.speakers,
        session=session.id,
        sources=frozenset(note.source_turns),
        beside=frozenset({index}),
        behind=frozenset({session.id}),
        made_by=note.made_by,
    )


def _in_order(pieces: Sequence[Piece]) -> list[Piece]:
    return sorted(pieces, key=lambda piece: (piece.at, piece.session))


def _sentence(piece: Piece, prompt: str) -> NewMemory:
    return NewMemory(
        text=piece.text,
        at=piece.at,
        source_turns=tuple(sorted(piece.sources)),
        speakers=piece.speakers,
        derived_from=tuple(sorted(piece.origins)),
        derived_from_new=tuple(sorted(piece.beside)),
        kind=piece.aspect,
        made_by=piece.made_by,
        prompt=prompt,
    )


def _superseded(memory: Memory, made: Sequence[NewMemory], first: int) -> NewMark:
    """The mark on an earlier sentence: the new memory's part of its kind took its place."""
    of_kind = (place for place, new in enumerate(made) if new.kind == memory.kind)
    place = next(of_kind, 0)
    return NewMark(
        memory=memory.id,
        kind="superseded",
        by=first + place,
        reason="the compressed memory was made anew",
        made_by=made[place].made_by,
        prompt=made[place].prompt,
    )
