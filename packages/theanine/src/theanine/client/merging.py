"""Merging the recollections of several scopes into one, under one budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from theanine.types import Part, Recollection, Scope, Utterance

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def merge_recollections(
    recollections: Mapping[Scope, Recollection], budget: int | None, limit: int | None
) -> Recollection:
    """Return the best parts of all scopes, each naming its own, in order of time.

    Pinned parts come first; what is known of a user does not count to the limit. The best are those
    of highest relevance or, where a method estimates none, of highest score.
    """
    from theanine.methods.shared.recall import fit_parts  # takes long to load

    parts = [
        replace(part, scope=scope)
        for scope, recollection in recollections.items()
        for part in recollection.parts
    ]
    parts.sort(key=_goodness, reverse=True)
    fitting = fit_parts(parts, budget)
    kept = [part for part in fitting if part.is_profile]
    kept += [part for part in fitting if not part.is_profile][:limit]
    kept.sort(key=lambda part: (not part.pinned, _BEGINNING if part.pinned else _time(part)))
    first = next(iter(recollections.values()))
    best = [found.best_relevance for found in recollections.values()]
    return replace(
        first,
        parts=tuple(kept),
        best_relevance=max((value for value in best if value is not None), default=None),
        notes=tuple(note for found in recollections.values() for note in found.notes),
    )


def without_numbers(dialogue: Sequence[Utterance]) -> list[Utterance]:
    """Return the turns of a dialogue without their numbers, which mean nothing in other scopes."""
    return [
        Utterance(
            text=turn.text,
            speaker=turn.speaker,
            at=turn.at,
            role=turn.role,
            attachment=turn.attachment,
        )
        for turn in dialogue
    ]


def memory_ids(recalled: Recollection | Sequence[int], scope: Scope) -> tuple[int, ...]:
    """Return the memories of a scope that are in a recollection, or that are named by their ids."""
    if not isinstance(recalled, Recollection):
        return tuple(recalled)
    own = (part for part in recalled.parts if part.scope in (None, scope))
    return tuple(dict.fromkeys(memory.id for part in own for memory in part.memories))


def _goodness(part: Part) -> tuple[bool, float, float]:
    return (part.pinned, part.relevance or 0.0, part.score)


def _time(part: Part) -> datetime:
    times = [turn.at for turn in part.source_turns] + [memory.at for memory in part.memories]
    return min(times, default=_BEGINNING)
