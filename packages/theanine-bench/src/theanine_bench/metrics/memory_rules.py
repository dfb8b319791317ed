"""Rule-based metrics of memories against gold memories and source turns.

They compare which content words two texts share: other wording counts as another fact, and a denial
as what it denies. A deterministic baseline where there is no judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from theanine.text.words import containment, content_words, format_date, words

COVERAGE_THRESHOLD = 0.6
"""Share of a gold memory's content words from which a memory counts as covering it."""
DUPLICATE_THRESHOLD = 0.8
"""F1 of content words with an earlier memory from which a memory counts as a duplicate."""
GROUNDING_THRESHOLD = 0.5
"""Share of a memory's content words that its source turns must contain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenMemory:
    """A memory that a method wrote, with its source turns.

    Attributes:
        sources: the source turns, as ``{turn, session, speaker, at, text}``.
    """

    id: int
    text: str
    sources: Sequence[Mapping[str, Any]]

    @property
    def speakers(self) -> frozenset[str]:
        """The speakers of the source turns."""
        return frozenset(source["speaker"] for source in self.sources)

    @property
    def source_texts(self) -> list[str]:
        """The source turns as ``Ana said on 8 May 2023: …``, in the words of memories."""
        return [
            f"{source['speaker']} said on {format_date(datetime.fromisoformat(source['at']))}: "
            f"{source['text']}"
            for source in self.sources
        ]


def content_stems(text: str, names: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the stems of a text's content words, without ``names`` (stems too)."""
    return content_words(text) - names


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the F1 of two sets of stems, 0 to 1; 0 if one is empty."""
    shared = len(first & second)
    return 2 * shared / (len(first) + len(second)) if shared else 0.0


def coverage(
    written: Sequence[WrittenMemory], gold: Sequence[tuple[str, str]], names: frozenset[str]
) -> list[list[float]]:
    """Return, for each gold ``(text, speaker)``, its share in each written memory, 0 to 1.

    A written memory with only other people's source turns covers nothing about a speaker.
    """
    stems = [content_stems(memory.text, names) for memory in written]
    table: list[list[float]] = []
    for text, speaker in gold:
        wanted = content_stems(text, names)
        table.append(
            [
                containment(wanted, found) if _may_be_about(speaker, memory) else 0.0
                for memory, found in zip(written, stems, strict=True)
            ]
        )
    return table


def _may_be_about(speaker: str, memory: WrittenMemory) -> bool:
    return not speaker or not memory.sources or any(name in speaker for name in memory.speakers)


def find_duplicates(memories: Sequence[frozenset[str]]) -> dict[int, int]:
    """Return the index of each memory that repeats an earlier one → the earlier one's index."""
    duplicates: dict[int, int] = {}
    for i, memory in enumerate(memories):
        candidates = ((overlap(memory, memories[j]), -j) for j in range(i) if j not in duplicates)
        best, negative_index = max(candidates, default=(0.0, 0))
        if best >= DUPLICATE_THRESHOLD:
            duplicates[i] = -negative_index
    return duplicates


def grounding(memory: frozenset[str], sources: Sequence[str]) -> float:
    """Return the share of a memory's stems in its source turns; 1 for a memory without stems."""
    if not memory:
        return 1.0
    return containment(memory, frozenset[str]().union(*map(content_words, sources)))


def bag_overlap(written: Sequence[str], gold: Sequence[str]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of all written words against all gold words, as bags."""
    ours = Counter(word for text in written for word in words(text))
    theirs = Counter(word for text in gold for word in words(text))
    shared = (ours & theirs).total()
    precision = shared / ours.total() if ours else 0.0
    recall = shared / theirs.total() if theirs else 0.0
    return precision, recall, f1(precision, recall)


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
