"""Read the best candidates beside the question: does a passage tell what is asked?

Likeness finds what is of the same matter; whether it also answers is judged by a small network that
reads question and passage together, one pair at a time. ``tools/fit_reader.py`` fits it, on
candidates of this ranking, and how its judgment is joined with the relevance.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from theanine.embeddings import encoder
from theanine.recall.understand import Question
from theanine.retrieval.candidates import RankedCandidate
from theanine.retrieval.languages import guess_language
from theanine.retrieval.log_index import LogIndex

FOLDER = Path(str(files("theanine.recall"))) / "fitted_reader"
READ = 8
"""Best candidates that are read."""
TOKENS, QUESTION = 120, 240
"""Tokens of a pair that are read, and the last characters of its question."""


async def read(
    question: Question, asker: str, ranked: Sequence[RankedCandidate], log_index: LogIndex
) -> list[RankedCandidate]:
    """Return the candidates in the order of a relevance that says whether they tell the answer.

    Those that are not read keep their distance to the least relevant one that is. Nothing is read
    of a dialogue that asks nothing, of languages that the network was not fitted on, and where
    the vectors are not the encoder's, of whose ranking it is.
    """
    applies = (
        question.asks
        and log_index.embedder.name == encoder.NAME
        and guess_language(question.text) == "en"
    )
    if not applies or not ranked:
        return list(ranked)
    best = list(ranked[:READ])
    loaded = await log_index.load(found.position for found in best)
    best = [found for found in best if found.position in loaded]
    pairs = [
        (f"{asker}: {question.text}"[-QUESTION:], loaded[found.position].line) for found in best
    ]
    told = await to_thread.run_sync(lambda: _load().read(pairs))
    return join(best, told, ranked[READ:])
