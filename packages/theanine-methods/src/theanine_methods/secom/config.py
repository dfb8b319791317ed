"""SeCom's settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import check_minimums
from theanine_methods.denoising import Denoising
from theanine_methods.shared.excerpts import SECOM_DATA_SETS, ExcerptConfig, secom_limits

_SEGMENTER = re.compile(r"llm|local|trained:.+|every:[1-9]\d*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecomConfig(ExcerptConfig):
    """How SeCom segments, denoises and retrieves; :meth:`paper` has the paper's values.

    Attributes:
        granularity: the unit of a memory: a ``segment`` of a session, or for comparison a ``turn``,
            an ``exchange`` or a ``session``.
        segmenter: ``llm`` (the language model; ``local`` without one or when its replies are
            unusable), ``local``, ``trained:FOLDER`` (a trained classifier, extra ``segmenter``), or
            ``every:N`` turns.
        segment_turns: expected turns of a segment for ``local``, 2 or more; None keeps the value
            that its weights were fitted on.
        guidance: file of guidance for ``llm``; see :mod:`theanine_methods.secom.reflect`.
        close_look: number of best segments to rerank by their single turns; 0 turns it off, which
            ``retrieval="okapi"`` needs.
        whole: return whole segments only. Otherwise, where a token budget cuts, segments come with
            their best turns; that needs ``close_look``.
    """

    granularity: Literal["turn", "exchange", "session", "segment"] = "segment"
    segmenter: str = "llm"
    segment_turns: int | None = None
    guidance: str = ""
    denoise: Denoising = "local"
    close_look: int = 30
    whole: bool = False

    paper_versions: ClassVar[tuple[str, ...]] = SECOM_DATA_SETS

    def __post_init__(self) -> None:
        ExcerptConfig.__post_init__(self)
        check_minimums(self, close_look=0, segment_turns=2)
        if self.retrieval == "okapi" and self.close_look:
            raise SettingsError("retrieval=okapi ranks whole segments: set close_look=0 as well")
        if not _SEGMENTER.fullmatch(self.segmenter):
            raise SettingsError(
                "segmenter must be llm, local, trained:FOLDER or every:N, such as every:4, not "
                f"{self.segmenter!r}"
            )

    @classmethod
    def paper(cls, version: str = SECOM_DATA_SETS[0]) -> SecomConfig:
        """Return the paper's values for a data set; ``llmlingua_model`` must be set as well.

        One segment is recalled for Long-MT-Bench+, and about 3,700 tokens of them for ``locomo``
        (table 1). Raises SettingsError.
        """
        config = cls(
            reply_prompt="transcript",
            denoise="llmlingua2",
            retrieval="dense",
            query_turns=None,
            close_look=0,
            whole=True,
        )
        return replace(config, **secom_limits(version, retrieved=1))
