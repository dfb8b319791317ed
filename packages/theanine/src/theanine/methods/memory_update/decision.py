"""The five operations, and one decision about an older and a newer statement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from theanine.types import LOCAL_MODEL, Memory, NewMemory

REPEAT = "repeat"
"""The kind of a statement that an older one says already: kept, but not given back."""
ENDING = "ending"
"""The kind of a statement that only says that an older one's matter is over."""


class Operation(StrEnum):
    """What is to become of an older statement M and a newer one N.

    Bae et al. (2022) have four; CHANGE is Theanine's, who ran them as a baseline (appendix H).
    """

    PASS = "Pass"
    CHANGE = "Change"
    REPLACE = "Replace"
    APPEND = "Append"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class Pair:
    """A live statement of an earlier session and a new one that resembles it.

    Attributes:
        older: the live statement.
        index: the new statement's place in its batch.
        newer: the new statement.
        similarity: cosine of their vectors, -1 to 1.
    """

    older: Memory
    index: int
    newer: NewMemory
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The operation for one pair, and why."""

    pair: Pair
    operation: Operation
    explanation: str = ""
    made_by: str = LOCAL_MODEL
    prompt: str = ""
