"""Limit the length of a timeline: drop near-duplicates, keep the most relevant statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theanine.quotes import without_attribution
from theanine.text.cues import NEGATION, normal
from theanine.text.words import containment, content_words
from theanine.types import Memory, Relation, Timeline, Utterance

MAX_PROMPT_STATEMENTS = 40
"""Statements of one timeline that the model is shown, unless it is shown the whole."""
MAX_LOCAL_STATEMENTS = 8
"""Statements of one timeline in a local account."""
DUPLICATE = 0.8
"""A statement is a near-duplicate if an earlier one has this share of its content words."""
_REPETITIONS = (Relation.SAME_TOPIC, None)
"""Relations with which a statement may merely repeat the one before it."""


@dataclass(frozen=True, slots=True)
class SelectedStatement:
    """A selected memory, and its relation to the selected memory before it or None."""

    memory: Memory
    relation: Relation | None


def select_statements(
    timeline: Timeline, dialogue: Sequence[Utterance], limit: int
) -> list[SelectedStatement]:
    """Return at most ``limit`` statements in order; the retrieved one is always among them.

    A near-duplicate is dropped unless its link is a change, a cause or the like, or only one of the
    two is negated. Of a longer path, the statements that share most with the dialogue stay.
    """
    candidates = _most_relevant(range(len(timeline.memories)), timeline, dialogue, 4 * limit)
    duplicates = _duplicates(candidates, timeline)
    remaining = [position for position in candidates if position not in duplicates]
    result: list[SelectedStatement] = []
    last = 0
    for position in _most_relevant(remaining, timeline, dialogue, limit):
        # The link's relation holds if only duplicates lie between the two statements.
        adjacent = result and all(skipped in duplicates for skipped in range(last + 1, position))
        relation = timeline.links[position - 1].relation if adjacent else None
        result.append(SelectedStatement(timeline.memories[position], relation))
        last = position
    return result


def _most_relevant(
    positions: Sequence[int], timeline: Timeline, dialogue: Sequence[Utterance], limit: int
) -> Sequence[int]:
    """Return at most ``limit`` positions, ascending.

    The retrieved memory comes first, then those that share most words with the dialogue, then those
    closest to the retrieved one.
    """
    if len(positions) <= limit:
        return positions
    query = content_words(" ".join(utterance.full_text for utterance in dialogue))
    center = retrieved_position(timeline)

    def relevance(position: int) -> tuple[bool, float, int]:
        overlap = containment(query, content_words(timeline.memories[position].text))
        return (position == center, overlap, -abs(position - center))

    return sorted(sorted(positions, key=relevance, reverse=True)[:limit])


def _duplicates(positions: Sequence[int], timeline: Timeline) -> set[int]:
    """Return the positions of statements that nearly repeat an earlier one."""
    duplicates: set[int] = set()
    kept: list[tuple[frozenset[str], bool]] = []
    center = retrieved_position(timeline)
    for position in positions:
        memory = timeline.memories[position]
        quote = without_attribution(memory.text)
        content = content_words(quote) - content_words(" ".join(memory.speakers))
        negated = NEGATION.search(normal(quote)) is not None
        droppable = position not in (0, center) and (
            timeline.links[position - 1].relation in _REPETITIONS
        )
        if droppable and any(
            earlier_negated == negated and containment(content, earlier) >= DUPLICATE
            for earlier, earlier_negated in kept
        ):
            duplicates.add(position)
            continue
        kept.append((content, negated))
    return duplicates


def retrieved_position(timeline: Timeline) -> int:
    """Return the position of the retrieved memory, or 0 if the timeline lacks it.

    It can lack it after shuffling, which splits the path.
    """
    ids = [memory.id for memory in timeline.memories]
    return ids.index(timeline.retrieved) if timeline.retrieved in ids else 0
