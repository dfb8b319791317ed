"""SeCom's settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import RecallConfig, check_minimums
from theanine.text.denoising import Denoising

_SEGMENTER = re.compile(r"llm|local|every:[1-9]\d*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecomConfig(RecallConfig):
    """How SeCom segments, denoises and retrieves; :meth:`paper` has the paper's values.

    Attributes:
        granularity: the unit of a memory: a ``segment`` of a session, or for comparison a ``turn``,
            an ``exchange`` or a ``session``.
        segmenter: ``llm`` (the language model; ``local`` without one or when its replies are
            unusable), ``local``, or ``every:N`` turns.
        segment_turns: expected turns of a segment for ``local``, 2 or more; None keeps the value
            that its weights were fitted on.
        guidance: file of guidance for ``llm``; see :mod:`theanine.methods.secom.reflect`.
        denoise: words dropped from the indexed copy: the least informative ones (``local``), those
            that an LLMLingua-2 model drops (``llmlingua2``), or none (``none``).
        rate: share of the words that is kept, above 0 and at most 1.
        llmlingua_model: folder of the LLMLingua-2 model.
        close_look: number of best segments to rerank by their single turns; 0 turns it off.
        whole: return whole segments only. Otherwise, where a token budget cuts, segments come with
            their best turns; that needs ``close_look``.
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
        """Return the paper's values; ``llmlingua_model`` must be set as well."""
        return cls(
            reply_prompt="transcript",
            denoise="llmlingua2",
            retrieval="dense",
            query_turns=None,
            retrieved=3,
            close_look=0,
            whole=True,
        )
