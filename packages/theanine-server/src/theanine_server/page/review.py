"""Find doubtful memories, which a person should review."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from theanine.methods.theanine.local_relate import read_chance
from theanine.types import LOCAL_MODEL, Link, Memory, Relation

SURE = 0.85
"""Probability from which a link of the local linker counts as certain."""

DoubtKind = Literal["contradiction", "unsure", "repaired"]
"""``contradiction``: two memories are at odds; ``unsure``: the local linker is not sure that they
belong together so; ``repaired``: a model made it only after a reply that could not be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Why a memory is doubtful.

    Attributes:
        other: id of the memory that it is linked with; None for a repaired one.
        relation: that of the link; None for a repaired one.
        chance: probability that the relation is right, 0 to 1; None if unknown.
        explanation: of the link.
    """

    kind: DoubtKind
    other: int | None = None
    relation: Relation | None = None
    chance: float | None = None
    explanation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulMemory:
    """The id of a doubtful memory, and the reasons, strongest first."""

    memory: int
    doubts: tuple[Doubt, ...]


_ORDER = ("contradiction", "repaired", "unsure")


def find_doubtful(
    memories: Sequence[Memory],
    links: Sequence[Link],
    reviewed: Collection[int],
    repaired: Collection[tuple[int, str, str]],
) -> list[DoubtfulMemory]:
    """Return the doubtful memories, contradictions first and then the least sure ones.

    Args:
        memories: all that are shown.
        links: those between them.
        reviewed: ids of memories that a person accepted, or that are not in effect.
        repaired: session, step and model of replies that could not be used.
    """
    doubts: dict[int, list[Doubt]] = {}
    for link in links:
        doubt = _doubt_of_link(link)
        # A person may have reviewed either side of a contradiction.
        if doubt and not (doubt.kind == "contradiction" and link.older in reviewed):
            doubts.setdefault(link.newer, []).append(doubt)
    for memory in memories:
        if any(
            (memory.session, memory.made_by) == (session, model) and memory.prompt.startswith(step)
            for session, step, model in repaired
        ):
            doubts.setdefault(memory.id, []).append(Doubt(kind="repaired"))
    found = [
        DoubtfulMemory(memory=number, doubts=tuple(sorted(reasons, key=_strength)))
        for number, reasons in doubts.items()
        if number not in reviewed
    ]
    return sorted(found, key=lambda each: (*_strength(each.doubts[0]), each.memory))


def _doubt_of_link(link: Link) -> Doubt | None:
    if link.relation is Relation.HINDERED_BY:
        kind, chance = "contradiction", None
    else:
        kind = "unsure"
        chance = read_chance(link.explanation) if link.made_by == LOCAL_MODEL else None
        if link.relation in (None, Relation.SAME_TOPIC) or chance is None or chance >= SURE:
            return None
    return Doubt(
        kind=kind,
        other=link.older,
        relation=link.relation,
        chance=chance,
        explanation=link.explanation,
    )


def _strength(doubt: Doubt) -> tuple[int, float]:
    return _ORDER.index(doubt.kind), doubt.chance or 0.0
