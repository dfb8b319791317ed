"""Fit the weights of the reranking network and of the relevance of a candidate.

    python tools/fit_relevance.py locomo.json beam100k --out relevance.npz

Needs PyTorch besides the development requirements. Prints recall of the network on conversations
that it was not fitted on, and how well relevance tells questions that a memory can answer from
those of another person, then fits on all of them. Each data set weighs as given by ``--weights``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from theanine.embeddings.static import StaticEmbedder
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.features import FEATURES
from theanine.retrieval.query import Query
from theanine.types import Turn, Utterance
from theanine_bench.datasets.evidence import read_evidence
from theanine_bench.datasets.labels import LabeledHistory, Question

FOLDS = 5
FOREIGN = 40
"""Questions of each other conversation that are asked of a memory that can't answer them."""
EMBEDDER = StaticEmbedder()


@dataclass
class Asked:
    """The candidates of one question: features, the turn of each, and which are evidence."""

    set: int
    fold: int
    features: NDArray[np.float32]
    turns: NDArray[np.int64]
    gold: set[int]
    weight: float = 1.0


class Conversation:
    """A labeled history whose turns are candidates."""

    def __init__(self, labeled: LabeledHistory) -> None:
        self.labeled = labeled
        self.numbers: dict[tuple[str, str], int] = {}
        turns: list[Turn] = []
        for session, transcript in enumerate(labeled.history.transcripts, 1):
            for place, turn in enumerate(transcript.turns, 1):
                key = turn.key or f"#{place}"
                for group in (transcript.key, ""):
                    self.numbers[group, key] = len(turns) + 1
                values = {field.name: getattr(turn, field.name) for field in fields(Utterance)}
                turns.append(Turn(**values, id=len(turns) + 1, session=session))
        self.last = max(turn.at for turn in turns)
        self.speakers = list(dict.fromkeys(turn.speaker for turn in turns))
        self.index = CandidateIndex()
        self.index.add_turns(turns, EMBEDDER.vectors)

    def ask(self, question: Question, text: str) -> tuple[NDArray[np.float32], list[int]]:
        """Return the features of a question's candidates, and the turn of each."""
        vector = EMBEDDER.vectors([self.index.without_speakers(text)])[0]
        query = Query(
            text=text,
            vector=vector,
            latest=text,
            asker=self.labeled.history.name,
            asked_at=question.asked_at or self.last,
        )
        features, positions = self.index.features(query)
        return features, self.index.turns[positions].tolist()


