"""Text overlap: BLEU, ROUGE, token F1, exact match, 0 to 1 (papers print percent).

BLEU is computed by sacrebleu or nltk, ROUGE by rouge-score, LoCoMo's stems by nltk. A metric's bare
name, such as ``f1``, is the common setup; a suffix after a colon, as in ``f1:locomo``, names the
convention that it follows.
"""

from __future__ import annotations

import re
import string
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from theanine.errors import SettingsError
from theanine.llm.chat import ScopedChat
from theanine_bench.metrics.categories import by_category
from theanine_bench.metrics.optional_imports import library
from theanine_bench.samples import SampleResult, Score

Norm = Literal["squad", "parlai", "locomo"]
"""The script whose text normalization is applied."""
_DELETED = str.maketrans("", "", string.punctuation)
_SPACED = str.maketrans(string.punctuation, " " * len(string.punctuation))
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ARTICLES_AND = re.compile(r"\b(a|an|the|and)\b")
ABSTENTION_PHRASES = ("no information available", "not mentioned")
"""Phrases that LoCoMo's script accepts as the answer to an unanswerable question."""


def normalize(text: str, norm: Norm = "squad") -> str:
    """Lowercase a text and remove punctuation, articles and repeated spaces.

    SQuAD and LoCoMo delete punctuation, ParlAI replaces it by a space; LoCoMo also removes "and".
    """
    bare = text.lower().translate(_SPACED if norm == "parlai" else _DELETED)
    return " ".join((_ARTICLES_AND if norm == "locomo" else _ARTICLES).sub(" ", bare).split())


def token_f1(answer: str, reference: str, norm: Norm = "squad", stem: bool = False) -> float:
    """Return the F1 of the bags of words (SQuAD; Rajpurkar et al., 2016).

    Without words on either side it is 0, except under SQuAD 2.0's rule (Rajpurkar et al., 2018),
    which gives 1 if both have none. ``stem`` compares nltk's Porter stems.
    """
    ours, theirs = _words(answer, norm, stem), _words(reference, norm, stem)
    if not ours or not theirs:
        return float(norm == "squad" and ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))


def exact_match(answer: str, reference: str, norm: Norm = "squad") -> float:
    """Return 1 if the normalized texts are equal, else 0."""
    return float(normalize(answer, norm) == normalize(reference, norm))


def locomo_f1(answer: str, reference: str, category: str = "", answerable: bool = True) -> float:
    """Return LoCoMo's score (Maharana et al., 2024; its ``task_eval/evaluation.py``).

    F1 of Porter stems, with three exceptions. ``multi-hop``: the reference is a comma-separated
    list, and each part's best F1 with a part of the answer is averaged. ``open``: only the
    reference up to the first semicolon counts. Unanswerable: 1 if the answer contains one of
    :data:`ABSTENTION_PHRASES`, else 0.
    """
    if not answerable:
        return float(any(phrase in answer.lower() for phrase in ABSTENTION_PHRASES))
    if category == "multi-hop":
        parts = [part.strip() for part in answer.split(",")]
        wanted = [part.strip() for part in reference.split(",")]
        best = [max(token_f1(part, want, "locomo", stem=True) for part in parts) for want in wanted]
        return sum(best) / len(best)
    if category == "open":
        reference = reference.split(";")[0].strip()
    return token_f1(answer, reference, "locomo", stem=True)


def _words(text: str, norm: Norm, stem: bool) -> list[str]:
    words = normalize(text, norm).split()
    return [_stemmer().stem(word) for word in words] if stem else words


@cache
def _stemmer() -> Any:
    return library("nltk.stem").PorterStemmer()


@cache
def _treebank_tokenizer() -> Any:
    return library("nltk.tokenize").NLTKWordTokenizer()


TOKENIZERS: Mapping[str, Callable[[str], list[str]]] = {
    "spaces": str.split,
    "squad": lambda text: normalize(text, "squad").split(),
    "parlai": lambda text: normalize(text, "parlai").split(" "),
    # nltk.word_tokenize(text, preserve_line=True), which needs none of nltk's data
    "treebank": lambda text: _treebank_tokenizer().tokenize(text),
}
"""Tokenizers of :class:`NltkBleu`."""
SACREBLEU_TOKENIZERS = ("13a", "intl", "char", "zh", "none")
"""sacrebleu's tokenizers that need no download and no further library."""


