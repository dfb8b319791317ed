"""The sentences of a running summary, on their way from one session to the next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from theanine.types import LOCAL_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of a running summary.

    Attributes:
        text: the sentence.
        at: the time of the last turn that supports it, aware, UTC.
        sources: ids of the turns that support it, ascending, those of ``kept`` among them.
        speakers: who it is about.
        id: its number as a stored memory; None when it is new.
        kept: numbers of the stored sentences that a new one takes up.
        dated: False when ``at`` only keeps the order.
        made_by: the model that worded it, or ``local``.
        prompt: name and version of the prompt; empty without a model.
    """

    text: str
    at: datetime
    sources: tuple[int, ...]
    speakers: tuple[str, ...] = ()
    id: int | None = None
    kept: tuple[int, ...] = ()
    dated: bool = True
    made_by: str = LOCAL_MODEL
    prompt: str = ""

    @property
    def stands_for(self) -> tuple[int, ...]:
        """The stored sentences that are in it: itself, or those that it takes up."""
        return self.kept if self.id is None else (self.id,)
