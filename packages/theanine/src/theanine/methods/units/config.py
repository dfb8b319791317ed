"""Settings of the methods that keep excerpts of the log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from theanine.methods.shared.config import SECOM_DATA_SETS, ExcerptConfig, secom_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsConfig(ExcerptConfig):
    """The settings of :class:`ExcerptConfig`."""

    @classmethod
    def paper(cls) -> Self:
        """Return the values of evaluations: BM25, with the whole dialogue as query."""
        return cls(reply_prompt="transcript", retrieval="lexical", query_turns=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangesConfig(UnitsConfig):
    """The settings of :class:`ExcerptConfig`, for exchanges."""

    paper_versions: ClassVar[tuple[str, ...]] = SECOM_DATA_SETS

    @classmethod
    def paper(cls, version: str = SECOM_DATA_SETS[0]) -> Self:
        """Return SeCom's baseline for a data set; ``llmlingua_model`` must be set as well.

        It ranks denoised copies (section 3). Its program recalls three exchanges on Long-MT-Bench+.
        Raises SettingsError for another data set.
        """
        config = cls(reply_prompt="transcript", retrieval="lexical", query_turns=None)
        return replace(config, denoise="llmlingua2", **secom_limits(version, retrieved=3))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsConfig(UnitsConfig):
    """The settings of :class:`ExcerptConfig`, for sessions."""

    paper_versions: ClassVar[tuple[str, ...]] = SECOM_DATA_SETS

    @classmethod
    def paper(cls, version: str = SECOM_DATA_SETS[0]) -> Self:
        """Return SeCom's baseline for a data set; ``llmlingua_model`` must be set as well.

        It ranks denoised copies (section 3). Its program recalls one session on Long-MT-Bench+.
        Raises SettingsError for another data set.
        """
        config = cls(reply_prompt="transcript", retrieval="lexical", query_turns=None)
        return replace(config, denoise="llmlingua2", **secom_limits(version, retrieved=1))
