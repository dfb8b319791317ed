"""Phase I: summarize a session, find what its memories may be linked to, relate, link.

Source: section 2.1 of the paper that :mod:`theanine.methods.theanine.paper` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from theanine.embeddings.base import Vectors
from theanine.linking.reading import is_only_by
from theanine.methods.base import Context, Estimate
from theanine.methods.shared.memories import embed_memories
from theanine.methods.shared.pairs import Pair, pair_with_earlier
from theanine.methods.shared.respond import MethodBase
from theanine.methods.shared.statements import summarize_session
from theanine.methods.theanine.associates import CANDIDATES, find_associates
from theanine.methods.theanine.config import Linking
from theanine.methods.theanine.estimate import estimate
from theanine.methods.theanine.judgement import Judgement
from theanine.methods.theanine.link import choose_links
from theanine.methods.theanine.relate import Scene, relate
from theanine.types import ImportedMemory, MemoryBatch, NewMemory, Session, Turn


class LinkingConfig(Protocol):
    """Settings that say how memories are linked."""

    @property
    def linking(self) -> Linking:
        """How new memories are linked to older ones."""
        ...


C = TypeVar("C", bound=LinkingConfig)


class RemembersTimelines(MethodBase[C]):
    """A method that remembers statements and links them into timelines."""

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Summarize, find associates, relate, link."""
        linking = self.config.linking
        memories = await summarize_session(session, turns, imported, context)
        vectors = await embed_memories(memories, context)
        pairs = _find_pairs(memories, vectors, session, context, linking)
        if context.chat is None and linking.relation_aware:
            pairs = _told_by_people(pairs, turns)
        judgements = await _judge(pairs, session, turns, context, linking)
        links = choose_links(pairs, judgements, context.index, linking)
        return MemoryBatch(memories=memories, vectors=vectors, links=links, pairs=len(pairs))

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Return the cost of the summary and of the relations."""
        return estimate(turns, self.config.linking)


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
    return find_associates(memories, vectors, session, context.index, count)


def _told_by_people(pairs: Sequence[Pair], turns: Sequence[Turn]) -> list[Pair]:
    """Return the pairs without what the assistant says: advice and echoes tell of no matter."""
    others = {turn.speaker for turn in turns if turn.role != "assistant"}
    assistants = frozenset(turn.speaker for turn in turns) - others
    return [
        pair
        for pair in pairs
        if not any(is_only_by(each.speakers, assistants) for each in (pair.newer, pair.older))
    ]


async def _judge(
    pairs: Sequence[Pair],
    session: Session,
    turns: Sequence[Turn],
    context: Context,
    linking: Linking,
) -> list[Judgement]:
    if not pairs or not linking.relation_aware:
        return [Judgement(relation=None) for _ in pairs]
    scene = Scene(
        session=session.id,
        dated=session.dated,
        turns=turns,
        dialogue=context.index.session_turns,
        load=context.index.turns,
    )
    return await relate(pairs, scene, mode=linking.relating, chat=context.chat)
