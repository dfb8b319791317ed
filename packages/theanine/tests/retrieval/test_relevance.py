"""The relevance of candidates: what a small memory answers, and what none can.

The statements and questions of ``relevance_statements.json`` were not fitted on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from theanine.embeddings.static import StaticEmbedder
from theanine.methods.theanine.config import TheanineConfig
from theanine.retrieval.candidates import CandidateIndex, RankedCandidate
from theanine.retrieval.features import FEATURES, QUESTION_FEATURES
from theanine.retrieval.query import Query
from theanine.retrieval.relevance import RelevanceModel, load_model
from theanine.types import Turn

CONTENT: dict[str, Any] = json.loads(
    (Path(__file__).parent / "relevance_statements.json").read_text()
)
STATEMENTS: list[dict[str, Any]] = CONTENT["statements"]
NEVER = [question for question in CONTENT["never"] if "{name}" not in question]
FLOOR = TheanineConfig().min_relevance
EMBEDDER = StaticEmbedder()
START = datetime(2026, 3, 2, tzinfo=UTC)


def remember(statements: Sequence[str]) -> CandidateIndex:
    index = CandidateIndex()
    turns = [
        Turn(text=text, speaker="ana", at=START + timedelta(minutes=id), id=id, session=1)
        for id, text in enumerate(statements, 1)
    ]
    index.add_turns(turns, EMBEDDER.vectors)
    return index


def ask(
    index: CandidateIndex, question: str, among: np.ndarray | None = None
) -> list[RankedCandidate]:
    vector = EMBEDDER.vectors([index.without_speakers(question)])[0]
    query = Query(text=question, vector=vector, asker="ana", asked_at=START + timedelta(days=1))
    return index.search(query, among)


def memories(size: int) -> list[tuple[CandidateIndex, list[dict[str, Any]]]]:
    """Return memories of the statements, each with the ones that it holds."""
    order = Random(1).sample(STATEMENTS, len(STATEMENTS))
    chunks = [order[start : start + size] for start in range(0, len(order), size)]
    return [(remember([entry["statement"] for entry in chunk]), chunk) for chunk in chunks]


@pytest.mark.parametrize(
    "question", ["What is my job?", "?", "", "Wie heißt mein Hund?", "a " * 500, "我叫什么名字？"]
)
def test_relevance_is_a_probability(question: str):
    for statements in (["I am a nurse."], ["", "…", "I am a nurse."] * 30):
        relevance = [found.relevance for found in ask(remember(statements), question)]
        assert relevance
        assert all(0 <= value <= 1 for value in relevance)


def test_an_empty_memory_has_no_candidates():
    assert ask(CandidateIndex(), "What is my job?") == []


def test_a_memory_without_any_turn_in_the_period_has_no_candidates():
    index = remember(["I am a nurse.", "I live in Rome."])
    assert ask(index, "What is my job?", np.zeros(2, np.bool_)) == []


@pytest.mark.parametrize(("size", "first", "third"), [(6, 0.8, 0.9), (20, 0.7, 0.85)])
def test_a_small_memory_finds_the_statement_that_answers(size: int, first: float, third: float):
    ranks = [
        [found.turn for found in ask(index, question)].index(turn)
        for index, chunk in memories(size)
        for turn, entry in enumerate(chunk, 1)
        for question in entry["questions"]
    ]
    assert np.mean(np.array(ranks) == 0) >= first
    assert np.mean(np.array(ranks) < 3) >= third


@pytest.mark.parametrize("size", [6, 20, 60])
def test_the_floor_keeps_what_was_said_and_empties_what_never_was(size: int):
    kept: list[bool] = []
    empty: list[bool] = []
    for index, chunk in memories(size):
        best = [ask(index, entry["questions"][0])[0].relevance for entry in chunk]
        kept += [value >= FLOOR for value in best]
        empty += [max(f.relevance for f in ask(index, text)) < FLOOR for text in NEVER]
    assert np.mean(kept) >= 0.95
    assert np.mean(empty) >= 0.6


def test_weights_for_other_features_are_refused():
    with pytest.raises(ValueError, match="fit them again"):
        RelevanceModel({"mean": np.zeros(3, np.float32)})


def test_every_feature_is_finite_and_the_last_ones_are_equal_for_all_candidates():
    index = remember([entry["statement"] for entry in STATEMENTS])
    vector = EMBEDDER.vectors(["What is my cat's name?"])[0]
    features, positions = index.features(Query(text="What is my cat's name?", vector=vector))
    assert features.shape == (len(positions), len(FEATURES) + len(QUESTION_FEATURES))
    assert np.isfinite(features).all()
    assert (features[:, len(FEATURES) :] == features[0, len(FEATURES) :]).all()
    scores, relevance = load_model().apply(features)
    assert scores.shape == relevance.shape == (len(positions),)
