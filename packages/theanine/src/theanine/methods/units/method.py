"""Keep pieces of the log as they were said: each utterance, each exchange, or each session.

Source: the turn-level and session-level systems that SeCom (section 3) compares against. Their
"turn" is an exchange, so the method ``turn`` keeps exchanges; ``utterance`` keeps single turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.retrieve import Replying, as_many, query_of, retrieve
from theanine.methods.units.config import UnitsConfig
from theanine.retrieval.budget import within
from theanine.segmentation.exchanges import exchanges
from theanine.summarization.local_summarize import own_words
from theanine.text.formatting import dated_lines, dialogue_lines
from theanine.types import (
    GivenMemory,
    Memory,
    NewMemory,
    Part,
    Recollection,
    Remembered,
    Session,
    Turn,
    Utterance,
)


class Units(Replying):
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
        given: Sequence[GivenMemory],
        context: Context,
    ) -> Remembered:
        """Every piece of the session becomes a memory. No model is asked."""
        memories = [
            NewMemory(
                text=dialogue_lines(piece),
                at=piece[-1].at,
                sources=tuple(turn.id for turn in piece),
                speakers=tuple(dict.fromkeys(turn.speaker for turn in piece)),
                kind=self.name,
            )
            for piece in self.pieces(turns)
            if any(turn.words.strip() for turn in piece)
        ]
        if not memories:
            return Remembered()
        vectors = await context.embedder.embed([own_words(memory.text) for memory in memories])
        return Remembered(memories=memories, vectors=vectors)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The pieces that fit the dialogue best, in time order, within the budget."""
        query = query_of(dialogue, self.config.query_turns)
        budget = context.room(self.config.budget)
        most = as_many(self.config.retrieved, budget)
        found = await retrieve(query, dialogue, most, context, self.config.retrieval)
        parts = [await self._part(memory, score, context) for memory, score in found]
        kept = within([(part, part.text) for part in parts], budget)
        kept.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(kept))

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Nothing: no model is asked."""
        return Estimate()

    async def _part(self, memory: Memory, score: float, context: Context) -> Part:
        turns = await context.view.turns(memory.sources)
        return Part(
            text=dated_lines(turns, context.view.undated),
            memories=(memory,),
            sources=tuple(turns),
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
