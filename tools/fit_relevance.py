"""Fit the weights of the reranking network and of the relevance of a candidate.

    python tools/fit_relevance.py locomo.json beam100k --weights 1 3
        --statements tools/relevance_statements.json
        --held-out packages/theanine/tests/retrieval/relevance_statements.json
        --chats msc/msc_dialogue/session_2/valid.jsonl --out relevance.npz

Needs PyTorch besides the development requirements. Prints figures on conversations that the
networks were not fitted on: recall, calibration, and how many questions that a memory can't answer
get nothing at each floor of relevance, beside the evidence that is lost. Then fits on all of them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from relevance_samples import FOLDS, Sample, read_conversations, read_statements
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, gelu, logsigmoid

from theanine.retrieval.relevance import RelevanceModel

CANDIDATES = 60
"""Best candidates of each question that the relevance is fitted on."""
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
}
"""Weight of each kind of sample in a data set for the relevance."""
WHOLE = ("own", "adversarial")
"""Kinds of questions with evidence that are asked of whole conversations."""
PARTS = ("half", "small", "first person")
"""Kinds of questions with evidence that are asked of parts of conversations."""
PART = STATEMENT = 0.3
"""Weights for the ranking of a question asked of a part, and of one about plain statements."""


SEEDS = 2
"""Networks that are joined into one."""


class Network(nn.Module):
    """A linear part beside one hidden layer."""

    def __init__(self, size: int, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.linear = nn.Linear(size, 1)
        self.hidden = nn.Linear(size, hidden)
        self.output = nn.Linear(hidden, 1, bias=False)
        self.dropout = nn.Dropout1d(dropout)  # the same inputs for all candidates of a question
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.linear.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self._drop(x)
        hidden = gelu(self.hidden(x), approximate="tanh")
        return (self.linear(x) + self.output(self._drop(hidden))).squeeze(-1)

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
    mean: NDArray[np.float32],
    scale: NDArray[np.float32],
    most: int,
) -> Batch:
    x = torch.zeros(len(samples), most, len(mean))
    valid, gold = (torch.zeros(len(samples), most, dtype=torch.bool) for _ in range(2))
    owners = torch.zeros(len(samples), most, dtype=torch.long)
    for row, sample in enumerate(samples):
        turns = sample.turns[:most]
        _, first, inverse = np.unique(turns, return_index=True, return_inverse=True)
        x[row, : len(turns)] = torch.tensor((sample.features[:most] - mean) / scale)
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


def relevance_loss(scores: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the cross-entropy of each candidate and, three times, of there being any evidence."""
    each = binary_cross_entropy_with_logits(scores, batch.gold.float(), reduction="none")
    none = (logsigmoid(-scores) * batch.valid).sum(1)
    some = torch.log(-torch.expm1(none.clamp(max=-1e-6)))
    losses = (each * batch.valid).sum(1) - 3 * torch.where(batch.gold.any(1), some, none)
    return (losses * batch.weights).sum() / batch.weights.sum()


