"""Neighbours lend each other weight, the more the fewer words lie between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.rows import GrowingArray

SKIPPED_TURN_LENGTH = 12
"""Words that a turn is taken to have where no unit stands for it."""

Matrix = NDArray[np.float32]
Positions = NDArray[np.int64]
"""Positions of units, in the order of their arrival from 0; ascending."""


class NeighborSmoothing:
    """How near each unit is to those before it in its session, for units that keep arriving.

    Nearness is ``exp(-words between the two middles / fade)``: turns of chat are close to each
    other, essays are not, so that one setting serves both. Zero across sessions.

    Args:
        reach: how many neighbours on either side take part.
        fade: words after which nearness has fallen to 1/e.
        ahead: what share of its weight a later unit lends to an earlier one.
    """

    def __init__(self, reach: int, fade: float, ahead: float) -> None:
        self.reach, self._fade, self._ahead = reach, fade, ahead
        self._near: list[GrowingArray[np.float32]] = [
            GrowingArray(np.float32) for _ in range(reach)
        ]
        self._sessions: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._middles: GrowingArray[np.float64] = GrowingArray(np.float64)
        self._words = self._turn = 0

    def extend(
        self,
        sessions: NDArray[np.int64],
        lengths: NDArray[np.int64],
        turns: NDArray[np.int64] | None = None,
    ) -> None:
        """Take in more units: their sessions' numbers, how many words each has, their turns'."""
        if not len(lengths):
            return
        old = len(self._middles)
        turns = np.zeros_like(lengths) if turns is None else turns
        skipped = np.maximum(np.diff(turns, prepend=self._turn) - 1, 0) * (turns > 0)
        ends = self._words + np.cumsum(lengths + SKIPPED_TURN_LENGTH * skipped)
        self._words, self._turn = int(ends[-1]), int(turns[-1])
        self._sessions.extend(sessions)
        self._middles.extend(ends - lengths / 2)
        all_sessions, middles = self._sessions.values, self._middles.values
        for distance, rows in enumerate(self._near, 1):
            near = np.zeros(len(lengths), np.float32)
            start = max(old, distance)
            gaps = middles[start:] - middles[start - distance : len(middles) - distance]
            same = all_sessions[start:] == all_sessions[start - distance : len(middles) - distance]
            near[start - old :] = np.where(same, np.exp(-gaps / self._fade), 0)
            rows.extend(near)

    @property
    def settings(self) -> str:
        """What it was made with, in words that differ where any of it does."""
        return f"reach {self.reach}, fade {self._fade}, ahead {self._ahead}"

    def subset(self, places: Positions) -> NeighborSmoothing:
        """The same over some units alone: neighbours that are left out lend nothing."""
        some = NeighborSmoothing(self.reach, self._fade, self._ahead)
        for distance, (rows, kept) in enumerate(zip(self._near, some._near, strict=True), 1):
            near = rows.values[places]
            near[:distance] = 0
            near[distance:][places[distance:] - places[:-distance] > distance] = 0
            kept.extend(near)
        return some

    def smooth(self, scores: Matrix) -> Matrix:
        """Each unit's score with its neighbours' added by nearness; ``(…, n)``."""
        out = scores.copy()
        for distance, near in self._pairs(scores.shape[-1]):
            out[..., distance:] += near * scores[..., :-distance]
            out[..., :-distance] += self._ahead * near * scores[..., distance:]
        return out

    def noisy_or(self, chances: Matrix) -> Matrix:
        """The chance that a unit or one of its neighbours has it (noisy or); ``(…, n)``, 0 to 1."""
        missing = 1 - chances
        for distance, near in self._pairs(chances.shape[-1]):
            missing[..., distance:] *= 1 - near * chances[..., :-distance]
            missing[..., :-distance] *= 1 - self._ahead * near * chances[..., distance:]
        return 1 - missing

    def _pairs(self, units: int) -> list[tuple[int, Matrix]]:
        return [
            (distance, rows.values[distance:])
            for distance, rows in enumerate(self._near, 1)
            if distance < units
        ]
