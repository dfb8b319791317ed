"""What goes into relating two memories, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.types import LOCAL_MODEL, Memory, NewMemory, Relation


@dataclass(frozen=True, slots=True)
class Pair:
    """An older memory and a new one that resembles it.

    Attributes:
        older: from an earlier session.
        newer_index: the new memory's index in its batch.
        newer: the new memory.
        similarity: cosine of their vectors, -1 to 1.
    """

    older: Memory
    newer_index: int
    newer: NewMemory
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How the older memory of a pair stands to the newer one; relation None: not related."""

    relation: Relation | None
    explanation: str = ""
    made_by: str = LOCAL_MODEL
    prompt: str = ""
