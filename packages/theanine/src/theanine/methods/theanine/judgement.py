"""A pair of memories to relate, and the judgement about it."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.types import LOCAL_MODEL, Memory, NewMemory, Relation


@dataclass(frozen=True, slots=True)
class Pair:
    """An older memory and a similar new one.

    Attributes:
        older: a memory of an earlier session.
        newer_index: index of the new memory in its batch.
        newer: the new memory.
        similarity: cosine of their vectors, -1 to 1.
    """

    older: Memory
    newer_index: int
    newer: NewMemory
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The relation of the older memory of a pair to the newer one, or None."""

    relation: Relation | None
    explanation: str = ""
    made_by: str = LOCAL_MODEL
    prompt: str = ""