def train(
    batch: Batch,
    loss_of: Callable[[torch.Tensor, Batch], torch.Tensor],
    *,
    hidden: int,
    epochs: int,
    seed: int,
) -> Network:
    torch.manual_seed(seed)
    network = Network(batch.x.shape[2], hidden)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=1e-2)
    rows = torch.arange(len(batch.x))
    steps = epochs * -(-len(rows) // 32)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(epochs):
        for part in rows[torch.randperm(len(rows))].split(32):
            chosen = batch[part]
            loss = loss_of(network(chosen.x), chosen)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network.eval()


def fit(samples: Sequence[Sample], args: argparse.Namespace) -> dict[str, NDArray[np.float32]]:
    """Return the weights of both networks; several seeds are joined into one wider network."""
    fitted = [sample for sample in samples if sample.kind in SHARES]
    sets = dict(zip([path.stem for path in args.data], args.weights, strict=True))
    features = np.concatenate([sample.features[:CANDIDATES:3] for sample in fitted])
    mean, scale = features.mean(0), features.std(0) + np.float32(1e-6)
    weights: dict[str, NDArray[np.float32]] = {"mean": mean, "scale": scale}
    counts = Counter((sample.set, sample.kind) for sample in fitted)
    shares = [SHARES[s.kind] / counts[s.set, s.kind] for s in fitted]
    found = [
        sample
        for sample in samples
        if sample.kind in (*WHOLE, *PARTS, "statement")
        and np.isin(sample.turns[:RANKED], list(sample.gold)).any()
    ]
    ranked = [
        STATEMENT
        if s.kind == "statement"
        else sets.get(s.set, 1.0) * (PART if s.kind in PARTS else 1)
        for s in found
    ]
    for name, batch, loss, hidden, epochs in (
        ("rank", pad(found, ranked, mean, scale, RANKED), ranking_loss, 32, 16),
        ("relevance", pad(fitted, shares, mean, scale, CANDIDATES), relevance_loss, 24, 12),
    ):
        networks = [
            train(batch, loss, hidden=hidden, epochs=epochs, seed=seed) for seed in range(SEEDS)
        ]
        joined = [{k: v.detach().numpy() for k, v in n.state_dict().items()} for n in networks]
        weights |= {
            f"{name}_linear": np.mean([w["linear.weight"][0] for w in joined], axis=0),
            f"{name}_bias": np.mean([w["linear.bias"] for w in joined], axis=0),
            f"{name}_hidden": np.concatenate([w["hidden.weight"].T for w in joined], axis=1),
            f"{name}_shift": np.concatenate([w["hidden.bias"] for w in joined]),
            f"{name}_output": np.concatenate([w["output.weight"][0] for w in joined]) / len(joined),
        }
    return {name: value.astype(np.float32) for name, value in weights.items()}


class Result:
    """What a model makes of a sample that it was not fitted on."""

    def __init__(self, sample: Sample, model: RelevanceModel) -> None:
        self.sample = sample
        scores, self.relevance = model.apply(sample.features)
        self.order = np.argsort(-scores, kind="stable")
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
            ks = (5, 10, 20) if kind in (*WHOLE, "half") else (1, 3, 5)
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
        if kind in ("own", "small", "statement, held out"):
            p = np.concatenate([result.relevance for result in results])
            y = np.concatenate([np.isin(r.sample.turns, list(r.sample.gold)) for r in results])
            bins = [(p * 10).astype(int).clip(max=9) == b for b in range(10)]
            error = sum(abs(p[b].mean() - y[b].mean()) * b.mean() for b in bins if b.any())
            curve = " ".join(
                f"{p[b].mean():.2f}->{y[b].mean():.2f} ({b.sum()})" for b in bins if b.sum() > 5
            )
            print(f"  {set}, {kind}: expected error {error:.4f}; {curve}")


def cross_validate(samples: Sequence[Sample], args: argparse.Namespace) -> None:
    groups: dict[tuple[str, str], list[Result]] = {}
    for fold in range(FOLDS):
        fitted = [sample for sample in samples if sample.fold not in (fold, -1)]
        model = RelevanceModel(fit(fitted, args))
        for sample in samples:
            if sample.fold == fold or (sample.fold == -1 and fold == 0):
                key = sample.set, sample.kind
                groups.setdefault(key, []).append(Result(sample, model))
        print(f"fitted without fold {fold}", flush=True)
    report(dict(sorted(groups.items())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--weights", type=float, nargs="+", help="of each data set in the ranking")
    parser.add_argument("--statements", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, required=True, help="statements to report on")
    parser.add_argument("--chats", type=Path, required=True, help="dialogues of MSC, JSON lines")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--no-folds", action="store_true", help="only fit on everything")
    args = parser.parse_args()
    args.weights = args.weights or [1.0] * len(args.data)
    torch.set_num_threads(1)
    never = {
        "never": json.loads(args.statements.read_text())["never"],
        "never, held out": json.loads(args.held_out.read_text())["never"],
    }
    samples = [
        *read_statements(args.statements, "statements", "statement", False, args.chats),
        *read_statements(args.held_out, "statements", "statement, held out", True, args.chats),
        *(sample for path in args.data for sample in read_conversations(path, never)),
    ]
    if not args.no_folds:
        cross_validate(samples, args)
    if args.out:
        np.savez_compressed(args.out, **fit(samples, args))


if __name__ == "__main__":
    main()
