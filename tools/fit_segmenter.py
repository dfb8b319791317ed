"""Fit the weights of the local segmenter: ``python tools/fit_segmenter.py``.

Arguments are files of segmented dialogues, each with the weight of its set after a colon. Chats
given by ``--joined`` are cut, and their parts joined into dialogues with known boundaries.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.static import StaticEmbedder
from theanine.importers import read_histories
from theanine_bench.datasets.segmentation import SegmentedDialogue, read_segmented
from theanine_bench.metrics.segmentation import boundaries
from theanine_methods.segmentation import SegmentWeights
from theanine_methods.segmentation.features import boundary_features

Feature = NDArray[np.float64]

AGAINST = frozenset({
    "windows of 1 alike", "windows of 2 alike", "windows of 6 alike", "blocks alike",
    "best like before", "best like after", "words shared", "words from before", "refers back",
    "asks on", "agrees", "gives a number", "thanks", "parts", "before: ends asking",
    "before: asked", "two before: ends asking", "answers", "asks about what was said",
    "after the first turn", "before the last turn",
    "asks about you, serving", "small talk, serving",
})  # fmt: skip
"""Features that may only count against a boundary; all others only for one."""
SHRINKAGE = 0.03
"""Penalty on squared weights, each in standard deviations of its feature."""
THRESHOLD, LONE_TURN = -1.2, 2.0
"""Chosen by cross-validation over all sets together; both optima are wide."""
VOCABULARY = 0.2
"""Chosen on these sets and on 14 meetings of QMSum's development part; from 0.15 to 0.5 they give
much the same."""
JOINED_WEIGHT = 1.5
"""Weight of all joined chats."""
PIECES_WEIGHT = 0.25
"""Weight of the pieces of a set, relative to its whole dialogues."""
_STEPS = 1_000

Sample = tuple[Sequence[SegmentedDialogue], float]
"""Dialogues, and their total weight."""


def fit(samples: Iterable[Sample]) -> SegmentWeights:
    """Fit a logistic regression with fixed signs on all gaps of all dialogues."""
    rows, labels, counts = _gaps(samples)
    names = list(rows)
    table = np.stack([rows[name] for name in names], axis=1)
    spread = np.maximum(table.std(0), 0.05)
    signs = np.array([-1.0 if name in AGAINST else 1.0 for name in names])
    scaled = np.column_stack([table / spread * signs, np.ones(len(table))])
    found = _minimum(scaled, labels, counts / counts.sum())
    values = found[:-1] * signs / spread
    return SegmentWeights(
        features={
            name: round(float(value), 3)
            for name, value in zip(names, values, strict=True)
            if abs(value) >= 0.0005
        },
        bias=round(float(found[-1]), 3),
        threshold=THRESHOLD,
        lone_turn=LONE_TURN,
        vocabulary=VOCABULARY,
    )


def _gaps(samples: Iterable[Sample]) -> tuple[dict[str, Feature], Feature, Feature]:
    """Return the features of all gaps, whether a segment begins there, and each gap's weight."""
    embedder = StaticEmbedder()
    rows: dict[str, list[Feature]] = {}
    labels: list[float] = []
    counts: list[float] = []
    whole = list(samples)
    short = [(pieces(dialogues), PIECES_WEIGHT * weight) for dialogues, weight in whole]
    for dialogues, weight in [*whole, *short]:
        usable = [one for one in dialogues if len(one.texts) > 1]
        total = sum(len(one.texts) - 1 for one in usable)
        counts += [weight / total] * total
        for one in usable:
            for name, values in boundary_features(one.texts, embedder.vectors(one.texts)).items():
                rows.setdefault(name, []).append(values)
            begin = boundaries(one.lengths)
            labels += [float(turn in begin) for turn in range(1, len(one.texts))]
    joined = {name: np.concatenate(values) for name, values in rows.items()}
    return joined, np.array(labels), np.array(counts)


def _minimum(table: Feature, labels: Feature, counts: Feature) -> Feature:
    """Minimize by projected gradient steps with momentum: weights at least 0, the last one free."""
    penalty = np.append(np.full(table.shape[1] - 1, SHRINKAGE), 0.0)
    curvature = np.linalg.norm((table * counts[:, None]).T @ table, 2) / 4 + SHRINKAGE
    found = ahead = np.zeros(table.shape[1])
    for step in range(_STEPS):
        chance = 1 / (1 + np.exp(-(table @ ahead)))
        moved = ahead - (table.T @ (counts * (chance - labels)) + penalty * ahead) / curvature
        moved[:-1] = np.maximum(moved[:-1], 0)
        ahead = moved + step / (step + 3) * (moved - found)
        found = moved
    return found


def pieces(dialogues: Sequence[SegmentedDialogue], seed: int = 0) -> list[SegmentedDialogue]:
    """Cut one or two adjacent segments out of each dialogue; many pieces have no boundary."""
    pick, made = Random(seed), list[SegmentedDialogue]()
    for one in dialogues:
        count = pick.randint(1, 2)
        first = pick.randint(0, max(0, len(one.lengths) - count))
        lengths, start = one.lengths[first : first + count], sum(one.lengths[:first])
        texts = one.texts[start : start + sum(lengths)]
        made.append(SegmentedDialogue(id=f"{one.id}-piece", texts=texts, lengths=lengths))
    return made


def join_chats(
    chats: Sequence[Sequence[str]], count: int, seed: int = 0
) -> list[SegmentedDialogue]:
    """Make dialogues of three to six pieces, each of three to twelve turns of another chat."""
    pick, made = Random(seed), list[SegmentedDialogue]()
    for number in range(count):
        pieces: list[Sequence[str]] = []
        for chat in pick.sample(chats, pick.randint(3, 6)):
            length = pick.randint(3, 12)
            first = pick.randint(0, max(0, len(chat) - length))
            pieces.append(chat[first : first + length])
        made.append(
            SegmentedDialogue(
                id=f"joined-{number}",
                texts=tuple(text for piece in pieces for text in piece),
                lengths=tuple(len(piece) for piece in pieces),
            )
        )
    return made


def read_sample(named: str) -> Sample:
    """Read the dialogues of ``FILE`` or ``FILE:WEIGHT``."""
    path, _, weight = named.rpartition(":")
    return (read_segmented(Path(path)), float(weight)) if path else (read_segmented(Path(named)), 1)


def read_chats(path: Path) -> list[list[str]]:
    """Return the texts of the last session of each history in a file of any known format."""
    last = [history.transcripts[-1] for history in read_histories(path).histories]
    return [[turn.text for turn in one.turns] for one in last if len(one.turns) >= 3]


def main() -> None:
    """Write the fitted weights to ``--out``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dialogues", nargs="+", metavar="FILE[:WEIGHT]")
    parser.add_argument("--joined", type=Path, metavar="HISTORY")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    samples = [read_sample(named) for named in args.dialogues]
    if args.joined:
        samples.append((join_chats(read_chats(args.joined), 150), JOINED_WEIGHT))
    text = json.dumps(asdict(fit(samples)), indent=2)
    args.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
