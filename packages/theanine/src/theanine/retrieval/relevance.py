"""Rerank the best candidates by a small network over their features.

Its weights ship in ``relevance.npz`` and are fitted by ``tools/fit_relevance.py``: on the questions
of LoCoMo and BEAM, asked of whole conversations and of small parts of them, with and without the
evidence, and on plain statements. The ranking minimizes a listwise softmax over the candidates of a
question. The relevance minimizes the cross-entropy of each candidate and of there being any
evidence, so that it is low for all candidates of a question that the memory can't answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.features import FEATURES, QUESTION_FEATURES
from theanine.retrieval.scoring import Scores, matrix_product

CANDIDATES = 200
"""Candidates that are reranked."""
_SQRT_2_OVER_PI = 0.7978845608


class RelevanceModel:
    """Two networks over the same features, each with a linear part and one hidden layer.

    One ranks the candidates of a question; the other estimates the probability that a candidate is
    evidence for its answer, which is comparable between questions.

    Args:
        weights: ``mean`` and ``scale`` of the features, ``(f,)``, and for both networks, named
            ``rank`` and ``relevance``: ``_linear``, ``(f,)``, ``_bias``, ``(1,)``, ``_hidden``,
            ``(f, h)``, ``_shift`` and ``_output``, ``(h,)``.
    """

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        self._weights = weights
        expected = len(FEATURES) + len(QUESTION_FEATURES)
        if len(weights["mean"]) != expected:
            raise ValueError(
                f"the weights are for {len(weights['mean'])} features, not for {expected}: "
                "fit them again with tools/fit_relevance.py"
            )

    def apply(self, features: NDArray[np.float32]) -> tuple[Scores, Scores]:
        """Return a score and a relevance for each row of features, ``(m,)`` each.

        Scores have no fixed scale; higher is better. The relevance is the probability that a
        candidate is evidence, 0 to 1.
        """
        x = (features - self._weights["mean"]) / self._weights["scale"]
        logits = np.clip(self._apply("relevance", x), -30, 30)
        return self._apply("rank", x), np.asarray(1 / (1 + np.exp(-logits)), np.float32)

    def _apply(self, network: str, x: NDArray[np.float32]) -> Scores:
        linear, bias, hidden, shift, output = (
            self._weights[f"{network}_{part}"]
            for part in ("linear", "bias", "hidden", "shift", "output")
        )
        z = matrix_product(x, hidden) + shift
        gelu = 0.5 * z * (1 + np.tanh(_SQRT_2_OVER_PI * (z + 0.044715 * z * z * z)))
        return np.asarray(x @ linear + bias + gelu @ output, np.float32)


@cache
def load_model() -> RelevanceModel:
    """Load the bundled weights."""
    content = (files("theanine.retrieval") / "relevance.npz").read_bytes()
    with np.load(BytesIO(content)) as weights:
        return RelevanceModel({name: weights[name] for name in weights.files})
