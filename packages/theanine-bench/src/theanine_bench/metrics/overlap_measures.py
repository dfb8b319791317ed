"""The measures of overlap by name, as a run takes them: ``rouge-l``, or ``f1:locomo``.

A name alone is the common set-up; after a colon stands whose convention it follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.on_device import require_package
from theanine.errors import SettingsError
from theanine.llm.chat import ScopedChat
from theanine_bench.metrics.base import Metric
from theanine_bench.metrics.categories import by_category
from theanine_bench.metrics.library import EXTRA
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
"""An answer and its reference to a number from 0 to 1."""
M = TypeVar("M", "OverlapMeasure", "CorpusBleu")
_ORDERS = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapMeasure:
    """Compares an answer with its reference. An item without a reference has no value.

    Attributes:
        library: the package that it is computed with; empty for none.
        source: whose measure it is, for people.
    """

    name: str
    compute: Callable[[SampleResult], float | None]
    library: str = ""
    source: str = ""

    @property
    def needs_judge(self) -> bool:
        """It asks no model."""
        return False

    @property
    def worst(self) -> Mapping[str, float]:
        """An item without an answer scores 0."""
        return {self.name: 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """The value under the measure's name, or none."""
        score = self.compute(result)
        return Score(values={} if score is None else {self.name: score})


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusBleu:
    """BLEU over all answers together, and over those of each category.

    An item without an answer counts as an empty one; one without a reference is left out.
    """

    name: str
    bleu: SacreBleu
    library: str = ""
    source: str = ""

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """``NAME`` over all, ``NAME/CATEGORY`` where there are several, ``NAME/mean`` of those."""
        compared = [item for item in results if item.reference]
        answers = [item.answer or "" for item in compared]
        references = [item.reference for item in compared]

        def of(rows: Sequence[int]) -> float:
            return self.bleu.corpus([answers[i] for i in rows], [references[i] for i in rows])

        return by_category(self.name, compared, of)

    def counts(self, items: Iterable[SampleResult]) -> NDArray[np.int64]:
        """``(n, k)``: what each item adds; each has a reference. Raises MissingExtra."""
        return np.array([self.bleu.counts(item.answer or "", item.reference) for item in items])


def overlap_measures(names: Iterable[str] | None = None) -> list[Metric]:
    """The measures of these names, or the common ones: ``f1``, ``exact``, BLEU and ROUGE.

    Raises SettingsError for an unknown name, and MissingExtra where a library of the extra
    ``eval`` is missing, so before any answer is paid for.
    """
    wanted = list(names) if names is not None else [name for name in OVERLAP if ":" not in name]
    return [_ready(_named(name, OVERLAP)) for name in wanted]


def corpus_bleus(names: Iterable[str]) -> list[CorpusBleu]:
    """BLEU over the whole run, by name; raises as :func:`overlap_measures` does."""
    return [_ready(_named(name, CORPUS_BLEU)) for name in names]


def _named(name: str, known: Mapping[str, M]) -> M:
    try:
        return known[name]
    except KeyError:
        raise SettingsError(f"unknown measure {name!r}; there are: {', '.join(known)}") from None


def _ready(measure: M) -> M:
    if measure.library:
        require_package(measure.library, EXTRA, f"the measure {measure.name}")
    return measure


def _compared(compare: Compare) -> Callable[[SampleResult], float | None]:
    """Of the answer and the reference, where there is one."""

    def score(item: SampleResult) -> float | None:
        return compare(item.answer or "", item.reference) if item.reference else None

    return score


def _locomo(item: SampleResult) -> float | None:
    """LoCoMo gives its unanswerable questions no reference, and a rule of their own."""
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
            library="sacrebleu",
            source="sacrebleu: sentence, 13a, exp, effective order",
        )
    for kind in ("1", "2", "L"):
        yield OverlapMeasure(
            name=f"rouge-{kind.lower()}",
            compute=_compared(lambda answer, reference, kind=kind: rouge(answer, reference, kind)),
            library="rouge_score",
            source="rouge-score: F, no stemming",
        )
        yield OverlapMeasure(
            name=f"rouge-{kind.lower()}:stemmed",
            compute=_compared(
                lambda answer, reference, kind=kind: rouge(answer, reference, kind, stem=True)
            ),
            library="rouge_score",
            source="rouge-score: F, stemming",
        )
    yield OverlapMeasure(
        name="f1:locomo", compute=_locomo, library="nltk", source="LoCoMo, task_eval/evaluation.py"
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
            library="nltk",
            source="ParlAI, parlai/core/metrics.py: sentence, nltk's method 1",
        )


def _corpus() -> Iterable[CorpusBleu]:
    for order in _ORDERS:
        yield CorpusBleu(
            name=f"corpus-bleu-{order}",
            bleu=SacreBleu(order=order),
            library="sacrebleu",
            source="sacrebleu: corpus, 13a, exp",
        )
        yield CorpusBleu(
            name=f"corpus-bleu-{order}:evaluate",
            bleu=SacreBleu(order=order, smoothing="none"),
            library="sacrebleu",
            source="evaluate's bleu: corpus, 13a, no smoothing",
        )


OVERLAP: Mapping[str, OverlapMeasure] = {one.name: one for one in _measures()}
"""Every measure of one item's overlap."""
CORPUS_BLEU: Mapping[str, CorpusBleu] = {one.name: one for one in _corpus()}
"""Every BLEU over a whole run."""
