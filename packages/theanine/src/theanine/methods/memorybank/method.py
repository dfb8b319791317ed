"""MemoryBank: pieces of conversation, a diary day by day, a portrait, and memories that fade.

Source: Zhong et al., "MemoryBank: Enhancing Large Language Models with Long-Term Memory" (AAAI
2024): what happened on a day and what it showed of the user, a global digest of either, retrieval
of conversation pieces, and forgetting after Ebbinghaus.

Differences from the paper: nothing is ever erased. A faded piece ranks lower, where MemoryBank
draws lots whether to delete it; strength has no upper bound. A digest that was made anew
supersedes the one before it, which stays. The portrait is of everyone who speaks as user, and says
in itself how one best talks with them. A global digest is made of the newest ``days`` daily ones
and, beyond those, of the global one before it, so that its price stays the same over the years.
Sessions without dates are days of their own, and what was said in them does not fade. Fading is
off by default: without recalls it only ranks by age, which costs evidence (see the docs).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from theanine.methods.base import Context, Estimate
from theanine.methods.memorybank.config import MemoryBankConfig
from theanine.methods.memorybank.diary import write
from theanine.methods.memorybank.estimate import estimate
from theanine.methods.memorybank.kinds import (
    DAY_EVENTS,
    EVENTS,
    EXCHANGE,
    PORTRAIT,
    live_of,
    quoted_turns,
)
from theanine.methods.memorybank.retention import retained
from theanine.methods.shared.recall import query_text, retrieve
from theanine.methods.shared.respond import ReplyMixin
from theanine.methods.shared.statements import embed_memories, summarize_session
from theanine.retrieval.budget import fit_budget
from theanine.segmentation import exchanges
from theanine.text.formatting import format_dated_turns, format_dialogue, format_memory, one_line
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

POOL = 10
"""With forgetting, the best of so many times ``retrieved`` pieces are weighed by retention."""
BELOW_ALL = -1.0
"""The score of the digests of all days: they are given back whatever is asked."""
_HEADINGS = {EVENTS: "So far:", PORTRAIT: "What they are like:"}


class MemoryBank(ReplyMixin):
    """Keep what was said, its digests, and its strength."""

    name = "memorybank"
    Config = MemoryBankConfig

    def __init__(self, config: MemoryBankConfig | None = None) -> None:
        self.config = config or MemoryBankConfig()

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Every exchange, the day's digests, and those of all days."""
        memories = [
            _exchange(piece)
            for piece in exchanges(turns)
            if any(turn.full_text.strip() for turn in piece)
        ]
        marks: list[NewMark] = []
        if memories:
            pieces = len(memories)
            for pages in await write(session, turns, context, self.config):
                marks += pages.bound(memories, pieces)
        if given:
            memories += await summarize_session(session, turns, given, context)
        return MemoryBatch(
            memories=memories, vectors=await embed_memories(memories, context), marks=marks
        )

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """What remembering a session of these turns will about take of a model."""
        return estimate(turns, self.config)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The digests of all days, and the best-fitting pieces in time order.

        A budget goes to the pieces first, best first, and what is left of it to the digests.
        """
        query = query_text(dialogue, self.config.query_turns)
        found = await self._pieces(query, dialogue, context)
        parts = [await _piece(memory, score, context) for memory, score in found]
        kinds = (EVENTS, PORTRAIT) if self.config.personality else (EVENTS,)
        wholes = [memory for kind in kinds for memory in live_of(kind, context.index)[-1:]]
        parts += [await _whole(memory, context) for memory in wholes]
        budget = context.token_budget(self.config.budget)
        kept = fit_budget([(part, part.text) for part in parts], budget)
        kept.sort(key=lambda part: _place(part.memories[0]))
        return Recollection(query=query, parts=tuple(kept))

    async def _pieces(
        self, query: str, dialogue: Sequence[Utterance], context: Context
    ) -> list[tuple[Memory, float]]:
        """The best pieces with how well they fit: 1 for the best, 0 for the worst found."""
        config = self.config
        most = config.retrieved * (POOL if config.forgetting else 1)
        kinds = (EXCHANGE, DAY_EVENTS, STATEMENT)
        found = _levelled(
            await retrieve(query, dialogue, most, context, config.retrieval, kinds=kinds)
        )
        if not config.forgetting or not found:
            return found
        recalls, now = await context.index.recall_times(), dialogue[-1].at
        faded = [
            (memory, fit * self._left(memory, recalls.get(memory.id, ()), now, context), fit)
            for memory, fit in found
        ]
        faded.sort(key=lambda one: (one[1], one[2], one[0].id), reverse=True)
        return [(memory, score) for memory, score, _ in faded[: config.retrieved]]

    @staticmethod
    def _left(
        memory: Memory, recalls: Sequence[datetime], now: datetime, context: Context
    ) -> float:
        """The piece's retention; 1 where nobody knows how long ago it was."""
        if memory.session in context.index.undated:
            return 1.0
        return retained(memory.at, recalls, now)


def _exchange(piece: Sequence[Turn]) -> NewMemory:
    return NewMemory(
        text=format_dialogue(piece),
        at=piece[-1].at,
        source_turns=tuple(turn.id for turn in piece),
        speakers=tuple(dict.fromkeys(turn.speaker for turn in piece)),
        kind=EXCHANGE,
    )


def _levelled(found: Sequence[tuple[Memory, float]]) -> list[tuple[Memory, float]]:
    """Scores of any scale as 0 for the lowest to 1 for the highest, in the same order."""
    if not found:
        return []
    high, low = (pick(score for _, score in found) for pick in (max, min))
    span = high - low
    return [(memory, (score - low) / span if span > 0 else 1.0) for memory, score in found]


async def _piece(memory: Memory, score: float, context: Context) -> Part:
    """An exchange as it was said, or the digest of a day, under its date."""
    view = context.index
    sources = await view.turns(quoted_turns(memory, view))
    said = memory.kind == EXCHANGE
    text = format_dated_turns(sources) if said else format_memory(memory)
    return Part(
        text=text,
        memories=(memory,),
        source_turns=tuple(sources),
        score=score,
        made_by=memory.made_by if memory.kind == DAY_EVENTS else LOCAL_MODEL,
    )


async def _whole(memory: Memory, context: Context) -> Part:
    sources = await context.index.turns(quoted_turns(memory, context.index))
    text = f"{_HEADINGS[memory.kind]} {one_line(memory.text)}"
    return Part(
        text=text,
        memories=(memory,),
        source_turns=tuple(sources),
        score=BELOW_ALL,
        made_by=memory.made_by,
    )


def _place(memory: Memory) -> tuple[bool, str, object]:
    """Digests of all days first, then the pieces in time order."""
    whole = memory.kind in _HEADINGS
    return (not whole, memory.kind if whole else "", memory.order)
