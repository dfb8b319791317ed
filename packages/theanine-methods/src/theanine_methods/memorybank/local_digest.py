"""Digests without a model: quoted lines, chosen greedily and never reworded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log1p, sqrt

from theanine.quotes import without_attribution
from theanine.retrieval.query import is_standing_instruction
from theanine.summarization import local_summarize
from theanine.text import cues
from theanine.text.words import content_words
from theanine.types import NewMemory, Turn
from theanine_methods.memorybank.digest import DayDigest, DayLine

DAY_LINES = 6
DAY_LIMIT = 1_200
"""Maximum characters of a day's digest."""
GLOBAL_LINES = 8
GLOBAL_LIMIT = 1_600
"""Maximum characters of a global digest."""
_TRAIT = re.compile(
    r"(?<![\w'])i(?:'m| am|'ve| have)? (?:(?:really|always|never|often|usually|just|so|still|"
    r"don't|can't) )*(?:lov(?:e|ed)|lik(?:e|ed)|enjoy(?:ed)?|prefer|adore|collect|believe|value|"
    r"always|never|usually|often|tend to|stand|passionate|into|fond|a (?:big )?fan|allergic|"
    r"an? \w+ person|the (?:kind|type|sort) of)(?![\w'])"
)
"""Cues of likes, habits and character."""
_QUOTE = re.compile("“(.+?)”")
_ATTACHMENT = re.compile(r" shared(?: on [^:]+)?: (.+)$", re.MULTILINE)
"""An attachment that a line names without a quote."""


def local_digest_day(
    turns: Sequence[Turn], before: tuple[Sequence[str], Sequence[str]]
) -> tuple[DayDigest, DayDigest]:
    """Return the day's events and traits, chosen from disclosures and the lines ``before``.

    Traits are what users say about their likes, habits and feelings.
    """
    users = {turn.id for turn in turns if turn.role == "user"}
    events = local_summarize(turns)
    traits = [
        memory
        for memory in events
        if users.issuperset(memory.source_turns) and _shows_trait(memory)
    ]
    return _choose(events, before[0]), _choose(traits, before[1])


def local_digest_all(days: Sequence[DayLine], before: str) -> str:
    """Choose lines from the previous global digest and from all days, oldest first."""
    lines = [*filter(str.strip, before.splitlines()), *(line.text for line in days)]
    return "\n".join(lines[i] for i in informative_lines(lines, GLOBAL_LINES, GLOBAL_LIMIT))


def turns_quoted_in(text: str, turns: Iterable[Turn]) -> tuple[int, ...]:
    """Return the ids of those of ``turns`` that a local digest quotes."""
    quotes = [*_QUOTE.findall(text), *_ATTACHMENT.findall(text)]
    return tuple(
        turn.id
        for turn in turns
        if any(quote in " ".join(f"{turn.text} {turn.attachment}".split()) for quote in quotes)
    )


def informative_lines(lines: Sequence[str], limit: int, max_characters: int) -> list[int]:
    """Return the positions of the lines that together say most, ascending. Deterministic.

    Greedy: each step takes the line whose new content words weigh most for its length. A word
    weighs more the more lines have it. Lines without content words are never chosen.
    """
    words = [content_words(without_attribution(line)) for line in lines]
    counts = Counter(word for line_words in words for word in line_words)
    weights = {word: log1p(count) for word, count in counts.items()}
    chosen: list[int] = []
    covered: set[str] = set()
    room = max_characters
    pending = [position for position, line_words in enumerate(words) if line_words]
    while pending and len(chosen) < limit:
        gains = {
            position: sum(weights[word] for word in sorted(words[position] - covered))
            / sqrt(len(words[position]))
            for position in pending
            if len(lines[position]) <= room
        }
        best = max(gains, key=lambda position: (gains[position], -position), default=None)
        if best is None or gains[best] <= 0:
            break
        chosen.append(best)
        covered |= words[best]
        room -= len(lines[best])
        pending.remove(best)
    return sorted(chosen)


def _choose(memories: Sequence[NewMemory], before: Sequence[str]) -> DayDigest:
    lines = [*before, *(" ".join(memory.text.split()) for memory in memories)]
    positions = informative_lines(lines, DAY_LINES, DAY_LIMIT)
    chosen = [memories[i - len(before)] for i in positions if i >= len(before)]
    return DayDigest(
        tuple(lines[i] for i in positions),
        tuple(sorted({source for memory in chosen for source in memory.source_turns})),
    )


def _shows_trait(memory: NewMemory) -> bool:
    text = cues.normal(without_attribution(memory.text))
    feels = cues.FEELING.search(text) is not None and cues.FIRST_PERSON.search(text) is not None
    return feels or _TRAIT.search(text) is not None or is_standing_instruction(text)
