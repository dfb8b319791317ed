"""Keep the most informative words of a text."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest


def keep_words(lines: Sequence[str], rate: float, scores: Sequence[Sequence[float]]) -> list[str]:
    """Return the lines with the share ``rate`` of all their words, those of the highest scores.

    ``scores`` has a value for each space-separated word of each line. At least one word is kept;
    of equal scores, the earlier word.
    """
    words = [line.split() for line in lines]
    positions = [(row, column) for row, line in enumerate(words) for column in range(len(line))]
    count = max(1, round(rate * len(positions)))
    kept = set(nlargest(count, positions, key=lambda at: (scores[at[0]][at[1]], -at[0], -at[1])))
    return [
        " ".join(word for column, word in enumerate(line) if (row, column) in kept)
        for row, line in enumerate(words)
    ]
