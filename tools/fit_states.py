"""Fit the model of :mod:`theanine.recall.state_model`: are two candidates states of one matter?

    python tools/fit_states.py CHANGES.jsonl LOCOMO.json --folds FOLDS.npz --out STATE_MODEL.npz

Pairs are those that a recall judges: the best candidates of a question with all that it ranks.
Pairs of states that follow each other are positive, all others negative; so are pairs of the
questions of conversations without labels, nearly all rightly. Prints what is found in histories
that the model was not fitted on, by probability. Needs torch.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray
from relevance_samples import (
    FOLDS,
    LIVES,
    START,
    Conversation,
    Log,
    embedding,
    read_change_questions,
    read_diaries,
    vector_of,
)

from theanine.recall.resolve import JUDGED, SEEDS
from theanine.recall.state_model import apply, pair_features
from theanine.retrieval.relevance import RelevanceModel
from theanine.types import Turn
from theanine_bench.datasets.evidence import read_evidence

STATEMENTS = Path(__file__).parent / "relevance_statements.json"
DIARIES = Path(__file__).parent / "diaries"
HIDDEN = 16
EPOCHS = 300
NEGATIVES = 30
"""Pairs of one best candidate without a succession that are fitted on."""


Weights = Mapping[str, NDArray[np.float32]]


@dataclass
class Labeled:
    """The pairs of one question.

    Attributes:
        fold: fold of the history.
        features: ``(m, f)``.
        labels: whether each is of two states that follow each other, ``(m,)``.
        kind: the data set.
    """

    fold: int
    features: NDArray[np.float32]
    labels: NDArray[np.float32]
    kind: str


def closure(pairs: list[list[int]]) -> set[tuple[int, int]]:
    reach = {(a, b) for a, b in pairs}
    while more := {(a, d) for a, b in reach for c, d in reach if b == c} - reach:
        reach |= more
    return reach


def pairs_of(
    log: Log,
    question: str,
    succession: set[frozenset[int]],
    *,
    asker: str,
    at: datetime,
    upto: datetime | None,
    fold: int,
    kind: str,
    model: Weights,
) -> Iterator[Labeled]:
    """Yield the pairs of a question's best candidates; ``succession`` has pairs of turns."""
    index = log.index
    vector = vector_of(index.without_speakers(question))
    features, positions = log.find(question, asker=asker, at=at, upto=upto)
    _, scores = RelevanceModel.before_threshold(model, features)
    positions = positions[np.argsort(-scores, kind="stable")]
    positions = positions[:JUDGED]
    turns = index.turns[positions]
    of_seeds = pair_features(positions, min(SEEDS, len(positions)), index, vector)
    for turn, of_seed in zip(turns.tolist(), of_seeds, strict=False):
        others = turns != turn
        if others.any():
            labels = [frozenset((turn, other)) in succession for other in turns[others].tolist()]
            yield Labeled(fold, of_seed[others], np.array(labels, np.float32), kind)


def read_cases(path: Path, foreign: Path, models: Sequence[Weights]) -> Iterator[Labeled]:
    """Yield the pairs of the questions of change cases."""
    for asked in read_change_questions(path, foreign):
        succession = {
            frozenset((asked.number[older], asked.number[newer]))
            for older, newer in closure(asked.case["succession"])
        }
        yield from pairs_of(
            asked.log,
            asked.text,
            succession,
            asker=asked.asker,
            at=asked.at,
            upto=asked.upto,
            fold=asked.fold,
            kind=asked.memory,
            model=models[asked.fold],
        )


