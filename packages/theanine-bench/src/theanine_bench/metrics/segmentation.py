"""Segmentation metrics.

All take the lengths, in turns, of consecutive segments over the same turns. The window of Pk and
WindowDiff is half the mean length of a reference segment, rounded half to even, at least 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Lengths = Sequence[int]
"""The number of turns of each segment, in order."""
_Counts = NDArray[np.int64]


def pk(reference: Lengths, predicted: Lengths) -> float:
    """Return Pk, 0 (best) to 1 (Beeferman, Berger and Lafferty, 1999).

    That is the share of turn pairs, a window apart, that only one of the two segmentations puts in
    one segment. A dialogue no longer than the window has no pair and gives 0.
    """
    expected, actual = _boundaries_in_windows(reference, predicted)
    differ: NDArray[np.bool_] = (expected == 0) != (actual == 0)
    return float(differ.mean()) if len(expected) else 0.0


def window_diff(reference: Lengths, predicted: Lengths) -> float:
    """Return WindowDiff, 0 (best) to 1 (Pevzner and Hearst, 2002).

    That is the share of windows in which the two segmentations have different numbers of
    boundaries. A dialogue no longer than the window gives 0.
    """
    expected, actual = _boundaries_in_windows(reference, predicted)
    differ: NDArray[np.bool_] = expected != actual
    return float(differ.mean()) if len(expected) else 0.0


def boundary_f1(pairs: Iterable[tuple[Lengths, Lengths]]) -> float:
    """Return the F1 of boundaries over all dialogues; a dialogue's end is no boundary.

    ``pairs`` are (reference, predicted). Raises ValueError if neither side has any boundary.
    """
    correct = total = 0
    for reference, predicted in pairs:
        expected, actual = boundaries(reference), boundaries(predicted)
        correct += len(expected & actual)
        total += len(expected) + len(actual)
    if not total:
        raise ValueError("no boundaries to find and none predicted: there is no F1")
    return 2 * correct / total


def segmentation_score(f1: float, mean_pk: float, mean_wd: float) -> float:
    """Combine F1, Pk and WindowDiff into one score, 0 to 1 (best) (SeCom 2025, appendix)."""
    return (2 * f1 + (1 - mean_pk) + (1 - mean_wd)) / 4


def boundaries(lengths: Lengths) -> set[int]:
    """Return the indexes of the turns at which a segment begins, without the first."""
    return set(np.cumsum(lengths[:-1], dtype=int).tolist())


def _boundaries_in_windows(reference: Lengths, predicted: Lengths) -> tuple[_Counts, _Counts]:
    """Return the number of boundaries in each window, for both segmentations."""
    if sum(reference) != sum(predicted) or min((*reference, *predicted), default=1) < 1:
        raise ValueError("both segmentations must cover the same turns, with no empty segment")
    if not reference:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    window = max(1, round(sum(reference) / len(reference) / 2))
    expected = np.repeat(np.arange(len(reference)), reference)
    actual = np.repeat(np.arange(len(predicted)), predicted)
    return expected[window:] - expected[:-window], actual[window:] - actual[:-window]
