"""Conditional memory's settings, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import check_minimums

HISTORY, SUMMARY, CONDITIONAL = "history", "summary", "conditional"
KINDS = (HISTORY, SUMMARY, CONDITIONAL)
"""The views of the log that may be kept, alone or together (section 3.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalConfig:
    """What is kept of a session and how it is found. :meth:`paper` has the paper's values.

    Attributes:
        kinds: which views are kept and searched, parted by commas: ``history`` (every turn),
            ``summary`` (every session), ``conditional`` (a record of each turn worth one).
        selection: False makes a record of every turn of a user (ablation "no selection").
        context: False keeps no context in the records (ablation "no context").
        knowledge: False keeps no knowledge in the records (ablation "no knowledge").
        recording: one call for all records of a ``session``, or one for each ``turn`` (the paper).
        retrieved: K of the history and of the conditional records, each.
        summaries: K of the session summaries.
        retrieval: ``hybrid`` is by all evidence of
            :class:`theanine.retrieval.ranking.RankingConfig`, ``dense`` by cosine alone,
            ``lexical`` by BM25 alone.
        query_turns: how many of the dialogue's last turns make the query; None takes all.
        rounds: how often, at most, what was found is reflected on before a reply; 0 never does
            (ablation "no self-reflection").
        budget: tokens (of the bundled tokenizer) that the recollection may have, or None.
    """

    kinds: str = CONDITIONAL
    selection: bool = True
    context: bool = True
    knowledge: bool = True
    recording: Literal["session", "turn"] = "session"
    retrieved: int = 3
    summaries: int = 1
    retrieval: Literal["hybrid", "dense", "lexical"] = "hybrid"
    query_turns: int | None = 6
    rounds: int = 1
    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, retrieved=1, summaries=1, rounds=0, query_turns=1, budget=0)
        unknown = [kind for kind in self._named if kind not in KINDS]
        if unknown or not self._named:
            raise SettingsError(
                f"kinds must be one or more of {', '.join(KINDS)}, parted by commas, "
                f"not {self.kinds!r}"
            )
        if not (self.context or self.knowledge):
            raise SettingsError("context and knowledge can't both be off: nothing would be kept")

    @property
    def _named(self) -> list[str]:
        return [name for part in self.kinds.split(",") if (name := part.strip())]

    @property
    def views(self) -> tuple[str, ...]:
        """The kinds, each once, in the order of ``KINDS``."""
        return tuple(kind for kind in KINDS if kind in self._named)

    @property
    def decides(self) -> bool:
        """Whether each turn of a user is judged to be worth a record or not."""
        return CONDITIONAL in self.views and self.selection

    def most(self, kind: str) -> int:
        """K of a kind of memory."""
        return self.summaries if kind == SUMMARY else self.retrieved

    @classmethod
    def paper(cls) -> ConditionalConfig:
        """The paper's values: cosine for the user's last words, a call a record, one reflection."""
        return cls(recording="turn", retrieval="dense", query_turns=1)
