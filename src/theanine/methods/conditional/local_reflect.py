"""Reflect without a language model: what was found lends its own words to the next search.

Pseudo-relevance feedback: the words of the best memory that bears on the question stand for the
keywords that a model would name.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.conversation import Utterance
from theanine.memory import Memory
from theanine.steps.words import FUNCTION_WORDS, contained, content, stem, words

ENOUGH = 0.5
"""Share of the last turn's content words in what was found, from which it is enough."""
MOST_KEYWORDS = 6


def local_reflect(found: Sequence[Memory], dialogue: Sequence[Utterance]) -> list[str]:
    """Keywords for another search, or none: enough is known, or nothing bears on the question."""
    asked = content(dialogue[-1].words) if dialogue else frozenset[str]()
    together = frozenset[str]().union(*(content(memory.text) for memory in found))
    if not asked or contained(asked, together) >= ENOUGH or not asked & together:
        return []
    best = next(memory for memory in found if asked & content(memory.text))
    fresh = [
        word
        for word in words(best.text)
        if word not in FUNCTION_WORDS and len(word) > 3 and stem(word) not in asked
    ]
    return list(dict.fromkeys(fresh))[:MOST_KEYWORDS]
