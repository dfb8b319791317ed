"""The judgement about a pair of memories."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.types import LOCAL_MODEL, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The relation of the older memory of a pair to the newer one, or None.

    Attributes:
        chance: that the two are linked; None if a model judged, which gives none.
    """

    relation: Relation | None
    explanation: str = ""
    chance: float | None = None
    made_by: str = LOCAL_MODEL
    prompt: str = ""
