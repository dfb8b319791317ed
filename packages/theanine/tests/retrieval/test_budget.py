"""What is packed into a budget: never over it, nothing twice, and nothing left that would fit."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.retrieval.budget import fit_budget, fit_prefix
from theanine.tokenizer import count_tokens

TEXTS = st.lists(
    st.text(min_size=1, max_size=60)
    | st.lists(
        st.sampled_from("Ana said (2 March 2024) the boat – “I won't” 17 é 船 .".split())
    ).map(" ".join)
    | st.sampled_from(["the boat", "The  boat"])
)
BUDGETS = st.integers(0, 120)


def cost(text: str) -> int:
    return count_tokens(f"\n{text}")


@pytest.mark.slow
@settings(deadline=None)
@given(TEXTS, BUDGETS)
def test_as_much_as_fits_and_nothing_twice(texts: list[str], budget: int) -> None:
    kept = fit_budget([(place, text) for place, text in enumerate(texts)], budget)
    spent = sum(cost(texts[place]) for place in kept)
    assert spent <= budget
    assert count_tokens("\n".join(texts[place] for place in kept)) <= budget
    assert kept == sorted(set(kept))
    said = [" ".join(texts[place].casefold().split()) for place in kept]
    assert len(set(said)) == len(said)
    for place, text in enumerate(texts):
        again = " ".join(text.casefold().split()) in said
        assert place in kept or again or cost(text) > budget - spent


@settings(deadline=None)
@given(TEXTS, BUDGETS)
def test_leading_is_the_longest_beginning_that_fits(texts: list[str], budget: int) -> None:
    kept = fit_prefix(enumerate(texts), budget)
    assert kept == list(range(len(kept)))
    assert sum(cost(texts[place]) for place in kept) <= budget
    if len(kept) < len(texts):
        assert sum(cost(text) for text in texts[: len(kept) + 1]) > budget


def test_leading_looks_no_further_than_it_gives() -> None:
    endless = ((place, "the boat") for place in count())
    assert fit_prefix(endless, 10 * cost("the boat")) == list(range(10))


def test_without_a_budget_everything_is_kept_as_it_is() -> None:
    ranked = [(1, "a"), (2, "a"), (3, "")]
    assert fit_budget(ranked, None) == fit_prefix(ranked, None) == [1, 2, 3]


def test_of_like_rank_the_shorter_goes_first() -> None:
    long, short = "the boat is red " * 20, "the boat is blue"
    best = [("first", "a boat"), ("long", long), ("short", short)]
    assert fit_budget(best, cost(long) + cost("a boat")) == ["first", "short"]
    assert fit_budget([("long", long), ("short", short)], cost(long)) == ["short"]
    assert fit_budget([("long", long), *best[:1], ("short", short)], 1000) == [
        "long",
        "first",
        "short",
    ]
