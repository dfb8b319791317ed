"""The fitted model of the local linker: whether a pair is linked, and by which relation.

Fitted by ``tools/fit_links.py`` on 380 pairs of similar statements, on the 1,437 labels bundled
with ``theanine-bench`` and on random pairs, which are mostly unrelated::

    python tools/fit_links.py pairs_dev.jsonl --data DATA --out src/theanine/linking

Five folds over histories, none of them split: of the 380 pairs, a link is right with precision .90
at recall .40 and .86 at .50 (.69 and .64 for turns alone). The relation is much harder: where two
blind readers agree, precision .55 at recall .10 from the trees alone, and .69 with the cues of
:mod:`theanine.methods.theanine.local_relate`.
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


@dataclass(frozen=True, slots=True)
class LinkModel:
    """Two ensembles of trees over the features of pairs.

    Attributes:
        linked: the logit that a pair is linked.
        relations: the chance of each of ``LABELS``.
    """

    linked: Forest
    relations: Forest

    def chances(
        self, rows: NDArray[np.float32], floor: float = 0.0
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the chance of a link, ``(n,)``, and of each label, ``(n, labels)``.

        Labels are 0 where the first ensemble alone shows that the chance is below ``floor``; the
        chance is then an upper bound below it.
        """
        linked = 1 / (1 + np.exp(-self.linked(rows)[:, 0]))
        chances = np.asarray((linked + 1) / 2, np.float32)
        likely = np.flatnonzero(chances >= floor)
        relations = np.zeros((len(rows), len(LABELS)), np.float32)
        relations[likely] = self.relations(rows[likely])
        chances[likely] -= relations[likely, -1] / 2
        return chances, relations

    def save(self, path: Path) -> None:
        """Write the model to a file that :func:`load_model` reads."""
        arrays: dict[str, Any] = self.linked.arrays("linked") | self.relations.arrays("relations")
        np.savez_compressed(path, **arrays)


@cache
def load_model() -> LinkModel:
    """Load the bundled model."""
    with files("theanine.linking").joinpath("model.npz").open("rb") as file:
        arrays = dict(np.load(file))
    return LinkModel(Forest.from_arrays(arrays, "linked"), Forest.from_arrays(arrays, "relations"))
