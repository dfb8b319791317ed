from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.embeddings.static import StaticEmbedder
from theanine.linking.features import feature_names, pair_features
from theanine.linking.forest import Forest
from theanine.linking.model import load_model
from theanine.linking.reading import intended, may_be_linked, read_statement
from theanine.retrieval.languages import guess_language
from theanine.retrieval.ranking import Ranking, Unit
from theanine.retrieval.word_rows import WordRows
from theanine.stop_words import STOP_WORDS

EMBEDDER = StaticEmbedder()
AT = datetime(2024, 3, 1, tzinfo=UTC)


def _ranking(*texts: str) -> Ranking:
    ranking = Ranking()
    units = [
        Unit(text=text, session=n, at=AT + timedelta(days=n), speakers=("Ana",), turn=10 * n)
        for n, text in enumerate(texts, 1)
    ]
    ranking.extend(units, EMBEDDER.vectors(texts))
    return ranking


def test_a_rare_shared_word_outweighs_common_ones() -> None:
    common = [f"I had a really good time with my friends on day {n}." for n in range(12)]
    ranking = _ranking("The harpsichord needs new strings.", *common)
    text = "I had a good time with my friends at the harpsichord."
    rows = WordRows(["The harpsichord needs new strings.", *common].__getitem__)
    [(positions, scores)] = ranking.associations([text], [("Ana",)], rows)
    assert positions[scores.argmax()] == 0


def test_features_have_a_name_each_and_unknown_days_are_marked() -> None:
    older = read_statement("A storm broke our mast.", ("Ana",))
    newer = read_statement("I sold the boat because of the storm.", ("Ana",))
    names = feature_names()
    rows = pair_features([(older, newer, 7.0), (older, newer, None)])
    assert rows.shape == (2, len(names))
    undated = names.index("undated")
    assert rows[:, undated].tolist() == [0.0, 1.0]
    assert rows[0, names.index("newer: because")] == 1
    assert rows[0, names.index("older: because")] == 0
    assert rows[0, names.index("shared words")] == 1


WORDS = "storm mast boat i sold the because of our 2023 Ana it's never 海 . ? \n".split(" ")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
PAIRS = st.tuples(TEXTS, TEXTS, st.sampled_from([None, -1.0, 0.0, 30.0]))


@given(st.lists(PAIRS, min_size=1, max_size=6))
def test_features_of_a_pair_do_not_depend_on_the_others(
    texts: list[tuple[str, str, float]],
) -> None:
    pairs = [(read_statement(a, ("Ana",)), read_statement(b, ()), days) for a, b, days in texts]
    rows = pair_features(pairs)
    assert np.isfinite(rows).all()
    alone = np.concatenate([pair_features([pair]) for pair in pairs])
    np.testing.assert_allclose(rows, alone, atol=1e-5)


def test_turns_need_a_rare_word_in_common_and_statements_do_not() -> None:
    first = read_statement("Thanks, that's so good!", ("Ana",))
    second = read_statement("You're so good, thanks!", ("Bo",))
    assert not may_be_linked(first, second)
    statement = read_statement("Speaker A likes music.", ())
    assert may_be_linked(statement, second)


@pytest.mark.parametrize("word", ["choir", "form", "ana", "violin", "with", ""])
def test_a_word_is_read_as_it_is(word: str) -> None:
    assert intended(word) == word


@pytest.mark.parametrize(
    ("written", "meant"), [("wiht", "with"), ("htat", "that"), ("jsut", "just")]
)
def test_a_misspelled_function_word_is_read_as_what_is_meant(written: str, meant: str) -> None:
    assert intended(written) == meant
    assert written not in read_statement(f"I dance {written} the postman.", ("Ana",)).words


def test_numbers_in_common_link_nothing() -> None:
    first = read_statement("My shop opens at 08:00.", ("Ana",))
    second = read_statement("A socket of 08.00 mm.", ("Ana",))
    assert not may_be_linked(first, second)


def test_a_floor_keeps_the_chances_above_it() -> None:
    texts = [
        ("A storm broke our mast.", "I sold the boat because of the storm and the mast."),
        ("I like tea.", "We watched a film in Faro."),
    ]
    pairs = [(read_statement(a, ("Ana",)), read_statement(b, ("Ana",)), 7.0) for a, b in texts]
    rows = pair_features(pairs)
    chances = load_model().link_chances(rows)
    floored = load_model().link_chances(rows, float(chances[0]))
    assert floored[0] == chances[0]
    assert floored[1] < chances[0]


def test_a_forest_adds_the_leaves_of_all_its_trees() -> None:
    forest = Forest(
        roots=np.array([0, 3], np.intp),
        features=np.array([1, 0, 0, 0], np.intp),
        thresholds=np.array([0.5, 0, 0, 0], np.float32),
        left=np.array([1, 1, 2, 3], np.intp),
        right=np.array([2, 1, 2, 3], np.intp),
        values=np.array([[0], [1], [2], [10]], np.float32),
        depth=1,
    )
    rows = np.array([[9, 0.5], [9, 0.6]], np.float32)
    assert forest(rows).tolist() == [[11], [12]]
    again = Forest.from_arrays(forest.arrays("f"), "f")
    assert again(rows).tolist() == [[11], [12]]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Ich fahre mit dem Fahrrad zu der Arbeit, weil es nicht regnet.", "fahrrad"),
        ("Me toca ir a la boda de la hija del panadero, y no sé qué hacer.", "panadero"),
        ("Je vais à la boulangerie avec ma soeur, mais elle est en retard.", "boulangerie"),
        ("Vado al mercato con la mia amica perché non ho più il pane.", "mercato"),
    ],
)
def test_function_words_of_other_languages_link_nothing(text: str, content: str) -> None:
    spoken = read_statement(text, ("Ana",)).words
    language = guess_language(text)
    assert language != "en" and content in spoken
    assert STOP_WORDS[language].isdisjoint(spoken)
