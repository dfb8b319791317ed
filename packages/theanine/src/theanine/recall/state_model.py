"""Whether two candidates are states of one matter, by a small network over what the index knows.

Its weights ship in ``state_model.npz`` and are fitted by ``tools/fit_states.py`` on histories in
which a state changes, or only seems to, alone and within foreign conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from io import BytesIO
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.encoder import fitted_weights
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.features import FIXED
from theanine.retrieval.neighbors import Positions
from theanine.retrieval.scoring import Scores, matrix_product

_ALONE = tuple(name for name in FIXED if "turn" not in name and "session" not in name)
"""What is known of each of the two by itself; where it is said tells nothing about its matter."""
PAIR_FEATURES = (
    *("likeness", "rank of likeness", "shared words", "share of words"),
    *("weight of shared words", "rarest shared word"),
    *("likeness to the question", "other's likeness to the question", "other's rank"),
    *("other is newer", "same speaker", "same session", "days between", "turns between"),
    *(f"older's {name}" for name in _ALONE),
    *(f"newer's {name}" for name in _ALONE),
)
"""What is known of a pair of candidates: the last axis of :func:`pair_features`."""
_Features = NDArray[np.float32]
_alone_columns = [FIXED.index(name) for name in _ALONE]


def pair_features(
    positions: Positions, seeds: int, candidates: CandidateIndex, query: NDArray[np.float32]
) -> _Features:
    """Return the features of the first ``seeds`` candidates with all, ``(s, n, features)``.

    Args:
        positions: of the candidates, best first, ``(n,)``.
        query: the vector of the question.
    """
    vectors = candidates.vectors(positions)
    asked = np.vecdot(vectors, query)
    alike = matrix_product(vectors[:seeds], np.ascontiguousarray(vectors.T))
    has_word, weights = _words(positions, candidates)
    shared = matrix_product(has_word[:seeds], np.ascontiguousarray(has_word.T))
    weighted = has_word * weights
    lengths = has_word.sum(axis=1)
    shorter = np.minimum(lengths[:seeds, None], lengths)
    orders, days = candidates.orders[positions], candidates.days[positions]
    sessions, speakers = candidates.sessions[positions], candidates.speaker_groups[positions]
    newer = orders > orders[:seeds, None]
    columns: list[NDArray[Any]] = [
        alike,
        np.log1p(np.argsort(np.argsort(-alike, axis=1, kind="stable"), axis=1, kind="stable")),
        np.log1p(shared),
        shared / np.maximum(shorter, 1),
        matrix_product(has_word[:seeds], np.ascontiguousarray(weighted.T)),
        (has_word[:seeds, None] * weighted).max(axis=2, initial=0),
        np.broadcast_to(asked[:seeds, None], alike.shape),
        np.broadcast_to(asked, alike.shape),
        np.broadcast_to(np.log1p(np.arange(len(positions))), alike.shape),
        newer,
        speakers == speakers[:seeds, None],
        sessions == sessions[:seeds, None],
        np.log1p(np.nan_to_num(np.abs(days - days[:seeds, None]), nan=0.0)),
        np.log1p(np.abs(orders - orders[:seeds, None])),
    ]
    fixed = candidates.fixed_features[positions][:, _alone_columns]
    own = np.broadcast_to(fixed[:seeds, None], (*alike.shape, fixed.shape[1]))
    other = np.broadcast_to(fixed, own.shape)
    of_pair = np.stack([np.asarray(column, np.float32) for column in columns], axis=2)
    is_newer = newer[..., None]
    return np.concatenate(
        [of_pair, np.where(is_newer, own, other), np.where(is_newer, other, own)], axis=2
    )


def _words(
    positions: Positions, candidates: CandidateIndex
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return which words candidates have, ``(n, words)``, and the weights of these words.

    A word weighs the more, the fewer of the candidates have it.
    """
    words = [content.words for content in candidates.contents(positions)]
    flat = np.fromiter(chain.from_iterable(words), np.int64)
    distinct, numbers = np.unique(flat, return_inverse=True)
    has_word = np.zeros((len(positions), len(distinct)), np.float32)
    has_word[np.repeat(np.arange(len(words)), [len(each) for each in words]), numbers] = 1
    weights = np.log(len(positions) / np.maximum(has_word.sum(axis=0), 1))
    return has_word, np.asarray(weights, np.float32)


def same_matter(
    positions: Positions, seeds: int, candidates: CandidateIndex, query: NDArray[np.float32]
) -> Scores:
    """Return the probability that candidates are of the matter of the first ``seeds``, ``(s, n)``.

    That is, that one tells an earlier or a later state of what the other tells. The arguments are
    those of :func:`pair_features`.
    """
    return apply(_weights(candidates.embedder), pair_features(positions, seeds, candidates, query))


def apply(weights: Mapping[str, NDArray[np.float32]], features: _Features) -> Scores:
    """Return the probability of each row of features, clipped to what was fitted."""
    rows = features.reshape(-1, features.shape[-1])
    clipped = np.clip(rows, weights["low"], weights["high"])
    x = (clipped - weights["mean"]) / weights["scale"]
    hidden = np.maximum(matrix_product(x, weights["hidden"]) + weights["shift"], 0)
    logits = x @ weights["linear"] + hidden @ weights["output"] + weights["bias"]
    return np.asarray(1 / (1 + np.exp(-logits)), np.float32).reshape(features.shape[:-1])


@cache
def _weights(embedder: str) -> Mapping[str, NDArray[np.float32]]:
    content = fitted_weights(embedder, "theanine.recall", "state_model")
    with np.load(BytesIO(content)) as weights:
        result = {name: weights[name] for name in weights.files}
    if len(result["mean"]) != len(PAIR_FEATURES):
        raise ValueError("the weights are for other features: fit them with tools/fit_states.py")
    return result
