"""Excerpts of the log: the settings of a recall of them, and the text by which they are indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theanine.errors import SettingsError
from theanine.methods.shared.config import RecallConfig
from theanine.text.formatting import format_speaker, one_line
from theanine.types import Turn
from theanine_methods.denoising import Denoising, denoise

UTTERANCE = "utterance"
"""The kind of a memory that is one verbatim turn."""
SECOM_DATA_SETS = ("long-mt-bench+", "locomo")
"""The data sets for which SeCom and its baselines have settings, as versions of their paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptConfig(RecallConfig):
    """Settings of a recall of excerpts of the log, which are indexed by a denoised copy.

    Attributes:
        denoise: words dropped from the indexed copy: the least informative ones (``local``), those
            that an LLMLingua-2 model drops (``llmlingua2``), or none (``none``).
        rate: share of the words that is kept, above 0 and at most 1.
        llmlingua_model: folder of the LLMLingua-2 model.
    """

    denoise: Denoising = "none"
    rate: float = 0.75
    llmlingua_model: str = ""

    def __post_init__(self) -> None:
        RecallConfig.__post_init__(self)
        if not 0 < self.rate <= 1:
            raise SettingsError(f"rate must be above 0 and at most 1, not {self.rate}")


def secom_limits(data_set: str, *, retrieved: int) -> dict[str, int]:
    """Return SeCom's limit of a recollection for one of its data sets, as settings.

    ``retrieved`` is that of its program on Long-MT-Bench+. On LoCoMo the recollections of all
    granularities have about 3,700 tokens (table 1). Raises SettingsError for another data set.
    """
    if data_set not in SECOM_DATA_SETS:
        named = " or ".join(SECOM_DATA_SETS)
        raise SettingsError(f"the paper's data set must be {named}, not {data_set!r}")
    return {"budget": 3_700} if data_set == "locomo" else {"retrieved": retrieved}


async def denoised_dialogue(turns: Sequence[Turn], config: ExcerptConfig) -> str:
    """Return the text by which turns are indexed: with all speakers, and the words that are kept.

    Raises as :func:`check_denoising` does.
    """
    texts = [one_line(turn.full_text) for turn in turns]
    texts = await denoise(texts, config.denoise, config.rate, config.llmlingua_model)
    return "\n".join(
        f"{format_speaker(turn.speaker)}: {text}" for turn, text in zip(turns, texts, strict=True)
    )
