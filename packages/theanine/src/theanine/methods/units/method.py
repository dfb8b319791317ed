"""Keep pieces of the log as they were said: each utterance, each exchange, or each session.

Source: the turn-level and session-level systems that SeCom (section 3) compares against. Their
"turn" is an exchange, so the method ``turn`` keeps exchanges; ``utterance`` keeps single turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.retrieve import ReplyMixin, query_text, retrieve, search_depth
from theanine.methods.units.config import UnitsConfig
from theanine.retrieval.budget import fit_budget
from theanine.segmentation.exchanges import exchanges
from theanine.text.attribution import without_attribution
from theanine.text.formatting import format_dated_turns, format_dialogue
from theanine.types import (
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


class Units(ReplyMixin):
    """What the three have in common; ``pieces`` tells them apart."""

    name = "utterance"
    Config = UnitsConfig

    def __init__(self, config: UnitsConfig | None = None) -> None:
        self.config = config or UnitsConfig()

    def pieces(self, turns: Sequence[Turn]) -> Sequence[Sequence[Turn]]:
        """Runs of turns that tile the session."""
        raise NotImplementedError

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Every piece of the session becomes a memory. No model is asked."""
        memories = [
            NewMemory(
                text=format_dialogue(piece),
                at=piece[-1].at,
                source_turns=tuple(turn.id for turn in piece),
                speakers=tuple(dict.fromkeys(turn.speaker for turn in piece)),
                kind=self.name,
            )
            for piece in self.pieces(turns)
            if any(turn.full_text.strip() for turn in piece)
        ]
        if not memories:
            return MemoryBatch()
        vectors = await context.embedder.embed(
            [without_attribution(memory.text) for memory in memories]
        )
        return MemoryBatch(memories=memories, vectors=vectors)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The pieces that fit the dialogue best, in time order, within the budget."""
        query = query_text(dialogue, self.config.query_turns)
        budget = context.token_budget(self.config.budget)
        most = search_depth(self.config.retrieved, budget)
        found = await retrieve(query, dialogue, most, context, self.config.retrieval)
        parts = [await self._part(memory, score, context) for memory, score in found]
        kept = fit_budget([(part, part.text) for part in parts], budget)
        kept.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(kept))

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Nothing: no model is asked."""
        return Estimate()

    async def _part(self, memory: Memory, score: float, context: Context) -> Part:
        turns = await context.index.turns(memory.source_turns)
        return Part(
            text=format_dated_turns(turns),
            memories=(memory,),
            source_turns=tuple(turns),
            score=score,
        )


class Utterances(Units):
    """Every single turn."""

    name = "utterance"

    def pieces(self, turns: Sequence[Turn]) -> Sequence[Sequence[Turn]]:
        """One piece a turn."""
        return [[turn] for turn in turns]


class Exchanges(Units):
    """Every exchange: what one side says with the other's answer."""

    name = "turn"

    def pieces(self, turns: Sequence[Turn]) -> Sequence[Sequence[Turn]]:
        """One piece an exchange."""
        return exchanges(turns)


class Sessions(Units):
    """Every session, whole."""

    name = "session"

    def pieces(self, turns: Sequence[Turn]) -> Sequence[Sequence[Turn]]:
        """One piece."""
        return [turns] if turns else []
