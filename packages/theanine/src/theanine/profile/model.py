"""Tell what a sentence states of its speaker, and whether that still holds, by two fitted models.

Both are linear in what the index knows: vectors of the bundled encoder, times, and whether a later
passage tells another state of the same matter (:mod:`theanine.recall.state_model`).
``tools/fit_profile.py`` fits them on diaries in which readers marked what a profile should have.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors
from theanine.profile.profile import AREAS
from theanine.retrieval.scoring import Scores, matrix_product

Weights = Mapping[str, NDArray[np.float32]]
AREA_ORDER = tuple(AREAS)
"""The areas in the order of the columns of :func:`stated`."""


def stated(vectors: Vectors, weights: Weights | None = None) -> Scores:
    """Return the chance that each text states something lasting of each area, ``(n, areas)``.

    The areas exclude each other: what is left to 1 is the chance that it states nothing. The
    weights are those that ship, unless others are given.
    """
    weights = weights or _shipped_weights()
    logits = matrix_product(vectors, weights["areas"]) + weights["areas_bias"]
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True), np.float32)[:, 1:]


def holding(features: NDArray[np.float32], weights: Weights | None = None) -> Scores:
    """Return the chance that what was stated still holds, ``(n,)``.

    The features are those of :func:`state_features`, the weights as for :func:`stated`.
    """
    weights = weights or _shipped_weights()
    clipped = np.clip(features, weights["low"], weights["high"])
    logits = clipped @ weights["holds"] + weights["holds_bias"]
    return np.asarray(1 / (1 + np.exp(-logits)), np.float32)


def state_features(
    area: str, days: float, alike: NDArray[np.float32], other_state: float
) -> NDArray[np.float32]:
    """Return what is known of a statement that something later was said, ``(features,)``.

    Args:
        days: from the day on which it was said last to the newest turn; 0 if it is undated.
        alike: the cosine of its vector with each later passage of the user's, highest first.
        other_state: the chance that one of these tells another state of the same matter.
    """
    best = [*alike[:2].tolist(), 0.0, 0.0][:2]
    is_area = [float(area == each) for each in AREA_ORDER]
    return np.array([np.log1p(max(days, 0)), *best, other_state, *is_area], np.float32)


@cache
def _shipped_weights() -> Weights:
    content = (files("theanine.profile") / "profile_model.npz").read_bytes()
    with np.load(BytesIO(content)) as weights:
        return {name: weights[name].astype(np.float32) for name in weights.files}
