"""The judgement about a pair of memories."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.types import LOCAL_MODEL, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The relation of the older memory of a pair to the newer one, or None."""

    relation: Relation | None
    explanation: str = ""
    made_by: str = LOCAL_MODEL
    prompt: str = ""
