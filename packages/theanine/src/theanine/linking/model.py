"""The fitted model of the local linker: the chance that a pair of memories is linked.

Fitted by ``tools/fit_links.py`` on 380 pairs of similar statements, on the 2,056 labels bundled
with ``theanine-bench`` and on random pairs, which are mostly unrelated::

    python tools/fit_links.py pairs_dev.jsonl --data DATA --out src/theanine/linking

Five folds over histories, none of them split: of the 380 pairs, a link is right with precision .86
at recall .40 and .83 at .50 (.61 and .60 for turns alone).
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

UNLIKELY = 0.6
"""Share of a floor below which the boosted trees' chance is never lifted to it by the others': not
for any of 4,555 pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkModel:
    """Two ensembles of trees over the features of pairs.

    Attributes:
        boosted: the logit that a pair is linked.
        averaged: the chance that it is.
    """

    boosted: Forest
    averaged: Forest

    def link_chances(self, rows: NDArray[np.float32], floor: float = 0.0) -> NDArray[np.float32]:
        """Return the chance of a link, ``(n,)``.

        Where the boosted trees give less than ``UNLIKELY`` of ``floor``, theirs alone is returned.
        """
        boosted = 1 / (1 + np.exp(-self.boosted(rows)[:, 0]))
        chances = np.asarray(boosted, np.float32)
        likely = np.flatnonzero(chances >= UNLIKELY * floor)
        chances[likely] = (chances[likely] + self.averaged(rows[likely])[:, 0]) / 2
        return chances

    def save(self, path: Path) -> None:
        """Write the model to a file that :func:`load_model` reads."""
        arrays: dict[str, Any] = {}
        for name in _FORESTS:
            arrays |= getattr(self, name).arrays(name)
        np.savez_compressed(path, **arrays)


_FORESTS = ("boosted", "averaged")


@cache
def load_model() -> LinkModel:
    """Load the bundled model."""
    with files("theanine.linking").joinpath("model.npz").open("rb") as file:
        arrays = dict(np.load(file))
    return LinkModel(*(Forest.from_arrays(arrays, name) for name in _FORESTS))