def _check_tokenizer(tokenizer: str, tokenizers: Collection[str]) -> None:
    if tokenizer not in tokenizers:
        raise SettingsError(f"no tokenizer {tokenizer!r}; there are: {', '.join(tokenizers)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SacreBleu:
    """sacrebleu's BLEU (Papineni et al., 2002; Post, 2018).

    Attributes:
        order: maximum n-gram length.
        tokens: one of :data:`SACREBLEU_TOKENIZERS`.
        smoothing: sacrebleu's smoothing of zero counts.
    """

    order: int = 4
    tokens: str = "13a"
    smoothing: Literal["exp", "floor", "add-k", "none"] = "exp"
    lowercase: bool = False

    def __post_init__(self) -> None:
        _check_tokenizer(self.tokens, SACREBLEU_TOKENIZERS)

    def sentence(self, answer: str, reference: str) -> float:
        """Return sentence BLEU with effective order, as sacrebleu advises."""
        score = _sacrebleu(self, effective_order=True).sentence_score(answer, [reference]).score
        return min(1.0, float(score) / 100)

    def corpus(self, answers: Sequence[str], references: Sequence[str]) -> float:
        """Return corpus BLEU: counts are summed before ratios are taken."""
        score = _sacrebleu(self, effective_order=False).corpus_score(answers, [references]).score
        return min(1.0, float(score) / 100)

    def counts(self, answer: str, reference: str) -> list[int]:
        """Return one answer's counts: both lengths, then matches and totals of each order."""
        unsmoothed = replace(self, smoothing="none")  # add-k would be in the counts
        one = _sacrebleu(unsmoothed, effective_order=True).sentence_score(answer, [reference])
        return [one.sys_len, one.ref_len, *one.counts, *one.totals]

    def from_counts(self, counts: Sequence[int]) -> float:
        """Return corpus BLEU from the sum of :meth:`counts` over its answers."""
        length, reference_length, *grams = counts
        score = _sacrebleu(self, effective_order=False).compute_bleu(
            grams[: self.order],
            grams[self.order :],
            length,
            reference_length,
            smooth_method=self.smoothing,
            max_ngram_order=self.order,
        )
        return min(1.0, float(score.score) / 100)


@cache
def _sacrebleu(settings: SacreBleu, effective_order: bool) -> Any:
    return library("sacrebleu").BLEU(
        lowercase=settings.lowercase,
        force=True,  # no warning about texts that end with " ."
        tokenize=settings.tokens,
        smooth_method=settings.smoothing,
        max_ngram_order=settings.order,
        effective_order=effective_order,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NltkBleu:
    """nltk's BLEU.

    Attributes:
        order: maximum n-gram length.
        tokens: one of :data:`TOKENIZERS`.
        smoothing: nltk's number of the method of Chen and Cherry (2014); 0 for none. Methods 5 to 7
            exceed 1 for a perfect answer and are not offered.
        epsilon: what method 1 takes for a count of 0.
    """

    order: int = 4
    tokens: str = "spaces"
    smoothing: Literal[0, 1, 2, 3, 4] = 1
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        _check_tokenizer(self.tokens, TOKENIZERS)

    def sentence(self, answer: str, reference: str) -> float:
        """Return sentence BLEU."""
        return self.corpus([answer], [reference])

    def corpus(self, answers: Sequence[str], references: Sequence[str]) -> float:
        """Return corpus BLEU: counts are summed before ratios are taken."""
        nltk, tokenize = library("nltk.translate.bleu_score"), TOKENIZERS[self.tokens]
        smooth = getattr(nltk.SmoothingFunction(epsilon=self.epsilon), f"method{self.smoothing}")
        with warnings.catch_warnings():  # nltk warns of zero counts
            warnings.simplefilter("ignore", UserWarning)
            score = nltk.corpus_bleu(
                [[tokenize(reference)] for reference in references],
                [tokenize(answer) for answer in answers],
                weights=(1 / self.order,) * self.order,
                smoothing_function=smooth,
            )
        return min(1.0, float(score))


def rouge(answer: str, reference: str, kind: Literal["1", "2", "L"], stem: bool = False) -> float:
    """Return ROUGE-1, -2 or -L F1 as rouge-score computes it (Lin, 2004).

    Texts are lowercased and split at everything but English letters and digits. ``stem`` stems
    words of more than three letters.
    """
    return float(_rouge(f"rouge{kind}", stem).score(reference, answer)[f"rouge{kind}"].fmeasure)


@cache
def _rouge(kind: str, stem: bool) -> Any:
    return library("rouge_score.rouge_scorer").RougeScorer([kind], use_stemmer=stem)


Compare = Callable[[str, str], float]
"""Scores an answer against its reference, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapMetric:
    """Compares an answer with its reference; a result without a reference has no score.

    Attributes:
        source: the library and settings, or the script, that it follows.
    """

    name: str
    compute: Callable[[SampleResult], float | None]
    source: str = ""
    binary: bool = False

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


def _metric(name: str, compare: Compare, source: str, *, binary: bool = False) -> OverlapMetric:
    return OverlapMetric(name=name, compute=_compared(compare), source=source, binary=binary)


OVERLAP: Mapping[str, OverlapMetric] = {
    metric.name: metric
    for metric in (
        _metric("f1", token_f1, "SQuAD 2.0"),
        _metric("exact", exact_match, "SQuAD 2.0", binary=True),
        *(
            _metric(
                f"bleu-{order}",
                SacreBleu(order=order).sentence,
                "sacrebleu: sentence, 13a, exp, effective order",
            )
            for order in (1, 2, 4)
        ),
        *(
            _metric(
                f"rouge-{kind.lower()}{suffix}",
                partial(rouge, kind=kind, stem=bool(suffix)),
                f"rouge-score: F, {'stemming' if suffix else 'no stemming'}",
            )
            for kind in ("1", "2", "L")
            for suffix in ("", ":stemmed")
        ),
        OverlapMetric(name="f1:locomo", compute=_locomo, source="LoCoMo, task_eval/evaluation.py"),
        _metric("f1:parlai", partial(token_f1, norm="parlai"), "ParlAI, parlai/core/metrics.py"),
        *(
            _metric(
                f"bleu-{order}:parlai",
                NltkBleu(order=order, tokens="parlai", epsilon=1e-12).sentence,
                "ParlAI, parlai/core/metrics.py: sentence, nltk's method 1",
            )
            for order in (1, 2, 4)
        ),
    )
}
"""The metrics of one result, by name."""
CORPUS_BLEU: Mapping[str, CorpusBleu] = {
    metric.name: metric
    for order in (1, 2, 4)
    for metric in (
        CorpusBleu(
            name=f"corpus-bleu-{order}",
            bleu=SacreBleu(order=order),
            source="sacrebleu: corpus, 13a, exp",
        ),
        CorpusBleu(
            name=f"corpus-bleu-{order}:evaluate",
            bleu=SacreBleu(order=order, smoothing="none"),
            source="evaluate's bleu: corpus, 13a, no smoothing",
        ),
    )
}
"""The corpus-BLEU metrics, by name."""
METRICS = {**OVERLAP, **CORPUS_BLEU}