def read_others(
    locomo: Path, diaries: Sequence[Path], statements: Path, models: Sequence[Weights]
) -> Iterator[Labeled]:
    """Yield pairs of conversations and of plain statements without labels, and of diaries."""
    for fold, labeled in enumerate(read_evidence(locomo)):
        log = Conversation(labeled)
        asked = {"asker": log.asker, "at": log.last, "upto": None, "fold": fold % FOLDS}
        for question in labeled.questions[::4]:
            yield from pairs_of(
                log, question.text, set(), kind="conversation", model=models[fold % FOLDS], **asked
            )
    for log, fold, question in read_diaries(diaries):
        if question["turns"]:
            asked = {"asker": question["asker"], "at": log.last, "upto": None, "fold": fold}
            yield from pairs_of(
                log,
                question["q"],
                question["succession"],
                kind="diary",
                model=models[fold],
                **asked,
            )
    entries = json.loads(statements.read_text())["statements"]
    for fold in range(FOLDS):
        told = Random(fold).sample(entries, len(entries) // 2)
        turns = [
            Turn(
                text=entry["statement"],
                speaker=LIVES,
                role="user",
                at=START + timedelta(days=5 * number),
                id=number,
                session=number,
            )
            for number, entry in enumerate(told, 1)
        ]
        log = Log(turns)
        asked = {"asker": LIVES, "at": log.last, "upto": None, "fold": fold}
        for entry in told:
            yield from pairs_of(
                log, entry["questions"][0], set(), kind="statements", model=models[fold], **asked
            )


def fit(pairs: list[Labeled]) -> dict[str, NDArray[np.float32]]:
    """Return the weights of a network fitted on pairs."""
    rng = np.random.default_rng(0)
    rows, labels = [], []
    for each in pairs:
        negative = np.flatnonzero(each.labels == 0)
        # The most alike are the hard ones; the others are drawn.
        order = negative[np.argsort(-each.features[negative, 0])]
        drawn = rng.permutation(order[NEGATIVES // 2 :])[: NEGATIVES // 2]
        kept = np.concatenate([np.flatnonzero(each.labels), order[: NEGATIVES // 2], drawn])
        rows.append(each.features[kept])
        labels.append(each.labels[kept])
    x, y = np.concatenate(rows), np.concatenate(labels)
    low, high = np.percentile(x, [0.5, 99.5], axis=0)
    high = np.maximum(high, low)
    x = np.clip(x, low, high)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale = np.where(scale > 1e-6, scale, np.inf)  # what never varies gets no weight
    torch.manual_seed(0)
    data = torch.tensor((x - mean) / scale, dtype=torch.float32)
    target = torch.tensor(y)
    linear = torch.nn.Linear(x.shape[1], 1)
    hidden = torch.nn.Linear(x.shape[1], HIDDEN)
    output = torch.nn.Linear(HIDDEN, 1, bias=False)
    torch.nn.init.zeros_(output.weight)
    parameters = [*linear.parameters(), *hidden.parameters(), *output.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.3)
    for _ in range(EPOCHS):
        logits = (linear(data) + output(torch.relu(hidden(data))))[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def array(tensor: torch.Tensor) -> NDArray[np.float32]:
        return np.asarray(tensor.detach().numpy(), np.float32)

    return {
        "low": low.astype(np.float32),
        "high": high.astype(np.float32),
        "mean": mean.astype(np.float32),
        "scale": scale.astype(np.float32),
        "linear": array(linear.weight)[0],
        "bias": array(linear.bias),
        "hidden": np.ascontiguousarray(array(hidden.weight).T),
        "shift": array(hidden.bias),
        "output": array(output.weight)[0],
    }


def read_folds(path: Path) -> list[Weights]:
    """Return the weights of the ranking's network fitted without each fold."""
    with np.load(path) as stored:
        names = [name.partition(".")[2] for name in stored.files if name.startswith("0.")]
        return [{name: stored[f"{fold}.{name}"] for name in names} for fold in range(FOLDS)]


def report(pairs: list[Labeled], models: list[Weights]) -> None:
    """Print precision and recall by probability, of pairs of histories not fitted on."""
    for kind in dict.fromkeys(each.kind for each in pairs):
        some = [each for each in pairs if each.kind == kind]
        chances = np.concatenate([apply(models[each.fold], each.features) for each in some])
        labels = np.concatenate([each.labels for each in some])
        print(f"{kind}: {len(labels)} pairs, {int(labels.sum())} states of one matter")
        for least in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7):
            chosen = chances >= least
            right = labels[chosen].sum()
            precision, recall = right / max(chosen.sum(), 1), right / max(labels.sum(), 1)
            print(f"  {least:.2f}: {chosen.sum()} chosen, {precision:.2f} of them right, ", end="")
            print(f"{recall:.2f} of all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("changes", type=Path)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--diaries", type=Path, nargs="+", default=[DIARIES])
    parser.add_argument("--embedder", help="another one than the bundled word vectors")
    parser.add_argument("--statements", type=Path, default=STATEMENTS)
    parser.add_argument("--folds", type=Path, required=True, help="of fit_relevance.py --folds")
    args = parser.parse_args()
    if args.embedder:
        embedding.use(args.embedder)
    ranking = read_folds(args.folds)
    pairs = [
        *read_cases(args.changes, args.locomo, ranking),
        *read_others(args.locomo, args.diaries, args.statements, ranking),
    ]
    models = [fit([each for each in pairs if each.fold != fold]) for fold in range(FOLDS)]
    report(pairs, models)
    np.savez_compressed(args.out, **fit(pairs))  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main()
