"""How a newer statement says what it has to do with the older one before it in a timeline."""

from __future__ import annotations

from collections.abc import Mapping

from theanine.types import Relation

RELATION_NOTES: Mapping[Relation, str] = {
    Relation.CHANGED: "changed to",
    Relation.FULFILLED: "what came of it",
    Relation.CORRECTED: "in truth",
    Relation.CAUSE: "as a result",
    Relation.REASON: "because",
    Relation.HINDERED_BY: "what stood in the way",
    Relation.REACT: "how that felt",
    Relation.WANT: "wanted after that",
}
"""The words before the newer statement: they must not read as a remark on that one itself."""
