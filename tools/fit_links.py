"""Fit the local linker: ``python tools/fit_links.py pairs_dev.jsonl --data DATA --out DIR``.

Needs lightgbm and scikit-learn. Boosted and extremely randomized trees tell linked pairs from
others. Histories are never split: the figures printed are of five folds over histories, each
measured on pairs that nothing was fitted on.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from random import Random
from zlib import crc32

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier

from theanine.linking import reading
from theanine.linking.features import pair_features
from theanine.linking.forest import Forest
from theanine.linking.model import LinkModel
from theanine.text.words import stem, words
from theanine_bench.datasets.links import (
    NONE,
    LabeledPair,
    PairedStatement,
    read_bundled,
    read_pairs,
    read_statements,
)

Scores = NDArray[np.float32]

FOLDS = 5
MIN_TEXTS = 4
"""Texts that a word must occur in to have a weight of its own."""
OF_HISTORY = 20
"""Texts of each history for the mean vectors, so that long ones don't outweigh the others."""
READ_THROUGH = ("n", "r")
"""First letters of the ids of bundled pairs that were found by reading whole histories: the others
are candidates, of which few have a relation."""
BUNDLED = 0.5
"""Weight of such a pair in telling linked pairs from others: relations are far more frequent among
them than among the candidates of a real history."""
RANDOM_PAIRS, RANDOM = 8, 0.5
"""Random pairs drawn from each history, and the weight of each."""
UNDATED = 0.5
"""Weight of a second copy of each dated pair, without the days between."""
_SESSION = re.compile(r"[:-]")


def fit_background(
    statements: Sequence[PairedStatement], histories: Sequence[str], out: Path
) -> None:
    """Count words and average vectors over texts; write both to ``out``."""
    counts = Counter(term for one in statements for term in {stem(w) for w in words(one.text)})
    terms = sorted(t for t, count in counts.items() if count >= MIN_TEXTS and t.isascii())
    idf = np.array([log((len(statements) + 1) / (counts[term] + 1)) for term in terms], np.float16)
    empty = np.zeros(256, np.float32)
    packed = np.frombuffer("\n".join(terms).encode(), np.uint8)
    np.savez_compressed(out, terms=packed, idf=idf, mean=empty, weighted=empty)
    reading.load_background.cache_clear()
    reading.read_statement.cache_clear()
    pick = Random(0)
    of: dict[str, list[PairedStatement]] = {}
    for history, one in zip(histories, statements, strict=True):
        of.setdefault(history, []).append(one)
    chosen = [
        one for texts in of.values() for one in pick.sample(texts, min(OF_HISTORY, len(texts)))
    ]
    readings = [_read(one) for one in chosen]
    mean, weighted = np.mean([one.vectors for one in readings], 0)
    np.savez_compressed(out, terms=packed, idf=idf, mean=mean, weighted=weighted)
    reading.load_background.cache_clear()


def unrelated(statements: Mapping[tuple[str, str], PairedStatement]) -> list[LabeledPair]:
    """Return random pairs from different sessions of one history, labeled as not linked.

    Nearly all such pairs are unrelated. Without them, trees take what is common in the bundled
    sets, such as turns without dates, for a sign of a link.
    """
    pick, pairs = Random(0), list[LabeledPair]()
    of: dict[str, list[tuple[str, PairedStatement]]] = {}
    for (history, reference), one in statements.items():
        of.setdefault(history, []).append((_SESSION.split(reference)[0], one))
    for history, texts in sorted(of.items()):
        for _ in range(RANDOM_PAIRS):
            (first, older), (second, newer) = pick.sample(texts, 2)
            if first < second:
                pair = LabeledPair(
                    id="", part="", history=history, older=older, newer=newer, label=NONE
                )
                pairs.append(replace(pair, sure=False))
    return pairs


def _read(one: PairedStatement) -> reading.Reading:
    return reading.read_statement(one.text, (one.speaker,) if one.speaker else ())


def table(pairs: Sequence[LabeledPair], *, dated: bool = True) -> NDArray[np.float32]:
    """Return the features of labeled pairs, with or without the days between the two."""
    read = [
        (
            _read(pair.older),
            _read(pair.newer),
            float((pair.newer.day - pair.older.day).days)
            if dated and pair.older.day and pair.newer.day
            else None,
        )
        for pair in pairs
    ]
    return pair_features(read)


def fit(
    pairs: Sequence[LabeledPair], rows: NDArray[np.float32], undated: NDArray[np.float32]
) -> LinkModel:
    """Fit all parts on rows with and without days."""
    copied = [n for n, pair in enumerate(pairs) if pair.older.day and pair.newer.day]
    pairs = [*pairs, *(pairs[n] for n in copied)]
    rows = np.concatenate([rows, undated[copied]])
    given = np.array([RANDOM if not pair.id else 1.0 for pair in pairs])
    given[-len(copied) :] *= UNDATED
    linked = np.array([pair.label != NONE for pair in pairs])
    read_through = np.array([pair.id.startswith(READ_THROUGH) for pair in pairs])
    weights = given * np.where(read_through, BUNDLED, 1.0)
    boosted = lightgbm.LGBMClassifier(
        n_estimators=200, num_leaves=7, learning_rate=0.05, min_child_samples=15, subsample=0.7,
        subsample_freq=1, colsample_bytree=0.3, reg_lambda=5, verbose=-1, n_jobs=1, seed=0,
    ).fit(rows, linked, sample_weight=weights)  # fmt: skip
    averaged = _extra_trees().fit(rows, linked, sample_weight=weights)
    return LinkModel(boosted=_boosted(boosted), averaged=_averaged(averaged, [[0.0], [1.0]]))


