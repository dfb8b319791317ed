"""BLEU as the published script of LLM-Rsum computes it (``bleu:rsum``).

Source: ``compute_bleu`` in ``utils/evaluation.py`` of github.com/qingyue2014/Rsum. It passes each
tokenized reference to nltk's ``corpus_bleu`` without the list of references around it, so that nltk
takes every word for a reference of its own, and its letters for the words. Answers match where they
have tokens of one character, such as punctuation and "I"; any text scores about 22 and 12.5 per
cent. The values of orders 2 and 3 are printed as BLEU-1 and BLEU-2. Only for comparison with the
paper's tables: the score says nothing about an answer's quality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from theanine_bench.metrics.categories import by_category
from theanine_bench.metrics.optional_imports import library
from theanine_bench.samples import SampleResult

BLEU_RSUM = "bleu:rsum"
_WEIGHTS = ((0.5, 0.5), (0.333, 0.333, 0.334), (0.25,) * 4, (0.2,) * 5)
"""The script's weights; nltk's smoothing depends on the longest, so all are passed."""


@dataclass(frozen=True, slots=True)
class RsumBleu:
    """Corpus BLEU over all answers and over those of each category, 0 to 1.

    A missing answer counts as an empty one; results without a reference are left out. nltk's
    smoothing method 7 also looks at the last answer of the run, so the order of the samples counts.
    """

    name: str = BLEU_RSUM

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """Return ``bleu:rsum/1`` and ``bleu:rsum/2``, named as the script prints them.

        See :func:`theanine_bench.metrics.categories.by_category` for the other names.
        """
        compared = [item for item in results if item.reference.strip()]
        answers = [_tokenize(item.answer or "") for item in compared]
        references = [_tokenize(item.reference) for item in compared]

        @cache
        def both(rows: tuple[int, ...]) -> tuple[float, float]:
            return _bleu([answers[i] for i in rows], [references[i] for i in rows])

        scores: dict[str, float] = {}
        for order in (1, 2):
            name = f"{self.name}/{order}"
            scores |= by_category(name, compared, lambda rows, n=order: both(tuple(rows))[n - 1])
        return scores


def _bleu(answers: list[list[str]], references: list[list[str]]) -> tuple[float, float]:
    """Return what the script prints as BLEU-1 and BLEU-2."""
    nltk = library("nltk.translate.bleu_score")
    first, second, *_ = nltk.corpus_bleu(
        references,  # not [[reference] for reference in references]: as published
        answers,
        weights=_WEIGHTS,
        smoothing_function=nltk.SmoothingFunction().method7,
    )
    return float(first), float(second)


def _tokenize(text: str) -> list[str]:
    """Return the tokens of nltk's ``word_tokenize``.

    Sentences are split by an untrained Punkt model, which needs none of nltk's data: only trained
    abbreviations, such as "p.m.", can be split otherwise.
    """
    splitter, words = _tokenizers()
    return [word for sentence in splitter.tokenize(text) for word in words.tokenize(sentence)]


@cache
def _tokenizers() -> tuple[Any, Any]:
    punkt, treebank = library("nltk.tokenize.punkt"), library("nltk.tokenize")
    return punkt.PunktSentenceTokenizer(), treebank.NLTKWordTokenizer()


METRICS = {BLEU_RSUM: RsumBleu()}
