"""The relevance of the best candidates, by small networks over their features.

Its weights ship in ``relevance.npz`` and are fitted by ``tools/fit_relevance.py``: on the questions
of LoCoMo and BEAM, asked of whole conversations and of small parts of them, with and without the
evidence; on states that change; on dialogues that ask nothing; and on plain statements, alone,
within long texts and in large logs. The order minimizes a listwise softmax over the candidates of a
question; the relevance minimizes the cross-entropy of each candidate and of there being any
evidence, so that it is low for all candidates of a question that the memory can't answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.encoder import fitted_weights
from theanine.retrieval.features import FEATURES, QUESTION_FEATURES
from theanine.retrieval.scoring import Scores, matrix_product

CANDIDATES = 200
"""Candidates that are reranked."""
_SUMMARY = (2, 5, 20)
"""Ranks whose distance from the best score the second network sees."""
LARGEST = 30.0
"""Largest logit of a relevance, of either sign."""
_SQRT_2_OVER_PI = 0.7978845608


class RelevanceModel:
    """The relevance of the candidates of a question, by two networks over their features.

    The first one's score orders the candidates. The second one sees the best candidate, the mean of
    all by their scores, and how far these are apart, and gives the best one's relevance, and how
    much a point of the score tells. So the relevance, the probability that a candidate is evidence
    for the answer, is comparable between questions, and its order is that of the scores.

    Features outside the range that the networks were fitted on count as its end: a feature that
    stands far outside says nothing reliable.

    Args:
        weights: ``low``, ``high``, ``mean`` and ``scale`` of the features, ``(f,)``; for the
            networks ``score`` and ``threshold``: ``_linear``, ``(f, o)``, ``_bias``, ``(o,)``,
            ``_hidden``, ``(f, h)``, ``_shift``, ``(h,)``, and ``_output``, ``(h, o)``, with one
            output and with two; and the curve of calibration, ``logits`` and ``calibrated``,
            ``(c,)``, ascending.
    """

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        self._weights = weights
        expected = len(FEATURES) + len(QUESTION_FEATURES)
        if len(weights["mean"]) != expected:
            raise ValueError(
                f"the weights are for {len(weights['mean'])} features, not for {expected}: "
                "fit them again with tools/fit_relevance.py"
            )

    @property
    def means(self) -> NDArray[np.float32]:
        """The mean of each feature over the data that the networks were fitted on, ``(f,)``."""
        return self._weights["mean"]

    def apply(self, features: NDArray[np.float32]) -> tuple[Scores, Scores]:
        """Return the logit and the relevance for each row of the features of one question.

        They are ``(m,)`` each. The relevance is the probability that a candidate is evidence, 0 to
        1; the order of both is the same.
        """
        weights = self._weights
        logits = np.interp(self.logits(features), weights["logits"], weights["calibrated"])
        return (
            np.asarray(logits, np.float32),
            np.asarray(1 / (1 + np.exp(-logits)), np.float32),
        )

    def logits(self, features: NDArray[np.float32]) -> Scores:
        """Return the logit of the relevance of each row before it is calibrated, ``(m,)``."""
        if not len(features):
            return np.zeros(0, np.float32)
        known, gaps = self.before_threshold(self._weights, features)
        threshold, steepness = _apply(self._weights, "threshold", known[None])[0]
        logits = np.logaddexp(0, steepness) * gaps + threshold
        return np.asarray(np.clip(logits, -LARGEST, LARGEST), np.float32)

    @staticmethod
    def before_threshold(
        weights: Mapping[str, NDArray[np.float32]], features: NDArray[np.float32]
    ) -> tuple[Scores, Scores]:
        """Return what the second network sees of a question, and the scores of its candidates.

        The scores are ``(m,)``, as distances from the best one.
        """
        x = (np.clip(features, weights["low"], weights["high"]) - weights["mean"]) / weights[
            "scale"
        ]
        scores = _apply(weights, "score", x)[:, 0]
        gaps = scores - scores.max()
        ordered = np.sort(gaps)
        others = [-ordered[-min(n, len(ordered))] for n in _SUMMARY]
        masses = np.exp(gaps)
        known = np.concatenate([x[gaps.argmax()], masses @ x / masses.sum(), others])
        return known.astype(np.float32), gaps


def _apply(
    weights: Mapping[str, NDArray[np.float32]], network: str, x: NDArray[np.float32]
) -> NDArray[np.float32]:
    linear, bias, hidden, shift, output = (
        weights[f"{network}_{part}"] for part in ("linear", "bias", "hidden", "shift", "output")
    )
    z = matrix_product(x, hidden) + shift
    gelu = 0.5 * z * (1 + np.tanh(_SQRT_2_OVER_PI * (z + 0.044715 * z * z * z)))
    return np.asarray(x @ linear + bias + gelu @ output, np.float32)


@cache
def load_model(embedder: str = "") -> RelevanceModel:
    """Load the weights that are fitted on the vectors of an embedder."""
    content = fitted_weights(embedder, "theanine.retrieval", "relevance")
    with np.load(BytesIO(content)) as weights:
        return RelevanceModel({name: weights[name] for name in weights.files})
