"""The two ends that every memory is compared with: nothing at all, and everything that was said.

Source: the systems "no memory" and "full history" of SeCom (section 3) and of LLM-Rsum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.retrieve import ReplyMixin, query_text
from theanine.methods.shared.validation import check_minimums
from theanine.retrieval.budget import fit_prefix
from theanine.text.formatting import dialogue_sessions, format_dated_turns
from theanine.types import ImportedMemory, MemoryBatch, Part, Recollection, Session, Turn, Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMemoryConfig:
    """There is nothing to set."""

    @classmethod
    def paper(cls) -> NoMemoryConfig:
        """The same."""
        return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class FullHistoryConfig:
    """How much of the history is handed over.

    Attributes:
        budget: tokens (of the bundled tokenizer) that it may have, the newest sessions first; None
            hands over all of it.
    """

    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, budget=0)

    @classmethod
    def paper(cls) -> FullHistoryConfig:
        """All of it."""
        return cls()


class _Keepless(ReplyMixin):
    """Makes no memories: what was said is in the log already."""

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Nothing."""
        return MemoryBatch()

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Nothing: no model is asked."""
        return Estimate()


class NoMemory(_Keepless):
    """Replies from the dialogue alone."""

    name = "no-memory"
    Config = NoMemoryConfig

    def __init__(self, config: NoMemoryConfig | None = None) -> None:
        self.config = config or NoMemoryConfig()

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Nothing."""
        return Recollection(query=query_text(dialogue, None))


class FullHistory(_Keepless):
    """Hands over every earlier session, whole turns, the newest kept when a budget cuts."""

    name = "full-history"
    Config = FullHistoryConfig

    def __init__(self, config: FullHistoryConfig | None = None) -> None:
        self.config = config or FullHistoryConfig()

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The turns of all sessions but the one at hand, in time order, a part a session."""
        budget = context.token_budget(self.config.budget)
        at_hand = dialogue_sessions(dialogue)
        turns = [turn for turn in await context.index.all_turns() if turn.session not in at_hand]
        turns.sort(key=lambda turn: (turn.at, turn.id), reverse=True)
        # Counted turn by turn with its day, which is more than a session's lines together take.
        kept = fit_prefix(((turn, format_dated_turns([turn])) for turn in turns), budget)
        kept.sort(key=lambda turn: (turn.at, turn.id))
        parts = [
            Part(text=format_dated_turns(said), memories=(), source_turns=tuple(said))
            for _, run in groupby(kept, key=lambda turn: turn.session)
            if (said := list(run))
        ]
        return Recollection(query=query_text(dialogue, None), parts=tuple(parts))
