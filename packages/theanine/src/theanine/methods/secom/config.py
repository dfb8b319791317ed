"""SeCom's settings, as frozen data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import RecallConfig, check_minimums
from theanine.text.denoising.denoise import Denoising

_SEGMENTER = re.compile(r"llm|local|every:[1-9]\d*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecomConfig(RecallConfig):
    """How SeCom divides, denoises and retrieves. The defaults are ours; :meth:`paper` its own.

    Attributes:
        granularity: what a memory is: a ``segment`` of a session, or for comparison a ``turn``, an
            ``exchange`` or a ``session``.
        segmenter: who divides a session: ``llm``, the language model (without one, and where its
            replies stay unusable, ``local`` takes its place), ``local``, or ``every:N`` turns.
        segment_turns: how many turns a segment is expected to have, for ``local``: 2 or more; None
            leaves it at what its weights were fitted on.
        guidance: a file of what was learned about dividing, for ``llm``; see
            :mod:`theanine.methods.secom.reflect`.
        denoise: what the index loses: the words that say least (``local``), those that an
            LLMLingua-2 model drops (``llmlingua2``), or nothing (``none``).
        rate: the share of the words that is kept, above 0 and up to 1.
        llmlingua_model: the folder of the LLMLingua-2 model.
        close_look: how many of the best segments are looked at turn by turn, so that a segment
            with one fitting turn comes before one that fits vaguely; 0 goes by whole segments.
        whole: True gives back whole segments only. Otherwise, where a token budget cuts, segments
            come with those of their turns that fit the query best; that needs the close look.
    """

    granularity: Literal["turn", "exchange", "session", "segment"] = "segment"
    segmenter: str = "llm"
    segment_turns: int | None = None
    guidance: str = ""
    denoise: Denoising = "local"
    rate: float = 0.75
    llmlingua_model: str = ""
    close_look: int = 30
    whole: bool = False

    def __post_init__(self) -> None:
        RecallConfig.__post_init__(self)
        check_minimums(self, close_look=0, segment_turns=2)
        if not _SEGMENTER.fullmatch(self.segmenter):
            raise SettingsError(
                f"segmenter must be llm, local or every:N, such as every:4, not {self.segmenter!r}"
            )
        if not 0 < self.rate <= 1:
            raise SettingsError(f"rate must be above 0 and at most 1, not {self.rate}")

    @classmethod
    def paper(cls) -> SecomConfig:
        """The paper's: the model divides, LLMLingua-2 at 75 %, dense, three whole segments.

        Its model has to be named beside it: ``llmlingua_model``.
        """
        return cls(
            denoise="llmlingua2",
            retrieval="dense",
            query_turns=None,
            retrieved=3,
            close_look=0,
            whole=True,
        )
