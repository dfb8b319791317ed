"""Neighbor smoothing with exponential decay over word distance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays

SKIPPED_TURN_LENGTH = 12
"""Assumed words of a turn that no unit stands for."""

Matrix = NDArray[np.float32]
Positions = NDArray[np.int64]
"""Positions of units in order of arrival, from 0, ascending."""


class NeighborSmoothing:
    """Proximity of each unit to the units before it in its session.

    Proximity is ``exp(-words between the middles of two units / fade)``, and 0 across sessions.
    Turns of chat are close to each other, essays are not: one setting serves both.

    Args:
        reach: number of neighbors on either side.
        fade: words after which proximity has fallen to 1/e.
        ahead: share of its score that a unit lends to earlier ones; to later ones it lends all.
    """

    def __init__(self, reach: int, fade: float, ahead: float) -> None:
        self._reach, self._fade, self._ahead = reach, fade, ahead
        # _proximities[d - 1][i] is the proximity of unit i to unit i - d.
        self._proximities: list[GrowingArray[np.float32]] = [
            GrowingArray(np.float32) for _ in range(reach)
        ]
        self._sessions: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._middles: GrowingArray[np.float64] = GrowingArray(np.float64)
        self._words = self._last_turn = 0

    def extend(
        self,
        sessions: NDArray[np.int64],
        lengths: NDArray[np.int64],
        turns: NDArray[np.int64] | None = None,
    ) -> None:
        """Add units: their session numbers, lengths in words, and turn numbers (0 if unknown)."""
        if not len(lengths):
            return
        start = len(self._middles)
        turns = np.zeros_like(lengths) if turns is None else turns
        skipped = np.maximum(np.diff(turns, prepend=self._last_turn) - 1, 0) * (turns > 0)
        ends = self._words + np.cumsum(lengths + SKIPPED_TURN_LENGTH * skipped)
        self._words, self._last_turn = int(ends[-1]), int(turns[-1])
        self._sessions.extend(sessions)
        self._middles.extend(ends - lengths / 2)
        all_sessions, middles = self._sessions.values, self._middles.values
        for distance, proximities in enumerate(self._proximities, 1):
            added = np.zeros(len(lengths), np.float32)
            first = max(start, distance)
            gaps = middles[first:] - middles[first - distance : len(middles) - distance]
            same = all_sessions[first:] == all_sessions[first - distance : len(middles) - distance]
            added[first - start :] = np.where(same, np.exp(-gaps / self._fade), 0)
            proximities.extend(added)

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        return array_state(self) | {
            "proximities": {
                str(distance): proximities.values
                for distance, proximities in enumerate(self._proximities)
            },
            "end": [self._words, self._last_turn],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the state of a smoothing with the same settings."""
        restore_arrays(self, state)
        for distance, proximities in enumerate(self._proximities):
            proximities.restore(state["proximities"][str(distance)])
        self._words, self._last_turn = state["end"]

    @property
    def settings(self) -> str:
        """A text that identifies the settings."""
        return f"reach {self._reach}, fade {self._fade}, ahead {self._ahead}"

    def smooth(self, scores: Matrix) -> Matrix:
        """Add to each unit's score those of its neighbors, weighted by proximity; ``(…, n)``."""
        smoothed = scores.copy()
        for distance, proximity in self._by_distance(scores.shape[-1]):
            smoothed[..., distance:] += proximity * scores[..., :-distance]
            smoothed[..., :-distance] += self._ahead * proximity * scores[..., distance:]
        return smoothed

    def noisy_or(self, probabilities: Matrix) -> Matrix:
        """Combine each unit's probability with its neighbors' by a noisy-or; ``(…, n)``, 0 to 1.

        Only probabilities above 0 take time: a term occurs in few units.
        """
        units = probabilities.shape[-1]
        flat = probabilities.reshape(-1)
        places = np.flatnonzero(flat > 0)
        values, at = flat[places], places % max(units, 1)
        complement = np.ones_like(flat)
        complement[places] -= values
        for distance, proximities in enumerate(self._proximities, 1):
            proximity = proximities.values
            later, earlier = at + distance < units, at >= distance
            complement[places[later] + distance] *= (
                1 - proximity[at[later] + distance] * values[later]
            )
            complement[places[earlier] - distance] *= (
                1 - self._ahead * proximity[at[earlier]] * values[earlier]
            )
        return (1 - complement).reshape(probabilities.shape)

    def _by_distance(self, units: int) -> Iterator[tuple[int, Matrix]]:
        for distance, proximities in enumerate(self._proximities, 1):
            if distance < units:
                yield distance, proximities.values[distance:]
