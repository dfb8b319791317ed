"""Fit the weights of the relevance of a candidate, by which candidates are ordered.

    python tools/fit_relevance.py locomo.json beam100k --weights 1 3
        --statements tools/relevance_statements.json
        --held-out packages/theanine/tests/retrieval/relevance_statements.json
        --chats msc/msc_dialogue/session_2/valid.jsonl --changes changes.jsonl
        --pairs links/pairs.jsonl --out relevance.npz --folds folds.npz

Needs PyTorch besides the development requirements. Prints figures on histories that the networks
were not fitted on: recall, calibration, and how many questions that a memory can't answer get
nothing at each floor of relevance, beside the evidence that is lost. Then fits on all of them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from relevance_samples import (
    FOLDS,
    Sample,
    embedding,
    read_changes,
    read_conversations,
    read_diary_questions,
    read_long,
    read_replies,
    read_statements,
)
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, gelu, logsigmoid, softplus

from theanine.retrieval.relevance import RelevanceModel
from theanine_bench.datasets.evidence import read_evidence

DIARIES = Path(__file__).parent / "diaries"
CANDIDATES = 60
"""Best candidates of each question by which the features' range is taken."""
RANKED = 200
"""Best candidates of each question that the ranking is fitted on."""
BUDGET = 1_000
"""Tokens within which evidence counts as found."""
LOST = 0.01
"""Share of the evidence that the floor may lose."""
FLOORS = (0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2)
SHARES = {
    "own": 1.0,
    "foreign": 0.5,
    "never": 0.4,
    "half": 0.3,
    "half, absent": 0.1,
    "small": 0.3,
    "small, absent": 0.1,
    "small, never": 0.2,
    "first person": 0.3,
    "first person, absent": 0.08,
    "first person, never": 0.2,
    "statement": 0.6,
    "statement, absent": 0.15,
    "statement, never": 0.6,
    "changes alone": 0.05,
    "changes alone, other languages": 0.05,
    "changes alone, never": 0.05,
    "changes mixed": 0.4,
    "changes mixed, other languages": 0.3,
    "changes mixed, never": 0.1,
    "changes within": 0.3,
    "changes within, other languages": 0.3,
    "changes within, never": 0.1,
    "diary": 1.0,
    "diary, told": 0.1,
    "diary, never": 0.5,
    "reply": 0.2,
    "long text": 0.3,
    "long text, never": 0.1,
    "large log": 0.3,
    "large log, never": 0.1,
}
"""Weight of each kind of sample in a data set for the relevance."""
WHOLE = ("own", "adversarial")
"""Kinds of questions with evidence that are asked of whole conversations."""
PARTS = ("half", "small", "first person")
"""Kinds of questions with evidence that are asked of parts of conversations."""
ORDER = {
    "own": 1.0,
    "adversarial": 1.0,
    "half": 0.3,
    "small": 0.3,
    "first person": 0.3,
    "statement": 0.8,
    "changes within": 0.1,
    "changes within, other languages": 0.1,
    "changes mixed": 0.2,
    "changes mixed, other languages": 0.2,
    "diary": 1.0,
    "diary, told": 1.0,
    "reply": 0.5,
    "long text": 0.3,
    "large log": 0.3,
}
"""Weight of each sample in the order, by its kind."""
EPOCHS = 14
CONSTANT = 1e-4
"""Deviation below which a feature is taken for constant."""
CURVE = 24
"""Points of the curve of calibration."""
CALIBRATED_FROM = -6.0
"""Logit from which the curve is fitted; candidates below are hardly ever evidence."""


SEEDS = 2
"""Networks that are joined into one."""


