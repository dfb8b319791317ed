"""Ranking by candidates finds what ranking everything finds, and only what may be found."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.large import questions, texts
from theanine.embeddings.static import StaticEmbedder
from theanine.retrieval.ann import search as approximate
from theanine.retrieval.ann.index import VectorIndex
from theanine.retrieval.ann.search import ApproximateSearch, smoothed_vectors
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Ranking, RankingConfig, Unit
from theanine.retrieval.scoring import inner_products, top_k

EMBEDDER = StaticEmbedder()
MANY = 3_000
START = datetime(2022, 1, 1, 9, tzinfo=UTC)


def ranking(count: int, config: RankingConfig | None = None) -> Ranking:
    units = [
        Unit(
            text=text,
            session=i // 40,
            at=START + timedelta(hours=i // 40 * 6),
            speakers=(("Ana", "Ben")[i % 2],),
            turn=i + 1,
        )
        for i, text in enumerate(islice(texts(), count))
    ]
    made = Ranking(config)
    made.extend(units, EMBEDDER.vectors([unit.text for unit in units]))
    return made


def indexed(made: Ranking, rows: int) -> ApproximateSearch:
    index = VectorIndex(EMBEDDER.dimension)
    for start in range(0, rows, 700):
        index.extend(smoothed_vectors(made, made.dense.mean, start, min(start + 700, rows)))
    approximate = ApproximateSearch(made)
    approximate.index = index
    return approximate


@cache
def large() -> ApproximateSearch:
    """All but the last hundred are in the index."""
    return indexed(ranking(MANY), MANY - 100)


def query(made: Ranking, text: str) -> Query:
    vector = EMBEDDER.vectors([made.without_speakers(text)])[0]
    return Query(text=text, vector=vector, asker="ana", asked_at=START + timedelta(days=90))


def recall(made: ApproximateSearch, asked: list[str], among: np.ndarray | None = None) -> float:
    shares: list[float] = []
    for text in asked:
        sought = query(made.ranking, text)
        exact = made.ranking.scores(sought)
        if among is not None:
            exact = np.where(among, exact, -np.inf)
        places, scores = made.scores(sought, among)
        assert among is None or among[places].all()
        gold = top_k(exact, np.arange(len(exact)), 10)
        shares.append(np.isin(gold, places[top_k(scores, places, 10)]).mean())
    return float(np.mean(shares))


@pytest.mark.slow
def test_the_ten_best_are_those_of_exact_search() -> None:
    assert recall(large(), questions(60)) >= 0.98


@pytest.mark.parametrize("share", [0.9, 0.3, 0.02])
def test_a_mask_leaves_the_best_of_what_it_leaves(share: float) -> None:
    among = np.random.default_rng(1).random(MANY) < share
    assert recall(large(), questions(25), among) >= 0.98


def test_a_mask_that_leaves_many_out_of_very_many_is_searched_too() -> None:
    made = ApproximateSearch(large().ranking, max_full_scan=50)
    made.index = large().index
    among = np.random.default_rng(2).random(MANY) < 0.2
    assert recall(made, questions(25), among) >= 0.98


def test_a_mask_that_leaves_nothing_finds_nothing() -> None:
    made = large()
    places, scores = made.scores(query(made.ranking, "violin"), np.zeros(MANY, bool))
    assert len(places) == len(scores) == 0


def test_candidates_by_vectors_alone_hold_the_ten_best_by_vectors() -> None:
    made = large()
    shares: list[float] = []
    for text in questions(40):
        sought = query(made.ranking, text)
        exact = made.ranking.smoothing.smooth(made.ranking.dense.scores(sought.vector))
        gold = top_k(exact, np.arange(MANY), 10)
        shares.append(np.isin(gold, made.nearest(sought)).mean())
    assert np.mean(shares) >= 0.98


def test_what_came_after_the_index_is_found() -> None:
    made = large()
    fresh = made.ranking.vectors.values[MANY - 5]
    near = made.nearest(Query(text="", vector=fresh), 0.1)
    assert MANY - 5 in near


@settings(max_examples=25, deadline=None)
@given(
    count=st.integers(1, 60),
    start=st.integers(0, 59),
    length=st.integers(1, 60),
    reach=st.integers(0, 3),
)
def test_a_window_weighs_what_its_units_weigh(
    count: int, start: int, length: int, reach: int
) -> None:
    made = ranking(count, RankingConfig(reach=reach))
    start = min(start, count - 1)
    stop = min(start + length, count)
    asked = EMBEDDER.vectors(["a lamp in the cellar"])[0]
    expected = made.smoothing.smooth(made.dense.score_rows(asked, made.vectors.values))
    sums = inner_products(
        smoothed_vectors(made, made.dense.mean, start, stop), made.dense.center(asked)
    )
    # The sums lack what the mean itself has of the direction, the same a unit and its neighbours.
    lengths = made.dense.norms(made.vectors.values)
    own = inner_products(made.vectors.values - made.dense.mean, made.dense.center(asked)) / lengths
    assert sums == pytest.approx(made.smoothing.smooth(own)[start:stop], abs=1e-4)
    assert expected[start:stop] == pytest.approx(sums, abs=1e-3)


@settings(max_examples=40, deadline=None)
@given(count=st.integers(1, 120), text=st.sampled_from([*questions(10), "", "zzz", "on"]))
def test_where_all_are_candidates_the_scores_are_the_exact_ones(count: int, text: str) -> None:
    made = ranking(count, replace(RankingConfig(), exact_upto=0))
    approximate = indexed(made, count)
    sought = query(made, text)
    places, scores = approximate.scores(sought)
    assert places.tolist() == list(range(count))
    assert scores == pytest.approx(made.scores(sought), abs=2e-3)


def test_exact_where_there_is_no_index_or_too_much_is_asked_for() -> None:
    made = indexed(ranking(50, RankingConfig(exact_upto=40)), 50)
    assert made.applies(10)
    assert not made.applies(approximate.MAX_RESULTS + 1)
    made.index = None
    assert not made.applies(10)
    assert not indexed(ranking(40, RankingConfig(exact_upto=40)), 40).applies(10)
