"""Segment a session without a language model.

Each gap between two turns gets the logit of a boundary there: a weighted sum of the figures of
:mod:`theanine.segmentation.evidence`. The segmentation with the best total is drawn, where each
segment of a single turn costs something.

The weights, in ``weights.json``, are fitted by logistic regression in which no figure may
count against its sense (likeness never for a boundary, a greeting never against one). They were
fitted on half of DialSeg711 (task dialogues from MultiWOZ and KVRET), on the training and the
development part of TIAGE (chats from PersonaChat) and on chats of MSC cut and joined anew::

    python -m theanine_bench.fit_segmenter dialseg711_dev.json tiage_train_dev.json:2 \\
        --joined msc_dialogue/session_2/valid.jsonl --out weights.json

No figure depends on a subject. Means of five halvings, fitted on one half and measured on the
other (Pk, WindowDiff, F1, score): DialSeg711 .143 / .173 / .803 / .823, TIAGE .343 / .363 / .533 /
.590. Fitted on the joined chats alone, so without any dialogue of either set: .220 / .254 / .684 /
.723 and .376 / .390 / .406 / .512.
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

from theanine.segmentation.evidence import evidence
from theanine.segmentation.segments import Span, spans_between

FITTED_TURNS = 5
"""Turns of a segment, on average, in the dialogues that the weights were fitted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentWeights:
    """What each figure counts, in logits.

    Attributes:
        figures: the weight of each figure by its name.
        bias: the logit where all figures are 0.
        threshold: the logit above which a boundary gains.
        lone_turn: what a segment of one turn costs, in logits.
    """

    figures: Mapping[str, float]
    bias: float
    threshold: float
    lone_turn: float


@cache
def load_weights() -> SegmentWeights:
    """The weights that ship with theanine."""
    text = (files("theanine.segmentation") / "weights.json").read_text("utf-8")
    return SegmentWeights(**json.loads(text))


def with_expected_length(turns: int, weights: SegmentWeights) -> SegmentWeights:
    """The weights for talk whose segments have about ``turns`` turns, 2 or more.

    A boundary's prior odds are 1 to ``turns - 1``; the threshold moves by as much as their
    logarithm differs from that of the dialogues it was fitted on. The evidence still decides.
    """
    if turns < 2:
        raise ValueError("segments of at least 2 turns can be expected")
    return replace(weights, threshold=weights.threshold + log((turns - 1) / (FITTED_TURNS - 1)))


def segment_locally(
    texts: Sequence[str],
    vectors: NDArray[np.float32],
    starts: Sequence[bool] | None = None,
    weights: SegmentWeights | None = None,
) -> list[Span]:
    """The session's segments: spans that tile its turns. Deterministic, linear in the turns.

    Args:
        texts: the turns' words, in order.
        vectors: a row a turn, ``(n, d)``, unit norm or all zero, of any embedder.
        starts: for each turn, whether a segment may begin with it (the first always may); None
            for any. See :func:`theanine.segmentation.segments.exchange_starts`.
        weights: other weights than the fitted ones.
    """
    if len(vectors) != len(texts) or (starts is not None and len(starts) != len(texts)):
        raise ValueError("vectors and starts must have a row for each turn")
    if len(texts) < 2:
        return spans_between([], len(texts))
    chosen = weights or load_weights()
    gains = logits(texts, vectors, chosen) - chosen.threshold
    if starts is not None:
        gains[~np.asarray(starts[1:], bool)] = -np.inf
    return spans_between(best_starts(gains.tolist(), chosen.lone_turn), len(texts))


def logits(
    texts: Sequence[str], vectors: NDArray[np.float32], weights: SegmentWeights
) -> NDArray[np.float64]:
    """For each gap between two turns, the logit of a boundary there; two turns at least."""
    found = evidence(texts, vectors)
    total = np.full(len(texts) - 1, weights.bias)
    for name, weight in weights.figures.items():
        total += weight * found[name]
    return total


def best_starts(gains: Sequence[float], lone_turn: float) -> list[int]:
    """The boundaries with the largest sum of gains, less ``lone_turn`` a segment of one turn.

    ``gains[i]`` is what a boundary before turn ``i + 1`` gains. Of equal sums the one with fewer
    boundaries is taken. Viterbi over two states: whether a segment begins at the turn or not.
    """
    begun, inside = 0.0, -np.inf
    came_from: list[tuple[bool, bool]] = []
    for gain in gains:
        new_after_new, new_after_old = begun - lone_turn, inside
        came_from.append((new_after_new > new_after_old, begun >= inside))
        begun, inside = max(new_after_new, new_after_old) + gain, max(begun, inside)
    begins = begun - lone_turn > inside
    found: list[int] = []
    for turn in range(len(gains), 0, -1):
        if begins:
            found.append(turn)
        begins = came_from[turn - 1][not begins]
    return found[::-1]
