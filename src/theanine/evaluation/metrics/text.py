"""Every measure of text by name, and which of them each paper reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theanine.errors import SettingsError
from theanine.evaluation.measures import CorpusMeasure, Measure
from theanine.evaluation.metrics.neural import neural_measure
from theanine.evaluation.metrics.overlap_measures import (
    CORPUS_BLEU,
    OVERLAP,
    corpus_bleus,
    overlap_measures,
)

NEURAL = ("bertscore=FOLDER", "mauve=FOLDER")
TEXT_MEASURES = (*OVERLAP, *CORPUS_BLEU, *NEURAL)
"""What :func:`text_measure` knows; FOLDER is a model's."""
PAPERS: Mapping[str, Sequence[str]] = {
    "theanine": ("corpus-bleu-4", "rouge-l", "mauve", "bertscore"),
    "llm-rsum": ("f1:parlai", "bleu-1:parlai", "bleu-2:parlai", "bertscore"),
    "secom": ("corpus-bleu-4:evaluate", "rouge-1", "rouge-2", "rouge-l", "bertscore"),
    "conditional": ("rouge-1", "rouge-2"),
    "locomo": ("f1:locomo",),
}
"""The measures of text that each paper reports; how sure that is: docs/benchmarks/metrics.md."""


def text_measure(name: str) -> Measure | CorpusMeasure:
    """The measure of that name, one of :data:`TEXT_MEASURES`.

    Raises SettingsError for an unknown one, and MissingExtra where what it is computed with isn't
    installed; BERTScore and MAUVE tell that themselves, once the run is done.
    """
    if name in OVERLAP:
        return overlap_measures([name])[0]
    if name in CORPUS_BLEU:
        return corpus_bleus([name])[0]
    if name.partition("=")[0] in ("bertscore", "mauve"):
        return neural_measure(name)
    raise SettingsError(f"unknown measure {name!r}; there are: {', '.join(TEXT_MEASURES)}")
