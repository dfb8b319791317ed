"""Phase I: summarize a session, find what its memories may be linked to, relate, link.

Source: section 2.1 of the paper that :mod:`theanine.methods.theanine.paper` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from theanine.embeddings.base import Vectors
from theanine.linking.reading import is_only_by
from theanine.methods.base import Context
from theanine.methods.shared.memories import embed_later, embed_memories
from theanine.methods.shared.pairs import Pair, pair_with_earlier
from theanine.methods.shared.statements import summarize_session
from theanine.methods.theanine.associates import CANDIDATES, find_associates
from theanine.methods.theanine.config import Linking
from theanine.methods.theanine.judgement import Judgement
from theanine.methods.theanine.known import find_known
from theanine.methods.theanine.link import choose_links
from theanine.methods.theanine.relate import Scene, is_journalled, relate
from theanine.methods.theanine.relate_session import relate_session
from theanine.summarization import is_summarized, summarize_known
from theanine.types import ImportedMemory, MemoryBatch, NewMemory, Session, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


async def remember(
    session: Session,
    turns: Sequence[Turn],
    imported: Sequence[ImportedMemory],
    context: Context,
    linking: Linking,
) -> MemoryBatch:
    """Summarize, find associates, relate, link."""
    chat = context.chat
    by_words = chat is None and linking.relation_aware and not linking.by_cosine
    if not by_words:
        await context.index.make_vectors(context.embedder)
    asked = chat if linking.relating is None else None  # one question a session
    if asked and not imported and not await is_summarized(turns, asked):
        return await _remember_once(session, turns, context, asked)
    memories = await summarize_session(session, turns, imported, context)
    vectors = await (embed_later if by_words else embed_memories)(memories, context)
    pairs = _find_pairs(memories, vectors, session, context, linking)
    if chat is None and linking.relation_aware and not imported:
        pairs = _told_by_people(pairs, turns)
    scene = _scene(session, turns, context)
    if asked and pairs and not await is_journalled(pairs, scene, asked):
        if imported:
            return await _relate_once(memories, vectors, session, turns, context, asked)
        return await _remember_once(session, turns, context, asked)
    judgements = await _judge(pairs, scene, context, linking)
    links = choose_links(pairs, judgements, context.index, linking)
    return MemoryBatch(memories=memories, vectors=vectors, links=links, pairs=len(pairs))


def _find_pairs(
    memories: Sequence[NewMemory],
    vectors: Vectors,
    session: Session,
    context: Context,
    linking: Linking,
) -> list[Pair]:
    """Return the pairs to judge; without a model more of them, as they cost little."""
    count = linking.associates
    if linking.by_cosine or not linking.relation_aware:
        return pair_with_earlier(memories, vectors, session, context.index, count)
    if context.chat is None:
        count = max(count, CANDIDATES)
    return find_associates(memories, session, context.index, count)


def _told_by_people(pairs: Sequence[Pair], turns: Sequence[Turn]) -> list[Pair]:
    """Return the pairs without what the assistant says: advice and echoes tell of no matter."""
    others = {turn.speaker for turn in turns if turn.role != "assistant"}
    assistants = frozenset(turn.speaker for turn in turns) - others
    return [
        pair
        for pair in pairs
        if not any(is_only_by(each.speakers, assistants) for each in (pair.newer, pair.older))
    ]


async def _remember_once(
    session: Session, turns: Sequence[Turn], context: Context, chat: ScopedChat
) -> MemoryBatch:
    """Summarize with what is known from before, and ask what belongs together."""
    known = await find_known(session, turns, context)
    recalled = await context.index.recalled_texts(turns)
    summary = await summarize_known(turns, chat, known, recalled=recalled)
    vectors = await embed_memories(summary.memories, context)
    batch = await _relate_once(summary.memories, vectors, session, turns, context, chat)
    return replace(batch, notes=[*summary.notes, *batch.notes])


async def _relate_once(
    memories: Sequence[NewMemory],
    vectors: Vectors,
    session: Session,
    turns: Sequence[Turn],
    context: Context,
    chat: ScopedChat,
) -> MemoryBatch:
    """Ask what belongs together, and return the memories in order of time with what holds now."""
    order = sorted(range(len(memories)), key=lambda number: memories[number].at)
    memories, vectors = [memories[number] for number in order], vectors[order]
    related = await relate_session(memories, vectors, session, turns, context.index, chat)
    if related.states:
        vectors = np.concatenate([vectors, await embed_memories(related.states, context)])
    return MemoryBatch(
        memories=[*memories, *related.states],
        vectors=vectors,
        links=related.links,
        pairs=related.pairs,
        notes=related.notes,
    )


def _scene(session: Session, turns: Sequence[Turn], context: Context) -> Scene:
    return Scene(
        session=session.id,
        dated=session.dated,
        earlier=int(context.index.before(session).sum()),
        turns=turns,
        dialogue=context.index.session_turns,
        load=context.index.turns,
    )


async def _judge(
    pairs: Sequence[Pair], scene: Scene, context: Context, linking: Linking
) -> list[Judgement]:
    if not pairs or not linking.relation_aware:
        return [Judgement(relation=None) for _ in pairs]
    return await relate(pairs, scene, mode=linking.relating or "session", chat=context.chat)
