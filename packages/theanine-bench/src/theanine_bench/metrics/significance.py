"""Who wins in pairs, and whether that could be luck."""

from __future__ import annotations

from dataclasses import dataclass

from theanine_bench.metrics.intervals import Interval, bootstrap_interval
from theanine_bench.metrics.library import library


@dataclass(frozen=True, slots=True)
class WinRate:
    """What comparisons in pairs came to.

    Attributes:
        rate: mean of 1 for a win, a half for a tie and 0 for a loss, with its interval.
        p: two-sided p-value that wins and losses are equally likely, ties left out.
    """

    wins: int
    ties: int
    losses: int
    rate: Interval
    p: float


def win_rate(wins: int, losses: int, ties: int = 0, seed: int = 0) -> WinRate:
    """The rate and its p-value. Raises ValueError where nothing was compared."""
    values = [1.0] * wins + [0.5] * ties + [0.0] * losses
    return WinRate(
        wins, ties, losses, bootstrap_interval(values, seed), binomial_p(wins, wins + losses)
    )


def binomial_p(wins: int, decided: int, luck: float = 0.5) -> float:
    """SciPy's exact two-sided p-value of so many wins where luck gives half; 1 for nothing.

    ``luck`` is another share that luck would give, such as a third among three.

    Source: the paper of theanine takes its p-values from SciPy (appendix E.1). Raises MissingExtra.
    """
    stats = library("scipy.stats", "a p-value")
    return float(stats.binomtest(wins, decided, luck).pvalue) if decided else 1.0
