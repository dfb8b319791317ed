"""Fit the weights of the local segmenter: ``python -m theanine_bench.fit_segmenter``.

Give files of segmented dialogues, each with the weight of its set after a colon, and with
``--joined`` chats whose pieces are cut and joined into dialogues with known seams.
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
from theanine.segmentation.evidence import evidence
from theanine.segmentation.local import SegmentWeights
from theanine_bench.datasets.segmentation import SegmentedDialogue, read_segmented
from theanine_bench.metrics.segmentation import boundaries

Figures = NDArray[np.float64]

AGAINST = frozenset({
    "windows of 1 alike", "windows of 2 alike", "windows of 6 alike", "blocks alike",
    "best like before", "best like after", "words shared", "words from before", "refers back",
    "asks on", "agrees", "gives a number", "thanks", "parts", "before: ends asking",
    "before: asked", "two before: ends asking", "answers", "asks about what was said",
    "after the first turn", "before the last turn",
    "asks about you, serving", "small talk, serving",
})  # fmt: skip
"""Figures that may only speak against a boundary; all others may only speak for one."""
SHRINKAGE = 0.03
"""The penalty on squared weights, each in standard deviations of its figure."""
THRESHOLD, LONE_TURN = -1.2, 2.0
"""Chosen by cross-validation over all sets together; both have a wide optimum."""
JOINED = 1.5
"""What the joined chats count together."""
PIECES = 0.25
"""What the pieces of a set count beside its whole dialogues."""
_STEPS = 1_000

Sample = tuple[Sequence[SegmentedDialogue], float]
"""Dialogues, and what they count together."""


def fit(samples: Iterable[Sample]) -> SegmentWeights:
    """Logistic regression with signs held, on every gap of every dialogue."""
    rows, labels, counts = _gaps(samples)
    names = list(rows)
    table = np.stack([rows[name] for name in names], axis=1)
    spread = np.maximum(table.std(0), 0.05)
    signs = np.array([-1.0 if name in AGAINST else 1.0 for name in names])
    scaled = np.column_stack([table / spread * signs, np.ones(len(table))])
    found = _minimum(scaled, labels, counts / counts.sum())
    values = found[:-1] * signs / spread
    return SegmentWeights(
        figures={
            name: round(float(value), 3)
            for name, value in zip(names, values, strict=True)
            if abs(value) >= 0.0005
        },
        bias=round(float(found[-1]), 3),
        threshold=THRESHOLD,
        lone_turn=LONE_TURN,
    )


def _gaps(samples: Iterable[Sample]) -> tuple[dict[str, Figures], Figures, Figures]:
    """The figures of all gaps, whether a segment begins there, and what each gap counts."""
    embedder = StaticEmbedder()
    rows: dict[str, list[Figures]] = {}
    labels: list[float] = []
    counts: list[float] = []
    given = list(samples)
    short = [(pieces(dialogues), PIECES * weight) for dialogues, weight in given]
    for dialogues, weight in [*given, *short]:
        usable = [one for one in dialogues if len(one.texts) > 1]
        total = sum(len(one.texts) - 1 for one in usable)
        counts += [weight / total] * total
        for one in usable:
            for name, figures in evidence(one.texts, embedder.vectors(one.texts)).items():
                rows.setdefault(name, []).append(figures)
            begin = boundaries(one.lengths)
            labels += [float(turn in begin) for turn in range(1, len(one.texts))]
    joined = {name: np.concatenate(figures) for name, figures in rows.items()}
    return joined, np.array(labels), np.array(counts)


def _minimum(table: Figures, labels: Figures, counts: Figures) -> Figures:
    """Weights from 0 up, and a free last one: projected gradient steps with momentum."""
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
    """One or two neighbouring segments of each dialogue: short ones, many without a boundary."""
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
    """Dialogues of three to six pieces, each three to twelve turns from another chat."""
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
    """``FILE`` or ``FILE:WEIGHT``."""
    path, _, weight = named.rpartition(":")
    return (read_segmented(Path(path)), float(weight)) if path else (read_segmented(Path(named)), 1)


def read_chats(path: Path) -> list[list[str]]:
    """The last session of each history in a file of any known format, as texts."""
    last = [history.transcripts[-1] for history in read_histories(path).histories]
    return [[turn.text for turn in one.turns] for one in last if len(one.turns) >= 3]


def main() -> None:
    """Write the weights to the file that is named, or beside the segmenter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dialogues", nargs="+", metavar="FILE[:WEIGHT]")
    parser.add_argument("--joined", type=Path, metavar="HISTORY")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    samples = [read_sample(named) for named in given.dialogues]
    if given.joined:
        samples.append((join_chats(read_chats(given.joined), 150), JOINED))
    text = json.dumps(asdict(fit(samples)), indent=2)
    given.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
