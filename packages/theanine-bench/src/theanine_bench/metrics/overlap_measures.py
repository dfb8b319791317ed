"""The overlap metrics by name, such as ``rouge-l`` or ``f1:locomo``.

A bare name is the common setup; a suffix after a colon names the convention that it follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from theanine.errors import SettingsError
from theanine.llm.chat import ScopedChat
from theanine_bench.metrics.base import Metric
from theanine_bench.metrics.categories import by_category
from theanine_bench.metrics.overlap import (
    NltkBleu,
    SacreBleu,
    exact_match,
    locomo_f1,
    rouge,
    token_f1,
)
from theanine_bench.samples import SampleResult, Score

Compare = Callable[[str, str], float]
"""Scores an answer against its reference, 0 to 1."""
M = TypeVar("M", "OverlapMeasure", "CorpusBleu")
_ORDERS = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapMeasure:
    """Compares an answer with its reference; a result without a reference has no score.

    Attributes:
        source: the library and settings, or the script, that it follows.
    """

    name: str
    compute: Callable[[SampleResult], float | None]
    source: str = ""

    @property
    def needs_judge(self) -> bool:
        """False."""
        return False

    @property
    def worst(self) -> Mapping[str, float]:
        """0."""
        return {self.name: 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score under the metric's name, or none."""
        score = self.compute(result)
        return Score(values={} if score is None else {self.name: score})


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusBleu:
    """Corpus BLEU over all answers and over those of each category.

    A missing answer counts as an empty one; results without a reference are left out.
    """

    name: str
    bleu: SacreBleu
    source: str = ""

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """Return the scores by name; see :func:`theanine_bench.metrics.categories.by_category`."""
        compared = [item for item in results if item.reference]
        answers = [item.answer or "" for item in compared]
        references = [item.reference for item in compared]

        def of(rows: Sequence[int]) -> float:
            return self.bleu.corpus([answers[i] for i in rows], [references[i] for i in rows])

        return by_category(self.name, compared, of)

    def counts(self, items: Iterable[SampleResult]) -> NDArray[np.int64]:
        """Return the n-gram counts of results with references: ``(n, k)``."""
        return np.array([self.bleu.counts(item.answer or "", item.reference) for item in items])


def overlap_measures(names: Iterable[str] | None = None) -> list[Metric]:
    """Return the metrics of these names, by default those without a suffix.

    Raises SettingsError for an unknown name.
    """
    wanted = list(names) if names is not None else [name for name in OVERLAP if ":" not in name]
    return [_named(name, OVERLAP) for name in wanted]


def corpus_bleus(names: Iterable[str]) -> list[CorpusBleu]:
    """Return the corpus-BLEU metrics of these names. Raises SettingsError for an unknown name."""
    return [_named(name, CORPUS_BLEU) for name in names]


def _named(name: str, known: Mapping[str, M]) -> M:
    try:
        return known[name]
    except KeyError:
        raise SettingsError(f"unknown measure {name!r}; there are: {', '.join(known)}") from None


def _compared(compare: Compare) -> Callable[[SampleResult], float | None]:
    """Return the comparison of a result, None without a reference."""

    def score(item: SampleResult) -> float | None:
        return compare(item.answer or "", item.reference) if item.reference else None

    return score


def _locomo(item: SampleResult) -> float | None:
    """Return LoCoMo's F1; its unanswerable questions need no reference."""
    answerable = item.extra.get("answerable", True) is not False
    if answerable and not item.reference:
        return None
    return locomo_f1(item.answer or "", item.reference, item.category, answerable)


def _measures() -> Iterable[OverlapMeasure]:
    yield OverlapMeasure(name="f1", compute=_compared(token_f1), source="SQuAD 2.0")
    yield OverlapMeasure(name="exact", compute=_compared(exact_match), source="SQuAD 2.0")
    for order in _ORDERS:
        yield OverlapMeasure(
            name=f"bleu-{order}",
            compute=_compared(SacreBleu(order=order).sentence),
            source="sacrebleu: sentence, 13a, exp, effective order",
        )
    for kind in ("1", "2", "L"):
        yield OverlapMeasure(
            name=f"rouge-{kind.lower()}",
            compute=_compared(lambda answer, reference, kind=kind: rouge(answer, reference, kind)),
            source="rouge-score: F, no stemming",
        )
        yield OverlapMeasure(
            name=f"rouge-{kind.lower()}:stemmed",
            compute=_compared(
                lambda answer, reference, kind=kind: rouge(answer, reference, kind, stem=True)
            ),
            source="rouge-score: F, stemming",
        )
    yield OverlapMeasure(
        name="f1:locomo", compute=_locomo, source="LoCoMo, task_eval/evaluation.py"
    )
    yield OverlapMeasure(
        name="f1:parlai",
        compute=_compared(lambda answer, reference: token_f1(answer, reference, "parlai")),
        source="ParlAI, parlai/core/metrics.py",
    )
    for order in _ORDERS:
        yield OverlapMeasure(
            name=f"bleu-{order}:parlai",
            compute=_compared(NltkBleu(order=order, tokens="parlai", epsilon=1e-12).sentence),
            source="ParlAI, parlai/core/metrics.py: sentence, nltk's method 1",
        )


def _corpus() -> Iterable[CorpusBleu]:
    for order in _ORDERS:
        yield CorpusBleu(
            name=f"corpus-bleu-{order}",
            bleu=SacreBleu(order=order),
            source="sacrebleu: corpus, 13a, exp",
        )
        yield CorpusBleu(
            name=f"corpus-bleu-{order}:evaluate",
            bleu=SacreBleu(order=order, smoothing="none"),
            source="evaluate's bleu: corpus, 13a, no smoothing",
        )


OVERLAP: Mapping[str, OverlapMeasure] = {one.name: one for one in _measures()}
"""The metrics of one result, by name."""
CORPUS_BLEU: Mapping[str, CorpusBleu] = {one.name: one for one in _corpus()}
"""The corpus-BLEU metrics, by name."""
METRICS = {**OVERLAP, **CORPUS_BLEU}
