"""The fitted model of the local linker: whether a pair is linked, and by which relation.

Fitted by ``tools/fit_links.py`` on 380 pairs of similar statements, on the 2,056 labels bundled
with ``theanine-bench`` and on random pairs, which are mostly unrelated::

    python tools/fit_links.py pairs_dev.jsonl --data DATA --out src/theanine/linking

Five folds over histories, none of them split: of the 380 pairs, a link is right with precision .86
at recall .40 and .83 at .50 (.61 and .60 for turns alone). The relation is harder: where two blind
readers agree, precision .70 at recall .10 and .62 at .25 if the pair need not be linked too, and
.73 at .14 as :mod:`theanine.methods.theanine.local_relate` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.linking.forest import Forest
from theanine.types import Relation

LABELS: tuple[Relation | None, ...] = (*Relation, None)
RELATIONS = tuple(relation for relation in Relation if relation is not Relation.SAME_TOPIC)
"""Those that say more than that two statements are on the same topic."""


UNLIKELY = 0.6
"""Share of a floor below which the boosted trees' chance is never lifted to it by the others': not
for any of 4,555 pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkModel:
    """Ensembles of trees over the features of pairs, and a linear model beside one of them.

    Attributes:
        boosted: the logit that a pair is linked.
        averaged: the chance that it is.
        relations: the chance of each of ``LABELS``, from the features of relations.
        weights: the logit of each label from the same features and a constant one,
            ``(features + 1, labels)``.
    """

    boosted: Forest
    averaged: Forest
    relations: Forest
    weights: NDArray[np.float32]

    def link_chances(self, rows: NDArray[np.float32], floor: float = 0.0) -> NDArray[np.float32]:
        """Return the chance of a link, ``(n,)``.

        Where the boosted trees give less than ``UNLIKELY`` of ``floor``, theirs alone is returned.
        """
        boosted = 1 / (1 + np.exp(-self.boosted(rows)[:, 0]))
        chances = np.asarray(boosted, np.float32)
        likely = np.flatnonzero(chances >= UNLIKELY * floor)
        chances[likely] = (chances[likely] + self.averaged(rows[likely])[:, 0]) / 2
        return chances

    def label_chances(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the chance of each label, ``(n, labels)``, from the features of relations."""
        logits = rows @ self.weights[:-1] + self.weights[-1]
        linear = np.exp(logits - logits.max(1, keepdims=True))
        return (self.relations(rows) + linear / linear.sum(1, keepdims=True)) / 2

    def save(self, path: Path) -> None:
        """Write the model to a file that :func:`load_model` reads."""
        arrays: dict[str, Any] = {"weights": self.weights}
        for name in _FORESTS:
            arrays |= getattr(self, name).arrays(name)
        np.savez_compressed(path, **arrays)


_FORESTS = ("boosted", "averaged", "relations")


@cache
def load_model() -> LinkModel:
    """Load the bundled model."""
    with files("theanine.linking").joinpath("model.npz").open("rb") as file:
        arrays = dict(np.load(file))
    boosted, averaged, relations = (Forest.from_arrays(arrays, name) for name in _FORESTS)
    return LinkModel(boosted, averaged, relations, arrays["weights"])
