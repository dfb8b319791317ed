"""Settings of MemoryBank."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.methods.shared.config import RecallConfig, check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBankConfig(RecallConfig):
    """Which digests are made, how memories are found, and whether they fade.

    Attributes:
        personality: make digests of traits each day, and a portrait of them (ablation).
        days: number of latest daily digests that a global one is made from; earlier days are
            represented by the previous global digest.
        forgetting: rank a memory lower the longer ago it was said or last recalled, by Ebbinghaus'
            curve in days.
        retrieved: maximum number of exchanges and daily digests of events.
    """

    personality: bool = True
    days: int = 30
    forgetting: bool = False

    def __post_init__(self) -> None:
        RecallConfig.__post_init__(self)
        check_minimums(self, days=1)

    @classmethod
    def paper(cls) -> MemoryBankConfig:
        """Return MemoryBank's way: dense retrieval by the last turn, and forgetting.

        Its paper gives no number of memories; 6 is that of its published program.
        """
        return cls(reply_prompt="transcript", forgetting=True, retrieval="dense", query_turns=1)
