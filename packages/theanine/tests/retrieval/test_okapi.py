"""BM25 as LangChain has it: the formula of ``rank_bm25``, written out, on generated texts."""

from __future__ import annotations

from datetime import UTC, datetime
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from theanine.errors import SettingsError
from theanine.methods.registry import open_method
from theanine.retrieval.okapi import OkapiBM25
from theanine.types import History, Transcript, Utterance

WORDS = st.lists(st.sampled_from("sea Sea sea. boat the a".split()), max_size=8)


def expected(documents: list[list[str]], query: list[str]) -> list[float]:
    """BM25Okapi.get_scores with k1 = 1.5, b = 0.75 and epsilon = 0.25."""
    size = len(documents)
    average = sum(map(len, documents)) / size
    idf: dict[str, float] = {}
    for word in dict.fromkeys(word for document in documents for word in document):
        containing = sum(word in document for document in documents)
        idf[word] = log(size - containing + 0.5) - log(containing + 0.5)
    if idf:
        floor = 0.25 * sum(idf.values()) / len(idf)
        idf = {word: weight if weight >= 0 else floor for word, weight in idf.items()}
    return [
        sum(
            idf.get(word, 0.0)
            * document.count(word)
            * 2.5
            / (document.count(word) + 1.5 * (0.25 + 0.75 * len(document) / (average or 1)))
            for word in query
        )
        for document in documents
    ]


@given(st.lists(WORDS, min_size=1, max_size=6), WORDS)
def test_scores_are_those_of_the_formula(documents: list[list[str]], query: list[str]) -> None:
    scores = OkapiBM25([" ".join(words) for words in documents]).scores(" ".join(query))
    np.testing.assert_allclose(scores, expected(documents, query), atol=1e-5)


def test_case_and_punctuation_are_kept(tmp_path: Path) -> None:
    said = ["A storm at sea.", "The sea was calm", "Nothing of that", "Bread again", "And tea"]
    at = datetime(2024, 5, 8, tzinfo=UTC)
    turns = [Utterance(text=text, speaker="Ana", at=at) for text in said]
    history = History(name="ana", transcripts=[Transcript(key="a", turns=turns, at=at)])
    best: dict[str, str] = {}
    for retrieval in ("okapi", "lexical"):
        path = str(tmp_path / f"{retrieval}.db")
        config = {"retrieval": retrieval, "retrieved": 1}
        with theanine.open(path, method="utterance", config=config) as agent:
            agent.user("ana").log(history)
            agent.user("ana").remember()
            [turn] = agent.user("ana").recall("sea storm.").source_turns
            best[retrieval] = turn.text
    assert best == {"okapi": said[1], "lexical": said[0]}


def test_segments_are_not_reranked_by_words_that_it_does_not_split() -> None:
    with pytest.raises(SettingsError, match="close_look=0"):
        open_method("secom", {"retrieval": "okapi"})
    open_method("secom", {"retrieval": "okapi", "close_look": 0, "denoise": "none"})
