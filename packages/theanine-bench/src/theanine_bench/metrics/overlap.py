"""How much of a text's wording another text has: BLEU, ROUGE, unigram F1, exact match.

All give 0 to 1, where papers print a hundred times that. BLEU and ROUGE are those of sacrebleu,
nltk and rouge-score themselves (extra ``eval``).
"""

from __future__ import annotations

import re
import string
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from theanine.errors import SettingsError
from theanine_bench.metrics.library import library

Norm = Literal["squad", "parlai", "locomo"]
"""Whose rule for what of a text's wording counts."""
_DELETED = str.maketrans("", "", string.punctuation)
_SPACED = str.maketrans(string.punctuation, " " * len(string.punctuation))
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITH_AND = re.compile(r"\b(a|an|the|and)\b")
ABSTENTION_PHRASES = ("no information available", "not mentioned")
"""What LoCoMo takes for saying that nothing was said about it."""


def normalize(text: str, norm: Norm = "squad") -> str:
    """Lower-cased, without punctuation and articles, its words a space apart.

    SQuAD and LoCoMo delete punctuation, ParlAI puts a space in its place; LoCoMo takes "and" for
    an article as well.
    """
    bare = text.lower().translate(_SPACED if norm == "parlai" else _DELETED)
    return " ".join((_WITH_AND if norm == "locomo" else _ARTICLES).sub(" ", bare).split())


def token_f1(answer: str, reference: str, norm: Norm = "squad", stem: bool = False) -> float:
    """F1 of the words that the two share, each as often as both have it.

    Where one has no words it is 0, except with SQuAD 2.0's rule where neither has: then it is 1.
    ``stem`` compares nltk's Porter stems. Sources: Rajpurkar et al. (2016, 2018), and LoCoMo's and
    ParlAI's own scripts.
    """
    ours, theirs = _words(answer, norm, stem), _words(reference, norm, stem)
    if not ours or not theirs:
        return float(norm == "squad" and ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))


def exact_match(answer: str, reference: str, norm: Norm = "squad") -> float:
    """1 where the two are the same once normalized."""
    return float(normalize(answer, norm) == normalize(reference, norm))


def locomo_f1(answer: str, reference: str, category: str = "", answerable: bool = True) -> float:
    """LoCoMo's score of an answer (Maharana et al., 2024, and its ``task_eval/evaluation.py``).

    F1 of Porter stems. A ``multi-hop`` reference is a list with commas: each of its parts is
    compared with the answer's part that fits best, and the mean taken. Of an ``open`` reference
    only what stands before the first semicolon counts. Where the question is not answerable, it is
    1 for an answer with one of the two phrases of :data:`DECLINING`, else 0.
    """
    if not answerable:
        return float(any(phrase in answer.lower() for phrase in ABSTENTION_PHRASES))
    if category == "multi-hop":
        parts = [part.strip() for part in answer.split(",")]
        wanted = [part.strip() for part in reference.split(",")]
        return sum(max(_stemmed_f1(part, one) for part in parts) for one in wanted) / len(wanted)
    if category == "open":
        reference = reference.split(";")[0].strip()
    return _stemmed_f1(answer, reference)


def _stemmed_f1(answer: str, reference: str) -> float:
    return token_f1(answer, reference, "locomo", stem=True)


def _words(text: str, norm: Norm, stem: bool) -> list[str]:
    words = normalize(text, norm).split()
    return [_stemmer().stem(word) for word in words] if stem else words


@cache
def _stemmer() -> Any:
    return library("nltk.stem", "stemming").PorterStemmer()


def _treebank(text: str) -> list[str]:
    """As ``nltk.word_tokenize(text, preserve_line=True)``, which needs none of nltk's data."""
    return _treebank_tokenizer().tokenize(text)


@cache
def _treebank_tokenizer() -> Any:
    return library("nltk.tokenize", "this tokenizer").NLTKWordTokenizer()


TOKENIZERS: Mapping[str, Callable[[str], list[str]]] = {
    "spaces": str.split,
    "squad": lambda text: normalize(text, "squad").split(),
    "parlai": lambda text: normalize(text, "parlai").split(" "),
    "treebank": _treebank,
}
"""How :class:`NltkBleu` cuts a text."""
SACREBLEU_TOKENIZERS = ("13a", "intl", "char", "zh", "none")
"""Those of sacrebleu's that need no download and no further library."""


