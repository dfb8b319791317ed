"""Overlap is what the published implementations print, and keeps to its bounds."""

from __future__ import annotations

import string
from functools import cache
from importlib import import_module
from typing import Any, Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.errors import SettingsError
from theanine_bench.metrics.overlap import (
    SACREBLEU_TOKENIZERS,
    TOKENIZERS,
    NltkBleu,
    Norm,
    SacreBleu,
    exact_match,
    locomo_f1,
    normalize,
    rouge,
    token_f1,
)

PAIRS = [
    ("The cat sat on the mat, and it was fine.", "A cat is sitting on the mat."),
    ("I adopted a dog named Rex in May.", "I adopted a dog named Rex in May."),
    ("Yes.", "No, I never did."),
    ("She moved to Lisbon for her work, didn't she?", "She's moved to Lisbon because of work!"),
    ("…", "It was 3.14, or so (they said)."),
    ("", "Nothing was said about it."),
    ("running runners run races", "the runner ran a race"),
]
ANSWERS, REFERENCES = [a for a, _ in PAIRS], [r for _, r in PAIRS]
Kind = Literal["1", "2", "L"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NORMS: tuple[Norm, ...] = get_args(Norm)
Smoothing = Literal["exp", "floor", "add-k", "none"]
words = st.lists(st.text(string.ascii_letters + string.digits, min_size=1, max_size=6), max_size=12)
sentences = words.map(" ".join)
anything = st.text(max_size=60)


def module(name: str) -> Any:
    """A library that has no types."""
    return import_module(name)


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("smoothing", get_args(Smoothing))
def test_bleu_is_sacrebleus_to_the_last_digit(order: int, smoothing: Smoothing) -> None:
    ours = SacreBleu(order=order, smoothing=smoothing)
    theirs = {
        effective: module("sacrebleu").BLEU(
            max_ngram_order=order, smooth_method=smoothing, effective_order=effective
        )
        for effective in (True, False)
    }
    for answer, reference in PAIRS:
        scored = theirs[True].sentence_score(answer, [reference])
        assert f"{100 * ours.sentence(answer, reference):.2f}" == f"{scored.score:.2f}"
    scored = theirs[False].corpus_score(ANSWERS, [REFERENCES])
    assert f"{100 * ours.corpus(ANSWERS, REFERENCES):.2f}" == scored.format(
        score_only=True, width=2
    )


@pytest.mark.parametrize("tokens", SACREBLEU_TOKENIZERS)
def test_bleu_of_every_tokenizer_is_what_sacrebleus_functions_give(tokens: str) -> None:
    library = module("sacrebleu")
    for answer, reference in PAIRS:
        ours = 100 * SacreBleu(tokens=tokens, lowercase=True).sentence(answer, reference)
        theirs = library.sentence_bleu(answer, [reference], tokenize=tokens, lowercase=True).score
        assert ours == pytest.approx(theirs, abs=1e-12)
    ours = 100 * SacreBleu(tokens=tokens).corpus(ANSWERS, REFERENCES)
    theirs = library.corpus_bleu(ANSWERS, [REFERENCES], tokenize=tokens).score
    assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")  # nltk's, of counts that are 0
@pytest.mark.parametrize("method", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_bleu_is_nltks(order: int, method: Literal[0, 1, 2, 3, 4]) -> None:
    library = module("nltk.translate.bleu_score")
    weights, ours = [1 / order] * order, NltkBleu(order=order, smoothing=method)
    smooth = getattr(library.SmoothingFunction(), f"method{method}")
    for answer, reference in PAIRS:
        theirs = library.sentence_bleu([reference.split()], answer.split(), weights, smooth)
        assert ours.sentence(answer, reference) == theirs
    cut = [[reference.split()] for reference in REFERENCES]
    theirs = library.corpus_bleu(cut, [answer.split() for answer in ANSWERS], weights, smooth)
    assert ours.corpus(ANSWERS, REFERENCES) == theirs


def test_the_treebank_tokenizer_is_nltks_and_needs_no_data() -> None:
    cut = module("nltk.tokenize").word_tokenize
    for text in (*ANSWERS, *REFERENCES):
        assert TOKENIZERS["treebank"](text) == cut(text, preserve_line=True)


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_rouge_is_rouge_scores(kind: Kind, stem: bool) -> None:
    theirs = module("rouge_score.rouge_scorer").RougeScorer([f"rouge{kind}"], use_stemmer=stem)
    for answer, reference in PAIRS:
        scored = theirs.score(target=reference, prediction=answer)[f"rouge{kind}"]
        assert rouge(answer, reference, kind, stem) == scored.fmeasure


def test_rouge_of_the_example_that_rouge_score_publishes() -> None:
    reference = "The quick brown fox jumps over the lazy dog"
    answer = "The quick brown dog jumps on the log."
    assert rouge(answer, reference, "1") == pytest.approx(0.7058823529411765)
    assert rouge(answer, reference, "L") == pytest.approx(0.5882352941176471)


@pytest.mark.parametrize(
    ("norm", "shown"),
    [
        ("squad", "well known cats and dogs its 1000"),
        ("parlai", "well known cats and dogs it s 1 000"),
        ("locomo", "well known cats dogs its 1000"),
    ],
)
def test_words_are_what_each_script_takes_for_words(norm: Norm, shown: str) -> None:
    text = "The well known cats, and a dogs: it's 1,000!"
    assert normalize(text, norm) == shown
    hyphened = "wellknown" if norm != "parlai" else "well known"
    assert normalize("An well-known", norm) == hyphened


def test_f1_by_hand() -> None:
    # 3 shared words (sara, went, home) of 4 and of 5
    assert token_f1("Sara went home today", "Then, Sara went right home.") == 2 * 3 / 9
    assert token_f1("dogs", "dog") == 0
    assert token_f1("dogs", "dog", stem=True) == 1
    assert token_f1("a the", "an") == 1
    assert token_f1("a the", "an", "parlai") == 0
    assert token_f1("", "an answer") == 0
    assert token_f1("ha ha ha", "ha") == 0.5
    assert exact_match("The Rex!", "rex") == 1
    assert exact_match("Rex and Fido", "Fido and Rex") == 0


def test_locomos_rules_for_each_category() -> None:
    listed = "pottery, camping, painting"
    assert locomo_f1("painted, a camp", listed, "multi-hop") == pytest.approx(2 / 3)
    assert locomo_f1("painted, a camp", listed, "single-hop") == pytest.approx(2 * 2 / 5)
    assert locomo_f1("Likely no", "Likely no; she wants to counsel", "open") == 1
    assert locomo_f1("Likely no", "Likely no; she wants to counsel", "temporal") < 1
    assert locomo_f1("cats and dogs", "dogs, cats") == 1
    assert locomo_f1("No information available.", "", "adversarial", answerable=False) == 1
    assert locomo_f1("It is NOT MENTIONED here", "", "adversarial", answerable=False) == 1
    assert locomo_f1("I don't know.", "", "adversarial", answerable=False) == 0
    assert locomo_f1("", listed, "multi-hop") == 0


@given(answer=anything, reference=anything)
@pytest.mark.parametrize("norm", NORMS)
def test_f1_keeps_to_its_bounds_and_takes_no_side(norm: Norm, answer: str, reference: str) -> None:
    f1 = token_f1(answer, reference, norm)
    assert 0 <= f1 <= 1
    assert f1 == token_f1(reference, answer, norm)
    assert exact_match(answer, reference, norm) <= token_f1(answer, reference, norm) or not (
        normalize(answer, norm)
    )
    assert token_f1(answer, answer) == exact_match(answer, answer) == 1
    assert 0 <= locomo_f1(answer, reference, "multi-hop") <= 1


@given(answer=anything, reference=anything)
def test_rouge_keeps_to_its_bounds_and_takes_no_side(answer: str, reference: str) -> None:
    for kind in KINDS:
        assert 0 <= rouge(answer, reference, kind) <= 1
        assert rouge(answer, reference, kind) == pytest.approx(rouge(reference, answer, kind))


@given(answer=anything, reference=anything)
def test_bleu_keeps_to_its_bounds(answer: str, reference: str) -> None:
    for bleu in bleus():
        assert 0 <= bleu.sentence(answer, reference) <= 1
        assert 0 <= bleu.corpus([answer, reference], [reference, reference]) <= 1


@settings(max_examples=40)
@given(pairs=st.lists(st.tuples(anything, anything), min_size=1, max_size=4))
def test_bleu_of_all_is_what_the_counts_of_each_add_up_to(pairs: list[tuple[str, str]]) -> None:
    answers, references = zip(*pairs, strict=True)
    for smoothing in get_args(Smoothing):
        bleu = SacreBleu(smoothing=smoothing)
        counts = zip(*(bleu.counts(*pair) for pair in pairs), strict=True)
        assert bleu.from_counts([*map(sum, counts)]) == bleu.corpus(answers, references)


@given(text=sentences.filter(lambda text: len(text.split()) >= 4))
def test_what_is_the_same_scores_most(text: str) -> None:
    assert [bleu.sentence(text, text) for bleu in bleus()] == pytest.approx([1.0] * len(bleus()))
    assert [rouge(text, text, kind) for kind in KINDS] == [1, 1, 1]


@given(text=sentences.filter(str.strip))
def test_a_short_answer_can_be_perfect(text: str) -> None:
    assert SacreBleu(tokens="none").sentence(text, text) == pytest.approx(1)
    assert rouge(text, text, "1") == 1


@cache
def bleus() -> list[SacreBleu | NltkBleu]:
    """One of each kind that gives 1 for four words that are the same."""
    smoothings: tuple[Smoothing, ...] = ("exp", "floor", "none")
    methods: tuple[Literal[0, 1, 2, 3, 4], ...] = (0, 1, 2, 3, 4)
    return [
        *(SacreBleu(smoothing=smoothing) for smoothing in smoothings),
        *(NltkBleu(order=2, smoothing=method) for method in methods),
    ]


def test_an_unknown_tokenizer_is_named() -> None:
    with pytest.raises(SettingsError, match="no tokenizer 'moses'; there are: 13a, intl"):
        SacreBleu(tokens="moses")
    with pytest.raises(SettingsError, match="no tokenizer '13a'; there are: spaces, squad"):
        NltkBleu(tokens="13a")
