"""Choose among boundaries by the words of the whole segments between them.

Between two turns only the few turns next to them can be compared, and in a meeting most of these
are short: "Mm", "Right." So by its gaps alone a long session is cut into far too many segments. The
words of whole segments tell more, the longer the segments are.

The evidence for a segmentation is how much shorter the session's words are encoded with it than
without it, in nats: in a segment of ``n`` words, one that occurs ``f`` times there has the
probability ``(f + 1) / (n + v)``, where ``v`` is the size of the session's vocabulary. Source:
Utiyama and Isahara, "A Statistical Model for Domain-Independent Text Segmentation" (2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, log

from theanine.text.words import content_words

USUAL_WORDS = 20
"""Content words of a segment in the dialogues that the weights were fitted on."""
MOST_JOINED = 150
"""Most given segments that become one: with it, the number of candidates is linear."""


def select_starts(
    texts: Sequence[str], starts: Sequence[int], gains: Sequence[float], weight: float
) -> list[int]:
    """Return those of the boundaries whose gains and evidence have the highest total.

    A boundary costs the logarithm of the number of usual segments that the session has room for,
    as much as it takes to name one of them.

    Args:
        texts: the text of each turn.
        starts: the turns at which segments begin, without the first, in ascending order.
        gains: the gain in logits of each of these boundaries.
        weight: of a nat of evidence; less than 1, as words recur in bursts and so tell less than
            independent ones would.
    """
    numbers: dict[str, int] = {}
    words = [
        [
            numbers.setdefault(word, len(numbers))
            for text in texts[first:end]
            for word in sorted(content_words(text))
        ]
        for first, end in pairwise([0, *starts, len(texts)])
    ]
    place = log(max(1.0, sum(map(len, words)) / USUAL_WORDS))
    saving = [_times_log(count + 1, 1) - _times_log(count, 1) for count in range(len(texts))]
    costs = [0.0, *(weight * place - gain for gain in gains)]
    lowest, came_from = [0.0] + [inf] * len(words), [0] * (len(words) + 1)
    for first, cost in enumerate(costs):
        counts, size, saved = [0] * len(numbers), 0, 0.0
        before = lowest[first] + cost
        for end in range(first, min(first + MOST_JOINED, len(words))):
            for word in words[end]:
                saved += saving[counts[word]]
                counts[word] += 1
            size += len(words[end])
            total = before + weight * (_times_log(size, len(numbers)) - saved)
            if total < lowest[end + 1]:
                lowest[end + 1], came_from[end + 1] = total, first
    selected: list[int] = []
    at = came_from[-1]
    while at:
        selected.append(starts[at - 1])
        at = came_from[at]
    return selected[::-1]


def _times_log(count: int, more: int) -> float:
    return count * log(count + more) if count else 0.0