def _known(tokenizer: str, known: Collection[str]) -> None:
    if tokenizer not in known:
        raise SettingsError(f"no tokenizer {tokenizer!r}; there are: {', '.join(known)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SacreBleu:
    """BLEU up to ``order``-grams as sacrebleu has it (Papineni et al., 2002; Post, 2018).

    Attributes:
        tokens: sacrebleu's tokenizer, one of :data:`SACREBLEU_TOKENIZERS`.
        smoothing: of counts that are 0: ``exp``, ``floor``, ``add-k``, ``none``.
    """

    order: int = 4
    tokens: str = "13a"
    smoothing: Literal["exp", "floor", "add-k", "none"] = "exp"
    lowercase: bool = False

    def __post_init__(self) -> None:
        _known(self.tokens, SACREBLEU_TOKENIZERS)

    def sentence(self, answer: str, reference: str) -> float:
        """Of one answer. Orders that are longer than it are left out, as sacrebleu advises."""
        scored = _sacrebleu(self, effective=True).sentence_score(answer, [reference])
        return min(1.0, float(scored.score) / 100)

    def corpus(self, answers: Sequence[str], references: Sequence[str]) -> float:
        """Of all answers together: their counts are added up before any ratio is taken."""
        scored = _sacrebleu(self, effective=False).corpus_score(answers, [references])
        return min(1.0, float(scored.score) / 100)

    def counts(self, answer: str, reference: str) -> list[int]:
        """What one answer adds: its length, the reference's, matches of each order, and all."""
        plain = replace(self, smoothing="none")  # add-k is in the counts that it gives
        one = _sacrebleu(plain, effective=True).sentence_score(answer, [reference])
        return [one.sys_len, one.ref_len, *one.counts, *one.totals]

    def from_counts(self, counts: Sequence[int]) -> float:
        """:meth:`corpus` of the answers whose counts these are, added up."""
        length, reference, *grams = counts
        scored = _sacrebleu(self, effective=False).compute_bleu(
            grams[: self.order],
            grams[self.order :],
            length,
            reference,
            smooth_method=self.smoothing,
            max_ngram_order=self.order,
        )
        return min(1.0, float(scored.score) / 100)


@cache
def _sacrebleu(how: SacreBleu, effective: bool) -> Any:
    return library("sacrebleu", "BLEU").BLEU(
        lowercase=how.lowercase,
        force=True,  # it would complain about texts that end with a space and a full stop
        tokenize=how.tokens,
        smooth_method=how.smoothing,
        max_ngram_order=how.order,
        effective_order=effective,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NltkBleu:
    """BLEU up to ``order``-grams as nltk has it.

    Attributes:
        tokens: one of :data:`TOKENIZERS`.
        smoothing: number of the method of Chen and Cherry (2014) as nltk counts them; 0 for none.
            5 to 7 are not offered: they give more than 1 for a perfect answer.
        epsilon: what method 1 takes for a count of 0.
    """

    order: int = 4
    tokens: str = "spaces"
    smoothing: Literal[0, 1, 2, 3, 4] = 1
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        _known(self.tokens, TOKENIZERS)

    def sentence(self, answer: str, reference: str) -> float:
        """Of one answer."""
        return self.corpus([answer], [reference])

    def corpus(self, answers: Sequence[str], references: Sequence[str]) -> float:
        """Of all answers together: their counts are added up before any ratio is taken."""
        nltk, cut = library("nltk.translate.bleu_score", "BLEU"), TOKENIZERS[self.tokens]
        smooth = getattr(nltk.SmoothingFunction(epsilon=self.epsilon), f"method{self.smoothing}")
        with warnings.catch_warnings():  # what it warns of is that a count is 0
            warnings.simplefilter("ignore", UserWarning)
            scored = nltk.corpus_bleu(
                [[cut(reference)] for reference in references],
                [cut(answer) for answer in answers],
                weights=(1 / self.order,) * self.order,
                smoothing_function=smooth,
            )
        return min(1.0, float(scored))


def rouge(answer: str, reference: str, kind: Literal["1", "2", "L"], stem: bool = False) -> float:
    """ROUGE's F as rouge-score has it (Lin, 2004): of words, of pairs, or of the longest sequence.

    Lower-cased; everything but English letters and digits is a gap. ``stem`` stems words of more
    than three letters.
    """
    return float(_rouge(f"rouge{kind}", stem).score(reference, answer)[f"rouge{kind}"].fmeasure)


@cache
def _rouge(kind: str, stem: bool) -> Any:
    scorers = library("rouge_score.rouge_scorer", "ROUGE")
    return scorers.RougeScorer([kind], use_stemmer=stem)
