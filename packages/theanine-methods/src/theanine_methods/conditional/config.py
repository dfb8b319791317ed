"""Settings of conditional memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import RecallConfig, check_minimums

HISTORY, SUMMARY, CONDITIONAL = "history", "summary", "conditional"
KINDS = (HISTORY, SUMMARY, CONDITIONAL)
"""The kinds of memories that may be kept, alone or together (section 3.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalConfig(RecallConfig):
    """What is kept of a session and how it is found; :meth:`paper` has the paper's values.

    Attributes:
        kinds: kinds of memories to keep and search, separated by commas: ``history`` (every turn),
            ``summary`` (every session), ``conditional`` (a record of each turn worth one).
        selection: False records every turn of a user (ablation "no selection").
        context: False leaves the context out of records (ablation "no context").
        knowledge: False leaves the knowledge out of records (ablation "no knowledge").
        recording: one model call for all decisions and one for all records of a ``session``, or
            one of each for a ``turn`` (paper), which shows no later turn.
        retrieved: maximum number of turns of the history, and of conditional records.
        summaries: maximum number of session summaries.
        copies: what a reflection copies of the search results: the ``sentences`` that bear on the
            user's turn (paper), or whole ``memories``.
        rounds: maximum reflections on the search results before a reply; 0 for none (ablation "no
            self-reflection").
    """

    kinds: str = CONDITIONAL
    selection: bool = True
    context: bool = True
    knowledge: bool = True
    recording: Literal["session", "turn"] = "session"
    retrieved: int = 3
    summaries: int = 1
    copies: Literal["sentences", "memories"] = "sentences"
    rounds: int = 1

    def __post_init__(self) -> None:
        RecallConfig.__post_init__(self)
        check_minimums(self, summaries=1, rounds=0)
        named = self._named_kinds
        if not named or any(kind not in KINDS for kind in named):
            raise SettingsError(
                f"kinds must be one or more of {', '.join(KINDS)}, separated by commas, "
                f"not {self.kinds!r}"
            )
        if not (self.context or self.knowledge):
            raise SettingsError("context and knowledge can't both be off: records would be empty")

    @property
    def _named_kinds(self) -> list[str]:
        return [kind for part in self.kinds.split(",") if (kind := part.strip())]

    @property
    def kept_kinds(self) -> tuple[str, ...]:
        """The kinds, each once, in the order of ``KINDS``."""
        return tuple(kind for kind in KINDS if kind in self._named_kinds)

    @property
    def decides(self) -> bool:
        """Whether a decision is made on each turn of a user."""
        return CONDITIONAL in self.kept_kinds and self.selection

    def k(self, kind: str) -> int:
        """Return the maximum number of memories of a kind to retrieve."""
        return self.summaries if kind == SUMMARY else self.retrieved

    @classmethod
    def paper(cls) -> ConditionalConfig:
        """Return the paper's values: cosine with the last turn, one call for each record."""
        return cls(reply_prompt="transcript", recording="turn", retrieval="dense", query_turns=1)