def read(paths: Iterable[Path], weights: Sequence[float]) -> list[Asked]:
    """Return all questions with the candidates of their own memory, and of others'."""
    asked: list[Asked] = []
    for number, (path, weight) in enumerate(zip(paths, weights, strict=True)):
        conversations = [Conversation(labeled) for labeled in read_evidence(path)]
        size = -(-len(conversations) // FOLDS)
        for place, own in enumerate(conversations):
            for other in conversations:
                questions = other.labeled.questions
                for question in (
                    questions if other is own else questions[:: -(-len(questions) // FOREIGN)]
                ):
                    text = question.text if other is own else rename(question.text, other, own)
                    features, turns = own.ask(question, text)
                    gold = (
                        {own.numbers[ref] for ref in question.gold} if other is own else set[int]()
                    )
                    asked.append(
                        Asked(number, place // size, features, np.array(turns), gold, weight)
                    )
            print(f"read {path.name}: {own.labeled.history.name}", flush=True)
    return asked


def rename(text: str, other: Conversation, own: Conversation) -> str:
    """Return a question about the speakers of a conversation with those of another."""
    for old, new in zip(other.speakers, own.speakers, strict=False):
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


class Network(nn.Module):
    """A linear part beside one hidden layer."""

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(size, 1)
        self.hidden = nn.Linear(size, hidden)
        self.output = nn.Linear(hidden, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.linear.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.dropout(x)
        hidden = nn.functional.gelu(self.hidden(x), approximate="tanh")
        return (self.linear(x) + self.output(self.dropout(hidden))).squeeze(-1)


@dataclass
class Batch:
    """All questions as one padded tensor."""

    x: torch.Tensor
    valid: torch.Tensor
    gold: torch.Tensor
    owners: torch.Tensor
    weights: torch.Tensor


def pad(asked: Sequence[Asked], mean: NDArray[np.float32], scale: NDArray[np.float32]) -> Batch:
    most = max(len(one.features) for one in asked)
    x = torch.zeros(len(asked), most, len(FEATURES))
    valid, gold = (torch.zeros(len(asked), most, dtype=torch.bool) for _ in range(2))
    owners = torch.zeros(len(asked), most, dtype=torch.long)
    for row, one in enumerate(asked):
        size = len(one.features)
        x[row, :size] = torch.tensor((one.features - mean) / scale)
        valid[row, :size] = True
        gold[row, :size] = torch.tensor(np.isin(one.turns, list(one.gold)))
        owners[row, :size] = torch.tensor(one.turns)
    return Batch(x, valid, gold, owners, torch.tensor([one.weight for one in asked]))


def ranking_loss(scores: torch.Tensor, batch: Batch, rows: torch.Tensor) -> torch.Tensor:
    """Return the mean over gold turns of the softmax loss against all other candidates."""
    valid, gold, owners = batch.valid[rows], batch.gold[rows], batch.owners[rows]
    others = torch.logsumexp(scores.masked_fill(~valid | gold, -1e9), 1, keepdim=True)
    # For each gold passage, the passages of the same turn count together.
    same = (owners[:, :, None] == owners[:, None, :]) & valid[:, None, :]
    turn = torch.logsumexp(scores[:, None, :].masked_fill(~same, -1e9), 2)
    share = gold / same.sum(2).clamp(min=1)
    share = share / share.sum(1, keepdim=True).clamp(min=1e-9)
    losses = ((torch.logaddexp(turn, others) - turn) * share).sum(1)
    return (losses * batch.weights[rows]).mean()


def relevance_loss(scores: torch.Tensor, batch: Batch, rows: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of the probability that a candidate is evidence."""
    valid, gold = batch.valid[rows], batch.gold[rows].float()
    losses = nn.functional.binary_cross_entropy_with_logits(scores, gold, reduction="none")
    return ((losses * valid).sum(1) * batch.weights[rows]).mean()


def train(
    batch: Batch, loss_of: object, start: float, *, hidden: int, epochs: int, seed: int
) -> Network:
    torch.manual_seed(seed)
    network = Network(len(FEATURES), hidden, 0.1)
    with torch.no_grad():
        network.linear.weight[0, 0] = start
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-3)
    size, rows = 32, torch.arange(len(batch.x))
    steps = epochs * -(-len(rows) // size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(epochs):
        for part in rows[torch.randperm(len(rows))].split(size):
            loss = loss_of(network(batch.x[part]), batch, part)  # type: ignore[operator]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network.eval()


def fit(asked: Sequence[Asked], args: argparse.Namespace) -> dict[str, NDArray[np.float32]]:
    """Return the weights of both networks; several seeds are joined into one wider network."""
    features = np.concatenate([one.features for one in asked])
    mean, scale = features.mean(0), features.std(0) + np.float32(1e-6)
    weights: dict[str, NDArray[np.float32]] = {"mean": mean, "scale": scale}
    answerable = [one for one in asked if np.isin(one.turns, list(one.gold)).any()]
    for name, questions, loss, start in (
        ("rank", answerable, ranking_loss, 1.5),
        ("relevance", asked, relevance_loss, 0.5),
    ):
        batch = pad(questions, mean, scale)
        networks = [
            train(batch, loss, start, hidden=args.hidden, epochs=args.epochs, seed=seed)
            for seed in range(args.seeds)
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


def recall(one: Asked, scores: NDArray[np.float32], k: int) -> float:
    turns = list(dict.fromkeys(one.turns[np.argsort(-scores, kind="stable")].tolist()))
    return len(one.gold & set(turns[:k])) / len(one.gold)


def report(
    asked: Sequence[Asked], results: Sequence[tuple[NDArray, NDArray]], names: Sequence[str]
) -> None:
    for number, name in enumerate(names):
        own = [(a, r) for a, r in zip(asked, results, strict=True) if a.set == number and a.gold]
        line = "  ".join(
            f"recall@{k} {np.mean([recall(a, r[0], k) for a, r in own]):.3f}" for k in (5, 10, 20)
        )
        print(f"{name}: {line}")
        best = np.array([r[1].max() for _, r in own])
        foreign = np.array(
            [
                r[1].max()
                for a, r in zip(asked, results, strict=True)
                if a.set == number and not a.gold
            ]
        )
        auc = (best[:, None] > foreign).mean()
        print(f"  relevance: AUC {auc:.3f} (own questions against another person's)")
        for lost in (0.01, 0.02, 0.05):
            floor = np.quantile(best, lost)
            print(
                f"  floor {floor:.3f}: {lost:.0%} of own questions empty, "
                f"{(foreign < floor).mean():.0%} of foreign ones"
            )
        p = np.concatenate([r[1] for _, r in own])
        y = np.concatenate([np.isin(a.turns, list(a.gold)) for a, _ in own])
        bins = np.minimum((p * 10).astype(int), 9)
        error = sum(
            abs(p[bins == b].mean() - y[bins == b].mean()) * (bins == b).mean()
            for b in range(10)
            if (bins == b).any()
        )
        print(
            f"  calibration error {error:.4f}: "
            + " ".join(
                f"{p[bins == b].mean():.2f}->{y[bins == b].mean():.2f}"
                for b in range(10)
                if (bins == b).sum() > 5
            )
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--weights", type=float, nargs="+")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--no-folds", action="store_true", help="only fit on everything")
    args = parser.parse_args()
    torch.set_num_threads(1)
    asked = read(args.data, args.weights or [1.0] * len(args.data))
    from theanine.retrieval.relevance import RelevanceModel

    if not args.no_folds:
        results: list[tuple[NDArray, NDArray]] = [(np.zeros(0), np.zeros(0))] * len(asked)
        for fold in range(FOLDS):
            model = RelevanceModel(fit([one for one in asked if one.fold != fold], args))
            for place, one in enumerate(asked):
                if one.fold == fold:
                    results[place] = model.scores(one.features), model.relevance(one.features)
        report(asked, results, [path.name for path in args.data])
    if args.out:
        np.savez_compressed(args.out, **fit(asked, args))


if __name__ == "__main__":
    main()
