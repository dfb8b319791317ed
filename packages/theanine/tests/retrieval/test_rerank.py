"""What a reranker does to what a search found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from theanine.embeddings.base import Scores
from theanine.errors import SettingsError
from theanine.retrieval.rerank import RerankConfig
from theanine.testing import OverlapReranker
from theanine.types import Memory

pytestmark = pytest.mark.anyio
START = datetime(2026, 3, 1, tzinfo=UTC)
SAID = (
    "My sister keeps three goats on the hill.",
    "The goats broke the fence of the neighbour again.",
    "I painted the kitchen yellow last week.",
    "The neighbour wants money for his fence.",
    "My boat needs a new engine before spring.",
)


class Given:
    """Rates each text by the number that it is."""

    name = "given"

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        return np.array([float(text) for text in texts], np.float32)


def found(*ratings: float) -> list[tuple[Memory, float]]:
    """Memories that a search gave the scores n … 1, and the reranker will rate as given."""
    return [
        (
            Memory(id=i + 1, text=str(rating), at=START, session_ended_at=START, session=1),
            float(len(ratings) - i),
        )
        for i, rating in enumerate(ratings)
    ]


def text_of(memory: Memory) -> str:
    return memory.text


def numbers(reordered: Sequence[tuple[Memory, float]]) -> list[int]:
    return [memory.id for memory, _ in reordered]


async def test_the_best_rated_comes_first_with_its_rating() -> None:
    reordered = await RerankConfig(reranker=Given()).rerank("", found(0.25, 0.75, 0.5), text_of)
    assert numbers(reordered) == [2, 3, 1]
    assert [score for _, score in reordered] == [0.75, 0.5, 0.25]


async def test_equal_ratings_keep_the_order_in_which_they_were_found() -> None:
    reordered = await RerankConfig(reranker=Given()).rerank("", found(0.5, 0.5, 0.75, 0.5), text_of)
    assert numbers(reordered) == [3, 1, 2, 4]


async def test_nothing_found_is_nothing() -> None:
    assert await RerankConfig(reranker=Given()).rerank("", [], text_of) == []


@pytest.mark.slow
@given(
    ratings=st.lists(st.integers(-9, 9), min_size=1, max_size=12),
    top=st.integers(1, 14),
)
async def test_those_that_were_not_read_stay_below_in_order(ratings: list[int], top: int) -> None:
    before = found(*ratings)
    reordered = await RerankConfig(reranker=Given(), top=top).rerank("", before, text_of)
    assert sorted(numbers(reordered)) == sorted(numbers(before))
    assert set(numbers(reordered[:top])) == set(numbers(before[:top]))
    assert numbers(reordered[top:]) == numbers(before[top:])
    scores = [score for _, score in reordered]
    assert scores == sorted(scores, reverse=True)


def test_it_must_read_something() -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        RerankConfig(reranker=OverlapReranker(), top=0)


def _told(folder: Path, **settings: object) -> theanine.Client:
    agent = theanine.open(
        str(folder / "m.db"),
        method="utterance",
        config={"retrieved": 2, "query_turns": 1},
        clock=lambda: START,
        **settings,  # pyright: ignore[reportArgumentType]
    )
    with agent.user("ana").session() as talk:
        for number, words in enumerate(SAID):
            talk.hear(words, at=START + timedelta(minutes=number))
    return agent


QUESTION = "What does the neighbour want for his fence, money?"


def test_every_method_recalls_through_it(tmp_path: Path) -> None:
    with _told(tmp_path, reranker="overlap") as agent:
        assert agent.reranker_name == "overlap"
        parts = agent.user("ana").recall(QUESTION).parts
        best = max(parts, key=lambda part: part.score)
        assert best.memories[0].text.endswith(SAID[3])
        rating = len({"the", "neighbour", "for", "his", "fence", "money"}) / 9
        assert best.score == pytest.approx(rating)
        again = agent.user("ana").recall(QUESTION).parts
        assert [part.score for part in again] == [part.score for part in parts]


def test_it_reads_no_further_than_it_is_told(tmp_path: Path) -> None:
    with _told(tmp_path) as agent:
        assert agent.reranker_name == ""
        plain = agent.user("ana").recall(QUESTION)
        first = max(plain.parts, key=lambda part: part.score).memories[0].id
    config = {"retrieved": 2, "query_turns": 1}
    with theanine.open(
        str(tmp_path / "m.db"), method="utterance", config=config, reranker="overlap", reranked=1
    ) as agent:
        parts = agent.user("ana").recall(QUESTION).parts
        assert {part.memories[0].id for part in parts} == {m.id for m in plain.memories}
        assert max(parts, key=lambda part: part.score).memories[0].id == first
