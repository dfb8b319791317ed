"""Which statements of a timeline are worth telling: no near-duplicates, no endless chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theanine.text.attribution import without_attribution
from theanine.text.cues import NEGATION, normal
from theanine.text.words import containment, content_words
from theanine.types import Memory, Relation, Timeline, Utterance

DUPLICATE = 0.8
"""Share of a statement's content words in an earlier one from which it adds nothing."""
_SAYS_NOTHING_NEW = (Relation.SAME_TOPIC, None)


@dataclass(frozen=True, slots=True)
class SelectedStatements:
    """A statement with its relation to the one told before it; None: only later."""

    memory: Memory
    relation: Relation | None


def select_statements(
    timeline: Timeline, dialogue: Sequence[Utterance], most: int
) -> list[SelectedStatements]:
    """The statements to tell, in order, at most ``most``; the retrieved one is always there.

    A statement is dropped as a duplicate only if its link is no change, cause or the like and no
    negation tells them apart. Of a long path, what shares most with the dialogue stays.
    """
    everything = range(len(timeline.memories))
    looked_at = _most_useful(everything, timeline, dialogue, 4 * most)
    repeated = _repeated(looked_at, timeline)
    fresh = [place for place in looked_at if place not in repeated]
    result: list[SelectedStatements] = []
    last = 0
    for place in _most_useful(fresh, timeline, dialogue, most):
        unbroken = result and all(between in repeated for between in range(last + 1, place))
        relation = timeline.links[place - 1].relation if unbroken else None
        result.append(SelectedStatements(timeline.memories[place], relation))
        last = place
    return result


def _most_useful(
    places: Sequence[int], timeline: Timeline, dialogue: Sequence[Utterance], most: int
) -> Sequence[int]:
    """At most ``most`` places, ascending: the retrieved, then what fits, then what is near."""
    if len(places) <= most:
        return places
    asked = content_words(" ".join(utterance.full_text for utterance in dialogue))
    centre = retrieved_position(timeline)

    def use(place: int) -> tuple[bool, float, int]:
        fit = containment(asked, content_words(timeline.memories[place].text))
        return (place == centre, fit, -abs(place - centre))

    return sorted(sorted(places, key=use, reverse=True)[:most])


def _repeated(places: Sequence[int], timeline: Timeline) -> set[int]:
    """The places whose statement stands in an earlier one already."""
    repeated: set[int] = set()
    kept: list[tuple[frozenset[str], bool]] = []
    centre = retrieved_position(timeline)
    for place in places:
        memory = timeline.memories[place]
        said = without_attribution(memory.text)
        about = content_words(said) - content_words(" ".join(memory.speakers))
        denied = NEGATION.search(normal(said)) is not None
        may_repeat = place not in (0, centre) and (
            timeline.links[place - 1].relation in _SAYS_NOTHING_NEW
        )
        if may_repeat and any(d == denied and containment(about, a) >= DUPLICATE for a, d in kept):
            repeated.add(place)
            continue
        kept.append((about, denied))
    return repeated


def retrieved_position(timeline: Timeline) -> int:
    """The place of the retrieved one; 0 where shuffling has parted the path that it was on."""
    ids = [memory.id for memory in timeline.memories]
    return ids.index(timeline.retrieved) if timeline.retrieved in ids else 0
