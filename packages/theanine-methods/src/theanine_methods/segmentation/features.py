"""Features of the gap between two turns, as evidence for or against a segment boundary.

There are three kinds: similarity of the turns on both sides (vectors), shared words, and cues in
the wording (:mod:`theanine_methods.segmentation.cues`). Features that depend on a dialogue's style
are standardized within the dialogue, so that one set of weights serves long and short turns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from theanine.text.words import content_words
from theanine_methods.segmentation import cues

Feature = NDArray[np.float64]
"""One value for each gap; gap 0 lies between turns 0 and 1."""

_PRIOR_GAPS = 6.0
"""Weight of the prior mean and deviation of a feature, in gaps."""
_PRIOR_TURNS = 12
"""Weight of a zero mean vector, in turns."""
_LONG_TURN = 20
"""Words above which a turn's cues count less: nearly every cue occurs in a long turn."""
_COURTESY = frozenset("cool good great hello help hey hi lol look need nice ok okay please sure "
                      "thank thanks want wow would".split())  # fmt: skip
_REACH = 4
"""Turns on each side of a gap that are compared."""
_SERVING = ("needs", "orders", "before: offers more", "before: reports done", "before: closes")
_CHATTING = ("tells of self", "small talk")
_AMBIGUOUS = ("asks about you", "small talk", "tells of self", "first person")


def boundary_features(texts: Sequence[str], vectors: NDArray[np.float32]) -> dict[str, Feature]:
    """Return all features by name, each of length ``len(texts) - 1``; needs at least two turns."""
    similarity = _similarity_features(_center(vectors))
    cue_values = _split_ambiguous(_cue_features(texts))
    return similarity | _word_features(texts) | cue_values | _position_features(len(texts))


def _center(vectors: NDArray[np.float32]) -> Feature:
    """Subtract the mean of the dialogue's vectors and normalize the rows.

    The mean is shrunk to zero in short dialogues, in which it may be the only topic.
    """
    rows = vectors.astype(np.float64)
    rows -= rows.sum(0) / (len(rows) + _PRIOR_TURNS)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _standardize(values: Feature, mean: float, deviation: float) -> Feature:
    """Standardize by the dialogue's mean and deviation, each shrunk to the given prior."""
    weight = len(values) + _PRIOR_GAPS
    mean = (float(values.sum()) + _PRIOR_GAPS * mean) / weight
    variance = (float(((values - mean) ** 2).sum()) + _PRIOR_GAPS * deviation**2) / weight
    return (values - mean) / math.sqrt(variance)


def _similarity_features(units: Feature) -> dict[str, Feature]:
    """Return similarities of the windows and turns around each gap."""
    n = len(units)
    sums = np.concatenate([np.zeros((1, units.shape[1])), np.cumsum(units, axis=0)])
    gaps = np.arange(1, n)

    def sides(width: int) -> tuple[Feature, Feature, NDArray[np.intp]]:
        low, high = np.maximum(gaps - width, 0), np.minimum(gaps + width, n)
        return sums[gaps] - sums[low], sums[high] - sums[gaps], (gaps - low) * (high - gaps)

    def windows(width: int) -> Feature:
        before, after, _ = sides(width)
        norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        return np.einsum("nd,nd->n", before, after) / np.maximum(norms, 1e-9)

    before, after, pairs = sides(_REACH)
    block = np.einsum("nd,nd->n", before, after) / pairs
    # diagonals[d - 1][i]: similarity of turns i and i + d, -1 past the end.
    diagonals = np.full((_REACH, n), -1.0)
    for d in range(1, min(_REACH, n - 1) + 1):
        diagonals[d - 1, : n - d] = np.einsum("nd,nd->n", units[:-d], units[d:])
    best_after = diagonals[:, :-1].max(0)
    best_before = np.array([max(diagonals[d - 1, i - d] for d in range(1, min(_REACH, i) + 1))
                            for i in gaps])  # fmt: skip
    adjacent = diagonals[0, :-1]
    return {
        "windows of 1 alike": _standardize(windows(1), 0, 0.25),
        "windows of 2 alike": windows(2),
        "windows of 6 alike": _standardize(windows(6), 0, 0.25),
        "blocks alike": _standardize(block, 0, 0.1),
        "best like before": _standardize(best_before, 0.15, 0.2),
        "best like after": _standardize(best_after, 0.15, 0.2),
        "next two alike": _standardize(np.append(adjacent[1:], 0.0), 0.05, 0.25),
        "last two alike": _standardize(np.append(0.0, adjacent[:-1]), 0.05, 0.25),
        "dip": np.maximum(_standardize(_dips(windows(3)), 0.35, 0.3) - 1, 0),
    }


