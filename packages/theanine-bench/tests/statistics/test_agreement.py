"""Agreement is what the papers that define it work out."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine_bench.statistics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    majority,
    observed_agreement,
    squared_difference,
)

# Fleiss (1971), table 1: 30 patients, each with the diagnoses of six psychiatrists.
DIAGNOSES = """
    444444 222555 233335 555555 222444 113333 333355 113334 114444 555555
    144444 124444 222333 144444 224445 333335 111455 111112 224444 133555
    555555 244444 224555 114444 144445 222224 111155 224444 133333 555555
""".split()
labels = st.lists(st.sampled_from("abc"), min_size=1, max_size=12)
pairs = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=20)
ratings = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from("abc"), min_size=raters, max_size=raters), min_size=1, max_size=12
    )
)


def test_fleiss_kappa_of_the_published_example() -> None:
    kappa = fleiss_kappa(DIAGNOSES)
    assert kappa is not None
    assert f"{kappa:.3f}" == "0.430"


def test_cohen_kappa_by_hand() -> None:
    # Of 50: both yes 20, both no 15, yes and no 5, no and yes 10: (0.7 - 0.5) / (1 - 0.5)
    one = [*"y" * 25, *"n" * 25]
    other = [*"y" * 20, *"n" * 5, *"y" * 10, *"n" * 15]
    assert observed_agreement(one, other) == 0.7
    assert cohen_kappa(one, other) == pytest.approx(0.4)


@given(pairs)
def test_cohen_kappa_equals_nltk(rated: list[tuple[str, str]]) -> None:
    one, other = [a for a, _ in rated], [b for _, b in rated]
    task: Any = import_module("nltk.metrics.agreement").AnnotationTask(
        [(rater, row, label) for rater, said in enumerate((one, other))
         for row, label in enumerate(said)]
    )  # fmt: skip
    kappa = cohen_kappa(one, other)
    assert task.avg_Ao() == pytest.approx(observed_agreement(one, other))
    if kappa is None:
        assert {*one, *other} == {one[0]}
    else:
        assert kappa == pytest.approx(task.kappa())


@given(pairs)
def test_agreement_of_two_raters_is_symmetric(rated: list[tuple[str, str]]) -> None:
    one, other = [a for a, _ in rated], [b for _, b in rated]
    assert 0 <= observed_agreement(one, other) == observed_agreement(other, one) <= 1
    kappa = cohen_kappa(one, other)
    assert kappa == cohen_kappa(other, one)
    assert kappa is None or -1 <= kappa <= 1


@given(ratings)
def test_fleiss_kappa_is_bounded_and_ignores_order(rated: list[list[str]]) -> None:
    kappa = fleiss_kappa(rated)
    turned = fleiss_kappa([said[::-1] for said in reversed(rated)])
    if kappa is None:
        assert turned is None
        assert len({label for said in rated for label in said}) == 1
    else:
        assert kappa == pytest.approx(turned)
        assert -1 <= kappa <= 1 + 1e-12
        assert (kappa > 1 - 1e-12) == all(len(set(said)) == 1 for said in rated)


@given(labels)
def test_a_majority_is_more_than_half(said: list[str]) -> None:
    chosen = majority(said)
    most = max(said.count(label) for label in said)
    assert (chosen is None) == (2 * most <= len(said))
    assert chosen is None or said.count(chosen) == most


def test_two_of_three_are_a_majority() -> None:
    assert majority(["win", "tie", "win"]) == "win"
    assert majority(["win", "tie", "lose"]) is None


# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): two observers and a binary
# variable; four observers and five categories, with gaps.
BINARY = ("0100000010", "1110010000")
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def test_alpha_is_what_krippendorff_works_out() -> None:
    assert krippendorff_alpha(list(zip(*BINARY, strict=True))) == pytest.approx(0.095, abs=5e-4)
    items = [[int(v) for v in item if v != "."] for item in zip(*OBSERVERS, strict=True)]
    assert krippendorff_alpha(items) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(items, squared_difference) == pytest.approx(0.849, abs=5e-4)


def test_alpha_of_one_label_or_one_rater_is_unknown() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([["a"], ["b"]]) is None
    assert krippendorff_alpha([["a", "a"], ["a"]]) is None
    assert krippendorff_alpha([["a", "a"], ["b", "b", "b"]]) == 1


def test_agreement_needs_equal_numbers_of_ratings() -> None:
    for nothing in (
        lambda: majority([]),
        lambda: observed_agreement([], []),
        lambda: fleiss_kappa([]),
    ):
        with pytest.raises(ValueError, match=r"nobody rated|two raters of nothing|there are items"):
            nothing()
    with pytest.raises(ValueError, match="items with 2, 3"):
        fleiss_kappa(["ab", "abc"])
    with pytest.raises(ValueError, match="items with 1"):
        fleiss_kappa(["a", "b"])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        cohen_kappa("ab", "a")
