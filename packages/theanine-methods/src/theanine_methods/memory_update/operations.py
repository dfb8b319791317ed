"""The five operations on an older and a newer statement, and the decision for one pair."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from theanine.methods.shared.pairs import Pair
from theanine.types import LOCAL_MODEL

REPEAT = "repeat"
"""The kind of a statement that repeats an older one: stored, but not returned."""
ENDING = "ending"
"""The kind of a statement that only says that an older one is over."""


# The docstring is in the JSON schema of replies, and so in the journal's key.
class Operation(StrEnum):
    """What is to become of an older statement M and a newer one N.

    Bae et al. (2022) have four; CHANGE is Theanine's, who ran them as a baseline (appendix H).
    """

    PASS = "Pass"
    CHANGE = "Change"
    REPLACE = "Replace"
    APPEND = "Append"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The operation for one pair, and why."""

    pair: Pair
    operation: Operation
    explanation: str = ""
    made_by: str = LOCAL_MODEL
    prompt: str = ""
