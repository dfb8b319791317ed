"""Settings of memory update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.methods.shared.config import RecallConfig, check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdateConfig(RecallConfig):
    """How new statements are compared with live ones, and how statements are found.

    Attributes:
        compared: number of live statements of earlier sessions that each new one is compared with:
            the nearest by cosine.
        asking: one model call for all pairs of a ``session``, or one for each pair (``pairs``).
        recalled: the ``best`` statements for the dialogue are returned, or ``all`` live ones, of
            which a budget keeps the newest (the baseline "All Memories + Memory Update").
        endings: whether a statement that ends an older one ("the flu is over") is returned itself;
            Bae et al. keep neither.
    """

    compared: int = 3
    asking: Literal["session", "pairs"] = "session"
    recalled: Literal["best", "all"] = "best"
    endings: bool = True

    def __post_init__(self) -> None:
        RecallConfig.__post_init__(self)
        check_minimums(self, compared=1)

    @classmethod
    def paper(cls) -> MemoryUpdateConfig:
        """Return Bae et al. as Theanine (section 3) runs it: by pair, top 6 by cosine.

        Neither paper says how many statements are compared; ``compared`` keeps its default.
        """
        return cls(
            reply_prompt="transcript",
            temperature=0.75,
            asking="pairs",
            endings=False,
            retrieval="dense",
            query_turns=None,
            query_names=True,
        )
