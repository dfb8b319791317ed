"""Memories against gold memories and source turns, by words alone: rough, the same every time.

Nothing here reads. It compares which words of content two texts have, so it takes other wording for
another fact, and a denial for what it denies. It is the baseline where there is no judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from theanine.text.words import containment, content_words, format_date, words

COVERAGE_THRESHOLD = 0.6
"""Share of a gold memory's content words from which a memory counts as saying it."""
DUPLICATE_THRESHOLD = 0.8
"""Overlap (F1 of content words) with an earlier memory from which one counts as said twice."""
GROUNDING_THRESHOLD = 0.5
"""Share of a memory's content words that its source turns must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenMemory:
    """A memory that a method wrote, with its source turns.

    Attributes:
        sources: the turns behind it, as ``{turn, session, speaker, at, text}``.
    """

    id: int
    text: str
    sources: Sequence[Mapping[str, Any]]

    @property
    def speakers(self) -> frozenset[str]:
        """Who said what it rests on."""
        return frozenset(one["speaker"] for one in self.sources)

    @property
    def said(self) -> list[str]:
        """Its source turns, ``Ana said on 8 May 2023: …``, as memories attribute them."""
        return [
            f"{one['speaker']} said on {format_date(datetime.fromisoformat(one['at']))}: "
            f"{one['text']}"
            for one in self.sources
        ]


def content_stems(text: str, names: frozenset[str] = frozenset()) -> frozenset[str]:
    """What a text is about, without the speakers' ``names`` (stems as well)."""
    return content_words(text) - names


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """F1 of two sets of stems, 0 to 1; 0 where one of them is empty."""
    shared = len(one & other)
    return 2 * shared / (len(one) + len(other)) if shared else 0.0


def coverage(
    written: Sequence[WrittenMemory], wanted: Sequence[tuple[str, str]], names: frozenset[str]
) -> list[list[float]]:
    """For each wanted ``(text, speaker)``, how much of it each written memory has, 0 to 1.

    A memory that rests on other people's turns alone has nothing of what a speaker should be
    remembered by.
    """
    have = [content_stems(one.text, names) for one in written]
    table: list[list[float]] = []
    for text, speaker in wanted:
        need = content_stems(text, names)
        table.append(
            [
                containment(need, stems_of) if not speaker or _by(speaker, one) else 0.0
                for one, stems_of in zip(written, have, strict=True)
            ]
        )
    return table


def _by(speaker: str, one: WrittenMemory) -> bool:
    return not one.sources or any(name in speaker for name in one.speakers)


def find_duplicates(memories: Sequence[frozenset[str]]) -> dict[int, int]:
    """The places of memories that repeat an earlier one, and the earlier one's place."""
    found: dict[int, int] = {}
    for place, one in enumerate(memories):
        earlier = ((overlap(one, memories[i]), -i) for i in range(place) if i not in found)
        best, at = max(earlier, default=(0.0, 0))
        if best >= DUPLICATE_THRESHOLD:
            found[place] = -at
    return found


def grounding(memory: frozenset[str], sources: Sequence[str]) -> float:
    """The share of a memory's stems that its source turns have; 1 for one that says nothing."""
    return (
        containment(memory, frozenset[str]().union(*map(content_words, sources))) if memory else 1.0
    )


def bag_overlap(written: Sequence[str], wanted: Sequence[str]) -> tuple[float, float, float]:
    """Precision, recall and F1 of all words written against all words wanted, as bags."""
    one = Counter(word for text in written for word in words(text))
    other = Counter(word for text in wanted for word in words(text))
    shared = (one & other).total()
    precision = shared / one.total() if one else 0.0
    recall = shared / other.total() if other else 0.0
    return precision, recall, f1(precision, recall)


def f1(precision: float, recall: float) -> float:
    """The harmonic mean; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
