"""Win rates of pairwise comparisons."""

from __future__ import annotations

from dataclasses import dataclass

from theanine_bench.statistics.intervals import Interval, binomial_p_value, bootstrap_interval


@dataclass(frozen=True, slots=True)
class WinRate:
    """The outcomes of pairwise comparisons.

    Attributes:
        rate: mean of 1 for a win, 0.5 for a tie and 0 for a loss.
        p: two-sided p-value that wins and losses are equally likely, without ties.
    """

    wins: int
    ties: int
    losses: int
    rate: Interval
    p: float


def win_rate(wins: int, losses: int, ties: int = 0, seed: int = 0) -> WinRate:
    """Return the win rate and its p-value. Raises ValueError without comparisons."""
    values = [1.0] * wins + [0.5] * ties + [0.0] * losses
    rate = bootstrap_interval(values, seed)
    return WinRate(wins, ties, losses, rate, binomial_p_value(wins, wins + losses))
