"""What speaks for and against a boundary at each gap between two turns, as figures.

Three kinds: how alike the turns on both sides are (vectors), which words they share, and what the
wording does (:mod:`theanine.segmentation.cues`). Figures that depend on a dialogue's style are
measured against the dialogue's own mean, so that one setting serves long and short turns alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from theanine.segmentation import cues
from theanine.text.words import content_words

Figures = NDArray[np.float64]
"""One figure a gap; gap 0 lies between turns 0 and 1."""

_LEND = 6.0
"""Gaps' worth of prior belief in a mean and a spread: a few gaps alone say little of either."""
_FEW = 12
"""Turns by which a dialogue counts as short."""
_WORDY = 20
"""Words from which on a cue counts for less: in a long turn nearly every cue turns up."""
_COURTESY = frozenset("cool good great hello help hey hi lol look need nice ok okay please sure "
                      "thank thanks want wow would".split())  # fmt: skip
_REACH = 4
_SERVING = ("needs", "orders", "before: offers more", "before: reports done", "before: closes")
_CHATTING = ("tells of self", "small talk")
_TWOFOLD = ("asks about you", "small talk", "tells of self", "first person")


def evidence(texts: Sequence[str], vectors: NDArray[np.float32]) -> dict[str, Figures]:
    """Every figure by name, ``len(texts) - 1`` long each; needs two turns or more."""
    worded = _by_kind(_worded(texts))
    return _alike(_centred(vectors)) | _shared(texts) | worded | _placed(len(texts))


def _centred(vectors: NDArray[np.float32]) -> Figures:
    """Unit rows without what all turns of the dialogue have in common.

    Of a short dialogue little is taken out: what all its turns share may well be its one topic.
    """
    rows = vectors.astype(np.float64)
    rows -= rows.sum(0) / (len(rows) + _FEW)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _standing(values: Figures, mean: float, spread: float) -> Figures:
    """How far each stands from the dialogue's mean, in spreads; both lean on the values given."""
    weight = len(values) + _LEND
    mean = (float(values.sum()) + _LEND * mean) / weight
    square = (float(((values - mean) ** 2).sum()) + _LEND * spread**2) / weight
    return (values - mean) / math.sqrt(square)


def _alike(units: Figures) -> dict[str, Figures]:
    """Likeness of the windows and turns around each gap."""
    n = len(units)
    sums = np.concatenate([np.zeros((1, units.shape[1])), np.cumsum(units, axis=0)])
    gaps = np.arange(1, n)

    def sides(width: int) -> tuple[Figures, Figures, NDArray[np.intp]]:
        low, high = np.maximum(gaps - width, 0), np.minimum(gaps + width, n)
        return sums[gaps] - sums[low], sums[high] - sums[gaps], (gaps - low) * (high - gaps)

    def windows(width: int) -> Figures:
        before, after, _ = sides(width)
        norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        return np.einsum("nd,nd->n", before, after) / np.maximum(norms, 1e-9)

    before, after, pairs = sides(_REACH)
    block = np.einsum("nd,nd->n", before, after) / pairs
    # beside[d - 1][i]: likeness of turns i and i + d, -1 past the end.
    beside = np.full((_REACH, n), -1.0)
    for d in range(1, min(_REACH, n - 1) + 1):
        beside[d - 1, : n - d] = np.einsum("nd,nd->n", units[:-d], units[d:])
    best_after = beside[:, :-1].max(0)
    best_before = np.array([max(beside[d - 1, i - d] for d in range(1, min(_REACH, i) + 1))
                            for i in gaps])  # fmt: skip
    next_to = beside[0, :-1]
    return {
        "windows of 1 alike": _standing(windows(1), 0, 0.25),
        "windows of 2 alike": windows(2),
        "windows of 6 alike": _standing(windows(6), 0, 0.25),
        "blocks alike": _standing(block, 0, 0.1),
        "best like before": _standing(best_before, 0.15, 0.2),
        "best like after": _standing(best_after, 0.15, 0.2),
        "next two alike": _standing(np.append(next_to[1:], 0.0), 0.05, 0.25),
        "last two alike": _standing(np.append(0.0, next_to[:-1]), 0.05, 0.25),
        "dip": np.maximum(_standing(_dips(windows(3)), 0.35, 0.3) - 1, 0),
    }


