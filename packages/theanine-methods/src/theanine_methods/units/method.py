"""Keep excerpts of the log as memories: every utterance, every exchange, or every session.

Source: the turn-level and session-level systems that SeCom (section 3) compares with, which it
indexes by denoised copies. What SeCom calls a turn is an exchange here; ``utterance`` keeps single
turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.memories import make_memory, with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.recall import excerpt_part, recall_memories
from theanine.types import ImportedMemory, MemoryBatch, Recollection, Session, Turn, Utterance
from theanine_methods.denoising import check_denoising
from theanine_methods.segmentation import exchanges
from theanine_methods.shared.excerpts import denoised_dialogue
from theanine_methods.units.config import ExchangesConfig, SessionsConfig, UnitsConfig


class Units(MethodBase[UnitsConfig]):
    """Base of the three methods, which differ in how they split a session."""

    name = "utterance"
    Config = UnitsConfig

    def __init__(self, config: UnitsConfig | None = None) -> None:
        """Raise as ``check_denoising`` does."""
        super().__init__(config)
        check_denoising(self.config.denoise, self.config.llmlingua_model)

    def split(self, turns: Sequence[Turn]) -> Sequence[Sequence[Turn]]:
        """Split a session into consecutive runs of turns."""
        raise NotImplementedError

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Make a memory of every unit of the session, without a model.

        Imported memories are not used: the log has their turns.
        """
        memories = [
            make_memory(await denoised_dialogue(unit, self.config), unit, kind=self.name)
            for unit in self.split(turns)
            if any(turn.full_text.strip() for turn in unit)
        ]
        return await with_vectors(MemoryBatch(memories=memories), context)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the best units in time order, within the budget."""
        return await recall_memories(dialogue, context, self.config, excerpt_part)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Return zero: no model is asked."""
        return Estimate()


class Utterances(Units):
    """Every turn."""

    name = "utterance"

    def split(self, turns: Sequence[Turn]) -> Sequence[Sequence[Turn]]:
        return [[turn] for turn in turns]


class Exchanges(Units):
    """Every exchange: what one side says, and the other's answer."""

    name = "exchange"
    Config = ExchangesConfig

    def split(self, turns: Sequence[Turn]) -> Sequence[Sequence[Turn]]:
        return exchanges(turns)


class Sessions(Units):
    """Every whole session."""

    name = "session"
    Config = SessionsConfig

    def split(self, turns: Sequence[Turn]) -> Sequence[Sequence[Turn]]:
        return [turns] if turns else []
