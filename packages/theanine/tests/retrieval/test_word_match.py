"""How well words match the words of units: the highest cosine, for each word and unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.retrieval.word_match import UnitWords, prepare_words

_WORDS = st.lists(st.sampled_from("kayak paddle garden tomato violin boat".split()), unique=True)


@pytest.mark.slow
@given(st.lists(_WORDS, min_size=1, max_size=6), _WORDS, st.integers(0, 6))
def test_a_match_is_the_highest_cosine_however_the_units_were_added(
    units: list[list[str]], query: list[str], first: int
) -> None:
    added, restored = UnitWords(), UnitWords()
    added.extend(units[:first])
    added.extend(units[first:])
    restored.restore(added.state())
    vectors, _ = UnitWords().vectors(query)  # of words that no unit has
    numbers = list(reversed(range(len(units))))
    for words in (added, restored):
        assert (words.vectors(query)[0] == vectors).all()
        best, means = words.match(vectors, np.array(numbers))
        for unit, row, mean in zip(numbers, best, means, strict=True):
            cosines = np.maximum(words.vectors(units[unit])[0] @ vectors.T, 0)
            np.testing.assert_allclose(row, cosines.max(axis=0, initial=0), atol=1e-5)
            of_own = cosines.max(axis=1, initial=0)
            np.testing.assert_allclose(mean, of_own.mean() if units[unit] else 0, atol=1e-5)


def test_words_that_were_prepared_have_the_same_vectors() -> None:
    words = ["harpsichord", "wheelbarrow"]
    before, weights = UnitWords().vectors(words)
    prepare_words(words)
    after, prepared = UnitWords().vectors(words)
    assert (before == after).all() and (weights == prepared).all()
