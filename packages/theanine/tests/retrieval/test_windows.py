"""What neighbours lend, and centred vectors."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from theanine.retrieval.dense import DenseScorer
from theanine.retrieval.neighbors import NeighborSmoothing
from theanine.types import Utterance
from theanine_methods.units.config import UnitsConfig

_TALK = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), min_size=1, max_size=12).map(
    lambda units: sorted(units, key=lambda unit: unit[0])
)
_CHANCES = st.lists(st.floats(0, 1, width=32), min_size=12, max_size=12)


def windows(units: list[tuple[int, int]], ahead: float = 0.7) -> NeighborSmoothing:
    made = NeighborSmoothing(3, 30.0, ahead)
    sessions, lengths = np.array(units, np.int64).T
    made.extend(sessions, lengths)
    return made


@given(_TALK, _CHANCES)
def test_a_neighbour_never_takes_away_and_never_makes_more_than_sure(
    units: list[tuple[int, int]], drawn: list[float]
) -> None:
    chances = np.array([drawn[: len(units)]], np.float32)
    either = windows(units).noisy_or(chances)
    assert (either >= chances - 1e-6).all()
    assert (either <= 1).all()


@pytest.mark.slow
@given(_TALK, _CHANCES)
def test_shares_add_up_to_what_neighbours_hold_by_nearness(
    units: list[tuple[int, int]], drawn: list[float]
) -> None:
    scores = np.array(drawn[: len(units)], np.float32)
    middles = np.cumsum([words for _, words in units]) - np.array([w / 2 for _, w in units])
    expected = scores.astype(np.float64)
    for i, (session, _) in enumerate(units):
        for j, (other, _) in enumerate(units):
            if session == other and 0 < abs(i - j) <= 3:
                near = np.exp(-abs(middles[i] - middles[j]) / 30)
                expected[i] += near * scores[j] * (1 if j < i else 0.7)
    assert windows(units).smooth(scores) == pytest.approx(expected, abs=1e-4)


def test_a_direction_that_all_share_says_nothing() -> None:
    rng = np.random.default_rng(3)
    common, own = np.zeros(64), rng.normal(size=(200, 64))
    common[0] = 40.0
    vectors = (own + common) / np.linalg.norm(own + common, axis=1, keepdims=True)
    centred = DenseScorer()
    centred.extend(vectors.astype(np.float32))
    found = centred.scores(vectors[7].astype(np.float32))
    assert int(np.argmax(found)) == 7
    assert np.sort(vectors @ vectors[7])[-2] > 0.9 > 0.6 > np.sort(found)[-2]


def test_one_lone_vector_is_found() -> None:
    centred = DenseScorer()
    centred.extend(np.eye(1, 4, dtype=np.float32))
    assert centred.scores(np.eye(1, 4, dtype=np.float32)[0])[0] == pytest.approx(1)


def test_a_recall_knows_who_asks_and_when(tmp_path: Path) -> None:
    config = UnitsConfig(retrieved=1)
    with theanine.open(str(tmp_path / "m.db"), method="utterance", config=config) as agent:
        for day, theirs, mine in ((6, "a kettle", "a kayak"), (20, "an anvil", "an easel")):
            with agent.user("Ana").session() as talk:
                at = datetime(2024, 5, day, 9, tzinfo=UTC)
                talk.hear(f"I bought {mine} at the market.", at=at)
                talk.hear(f"I bought {theirs} at the market.", speaker="Ben", at=at)

        def found(question: str) -> str:
            at = datetime(2024, 5, 21, 9, tzinfo=UTC)
            return agent.user("Ana").recall([Utterance(text=question, speaker="Ana", at=at)]).text

        assert "easel" in found("What did I buy at the market yesterday?")
        assert "kayak" in found("What did I buy at the market two weeks ago?")
        assert "anvil" in found("What did Ben buy at the market yesterday?")
        assert "kettle" in found("What did Ben buy at the market on 6 May?")
