"""Segmentation metrics.

All take the lengths, in turns, of consecutive segments over the same turns. The window of Pk and
WindowDiff is half the mean length of a reference segment, rounded half to even, at least 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theanine.llm.chat import ScopedChat
from theanine_bench.samples import SampleResult, Score
from theanine_bench.statistics.intervals import RESAMPLES, Floats, Interval, percentile_interval

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


@dataclass(frozen=True, slots=True)
class WindowMetric:
    """Pk or WindowDiff of a dialogue. Lower is better; 1 if the segmenter failed.

    Compares ``extra["gold"]`` with ``output["segments"]``, both the lengths of segments.
    """

    name: str
    compute: Callable[[Lengths, Lengths], float]
    needs_judge: bool = False

    @property
    def worst(self) -> Mapping[str, float]:
        """1."""
        return {self.name: 1.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score under the metric's name."""
        if not result.output:
            return Score(values=self.worst)
        value = self.compute(result.extra["gold"], result.output["segments"])
        return Score(values={self.name: value})


@dataclass(frozen=True, slots=True)
class SegmentationFigure:
    """F1 of boundaries, or the paper's score, over all dialogues, with a bootstrap interval."""

    name: str
    compute: Callable[[Floats], Floats]
    """From mean Pk, mean WindowDiff, and the numbers of correct and of all boundaries per dialogue,
    as ``(…, 4)``, to ``(…)``."""

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, Interval]:
        """Return the figure over the dialogues that were segmented; empty if none was."""
        counts = np.array([_counts(r) for r in results if r.output], np.float64)
        if not len(counts):
            return {}
        rng = np.random.default_rng(0)
        samples = counts[rng.integers(0, len(counts), (RESAMPLES, len(counts)))].mean(1)
        value = float(self.compute(counts.mean(0)))
        return {self.name: percentile_interval(value, self.compute(samples), len(counts))}


def _counts(result: SampleResult) -> tuple[float, float, int, int]:
    reference, predicted = result.extra["gold"], result.output["segments"]
    expected, actual = boundaries(reference), boundaries(predicted)
    correct, total = len(expected & actual), len(expected) + len(actual)
    return pk(reference, predicted), window_diff(reference, predicted), correct, total


def _f1(counts: Floats) -> Floats:
    """Return the F1 of boundaries over all dialogues; a dialogue's end is no boundary."""
    return 2 * counts[..., 2] / np.maximum(counts[..., 3], 1e-9)


def _score(counts: Floats) -> Floats:
    """Return (2 F1 + (1 - Pk) + (1 - WindowDiff)) / 4, 0 to 1 (best) (SeCom 2025, appendix)."""
    return (2 * _f1(counts) + 2 - counts[..., 0] - counts[..., 1]) / 4


METRICS = {
    "Pk": WindowMetric("Pk", pk),
    "WD": WindowMetric("WD", window_diff),
    "F1": SegmentationFigure("F1", _f1),
    "score": SegmentationFigure("score", _score),
}
