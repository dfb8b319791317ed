"""Fit the model that links memories without a language model.

    python tools/fit_links.py --base FOLDER --out FOLDER --diaries FILE … --changes FILE …
        [--pairs FILE --sets FOLDER] [--calibrate FILE] --judge FILE …
    python tools/fit_links.py --calibrate FILE --judge FILE …

The base is that of ``fit_encoder.py``, of which the first layers are taken; the vectors of words
are the encoder's and are not fitted. A pair is two statements of a history, as
:mod:`theanine.linking.model` reads them:

- of diaries in which readers have marked what belongs together, the candidates that the default
  method finds for each memory, all that the readers relate, and some at random;
- of histories about changes, what succeeds what, what only seems to, and some others;
- labeled pairs: a file of them, and those that come with ``theanine-bench``.

Prints, for the diaries of ``--judge``, the share of the relations that are found at a precision of
.95, .9 and .8, by the model's own outputs. ``--calibrate`` fits the chance of a link, of which the
model's logit is one part (:mod:`theanine.methods.theanine.local_relate`), on diaries alone, by six,
and all together as if one person had written them, and prints how many pairs of the diaries of
``--judge`` have which chance, and the share of them that a reader relates. Needs torch,
transformers, onnx and scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import anyio
import numpy as np
import onnx
import torch
from fit_encoder import share_words, word_vectors
from numpy.typing import NDArray
from onnx import numpy_helper
from pair_network import PairNetwork, plan_steps
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from transformers import AutoTokenizer

import theanine
from theanine.embeddings.encoder import FOLDER
from theanine.linking.model import TOKENS, Pair, Statement, link_logits, texts_of
from theanine.methods.shared.pairs import Pair as MemoryPair
from theanine.methods.theanine.associates import CANDIDATES, find_associates
from theanine.methods.theanine.local_relate import (
    FEW,
    LIKENESS,
    SHARED,
    is_english,
    shared_weight,
    statements_of,
)
from theanine.types import History, Relation, Transcript
from theanine_bench.datasets.asked import AskedHistory, read_asked
from theanine_bench.datasets.links import NONE, read_bundled, read_pairs

LAYERS = 4
BATCH, RATE, EPOCHS, FITTED = 32, 1e-4, 3, 2
"""Pairs of a step, and the rate, which falls over three epochs. Fitting stops after two; a third
was not tried. Six layers that begin with the encoder's own were no better after one epoch."""
APART = 15
"""Random pairs of a diary."""
OTHERS = 3
"""Further pairs of a history about changes."""
USER = "Ana"
LEAST = 1.2
"""Least that the words have to promise for a pair to be among those that a chance is fitted on."""
UNRELATED, RANDOM, ARGUABLE = 0.6, 0.5, 0.4
"""Weights of pairs that no reader relates, of random ones, and of labels that are not clear."""
OUTPUTS = ("related", "changed", "fulfilled", "caused")
"""What is fitted: whether two statements are of one matter, which alone is shipped; whether the
newer changes or corrects the older, tells that its plan came true, or is its cause or effect. The
latter three, told by readers too, help to fit the first one; they are too seldom right to be used
(average precision .3, .1 and .3 on unseen diaries)."""
CAUSAL = {
    str(name)
    for name in (
        Relation.CAUSE, Relation.REASON, Relation.HINDERED_BY, Relation.REACT, Relation.WANT
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Labeled:
    """A pair; what is not known of it is None in ``labels``, which are those of ``OUTPUTS``."""

    pair: Pair
    labels: tuple[bool | None, ...]
    weight: float = 1.0


def labels_of(names: set[str], *, related: bool) -> tuple[bool, ...]:
    """Return the labels of a pair for which readers gave these relations."""
    return (
        related,
        bool(names & {"Changed", "Corrected"}),
        "Fulfilled" in names,
        bool(names & CAUSAL),
    )


def pairs_of_diary(asked: AskedHistory, candidates: Sequence[tuple[int, int]]) -> Iterator[Labeled]:
    """Yield the pairs of a diary, given those that the default method judges."""
    (reading, *_), turns = asked.readings, asked.turns
    told = [*candidates, *reading.relations]
    told += [pair for matter in reading.matters for pair in pairwise(sorted(matter))]
    people = [place for place, turn in enumerate(turns) if turn.role != "assistant"]
    random = Random(asked.id)
    apart = [tuple(sorted(random.sample(people, 2))) for _ in range(APART)]
    seen = set[tuple[int, int]]()
    for pair in [*told, *apart]:
        older, newer = min(pair), max(pair)
        if older == newer or (older, newer) in seen:
            continue
        seen.add((older, newer))
        names = {reading.relations.get((older, newer), NONE)}
        related = reading.relates(older, newer)
        weight = 1.0 if related else UNRELATED if pair in told else RANDOM * UNRELATED
        yield Labeled(
            pair=(
                Statement(turns[older].text, turns[older].speaker),
                Statement(turns[newer].text, turns[newer].speaker),
                (turns[newer].at - turns[older].at).total_seconds() / 86_400,
            ),
            labels=labels_of(names, related=related),
            weight=weight,
        )


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A pair that the default method compares.

    Attributes:
        earlier: number of memories among which the older one was found.
        diary: the diary that both are from; None if there is none.
        places: those of the older and the newer turns in it.
    """

    pair: MemoryPair
    earlier: int
    diary: AskedHistory | None
    places: tuple[tuple[int, int], ...]

    @property
    def is_related(self) -> bool:
        """Whether a reader relates both."""
        return self.diary is not None and any(
            reading.relates(*places) for reading in self.diary.readings for places in self.places
        )


async def compare(diaries: Sequence[AskedHistory]) -> list[Compared]:
    """Return what the default method compares in diaries, as if the same person had written all."""
    found: list[Compared] = []
    turn_of: dict[tuple[datetime, str], tuple[AskedHistory, int]] = {}
    places: dict[int, tuple[AskedHistory, int]] = {}
    transcripts: list[Transcript] = []
    with tempfile.TemporaryDirectory() as folder:
        async with theanine.aopen(f"{folder}/m.db", embedder="wordllama") as client:
            user = client.user(USER)
            for diary in diaries:
                turns = tuple(
                    replace(turn, speaker=USER if turn.speaker == diary.user else turn.speaker)
                    for turn in diary.turns
                )
                turn_of |= {(turn.at, turn.text): (diary, at) for at, turn in enumerate(turns)}
                transcripts += replace(diary, turns=turns).history.transcripts
            for transcript in sorted(transcripts, key=lambda each: each.at):
                await user.log(History(name=USER, transcripts=[transcript]))
                await user.remember()
                session = max(await user.sessions(), key=lambda each: each.id)
                turns = await user.turns(session=session.id)
                places |= {turn.id: turn_of[turn.at, turn.text] for turn in turns}
                index = await client._engine.indexes.get(user.scope)
                earlier = int(index.before(session).sum())
                memories = [one for one in index.memories if one.session == session.id]
                for pair in find_associates(memories, session, index, CANDIDATES):
                    ends = [
                        (places[older], places[newer])
                        for older in pair.older.source_turns
                        for newer in pair.newer.source_turns
                    ]
                    own = [(one, other) for one, other in ends if one[0] is other[0]]
                    found.append(
                        Compared(
                            pair=pair,
                            earlier=earlier,
                            diary=own[0][0][0] if own else None,
                            places=tuple((one[1], other[1]) for one, other in own),
                        )
                    )
    return found


def calibrate(path: Path, judged: Sequence[Path]) -> None:
    """Fit the chance of a link, print its coefficients, and judge it."""
    fitted = [features_of(compared) for _, compared in by_sizes(path)]
    rows = np.concatenate([rows for rows, _ in fitted])
    labels = np.concatenate([labels for _, labels in fitted])
    weights = np.concatenate([np.full(len(labels), 1 / len(labels)) for _, labels in fitted])
    model = LogisticRegression(C=10, max_iter=2_000).fit(rows, labels, weights * len(weights))
    print("cosine, shared weight, earlier, logit:", model.coef_[0].round(3), model.intercept_)
    for each in (path, *judged):
        for size, compared in by_sizes(each):
            rows, labels = features_of(compared)
            rows[:, 2] = np.maximum(rows[:, 2], np.log1p(FEW))
            chances = model.predict_proba(rows)[:, 1]
            shares = [
                f"from {least}: {drawn.sum()}, right {labels[drawn].mean():.2f}"
                for least in (0.7, 0.75, 0.8, 0.85)
                for drawn in [chances >= least]
            ]
            print(f"{each.stem} by {size}, {labels.sum()} related:", "; ".join(shares))


def by_sizes(path: Path) -> Iterator[tuple[int, list[Compared]]]:
    """Yield what is compared in the diaries of a file that have readings, by so many."""
    diaries = [asked for asked in read_asked(path) if asked.readings]
    Random(0).shuffle(diaries)
    for size in (1, 6, len(diaries)):
        groups = [diaries[at : at + size] for at in range(0, len(diaries) - size + 1, size)]
        yield size, [each for group in groups for each in anyio.run(compare, group)]


def features_of(compared: Sequence[Compared]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the features of pairs that promise something, ``(n, 4)``, and which are related."""
    rows: list[list[float]] = []
    labels: list[bool] = []
    for each in compared:
        shared = shared_weight(each.pair)
        if is_english(each.pair) and LIKENESS * each.pair.similarity + SHARED * shared > LEAST:
            logit = float(link_logits([statements_of(each.pair)])[0])
            rows.append([each.pair.similarity, shared, np.log1p(each.earlier), logit])
            labels.append(each.is_related)
    return np.array(rows), np.array(labels)


def read_diaries(path: Path) -> Iterator[Labeled]:
    """Yield the pairs of a file of diaries."""
    for asked in read_asked(path):
        if asked.readings:
            compared = anyio.run(compare, [asked])
            yield from pairs_of_diary(asked, [pair for each in compared for pair in each.places])


def read_changes(path: Path) -> Iterator[Labeled]:
    """Yield the pairs of English histories about changes."""
    for line in path.read_text().splitlines():
        case = json.loads(line)
        if case["language"] != "en":
            continue
        turns = case["turns"]
        people = [place for place, turn in enumerate(turns) if turn["role"] != "assistant"]
        succeeds = {tuple(sorted(pair)) for pair in case["succession"]}
        seems = {tuple(sorted(pair)) for pair in case["not_succession"]}
        others = [
            (older, newer)
            for older in people
            for newer in people
            if older < newer and (older, newer) not in succeeds | seems
        ]
        Random(case["id"]).shuffle(others)
        for older, newer in [*succeeds, *seems, *others[:OTHERS]]:
            one, other = turns[older], turns[newer]
            is_one = (older, newer) in succeeds
            days = datetime.fromisoformat(other["at"]) - datetime.fromisoformat(one["at"])
            yield Labeled(
                pair=(
                    Statement(one["text"], one["speaker"]),
                    Statement(other["text"], other["speaker"]),
                    days.total_seconds() / 86_400,
                ),
                labels=(True if is_one else None, is_one, None, None),
                weight=1.0 if (older, newer) in succeeds | seems else RANDOM,
            )


def read_labels(pairs: Path | None, sets: Path | None) -> Iterator[Labeled]:
    """Yield labeled pairs."""
    for each in [*(read_pairs(pairs) if pairs else ()), *(read_bundled(sets) if sets else ())]:
        if not each.agreed:
            continue
        older, newer = each.older, each.newer
        days = float((newer.day - older.day).days) if older.day and newer.day else None
        yield Labeled(
            pair=(
                Statement(older.text, older.speaker or ""),
                Statement(newer.text, newer.speaker or ""),
                days,
            ),
            labels=(each.label != NONE, each.label == Relation.CHANGED, None, None),
            weight=0.7 if each.sure else ARGUABLE,
        )


def encoder_words() -> NDArray[np.float32]:
    """Return the vectors of words of the shipped encoder."""
    encoder = onnx.load(FOLDER / "model.onnx")
    words, scale, zero = (numpy_helper.to_array(tensor) for tensor in word_vectors(encoder))
    return (words.astype(np.float32) - float(zero)) * np.float32(scale)


class Network(PairNetwork):
    """The first layers of the base, with the encoder's vectors of words."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, layers=LAYERS, outputs=len(OUTPUTS))
        words = torch.nn.Parameter(torch.tensor(encoder_words()), requires_grad=False)
        self.bert.embeddings.word_embeddings.weight = words


class Linked(torch.nn.Module):
    """The first output alone."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits of a link, ``(n,)``."""
        return self.network(*inputs)[:, 0]


Tokens = tuple[list[int], list[int]]


def tokenize(tokenizer: Any, pairs: Sequence[Labeled]) -> list[Tokens]:
    """Return the ids and types of the tokens of each pair."""
    texts = [texts_of(each.pair) for each in pairs]
    read = tokenizer(
        [older for older, _ in texts],
        [newer for _, newer in texts],
        truncation="longest_first",
        max_length=TOKENS,
    )
    return list(zip(read["input_ids"], read["token_type_ids"], strict=True))


def padded(some: Sequence[Tokens]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the three inputs of pairs."""
    width = max(len(ids) for ids, _ in some)
    rows = [[ids, [1] * len(ids), types] for ids, types in some]
    ids, mask, types = (
        torch.tensor([[*row[number], *[0] * (width - len(row[number]))] for row in rows])
        for number in range(3)
    )
    return ids, mask, types


def fit(model: Network, tokenizer: Any, pairs: Sequence[Labeled]) -> None:
    """Fit the model; what is not known of a pair adds nothing to the loss."""
    tokens = tokenize(tokenizer, pairs)
    labels = np.array([each.labels for each in pairs], np.float32)  # None becomes nan
    weights = torch.tensor([each.weight for each in pairs])[:, None]
    fitted = [each for each in model.parameters() if each.requires_grad]
    total = EPOCHS * (len(pairs) // BATCH)
    optimizer, schedule = plan_steps(fitted, RATE, total)
    losses: list[float] = []
    begun = time.monotonic()
    model.train()
    for epoch in range(FITTED):
        for batch in batches_of(tokens, Random(epoch)):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(*padded([tokens[number] for number in batch])).float()
            wanted = torch.tensor(labels[batch])
            known = ~torch.isnan(wanted)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                logits, torch.nan_to_num(wanted), reduction="none"
            )
            loss = (loss * known * weights[batch]).sum() / known.sum()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(fitted, 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) % 100 == 0:
                pace = (time.monotonic() - begun) / len(losses)
                print(
                    f"  {len(losses)} of {total} steps, {pace:.2f} s: {np.mean(losses[-100:]):.3f}"
                )


def batches_of(tokens: Sequence[Tokens], random: Random) -> list[list[int]]:
    """Return batches of pairs of like length, in random order."""
    order = random.sample(range(len(tokens)), len(tokens))
    batches: list[list[int]] = []
    for start in range(0, len(order), 8 * BATCH):
        some = sorted(order[start : start + 8 * BATCH], key=lambda number: len(tokens[number][0]))
        batches += [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
    random.shuffle(batches)
    return batches


def judge(model: Network, tokenizer: Any, name: str, pairs: Sequence[Labeled]) -> None:
    """Print what each output finds at a given precision."""
    model.eval()
    logits: list[NDArray[np.float32]] = []
    with torch.inference_mode():
        for some in tokenize(tokenizer, pairs):
            logits.append(model(*padded([some])).numpy()[0])
    for number, output in enumerate(OUTPUTS):
        known = [at for at, each in enumerate(pairs) if each.labels[number] is not None]
        right = np.array([bool(pairs[at].labels[number]) for at in known])
        if not right.any():
            continue
        scores = np.array([logits[at][number] for at in known])
        order = np.argsort(-scores)
        found = np.cumsum(right[order])
        precision = found / np.arange(1, len(found) + 1)
        line = f"{name}, {output}: {right.sum()} of {len(right)}, average precision "
        line += f"{average_precision_score(right, scores):.3f}"
        for least in (0.95, 0.9, 0.8):
            last = np.flatnonzero(precision >= least)
            if len(last):
                chance = 1 / (1 + np.exp(-scores[order][last[-1]]))
                share = found[last[-1]] / right.sum()
                line += f"; {share:.2f} at {least} (from {chance:.2f})"
        print(line)


def export(model: Network, out: Path) -> None:
    """Write ``links.onnx``, in 8 bits, beside the encoder whose vectors of words it shares."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    sample = padded([([101, 102, 102], [0, 0, 1])])
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "pairs", 1: "tokens"} for name in names}
    with tempfile.TemporaryDirectory() as work:
        torch.onnx.export(
            Linked(model).eval(), sample, f"{work}/float.onnx", input_names=names,
            output_names=["logits"], dynamic_axes=axes, opset_version=17, dynamo=False,
        )  # fmt: skip
        quantize_dynamic(
            f"{work}/float.onnx", str(out / "links.onnx"), weight_type=QuantType.QInt8,
            per_channel=True, reduce_range=True,
        )  # fmt: skip
    share_words(out / "links.onnx", FOLDER / "model.onnx")


def main() -> None:
    """Read the command line, and fit and judge what it says."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("diaries", "changes", "judge"):
        parser.add_argument(f"--{name}", type=Path, nargs="*", default=[])
    for name in ("pairs", "sets"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--out", type=Path, help="the folder of the encoder")
    parser.add_argument("--calibrate", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.base:
        fit_model(options)
    if options.calibrate:
        calibrate(options.calibrate, options.judge)


def fit_model(options: argparse.Namespace) -> None:
    """Fit, judge and write the model."""
    torch.manual_seed(0)
    model, tokenizer = Network(options.base), AutoTokenizer.from_pretrained(options.base)
    pairs = [each for path in options.diaries for each in read_diaries(path)]
    pairs += [each for path in options.changes for each in read_changes(path)]
    pairs += read_labels(options.pairs, options.sets)
    print(f"{len(pairs)} pairs")
    fit(model, tokenizer, pairs)
    export(model, options.out)
    for path in options.judge:
        judge(model, tokenizer, path.stem, [*read_diaries(path)])


if __name__ == "__main__":
    main()
