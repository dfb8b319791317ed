"""Fit the models of :mod:`theanine.profile.model`: what a sentence states, and whether it holds.

    python tools/fit_profile.py --fit corpus/diaries_fit.jsonl --judge corpus/diaries_choose.jsonl
        --out packages/theanine/src/theanine/profile/profile_model.npz

Reads the diaries in which readers marked what a profile should have (``facts``, as ``[turn, area,
quote, turn that ends it, weight]``). A sentence states what a quote has that is half of it, or of
which it is half. Prints, of the diaries of ``--judge``, how many sentences a diary has from some
chance on, and how many of them state something, of the right area, and something that holds at the
end. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from relevance_samples import Log, embedding, vector_of
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from theanine.profile.doubts import AREA_QUESTIONS, later_states, other_state
from theanine.profile.model import AREA_ORDER, holding, state_features, stated
from theanine.profile.statements import own_sentences, own_words
from theanine.types import Turn

AREAS_C, HOLDS_C = 1.6, 0.3
"""Inverse strengths of regularization, chosen on half of the diaries to judge on."""
CHANCES = (0.5, 0.7, 0.8, 0.9)


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of a user's.

    Attributes:
        area: what it states: 0 for nothing lasting, else the number of its area from 1 on.
        areas: all areas of which a reader saw something stated.
        holds: whether all that it states holds at the end.
        features: those of :func:`state_features` for each area, ``(areas, f)``; None at the end.
    """

    diary: str
    text: str
    area: int
    areas: frozenset[int]
    holds: bool
    weight: int
    features: NDArray[np.float32] | None


def read_sentences(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of the marked diaries of a file."""
    questions = [vector_of(AREA_QUESTIONS[area]) for area in AREA_ORDER]
    for line in path.read_text().splitlines():
        diary = json.loads(line)
        if "facts" not in diary:
            continue
        turns = [
            Turn(
                text=turn["text"], speaker=turn["speaker"], role=turn["role"],
                at=datetime.fromisoformat(turn["at"]).replace(tzinfo=UTC), id=number,
                session=ord(turn["session"][0]),
            )
            for number, turn in enumerate(diary["turns"], 1)
        ]  # fmt: skip
        log = Log(turns)
        for turn in turns:
            if turn.role == "user" and turn.speaker == diary["user"]:
                facts = [fact for fact in diary["facts"] if fact[0] == turn.id - 1]
                for start, end in own_sentences(own_words(turn.text)):
                    told = [fact for fact in facts if _overlap(turn.text, start, end, fact[2])]
                    areas = [AREA_ORDER.index(fact[1]) + 1 for fact in told]
                    text = turn.text[start:end]
                    yield Sentence(
                        diary=diary["id"], text=text, area=areas[0] if areas else 0,
                        areas=frozenset(areas), holds=all(fact[3] is None for fact in told),
                        weight=max((fact[4] for fact in told), default=0),
                        features=_features(log, turn, start, text, questions),
                    )  # fmt: skip


def _overlap(text: str, start: int, end: int, quote: str) -> bool:
    first = text.index(quote)
    shared = min(end, first + len(quote)) - max(start, first)
    return shared >= 0.5 * min(end - start, len(quote))


def _features(
    log: Log, turn: Turn, start: int, text: str, questions: Sequence[NDArray[np.float32]]
) -> NDArray[np.float32] | None:
    index = log.index
    own = np.flatnonzero(index.turns == turn.id).tolist()
    if not own:
        return None
    spans = index.spans(own)
    position = next((at for at in own if start < spans[at][1]), own[-1])
    passages = np.flatnonzero(index.by_user & (index.turns > turn.id))
    if not len(passages):
        return None
    days = (log.last - turn.at).total_seconds() / 86_400
    alike = index.vectors(passages) @ vector_of(text)
    alike, at = later_states(alike, position, passages)
    rows = [
        state_features(area, days, alike, other_state(at, question, index))
        for area, question in zip(AREA_ORDER, questions, strict=True)
    ]
    return np.stack(rows)


def fit(sentences: Sequence[Sentence]) -> Mapping[str, NDArray[Any]]:
    """Return the weights of both models."""
    vectors = embedding.vectors([each.text for each in sentences])
    areas = LogisticRegression(C=AREAS_C, max_iter=4000)
    areas.fit(vectors, [each.area for each in sentences])
    weights = np.zeros((vectors.shape[1], len(AREA_ORDER) + 1), np.float32)
    bias = np.full(len(AREA_ORDER) + 1, -20, np.float32)  # of what nobody ever states
    weights[:, areas.classes_], bias[areas.classes_] = areas.coef_.T, areas.intercept_
    told = [each for each in sentences if each.area and each.features is not None]
    rows = np.stack([_row(each) for each in told])
    low, high = rows.min(axis=0), np.percentile(rows, 99, axis=0)
    high[4:], mean, scale = 1, rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-3)
    holds = LogisticRegression(C=HOLDS_C, max_iter=4000)
    holds.fit((np.clip(rows, low, high) - mean) / scale, [each.holds for each in told])
    slopes = holds.coef_[0] / scale
    return {
        "areas": weights.astype(np.float16),
        "areas_bias": bias,
        "low": low,
        "high": high,
        "holds": slopes.astype(np.float32),
        "holds_bias": np.float32(holds.intercept_[0] - slopes @ mean),
    }


def _row(sentence: Sentence) -> NDArray[np.float32]:
    assert sentence.features is not None
    return sentence.features[sentence.area - 1]


def judge(name: str, sentences: Sequence[Sentence], weights: Mapping[str, NDArray[Any]]) -> None:
    """Print how often the models are right of sentences."""
    vectors = embedding.vectors([each.text for each in sentences])
    chances = stated(vectors, weights)
    states, best = chances.sum(axis=1), chances.argmax(axis=1) + 1
    holds = np.ones(len(sentences))
    for number, each in enumerate(sentences):
        if each.features is not None:
            holds[number] = holding(each.features[best[number] - 1][None], weights)[0]
    told = np.array([each.area > 0 for each in sentences])
    right = np.array([b in each.areas for b, each in zip(best, sentences, strict=True)])
    held = np.array([each.holds for each in sentences])
    main = np.array([each.weight == 2 for each in sentences])
    diaries = len({each.diary for each in sentences})
    print(
        f"{name}: {diaries} diaries, {len(told)} sentences; {told.mean():.2f} state something (AUC"
        f" {roc_auc_score(told, states):.3f}), {held[told].mean():.2f} of these hold (AUC"
        f" {roc_auc_score(held[told], holds[told]):.3f})"
    )
    for least in CHANCES:
        chosen = states >= least
        print(
            f"  stated from {least}: {chosen.sum() / diaries:.1f} a diary, of which"
            f" {told[chosen].mean():.2f} state something, of that area"
            f" {right[chosen & told].mean():.2f}, and {(chosen & main).sum() / main.sum():.2f} of"
            " what it must have"
        )
        for sure in CHANCES[1:]:
            both = chosen & (holds >= sure)
            print(
                f"    holds from {sure}: {both.sum() / diaries:.1f} a diary; of what is stated "
                f"{held[both & told].mean():.2f} hold"
            )


def main() -> None:
    """Read the command line, fit, judge and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", type=Path, required=True)
    parser.add_argument("--judge", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    embedding.use("encoder")
    weights = fit([*read_sentences(options.fit)])
    for path in options.judge:
        judge(path.stem, [*read_sentences(path)], weights)
    np.savez_compressed(options.out, **weights)


if __name__ == "__main__":
    main()
