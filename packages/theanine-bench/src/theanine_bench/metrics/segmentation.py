"""Segmentation metrics.

All take the lengths, in turns, of consecutive segments over the same turns. ``Pk``, ``WD``, ``F1``
and ``score`` are what the program of SuperDialSeg (Jiang et al., 2023) prints, by which SeCom's
table 4 is scored: means over dialogues, with windows of at least two turns, of which the last
reaches beyond the last boundary. Those that end in ``:gaps`` are by definition: windows of at least
one turn over the gaps between turns, and F1 over the boundaries of all dialogues together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from theanine.llm.chat import ScopedChat
from theanine_bench.samples import SampleResult, Score
from theanine_bench.statistics.intervals import RESAMPLES, Floats, Interval, percentile_interval

Lengths = Sequence[int]
"""The number of turns of each segment, in order."""
_Counts = NDArray[np.int64]


def pk(reference: Lengths, predicted: Lengths, *, by_gaps: bool = False) -> float:
    """Return Pk, 0 (best) to 1 (Beeferman, Berger and Lafferty, 1999).

    That is the share of windows that only one of the two segmentations leaves whole. A dialogue
    shorter than the window gives 0.
    """
    expected, actual = _boundaries_in_windows(reference, predicted, by_gaps)
    differ: NDArray[np.bool_] = (expected == 0) != (actual == 0)
    return float(differ.mean()) if len(expected) else 0.0


def window_diff(reference: Lengths, predicted: Lengths, *, by_gaps: bool = False) -> float:
    """Return WindowDiff, 0 (best) to 1 (Pevzner and Hearst, 2002).

    That is the share of windows in which the two segmentations have different numbers of
    boundaries. A dialogue shorter than the window gives 0.
    """
    expected, actual = _boundaries_in_windows(reference, predicted, by_gaps)
    differ: NDArray[np.bool_] = expected != actual
    return float(differ.mean()) if len(expected) else 0.0


def boundary_f1(reference: Lengths, predicted: Lengths) -> float:
    """Return the F1 of the boundaries of a dialogue, 0 to 1; 0 where none is right."""
    correct, total = _count_boundaries(reference, predicted)
    return 2 * correct / max(1, total)


def segmentation_score(reference: Lengths, predicted: Lengths) -> float:
    """Return (2 F1 + (1 - Pk) + (1 - WindowDiff)) / 4, 0 to 1 (best) (SeCom 2025, appendix)."""
    errors = pk(reference, predicted) + window_diff(reference, predicted)
    return (2 * boundary_f1(reference, predicted) + 2 - errors) / 4


def boundaries(lengths: Lengths) -> set[int]:
    """Return the indexes of the turns at which a segment begins, without the first."""
    return set(np.cumsum(lengths[:-1], dtype=int).tolist())


def _count_boundaries(reference: Lengths, predicted: Lengths) -> tuple[int, int]:
    """Return the number of correct boundaries, and of all that are expected or found."""
    expected, actual = boundaries(reference), boundaries(predicted)
    return len(expected & actual), len(expected) + len(actual)


def _boundaries_in_windows(
    reference: Lengths, predicted: Lengths, by_gaps: bool
) -> tuple[_Counts, _Counts]:
    """Return the number of boundaries in each window, for both segmentations."""
    if sum(reference) != sum(predicted) or min((*reference, *predicted), default=1) < 1:
        raise ValueError("both segmentations must cover the same turns, with no empty segment")
    turns = sum(reference)
    window = max(1 if by_gaps else 2, round(turns / max(1, len(reference)) / 2))
    found: list[_Counts] = []
    for lengths in (reference, predicted):
        passed = np.zeros(turns + (not by_gaps), np.int64)  # boundaries before each turn
        passed[list(boundaries(lengths))] = 1
        passed = np.cumsum(passed)
        found.append(passed[window:] - passed[:-window])
    return found[0], found[1]


@dataclass(frozen=True, slots=True)
class DialogueMetric:
    """A figure of a dialogue; the worst one if the segmenter failed.

    Compares ``extra["gold"]`` with ``output["segments"]``, both the lengths of segments.
    """

    name: str
    compute: Callable[[Lengths, Lengths], float]
    is_error: bool = False
    needs_judge: bool = False

    @property
    def worst(self) -> Mapping[str, float]:
        """1 for an error, else 0."""
        return {self.name: float(self.is_error)}

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score under the metric's name."""
        if not result.output:
            return Score(values=self.worst)
        value = self.compute(result.extra["gold"], result.output["segments"])
        return Score(values={self.name: value})


@dataclass(frozen=True, slots=True)
class PooledF1:
    """F1 of the boundaries of all dialogues, with a bootstrap interval."""

    name: str

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, Interval]:
        """Return the figure over the dialogues that were segmented; empty if none was."""
        counts = np.array(
            [
                _count_boundaries(result.extra["gold"], result.output["segments"])
                for result in results
                if result.output
            ],
            np.float64,
        )
        if not len(counts):
            return {}
        rng = np.random.default_rng(0)
        samples = counts[rng.integers(0, len(counts), (RESAMPLES, len(counts)))].mean(1)
        value = float(_f1(counts.mean(0)))
        return {self.name: percentile_interval(value, _f1(samples), len(counts))}


def _f1(counts: Floats) -> Floats:
    return 2 * counts[..., 0] / np.maximum(counts[..., 1], 1e-9)


METRICS = {
    "Pk": DialogueMetric("Pk", pk, is_error=True),
    "WD": DialogueMetric("WD", window_diff, is_error=True),
    "F1": DialogueMetric("F1", boundary_f1),
    "score": DialogueMetric("score", segmentation_score),
    "Pk:gaps": DialogueMetric("Pk:gaps", partial(pk, by_gaps=True), is_error=True),
    "WD:gaps": DialogueMetric("WD:gaps", partial(window_diff, by_gaps=True), is_error=True),
    "F1:gaps": PooledF1("F1:gaps"),
}
