"""Settings of the methods that keep excerpts of the log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from theanine_methods.shared.excerpts import SECOM_DATA_SETS, ExcerptConfig, secom_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsConfig(ExcerptConfig):
    """The settings of :class:`ExcerptConfig`."""

    @classmethod
    def paper(cls) -> Self:
        """Return the values of evaluations: BM25, with the whole dialogue as query."""
        return cls(reply_prompt="transcript", retrieval="lexical", query_turns=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineConfig(UnitsConfig):
    """The settings of a baseline of SeCom.

    Attributes:
        paper_retrieved: excerpts that the paper's program recalls on Long-MT-Bench+.
    """

    paper_versions: ClassVar[tuple[str, ...]] = SECOM_DATA_SETS
    paper_retrieved: ClassVar[int]

    @classmethod
    def paper(cls, version: str = SECOM_DATA_SETS[0]) -> Self:
        """Return SeCom's baseline for a data set; ``llmlingua_model`` must be set as well.

        It ranks denoised copies (section 3). Raises SettingsError for another data set.
        """
        config = cls(reply_prompt="transcript", retrieval="okapi", query_turns=None)
        limits = secom_limits(version, retrieved=cls.paper_retrieved)
        return replace(config, denoise="llmlingua2", **limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangesConfig(BaselineConfig):
    """The settings of :class:`ExcerptConfig`, for exchanges."""

    paper_retrieved: ClassVar[int] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsConfig(BaselineConfig):
    """The settings of :class:`ExcerptConfig`, for sessions."""

    paper_retrieved: ClassVar[int] = 1
