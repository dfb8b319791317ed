"""Settings of MemoChat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import RecallConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoChatConfig(RecallConfig):
    """How memos are picked, and what a recollection has of them.

    Attributes:
        retrieved: maximum number of memos picked for a dialogue.
        picking: the ``model`` picks from the list of memos; or ``retrieval`` alone does
            (ablation), as without a model.
        shown: maximum number of memos that the model picks from: the best by ``retrieval``. None
            shows all.
        evidence: return the turns of each memo too; False returns memos alone (ablation).
    """

    picking: Literal["model", "retrieval"] = "model"
    shown: int | None = 40
    evidence: bool = True

    def __post_init__(self) -> None:
        RecallConfig.__post_init__(self)
        if self.shown is not None and self.shown < self.retrieved:
            raise SettingsError(
                f"shown must be at least retrieved ({self.retrieved}) memos, not {self.shown}"
            )

    @classmethod
    def paper(cls) -> MemoChatConfig:
        """Return the paper's way: the model picks from all memos, for the whole dialogue."""
        return cls(reply_prompt="transcript", shown=None, query_turns=None)