def _dips(likeness: Figures) -> Figures:
    """How far each gap's likeness lies under the best within three gaps on both sides."""
    n = len(likeness)
    return np.array([
        likeness[max(0, i - 3) : i + 1].max() + likeness[i : min(n, i + 4)].max() - 2 * likeness[i]
        for i in range(n)
    ])  # fmt: skip


def _shared(texts: Sequence[str]) -> dict[str, Figures]:
    """Content words that the turns around each gap have in common."""
    stems = [content_words(text) - _COURTESY for text in texts]
    n = len(stems)
    rarity = {
        word: math.log((n + 1) / times)
        for word, times in Counter(word for one in stems for word in one).items()
    }
    found: dict[str, list[float]] = {"words shared": [], "words from before": [],
                                     "words taken up": [], "words": []}  # fmt: skip
    for i in range(1, n):
        before, after = stems[max(0, i - 3) : i], stems[i : i + 3]
        found["words shared"].append(_overlap(_union(before), _union(after), rarity))
        here = stems[i]
        past, to_come = _union(stems[max(0, i - _REACH) : i]), _union(stems[i + 1 : i + 5])
        found["words from before"].append(min(2, len(here & past)) / 2)
        found["words taken up"].append(min(2, len(here & to_come)) / 2)
        found["words"].append(min(4, len(here)) / 4)
    return {name: np.array(values) for name, values in found.items()}


def _union(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def _overlap(
    before: frozenset[str], after: frozenset[str], rarity: Mapping[str, float]
) -> float:  # fmt: skip
    """The cosine of two sets of words, rare ones weighing more, damped where there are few."""
    ours, theirs = (sum(rarity[word] for word in sorted(side)) for side in (before, after))
    both = sum(rarity[word] for word in sorted(before & after))
    return both / (math.sqrt(ours * theirs) + 1)


def _worded(texts: Sequence[str]) -> dict[str, Figures]:
    """The cues of the turns around each gap."""
    heads, tails = [cues.head(text) for text in texts], [cues.tail(text) for text in texts]
    weight = np.array([min(1.0, _WORDY / max(1, text.count(" ") + 1)) for text in texts])
    asking = weight * [cues.ends_asking(text) for text in tails]
    found = {
        name: weight[1:] * [cue.search(text) is not None for text in heads[1:]]
        for name, cue in cues.HERE.items()
    }
    for name, cue in cues.BEFORE.items():
        found[f"before: {name}"] = weight[:-1] * [
            cue.search(text) is not None for text in tails[:-1]
        ]
    found["two before: ends asking"] = np.append(0.0, asking[:-2])
    found["next: ends asking"] = np.append(asking[2:], 0.0)
    asked = [cues.questions(text) for text in heads]
    found["answers"] = weight[1:] * [
        "?" in before and not here for before, here in zip(tails[:-1], asked[1:], strict=True)
    ]
    return found | _asked(texts, asked, weight)


def _asked(texts: Sequence[str], asked: Sequence[str], weight: Figures) -> dict[str, Figures]:
    """Whether a turn's question takes up words of the turns before it, or only new ones."""
    stems = [content_words(text) for text in texts]
    new, old = [0.0] * (len(texts) - 1), [0.0] * (len(texts) - 1)
    for i in range(1, len(texts)):
        if words := content_words(asked[i]) - _COURTESY if asked[i] else None:
            known = bool(words & _union(stems[max(0, i - 5) : i]))
            (old if known else new)[i - 1] = 1.0
    return {"asks something new": weight[1:] * new, "asks about what was said": weight[1:] * old}


def _by_kind(worded: Mapping[str, Figures]) -> dict[str, Figures]:
    """Part the cues that mean one thing where one side serves the other and another in a chat.

    "Do you have …?" opens a topic in a chat; from who serves, it asks on about the request. Each
    is parted by the share of serving cues among the dialogue's serving and chatting ones.
    """
    serving, chatting = (
        float(np.max([worded[name] for name in names], axis=0).sum())
        for names in (_SERVING, _CHATTING)
    )
    share = (serving + 0.5) / (serving + chatting + 1)
    found = {name: values for name, values in worded.items() if name not in _TWOFOLD}
    for name in _TWOFOLD:
        found[f"{name}, serving"] = worded[name] * share
        found[f"{name}, chatting"] = worded[name] * (1 - share)
    return found


def _placed(turns: int) -> dict[str, Figures]:
    """Segments of one turn are rarer still at either end."""
    first, last = np.zeros(turns - 1), np.zeros(turns - 1)
    first[0] = last[-1] = 1.0
    return {"after the first turn": first, "before the last turn": last}
