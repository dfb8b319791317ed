"""How close drawn segments come to the reference ones.

All take the lengths of consecutive segments over the same turns. The window of Pk and WindowDiff
is half the mean length of a reference segment, at least 1, rounded half to even.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Lengths = Sequence[int]
"""How many turns each segment has, in order."""
_Counts = NDArray[np.int64]


def pk(reference: Lengths, drawn: Lengths) -> float:
    """The share of turn pairs, a window apart, that only one of the two puts in one segment.

    0 is best. A dialogue no longer than the window has no pair and gives 0. Source: Beeferman,
    Berger and Lafferty, 1999.
    """
    ours, theirs = _within(reference, drawn)
    differ: NDArray[np.bool_] = (ours == 0) != (theirs == 0)
    return float(differ.mean()) if len(ours) else 0.0


def window_diff(reference: Lengths, drawn: Lengths) -> float:
    """The share of windows in which the two have different numbers of boundaries.

    0 is best. A dialogue no longer than the window gives 0. Source: Pevzner and Hearst, 2002.
    """
    ours, theirs = _within(reference, drawn)
    differ: NDArray[np.bool_] = ours != theirs
    return float(differ.mean()) if len(ours) else 0.0


def boundary_f1(pairs: Iterable[tuple[Lengths, Lengths]]) -> float:
    """F1 of the boundaries over all dialogues together; a dialogue's end is no boundary.

    Raises ValueError when neither side has a boundary anywhere.
    """
    right = said = true = 0
    for reference, drawn in pairs:
        ours, theirs = boundaries(reference), boundaries(drawn)
        right += len(ours & theirs)
        said, true = said + len(theirs), true + len(ours)
    if not said + true:
        raise ValueError("no boundaries to find and none drawn: there is no F1")
    return 2 * right / (said + true)


def segmentation_score(f1: float, mean_pk: float, mean_wd: float) -> float:
    """One figure of the three, 0 to 1, more is better. Source: SeCom (2025), appendix."""
    return (2 * f1 + (1 - mean_pk) + (1 - mean_wd)) / 4


def boundaries(lengths: Lengths) -> set[int]:
    """The turns at which a segment begins, other than the first."""
    return set(np.cumsum(lengths[:-1], dtype=int).tolist())


def _within(reference: Lengths, drawn: Lengths) -> tuple[_Counts, _Counts]:
    """For each window, how many boundaries each of the two has in it."""
    if sum(reference) != sum(drawn) or min((*reference, *drawn), default=1) < 1:
        raise ValueError("both segmentations must cover the same turns, with no empty segment")
    if not reference:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    window = max(1, round(sum(reference) / len(reference) / 2))
    ours = np.repeat(np.arange(len(reference)), reference)
    theirs = np.repeat(np.arange(len(drawn)), drawn)
    return ours[window:] - ours[:-window], theirs[window:] - theirs[:-window]