def _dips(similarity: Feature) -> Feature:
    """Return how far each gap's similarity lies below the maxima within three gaps on each side."""
    n = len(similarity)
    return np.array([
        similarity[max(0, i - 3) : i + 1].max()
        + similarity[i : min(n, i + 4)].max()
        - 2 * similarity[i]
        for i in range(n)
    ])  # fmt: skip


def _word_features(texts: Sequence[str]) -> dict[str, Feature]:
    """Return measures of the content words that the turns around each gap share."""
    stems = [content_words(text) - _COURTESY for text in texts]
    n = len(stems)
    rarity = {
        word: math.log((n + 1) / count)
        for word, count in Counter(word for turn in stems for word in turn).items()
    }
    features: dict[str, list[float]] = {"words shared": [], "words from before": [],
                                        "words taken up": [], "words": []}  # fmt: skip
    for i in range(1, n):
        before, after = stems[max(0, i - 3) : i], stems[i : i + 3]
        features["words shared"].append(_overlap(_union(before), _union(after), rarity))
        here = stems[i]
        past, future = _union(stems[max(0, i - _REACH) : i]), _union(stems[i + 1 : i + 5])
        features["words from before"].append(min(2, len(here & past)) / 2)
        features["words taken up"].append(min(2, len(here & future)) / 2)
        features["words"].append(min(4, len(here)) / 4)
    return {name: np.array(values) for name, values in features.items()}


def _union(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def _overlap(
    before: frozenset[str], after: frozenset[str], rarity: Mapping[str, float]
) -> float:  # fmt: skip
    """Return the cosine of two sets of words weighted by rarity, damped for small sets."""
    ours, theirs = (sum(rarity[word] for word in sorted(side)) for side in (before, after))
    both = sum(rarity[word] for word in sorted(before & after))
    return both / (math.sqrt(ours * theirs) + 1)


def _cue_features(texts: Sequence[str]) -> dict[str, Feature]:
    """Return the cues in the turns around each gap, 0 to 1."""
    heads, tails = [cues.head(text) for text in texts], [cues.tail(text) for text in texts]
    weight = np.array([min(1.0, _LONG_TURN / max(1, text.count(" ") + 1)) for text in texts])
    asking = weight * [cues.ends_asking(text) for text in tails]
    features = {
        name: weight[1:] * [cue.search(text) is not None for text in heads[1:]]
        for name, cue in cues.HERE.items()
    }
    for name, cue in cues.BEFORE.items():
        features[f"before: {name}"] = weight[:-1] * [
            cue.search(text) is not None for text in tails[:-1]
        ]
    features["two before: ends asking"] = np.append(0.0, asking[:-2])
    features["next: ends asking"] = np.append(asking[2:], 0.0)
    questions = [cues.questions(text) for text in heads]
    features["answers"] = weight[1:] * [
        "?" in before and not here for before, here in zip(tails[:-1], questions[1:], strict=True)
    ]
    return features | _question_features(texts, questions, weight)


def _question_features(
    texts: Sequence[str], questions: Sequence[str], weight: Feature
) -> dict[str, Feature]:
    """Return whether a turn's questions repeat words of earlier turns, or have only new ones."""
    stems = [content_words(text) for text in texts]
    new, old = [0.0] * (len(texts) - 1), [0.0] * (len(texts) - 1)
    for i in range(1, len(texts)):
        if words := content_words(questions[i]) - _COURTESY if questions[i] else None:
            repeats = bool(words & _union(stems[max(0, i - 5) : i]))
            (old if repeats else new)[i - 1] = 1.0
    return {"asks something new": weight[1:] * new, "asks about what was said": weight[1:] * old}


def _split_ambiguous(features: Mapping[str, Feature]) -> dict[str, Feature]:
    """Split the cues that mean different things in a service dialogue and in a chat.

    "Do you have …?" opens a topic in a chat, but from a service asks on about the request. Each is
    split by the share of service cues among the dialogue's service and chat cues.
    """
    serving, chatting = (
        float(np.max([features[name] for name in names], axis=0).sum())
        for names in (_SERVING, _CHATTING)
    )
    share = (serving + 0.5) / (serving + chatting + 1)
    split = {name: values for name, values in features.items() if name not in _AMBIGUOUS}
    for name in _AMBIGUOUS:
        split[f"{name}, serving"] = features[name] * share
        split[f"{name}, chatting"] = features[name] * (1 - share)
    return split


def _position_features(turns: int) -> dict[str, Feature]:
    """Mark the first and the last gap: segments of one turn are even rarer at both ends."""
    first, last = np.zeros(turns - 1), np.zeros(turns - 1)
    first[0] = last[-1] = 1.0
    return {"after the first turn": first, "before the last turn": last}
