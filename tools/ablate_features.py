"""Print what each group of features and each list of words gains in the ranking.

    python tools/ablate_features.py --diaries FILE … --conversations FILE … [--embedder NAME]

A group is left out by putting the mean of the data that the networks were fitted on in its place,
so nothing is fitted anew: at most what is printed is lost. For each source: how often the best
candidate answers, which share of the turns that answer is among the five best, and how often the
best candidate of a question with an answer is more relevant than that of one without. The rows have
the differences to the whole ranking, the first two with 95 % intervals.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from relevance_samples import Conversation, embedding, read_diaries

from theanine.embeddings import encoder
from theanine.retrieval.features import FEATURES, FIXED, QUESTION_FEATURES
from theanine.retrieval.relevance import RelevanceModel, load_model
from theanine_bench.datasets.evidence import read_evidence

ALL = (*FEATURES, *QUESTION_FEATURES)
GROUPS: dict[str, Sequence[str]] = {
    "list: kinds (kinds.py)": ("kinds asked", "kinds met"),
    "list: cues of passages": FIXED[5:],
    "list: cues of questions": [name for name in FEATURES if name.startswith("asks ")],
    "its cues of change": ("change",),
    "its cues of liking": ("liking", "asks liking"),
    "form of the passage": FIXED[:5],
    "words in common": (
        *("lexical", "own lexical", "coverage", "own coverage", "matched terms", "rarest term"),
    ),
    "soft matches of words": (
        *("soft match*", "strong soft match", "weakest soft match", "words matched*", "words met"),
        *("largest miss*", "matched back"),
    ),
    "vectors": ("cosine", "raw cosine", "dense", "smoothed"),
    "first ranking": ("score", "log rank", "gap", "peak"),
    "speakers": ("speaker", "speakers named", "asker"),
    "dates": ("date", "date named"),
    "neighbors": (
        *("terms before", "terms after", "question before"),
        *("others nearby", "best nearby", "session share"),
    ),
    "place in time": ("place in log", "last session", "present place", "past place"),
    "likeness to others": ("likeness to *",),
    "what the memory knows": (
        *("terms known", "words known", "words met anywhere", "largest unknown", "unknown words"),
        *("worst match anywhere", "unknown names", "units", "typical *"),
    ),
}
"""Groups of features by name; the best and the fifth best of them go with them. A name that ends in
a star stands for all that begin so."""


def columns(names: Sequence[str]) -> list[int]:
    """Return the columns of a group. Raises ValueError for a name that no feature has."""
    for name in names:
        if not any(fnmatchcase(feature, name) for feature in ALL):
            raise ValueError(f"no feature is called {name!r}")
    own = [prefix + name for name in names for prefix in ("", "best ", "fifth best ")]
    return [
        column
        for column, feature in enumerate(ALL)
        if any(fnmatchcase(feature, name) for name in own)
    ]


Asked = tuple[NDArray[np.float32], NDArray[np.int64], frozenset[int]]


def ask_diaries(path: Path) -> Iterator[Asked]:
    """Yield the features of the candidates of each question, their turns, and those that answer."""
    for log, _, question in read_diaries([path]):
        if question["form"] != "tells":
            at = log.last + timedelta(days=10)
            features, positions = log.find(question["q"], asker=question["asker"], at=at)
            gold = frozenset(turn + 1 for turn in question["turns"])
            yield features, log.index.turns[positions], gold


def ask_conversations(path: Path) -> Iterator[Asked]:
    """Yield the same of labeled conversations, besides what is asked of the wrong speaker."""
    for labeled in read_evidence(path):
        own = Conversation(labeled)
        for question, gold in own.all_questions:
            features, positions = own.find(question.text, asker=own.asker, at=question.asked_at)
            answering = gold if question.answerable else frozenset[int]()
            yield features, own.index.turns[positions], answering


def measure(model: RelevanceModel, asked: Asked) -> tuple[float, float, float]:
    """Return whether the best candidate answers, the share among five, and the best logit."""
    features, turns, gold = asked
    logits = model.apply(features)[0]
    best = list(dict.fromkeys(turns[np.argsort(-logits, kind="stable")].tolist()))
    found = len(gold.intersection(best[:5])) / len(gold) if gold else np.nan
    return float(best[0] in gold) if gold else np.nan, found, float(logits.max())


def interval(differences: NDArray[np.float64]) -> str:
    """Return a mean with half the width of its 95 % interval."""
    own = differences[~np.isnan(differences)]
    return f"{own.mean():+.3f} ± {1.96 * own.std() / len(own) ** 0.5:.3f}"


def told_apart(best: NDArray[np.float64], known: NDArray[np.bool_]) -> float:
    """Return how often a question with an answer has the higher logit; NaN without both."""
    if known.all() or not known.any():
        return np.nan
    return float(np.mean(best[known][:, None] > best[~known]))


def main() -> None:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--diaries", type=Path, nargs="*", default=[])
    parser.add_argument("--conversations", type=Path, nargs="*", default=[])
    parser.add_argument("--embedder", default=encoder.NAME)
    options = parser.parse_args()
    embedding.use(options.embedder)
    model = load_model(options.embedder)
    mean = model.means
    groups = {name: columns(names) for name, names in GROUPS.items()}
    for path in [*options.diaries, *options.conversations]:
        results: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        ask = ask_diaries if path in options.diaries else ask_conversations
        for features, turns, gold in ask(path):
            if not len(features):
                continue
            results[""].append(measure(model, (features, turns, gold)))
            for name, own in groups.items():
                without = features.copy()
                without[:, own] = mean[own]
                results[name].append(measure(model, (without, turns, gold)))
        whole = np.array(results.pop(""))
        known = ~np.isnan(whole[:, 0])
        print(
            f"\n{path.name}: {known.sum()} questions with an answer, {(~known).sum()} without; "
            f"first {np.nanmean(whole[:, 0]):.3f}, among five {np.nanmean(whole[:, 1]):.3f}, "
            f"told apart {told_apart(whole[:, 2], known):.3f}"
        )
        print(f"  {'without':28} {'first':>16} {'among five':>16} {'told apart':>10}")
        for name, each in results.items():
            own = np.array(each)
            apart = told_apart(own[:, 2], known) - told_apart(whole[:, 2], known)
            print(
                f"  {name:28} {interval(own[:, 0] - whole[:, 0]):>16} "
                f"{interval(own[:, 1] - whole[:, 1]):>16} {apart:>+10.3f}"
            )


if __name__ == "__main__":
    main()
