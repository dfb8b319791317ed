"""Segment a session without a language model.

The logit of a boundary at the gap between two turns is a weighted sum of the features of
:mod:`theanine_methods.segmentation.features`. The result is the segmentation with the highest
total, where each segment of a single turn has a cost. Of its boundaries those stay that the words
of whole segments speak for, too (:mod:`theanine_methods.segmentation.vocabulary`): in short
dialogues nearly all, in long sessions such as meetings few.

The weights in ``weights.json`` are fitted by logistic regression in which each feature may only
count in one direction (similarity never for a boundary, a greeting never against one). They were
fitted on half of DialSeg711 (task dialogues from MultiWOZ and KVRET), on the training and
development parts of TIAGE (chats from PersonaChat) and on parts of MSC chats joined to dialogues::

    python tools/fit_segmenter.py dialseg711_dev.json tiage_train_dev.json:2 \\
        --joined msc_dialogue/session_2/valid.jsonl --out weights.json

Means of five splits, fitted on one half and measured on the other (Pk, WindowDiff and F1 over the
gaps), without the words of whole segments: DialSeg711 .143 / .173 / .803, TIAGE .343 / .363 / .533.
Fitted on the joined chats alone, without any dialogue of either set: .208 / .238 / .703 and .379 /
.394 / .406 with these words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import log

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.static import bundled_embedder
from theanine_methods.segmentation.features import boundary_features
from theanine_methods.segmentation.segments import Span, spans_between
from theanine_methods.segmentation.vocabulary import select_starts

FITTED_TURNS = 5
"""Mean number of turns of a segment in the dialogues that the weights were fitted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentWeights:
    """Weights of the features, in logits.

    Attributes:
        features: the weight of each feature by name.
        bias: the logit where all features are 0.
        threshold: the logit above which a boundary gains.
        lone_turn: the cost of a segment of one turn.
        vocabulary: the weight of the words of whole segments, per nat; 0 keeps all boundaries.
    """

    features: Mapping[str, float]
    bias: float
    threshold: float
    lone_turn: float
    vocabulary: float


@cache
def load_weights() -> SegmentWeights:
    """Load the bundled weights."""
    text = (files("theanine_methods.segmentation") / "weights.json").read_text("utf-8")
    return SegmentWeights(**json.loads(text))


def with_expected_length(turns: int, weights: SegmentWeights) -> SegmentWeights:
    """Adapt the weights to dialogues whose segments have about ``turns`` turns, at least 2.

    The threshold moves by the log ratio of the prior odds of a boundary, 1 to ``turns - 1``, to
    those of the dialogues that the weights were fitted on. The words of whole segments don't count,
    as the length is given.
    """
    if turns < 2:
        raise ValueError("the expected length of segments must be at least 2 turns")
    threshold = weights.threshold + log((turns - 1) / (FITTED_TURNS - 1))
    return replace(weights, threshold=threshold, vocabulary=0.0)


def segment_locally(
    texts: Sequence[str],
    vectors: NDArray[np.float32] | None = None,
    starts: Sequence[bool] | None = None,
    weights: SegmentWeights | None = None,
) -> list[Span]:
    """Return the session's segments as spans that tile its turns, in linear time.

    Args:
        texts: the text of each turn.
        vectors: the vector of each turn, ``(n, d)``, unit norm or zero; None for the bundled word
            vectors, on which the bundled weights were fitted.
        starts: for each turn, whether a segment may begin with it (the first always may); None for
            any turn. See :func:`theanine_methods.segmentation.segments.exchange_starts`.
        weights: weights other than the bundled ones.
    """
    if vectors is None:
        vectors = bundled_embedder().vectors(texts)
    if len(vectors) != len(texts) or (starts is not None and len(starts) != len(texts)):
        raise ValueError("vectors and starts must have a row for each turn")
    if len(texts) < 2:
        return spans_between([], len(texts))
    chosen = weights or load_weights()
    gains = logits(texts, vectors, chosen) - chosen.threshold
    if starts is not None:
        gains[~np.asarray(starts[1:], bool)] = -np.inf
    begun = best_starts(gains.tolist(), chosen.lone_turn)
    if chosen.vocabulary:
        gained = [float(gains[turn - 1]) for turn in begun]
        begun = select_starts(texts, begun, gained, chosen.vocabulary)
    return spans_between(begun, len(texts))


def logits(
    texts: Sequence[str], vectors: NDArray[np.float32], weights: SegmentWeights
) -> NDArray[np.float64]:
    """Return the logit of a boundary at each gap; needs at least two turns."""
    features = boundary_features(texts, vectors)
    total = np.full(len(texts) - 1, weights.bias)
    for name, weight in weights.features.items():
        total += weight * features[name]
    return total


def best_starts(gains: Sequence[float], lone_turn: float) -> list[int]:
    """Return the boundaries with the largest sum of gains, minus ``lone_turn`` for each lone turn.

    ``gains[i]`` is the gain of a boundary before turn ``i + 1``. Of equal sums the one with fewer
    boundaries is returned. Viterbi over two states: whether a segment begins at the turn or not.
    """
    begun, inside = 0.0, -np.inf
    came_from: list[tuple[bool, bool]] = []
    for gain in gains:
        new_after_new, new_after_old = begun - lone_turn, inside
        came_from.append((new_after_new > new_after_old, begun >= inside))
        begun, inside = max(new_after_new, new_after_old) + gain, max(begun, inside)
    begins = begun - lone_turn > inside
    starts: list[int] = []
    for turn in range(len(gains), 0, -1):
        if begins:
            starts.append(turn)
        begins = came_from[turn - 1][not begins]
    return starts[::-1]