def _extra_trees() -> ExtraTreesClassifier:
    return ExtraTreesClassifier(
        n_estimators=100, min_samples_leaf=3, max_leaf_nodes=64, max_features=0.3, random_state=0
    )


def _boosted(model: lightgbm.LGBMClassifier) -> Forest:
    trees: list[list[tuple[int, float, int, int, Sequence[float]]]] = []
    for tree in model.booster_.dump_model()["tree_info"]:
        nodes: list[tuple[int, float, int, int, Sequence[float]]] = []

        def add(node: dict, nodes: list = nodes) -> int:
            own = len(nodes)
            nodes.append((0, 0.0, own, own, (node.get("leaf_value", 0.0),)))
            if "split_feature" in node:
                left, right = add(node["left_child"]), add(node["right_child"])
                nodes[own] = (node["split_feature"], node["threshold"], left, right, (0.0,))
            return own

        add(tree["tree_structure"])
        trees.append(nodes)
    return _forest(trees)


def _averaged(model: ExtraTreesClassifier, outputs: Sequence[Sequence[float]]) -> Forest:
    """Return the forest of mean outputs, given those of each class."""
    trees: list[list[tuple[int, float, int, int, Sequence[float]]]] = []
    for estimator in model.estimators_:
        tree = estimator.tree_
        nodes: list[tuple[int, float, int, int, Sequence[float]]] = []
        for own in range(tree.node_count):
            leaf = tree.children_left[own] < 0
            share = np.zeros(len(outputs[0]))
            if leaf:
                share = tree.value[own][0] / tree.value[own][0].sum() @ np.array(outputs)
            nodes.append((
                0 if leaf else tree.feature[own],
                0.0 if leaf else tree.threshold[own],
                own if leaf else tree.children_left[own],
                own if leaf else tree.children_right[own],
                share / len(model.estimators_),
            ))  # fmt: skip
        trees.append(nodes)
    return _forest(trees)


def _forest(trees: Sequence[Sequence[tuple[int, float, int, int, Sequence[float]]]]) -> Forest:
    roots = np.cumsum([0, *(len(nodes) for nodes in trees[:-1])])
    nodes = [
        (feature, threshold, root + left, root + right, value)
        for root, tree in zip(roots.tolist(), trees, strict=True)
        for feature, threshold, left, right, value in tree
    ]
    left = np.array([node[2] for node in nodes], np.intp)
    right = np.array([node[3] for node in nodes], np.intp)
    level, depth = roots, 0
    while (deeper := np.unique(np.concatenate([left[level], right[level]]))).tolist() != sorted(
        level
    ):
        level, depth = deeper, depth + 1
    return Forest(
        roots=roots.astype(np.intp),
        features=np.array([node[0] for node in nodes], np.intp),
        thresholds=np.array([node[1] for node in nodes], np.float32),
        left=left,
        right=right,
        values=np.array([node[4] for node in nodes], np.float32),
        depth=depth,
    )


def folds(pairs: Sequence[LabeledPair]) -> NDArray[np.int64]:
    """Return each pair's fold: histories stay whole, the long ones are in different folds."""
    counts = Counter(pair.history for pair in pairs)
    long = sorted(name for name, count in counts.items() if count > 50)
    return np.array([
        long.index(pair.history) % FOLDS
        if pair.history in long
        else crc32(pair.history.encode()) % FOLDS
        for pair in pairs
    ])  # fmt: skip


def cross_validate(
    pairs: Sequence[LabeledPair], rows: NDArray[np.float32], undated: NDArray[np.float32]
) -> Scores:
    """Return the chance of a link of each pair, by trees of the other folds."""
    linked = np.zeros(len(pairs), np.float32)
    fold = folds(pairs)
    for number in range(FOLDS):
        rest = [pair for pair, one in zip(pairs, fold, strict=True) if one != number]
        held_out = fold == number
        model = fit(rest, rows[~held_out], undated[~held_out])
        linked[held_out] = model.link_chances(rows[held_out])
    return linked


def _report(pairs: Sequence[LabeledPair], dev: int, linked: Scores) -> None:
    gold = np.array([pair.label for pair in pairs])
    for name, chosen in (
        ("pairs given", np.arange(len(pairs)) < dev),
        (
            "  with speakers",
            np.array([n < dev and bool(p.newer.speaker) for n, p in enumerate(pairs)]),
        ),
    ):
        _curve(
            f"linked, {name}",
            linked[chosen],
            gold[chosen] != NONE,
            int((gold[chosen] != NONE).sum()),
        )


def _curve(name: str, scores: Scores, right: NDArray[np.bool_], wanted: int) -> None:
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(right[order])
    precision, recall = found / np.arange(1, len(found) + 1), found / wanted
    print(name)
    for target in (0.1, 0.15, 0.2, 0.25, 0.4, 0.5, 0.6):
        if recall[-1] >= target:
            at = int(np.argmax(recall >= target))
            print(
                f"  recall {target:.2f}: precision {precision[at]:.3f}, "
                f"threshold {scores[order][at]:.3f}"
            )


def main() -> None:
    """Write the background statistics and the fitted trees to ``--out``, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="your copies of the sets")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    args = parser.parse_args()
    statements = read_statements(args.data)
    histories = [history for history, _ in statements]
    fit_background(list(statements.values()), histories, args.out / "background.npz")
    given = read_pairs(args.pairs)
    pairs = [*given, *read_bundled(args.data), *unrelated(statements)]
    rows, undated = table(pairs), table(pairs, dated=False)
    _report(pairs, len(given), cross_validate(pairs, rows, undated))
    fit(pairs, rows, undated).save(args.out / "model.npz")


if __name__ == "__main__":
    main()
