from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.embeddings.static import StaticEmbedder
from theanine.linking.model import LETTERS, Pair, Statement, link_logits, texts_of
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


BOAT = Statement("We keep the boat in Faro.", "Ana")
MOVED = Statement("The boat lies in Lisbon now, we sailed it over at Easter.", "Ana")
SOUP = Statement("The soup needed more salt.", "Ana")


def test_what_follows_on_a_statement_has_a_higher_chance_than_what_has_nothing_to_do_with_it() -> (
    None
):
    following, other = link_logits([(BOAT, MOVED, 30.0), (BOAT, SOUP, 30.0)]).tolist()
    assert following > 1 > other


WORDS = "storm mast boat i sold the because of our 2023 Ana it's never 海 . ? \n".split(" ")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
STATEMENTS = st.builds(Statement, TEXTS, st.sampled_from(["", "Ana"]))
READ_PAIRS = st.tuples(STATEMENTS, STATEMENTS, st.sampled_from([None, -1.0, 0.0, 30.0, 9e4]))


@given(st.lists(READ_PAIRS, min_size=1, max_size=5))
def test_the_logit_of_a_pair_does_not_depend_on_the_others(pairs: list[Pair]) -> None:
    logits = link_logits(pairs)
    assert np.isfinite(logits).all()
    assert logits.tolist() == [float(link_logits([pair])[0]) for pair in pairs]


def test_a_long_statement_is_cut_and_an_unknown_time_is_later() -> None:
    older, newer = texts_of((Statement("word " * 500, "Ana"), Statement("end"), None))
    assert len(older) == LETTERS and newer == "later. end"
    assert link_logits([(Statement("word " * 500), Statement("wort " * 500), None)]).size


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