class Network(nn.Module):
    """A linear part beside one hidden layer."""

    def __init__(self, size: int, hidden: int, outputs: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.linear = nn.Linear(size, outputs)
        self.hidden = nn.Linear(size, hidden)
        self.output = nn.Linear(hidden, outputs, bias=False)
        self.dropout = nn.Dropout1d(dropout)  # the same inputs for all candidates of a question
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.linear.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self._drop(x)
        hidden = gelu(self.hidden(x), approximate="tanh")
        return self.linear(x) + self.output(self._drop(hidden))

    def _drop(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.dropout(torch.ones(len(x), x.shape[2], 1)).transpose(1, 2)


@dataclass
class Batch:
    """Samples as padded tensors; ``owners`` has the first candidate of the same turn."""

    x: torch.Tensor
    valid: torch.Tensor
    gold: torch.Tensor
    owners: torch.Tensor
    weights: torch.Tensor

    def __getitem__(self, rows: torch.Tensor) -> Batch:
        return Batch(
            self.x[rows], self.valid[rows], self.gold[rows], self.owners[rows], self.weights[rows]
        )


def pad(
    samples: Sequence[Sample],
    weights: Sequence[float],
    of: Mapping[str, NDArray[np.float32]],
    most: int,
) -> Batch:
    x = torch.zeros(len(samples), most, len(of["mean"]))
    valid, gold = (torch.zeros(len(samples), most, dtype=torch.bool) for _ in range(2))
    owners = torch.zeros(len(samples), most, dtype=torch.long)
    for row, sample in enumerate(samples):
        turns = sample.turns[:most]
        _, first, inverse = np.unique(turns, return_index=True, return_inverse=True)
        rows = np.clip(sample.features[:most], of["low"], of["high"])
        x[row, : len(turns)] = torch.tensor((rows - of["mean"]) / of["scale"])
        valid[row, : len(turns)] = True
        gold[row, : len(turns)] = torch.tensor(np.isin(turns, list(sample.gold)))
        owners[row, : len(turns)] = torch.tensor(first[inverse])
    return Batch(x, valid, gold, owners, torch.tensor(weights, dtype=torch.float32))


def ranking_loss(scores: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the mean over gold turns of the softmax loss of a turn against all other turns.

    The passages of a turn count together.
    """
    top = scores.masked_fill(~batch.valid, -1e4).max(1, keepdim=True).values.detach()
    masses = torch.exp((scores - top).clamp(min=-60)) * batch.valid
    zeros = torch.zeros_like(masses)
    turns = zeros.scatter_add(1, batch.owners, masses).gather(1, batch.owners)
    passages = zeros.scatter_add(1, batch.owners, batch.valid.float()).gather(1, batch.owners)
    others = (masses * ~batch.gold).sum(1, keepdim=True)
    shares = batch.gold / passages.clamp(min=1)
    shares = shares / shares.sum(1, keepdim=True).clamp(min=1e-9)
    losses = (torch.log(turns + others + 1e-30) - torch.log(turns + 1e-30)) * shares
    return (losses.sum(1) * batch.weights).sum() / batch.weights.sum()


def relevance_loss(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the cross-entropy of each candidate and, three times, of there being any evidence."""
    each = binary_cross_entropy_with_logits(logits, batch.gold.float(), reduction="none")
    none = (logsigmoid(-logits) * batch.valid).sum(1)
    some = torch.log(-torch.expm1(none.clamp(max=-1e-6)))
    losses = (each * batch.valid).sum(1) - 3 * torch.where(batch.gold.any(1), some, none)
    return (losses * batch.weights).sum() / batch.weights.sum()


def train(
    network: Network,
    batch: Batch,
    loss_of: Callable[[Network, Batch], torch.Tensor],
    *,
    epochs: int,
    seed: int,
) -> Network:
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=1e-2)
    rows = torch.arange(len(batch.x))
    steps = epochs * -(-len(rows) // 32)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(epochs):
        for part in rows[torch.randperm(len(rows))].split(32):
            loss = loss_of(network, batch[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network.eval()


Weights = dict[str, NDArray[np.float32]]


def joined(networks: Sequence[Network], name: str) -> Weights:
    """Return the weights of several networks as those of one wider network."""
    states = [{k: v.detach().numpy() for k, v in n.state_dict().items()} for n in networks]
    weights = {
        f"{name}_linear": np.mean([w["linear.weight"].T for w in states], axis=0),
        f"{name}_bias": np.mean([w["linear.bias"] for w in states], axis=0),
        f"{name}_hidden": np.concatenate([w["hidden.weight"].T for w in states], axis=1),
        f"{name}_shift": np.concatenate([w["hidden.bias"] for w in states]),
        f"{name}_output": np.concatenate([w["output.weight"].T for w in states]) / len(states),
    }
    return {name: value.astype(np.float32) for name, value in weights.items()}


def weight_of(sample: Sample, sets: Mapping[str, float]) -> float:
    """Return the weight of a sample in the order of the candidates; 0 leaves it out."""
    if not np.isin(sample.turns[:RANKED], list(sample.gold)).any():
        return 0.0
    return sets.get(sample.set, 1.0) * ORDER.get(sample.kind, 0.0)


def fit_scores(samples: Sequence[Sample], args: argparse.Namespace) -> Weights:
    """Return the weights of the network whose score orders the candidates, without the others."""
    sets = dict(zip([path.stem for path in args.data], args.weights, strict=True))
    sets["diaries"] = args.diary_weight
    features = np.concatenate([s.features[:CANDIDATES:3] for s in samples if s.kind in SHARES])
    low, high = np.quantile(features, [0.001, 0.999], axis=0).astype(np.float32)
    features = np.clip(features, low, high)
    scale = features.std(0)
    scale = np.where(scale > CONSTANT, scale, np.inf).astype(np.float32)  # it tells nothing
    weights: Weights = {"low": low, "high": high, "mean": features.mean(0), "scale": scale}
    found = [(sample, weight) for sample in samples if (weight := weight_of(sample, sets))]
    batch = pad([s for s, _ in found], [w for _, w in found], weights, RANKED)
    networks = [
        train(
            Network(len(low), 32, 1),
            batch,
            lambda network, part: ranking_loss(network(part.x)[..., 0], part),
            epochs=EPOCHS,
            seed=seed,
        )
        for seed in range(SEEDS)
    ]
    return weights | joined(networks, "score")


def fit_thresholds(samples: Sequence[Sample], models: Mapping[int, Weights]) -> Weights:
    """Return the weights of the network that turns scores into relevance.

    ``models`` have the scores for each fold, of networks that were fitted without it: on what it
    was fitted on, a network is surer than elsewhere.
    """
    fitted = [sample for sample in samples if sample.kind in SHARES]
    counts = Counter((sample.set, sample.kind) for sample in fitted)
    shares = [SHARES[s.kind] / counts[s.set, s.kind] for s in fitted]
    known, gaps = [], []
    for sample in fitted:
        inputs, gap = RelevanceModel.before_threshold(models[sample.fold], sample.features)
        known.append(inputs)
        gaps.append(gap)
    most = max(map(len, gaps))
    batch = Batch(
        torch.tensor(np.stack(known))[:, None],
        torch.zeros(len(fitted), most, dtype=torch.bool),
        torch.zeros(len(fitted), most, dtype=torch.bool),
        torch.zeros(len(fitted), most),
        torch.tensor(shares, dtype=torch.float32),
    )
    for row, (sample, gap) in enumerate(zip(fitted, gaps, strict=True)):
        batch.valid[row, : len(gap)] = True
        batch.gold[row, : len(gap)] = torch.tensor(np.isin(sample.turns, list(sample.gold)))
        batch.owners[row, : len(gap)] = torch.tensor(gap)

    def loss_of(network: Network, part: Batch) -> torch.Tensor:
        threshold, steepness = network(part.x)[:, 0].T
        return relevance_loss(softplus(steepness)[:, None] * part.owners + threshold[:, None], part)

    networks = [
        train(Network(batch.x.shape[2], 24, 2), batch, loss_of, epochs=EPOCHS, seed=seed)
        for seed in range(SEEDS)
    ]
    return joined(networks, "threshold")


UNCALIBRATED = {
    "logits": np.array([-30, 30], np.float32),
    "calibrated": np.array([-30, 30], np.float32),
}


def fit_calibration(logits: NDArray[np.floating], gold: NDArray[np.bool_]) -> Weights:
    """Return an ascending curve from logits to those of the share that is evidence."""
    order = np.argsort(logits, kind="stable")
    logits, gold = logits[order], gold[order]
    edges = np.flatnonzero(logits > CALIBRATED_FROM)
    ends = edges[0] + np.linspace(0, len(edges), CURVE + 1).astype(int)
    x = np.array([logits[start:end].mean() for start, end in pairwise(ends)])
    shares = [(gold[start:end].sum() + 0.5) / (end - start + 1) for start, end in pairwise(ends)]
    y = np.maximum.accumulate(np.log(shares) - np.log1p(-np.array(shares)))
    y += np.arange(CURVE) * 1e-4  # strictly ascending, so that the order stays
    below = np.array([-30, CALIBRATED_FROM]) + min(y[0] - x[0], 0)
    curve_x = np.concatenate([[-30, CALIBRATED_FROM], x, [30]])
    curve_y = np.concatenate([np.minimum(below, y[0] - 1e-3), y, [max(y[-1] + 1, 30)]])
    return {"logits": curve_x.astype(np.float32), "calibrated": curve_y.astype(np.float32)}


class Result:
    """What a model makes of a sample that it was not fitted on."""

    def __init__(self, sample: Sample, model: RelevanceModel) -> None:
        self.sample = sample
        self.logits, self.relevance = model.apply(sample.features)
        self.order = np.argsort(-self.logits, kind="stable")
        self.gold = np.isin(sample.turns, list(sample.gold))
        self.best = float(self.relevance.max())
        self.evidence = self._within(BUDGET) if sample.gold else 0.0

    def recall(self, k: int) -> float:
        """Return the share of the evidence among the first ``k`` turns."""
        turns = list(dict.fromkeys(self.sample.turns[self.order].tolist()))
        return len(self.sample.gold.intersection(turns[:k])) / len(self.sample.gold)

    def _within(self, budget: int) -> float:
        found: set[int] = set()
        for candidate in self.order:
            if self.sample.tokens[candidate] <= budget:
                budget -= int(self.sample.tokens[candidate])
                found.add(int(self.sample.turns[candidate]))
        return len(self.sample.gold & found) / len(self.sample.gold)


Groups = Mapping[tuple[str, str], Sequence[Result]]


def empty(results: Sequence[Result], floor: float) -> float:
    """Return the share of questions that get nothing."""
    return float(np.mean([result.best < floor for result in results]))


def lost(results: Sequence[Result], floor: float) -> float:
    """Return the evidence that a floor loses, as a share of all evidence."""
    return float(np.mean([result.evidence * (result.best < floor) for result in results]))


def choose_floor(groups: Groups, folds: set[int]) -> float:
    """Return the highest floor that loses at most ``LOST`` in each set of conversations."""
    own = [
        [result for result in results if result.sample.fold in folds]
        for (_, kind), results in groups.items()
        if kind == "own"
    ]
    grid = np.arange(0.001, 0.3, 0.001)
    return float(max((f for f in grid if all(lost(r, f) <= LOST for r in own)), default=0))


def report(groups: Groups) -> None:
    print("\nrecall among the first turns, evidence within 1,000 tokens")
    for (set, kind), results in groups.items():
        if results[0].sample.gold:
            ks = (1, 5, 10, 20) if kind in (*WHOLE, "half") else (1, 3, 5)
            values = "  ".join(f"@{k} {np.mean([r.recall(k) for r in results]):.3f}" for k in ks)
            evidence = np.mean([result.evidence for result in results])
            print(f"  {set}, {kind}: {values}  evidence {evidence:.3f}  ({len(results)})")
    for set in sorted({set for set, kind in groups if kind == "own"}):
        results = [r for kind in WHOLE for r in groups.get((set, kind), ())]
        means = {k: np.mean([result.recall(k) for result in results]) for k in (5, 10, 20)}
        values = "  ".join(f"@{k} {mean:.3f}" for k, mean in means.items())
        print(f"  {set}, {' and '.join(WHOLE)}: {values}  ({len(results)})")
    print("\nevidence lost, or (~) questions that get nothing, by floor")
    print(f"  {'':44}AUC   " + " ".join(f"{floor:5}" for floor in FLOORS))
    for (set, kind), results in groups.items():
        if results[0].sample.gold:
            values, auc = [lost(results, floor) for floor in FLOORS], ""
        else:
            values = [empty(results, floor) for floor in FLOORS]
            answered = groups.get((set, kind.rpartition(", ")[0]), groups.get((set, "own"), []))
            own = np.array([result.best for result in answered])
            auc = f"{(own[:, None] > [result.best for result in results]).mean():.3f}"
        name = f"{'' if results[0].sample.gold else '~'}{set}, {kind}"
        print(f"  {name:44}{auc:5} " + " ".join(f"{value:5.3f}" for value in values))
    print("\nfloor chosen on four fifths of the conversations, applied to the others")
    chosen = {fold: choose_floor(groups, {*range(FOLDS)} - {fold}) for fold in range(FOLDS)}
    print("  floors " + " ".join(f"{floor:.3f}" for floor in chosen.values()))
    for (set, kind), results in groups.items():
        if kind in ("own", "foreign", "never, held out", "adversarial", "abstention"):
            floors = [chosen[result.sample.fold] for result in results]
            share = np.mean([r.best < f for r, f in zip(results, floors, strict=True)])
            loss = np.mean(
                [r.evidence * (r.best < f) for r, f in zip(results, floors, strict=True)]
            )
            print(f"  {set}, {kind}: {share:.3f} empty" + f", {loss:.3f} lost" * (kind == "own"))
    print(f"  floor by all conversations: {choose_floor(groups, {*range(FOLDS)}):.3f}")
    print("\ncalibration: relevance -> share that is evidence (candidates)")
    for (set, kind), results in groups.items():
        if results[0].sample.gold and kind in SHARES:
            p = np.concatenate([result.relevance for result in results])
            y = np.concatenate([result.gold for result in results])
            bins = [(p * 10).astype(int).clip(max=9) == b for b in range(10)]
            error = sum(abs(p[b].mean() - y[b].mean()) * b.mean() for b in bins if b.any())
            curve = " ".join(
                f"{p[b].mean():.2f}->{y[b].mean():.2f} ({b.sum()})" for b in bins if b.sum() > 5
            )
            print(f"  {set}, {kind}: expected error {error:.4f}; {curve}")


CALIBRATED_ON = ("own", "foreign", "statement", "statement, never", "small", "long text")
"""Kinds of samples that the calibration is fitted on."""


def calibrate(results: Iterable[Result]) -> Weights:
    """Return the curve of calibration for results that are not calibrated yet."""
    used = [result for result in results if result.sample.kind in CALIBRATED_ON]
    return fit_calibration(
        np.concatenate([result.logits for result in used]),
        np.concatenate([result.gold for result in used]),
    )


def fit_folds(samples: Sequence[Sample], args: argparse.Namespace) -> dict[int, Weights]:
    """Return the scores' network for each fold, fitted without it; -1 has that of fold 0."""
    models: dict[int, Weights] = {}
    for fold in range(FOLDS):
        models[fold] = fit_scores([s for s in samples if s.fold not in (fold, -1)], args)
        print(f"fitted without fold {fold}", flush=True)
    return models | {-1: models[0]}


def cross_validate(samples: Sequence[Sample], models: Mapping[int, Weights]) -> list[Result]:
    """Return the results of each sample by networks that were fitted without its fold."""
    results: list[Result] = []
    for fold in range(FOLDS):
        others = [sample for sample in samples if sample.fold not in (fold, -1)]
        model = RelevanceModel(models[fold] | fit_thresholds(others, models) | UNCALIBRATED)
        held_out = [s for s in samples if s.fold == fold or (s.fold == -1 and fold == 0)]
        results += [Result(sample, model) for sample in held_out]
    return results


def calibrated(results: Sequence[Result]) -> dict[tuple[str, str], list[Result]]:
    """Calibrate the results of each fold on the others; return them by data set and kind."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for fold in range(-1, FOLDS):
        curve = calibrate(r for r in results if r.sample.fold not in (fold, -1))
        for result in results:
            if result.sample.fold == fold:
                logits = np.interp(result.logits, curve["logits"], curve["calibrated"])
                result.relevance = 1 / (1 + np.exp(-logits))
                result.best = float(result.relevance.max())
                groups.setdefault((result.sample.set, result.sample.kind), []).append(result)
    return dict(sorted(groups.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--weights", type=float, nargs="+", help="of each data set in the ranking")
    parser.add_argument("--statements", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, required=True, help="statements to report on")
    parser.add_argument("--chats", type=Path, required=True, help="dialogues of MSC, JSON lines")
    parser.add_argument("--changes", type=Path, required=True, help="states that change")
    parser.add_argument("--diaries", type=Path, nargs="+", default=[DIARIES])
    parser.add_argument("--pairs", type=Path, required=True, help="labeled pairs of turns")
    parser.add_argument("--diary-weight", type=float, default=1.0, help="of diaries in the ranking")
    parser.add_argument("--embedder", help="another one than the bundled word vectors")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--folds", type=Path, help="write the networks of the folds, too")
    args = parser.parse_args()
    args.weights = args.weights or [1.0] * len(args.data)
    if args.embedder:
        embedding.use(args.embedder)
    torch.set_num_threads(1)
    never = {
        "never": json.loads(args.statements.read_text())["never"],
        "never, held out": json.loads(args.held_out.read_text())["never"],
    }
    foreign = [labeled.history for path in args.data for labeled in read_evidence(path)]
    prose = [
        turn.text
        for history in foreign
        for transcript in history.transcripts
        for turn in transcript.turns
        if 20 < len(turn.text) < 300 and not turn.text.rstrip().endswith("?")
    ]
    samples = [
        *read_statements(args.statements, "statements", "statement", False, args.chats),
        *read_statements(args.held_out, "statements", "statement, held out", True, args.chats),
        *read_changes(args.changes, args.data[0]),
        *read_replies(args.pairs, args.data[0]),
        *read_diary_questions(args.diaries),
        *read_long(args.statements, prose),
        *(sample for path in args.data for sample in read_conversations(path, never)),
    ]
    print(f"{len(samples)} samples", flush=True)
    models = fit_folds(samples, args)
    if args.folds:
        of_folds = {
            f"{fold}.{name}": value for fold in range(FOLDS) for name, value in models[fold].items()
        }
        np.savez_compressed(args.folds, **of_folds)
    results = cross_validate(samples, models)
    curve = calibrate(results)
    report(calibrated(results))
    if args.out:
        weights = fit_scores(samples, args) | fit_thresholds(samples, models) | curve
        np.savez_compressed(args.out, **weights)


if __name__ == "__main__":
    main()
