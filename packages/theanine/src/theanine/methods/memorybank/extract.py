"""Choose the lines that say most of what all of them say: digests without a language model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log1p, sqrt

from theanine.text.attribution import without_attribution
from theanine.text.words import content_words


def telling(lines: Sequence[str], most: int, limit: int) -> list[int]:
    """Places of at most ``most`` lines, ascending, of together at most ``limit`` characters.

    Greedy: each time the line whose content words, not yet said, weigh most for its length; a word
    weighs more the more lines have it. Deterministic, and none for lines without content words.
    """
    words = [content_words(without_attribution(line)) for line in lines]
    weight = {word: log1p(n) for word, n in Counter(w for some in words for w in some).items()}
    chosen: list[int] = []
    said: set[str] = set()
    left = limit
    waiting = [place for place, some in enumerate(words) if some]
    while waiting and len(chosen) < most:
        gains = {
            place: sum(weight[word] for word in sorted(words[place] - said))
            / sqrt(len(words[place]))
            for place in waiting
            if len(lines[place]) <= left
        }
        best = max(gains, key=lambda place: (gains[place], -place), default=None)
        if best is None or gains[best] <= 0:
            break
        chosen.append(best)
        said |= words[best]
        left -= len(lines[best])
        waiting.remove(best)
    return sorted(chosen)
