"""Baselines without memories: no memory, and the full history.

Source: the systems of these names in SeCom (section 3) and LLM-Rsum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.config import BudgetConfig, ReplyConfig
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.recall import query_text
from theanine.retrieval.budget import fit_prefix
from theanine.text.formatting import format_dated_turns
from theanine.types import ImportedMemory, MemoryBatch, Part, Recollection, Session, Turn, Utterance

C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMemoryConfig(ReplyConfig):
    """No settings but those of the reply."""

    @classmethod
    def paper(cls) -> NoMemoryConfig:
        """Return the values of evaluations: a reply over a transcript."""
        return cls(reply_prompt="transcript")


class _WithoutMemories(MethodBase[C]):
    """Makes no memories: the log has all turns."""

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Return an empty batch."""
        return MemoryBatch()

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Return zero: no model is asked."""
        return Estimate()


class NoMemory(_WithoutMemories[NoMemoryConfig]):
    """Replies from the dialogue alone."""

    name = "no-memory"
    Config = NoMemoryConfig

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return an empty recollection."""
        return Recollection(query=query_text(dialogue, None))


class FullHistory(_WithoutMemories[BudgetConfig]):
    """Recalls all that was said before the dialogue; a budget keeps the newest turns."""

    name = "full-history"
    Config = BudgetConfig

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return all turns but the dialogue's own, one part per session."""
        budget = context.token_budget(self.config.budget)
        shown = context.current
        turns = [turn for turn in await context.index.all_turns() if turn.id not in shown]
        turns.sort(key=lambda turn: (turn.at, turn.id), reverse=True)
        # Each turn is counted with its day, an upper bound of its tokens among its session's turns.
        kept = fit_prefix(((turn, format_dated_turns([turn])) for turn in turns), budget)
        kept.sort(key=lambda turn: (turn.at, turn.id))
        sessions = [tuple(run) for _, run in groupby(kept, key=lambda turn: turn.session)]
        parts = tuple(
            Part(text=format_dated_turns(run), memories=(), source_turns=run) for run in sessions
        )
        return Recollection(query=query_text(dialogue, None), parts=parts)
