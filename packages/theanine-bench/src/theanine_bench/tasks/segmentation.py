"""The segmentation bench: how well and how fast a segmenter finds the gold topic segments."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from theanine.embeddings.static import StaticEmbedder
from theanine.errors import BadInput
from theanine.segmentation import (
    Span,
    check_tiling,
    fixed_length_spans,
    lengths_of,
    segment_locally,
    similarity_dips,
    text_tiling,
)
from theanine_bench.datasets.segmentation import SegmentedDialogue
from theanine_bench.metrics.intervals import Interval
from theanine_bench.metrics.segmentation import (
    boundaries,
    boundary_f1,
    pk,
    segmentation_score,
    window_diff,
)

Segmenter = Callable[[Sequence[str]], Sequence[Span]]
"""A dialogue's turns in, its segments out."""
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentedItem:
    """One dialogue's outcome."""

    id: str
    gold: tuple[int, ...]
    drawn: tuple[int, ...]
    pk: float
    wd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentationRun:
    """A run over a set. Each interval is the 95 % bootstrap over dialogues.

    Attributes:
        f1: of boundaries, over all dialogues together.
        turns_per_second: embedding included, one dialogue after the other.
    """

    items: Sequence[SegmentedItem]
    pk: Interval
    wd: Interval
    f1: Interval
    score: Interval
    turns_per_second: float

    @property
    def n(self) -> int:
        """How many dialogues were measured."""
        return len(self.items)

    @property
    def measures(self) -> dict[str, Interval]:
        """Each measure by the name that people know it by."""
        return {"Pk": self.pk, "WD": self.wd, "F1": self.f1, "score": self.score}


def segmenter(name: str) -> Segmenter:
    """``local``, ``dips``, ``text-tiling`` or ``every:N``. Raises BadInput for any other name."""
    embedder = StaticEmbedder()
    if name == "local":
        return lambda texts: segment_locally(texts, embedder.vectors(texts))
    if name == "dips":
        return lambda texts: similarity_dips(embedder.vectors(texts))
    if name == "text-tiling":
        return text_tiling
    size = name.removeprefix("every:")
    if size != name and size.isdecimal() and int(size) > 0:
        return lambda texts: fixed_length_spans(int(size), len(texts))
    raise BadInput(
        f"no segmenter {name!r}: use local, dips, text-tiling or every:N, such as every:4"
    )


def bench_segmentation(
    dialogues: Sequence[SegmentedDialogue], segmenter: Segmenter, seed: int = 0
) -> SegmentationRun:
    """Segment each dialogue and measure it. A segmenter that doesn't tile raises ValueError.

    Raises BadInput as :func:`check_dialogues`.
    """
    check_dialogues(dialogues)
    segmenter(dialogues[0].texts)  # what it loads at first use is not its speed
    started = time.perf_counter()
    drawn = [segmenter(one.texts) for one in dialogues]
    return measured(dialogues, drawn, time.perf_counter() - started, seed)


def check_dialogues(dialogues: Sequence[SegmentedDialogue]) -> None:
    """Raises BadInput where there is nothing to measure."""
    if not dialogues:
        raise BadInput("no dialogues: nothing can be measured")
    if all(len(one.lengths) < 2 for one in dialogues):
        raise BadInput("no dialogue has more than one segment: there is no boundary to find")


def measured(
    dialogues: Sequence[SegmentedDialogue],
    drawn: Sequence[Sequence[Span]],
    seconds: float,
    seed: int = 0,
) -> SegmentationRun:
    """The measures of the segments drawn, in so many seconds, of each dialogue."""
    items = [_item(one, spans) for one, spans in zip(dialogues, drawn, strict=True)]
    turns = sum(len(one.texts) for one in dialogues)
    return _run(items, turns / max(seconds, 1e-9), seed)


def _item(one: SegmentedDialogue, spans: Sequence[Span]) -> SegmentedItem:
    lengths = tuple(lengths_of(check_tiling(spans, len(one.texts))))
    return SegmentedItem(
        id=one.id,
        gold=one.lengths,
        drawn=lengths,
        pk=pk(one.lengths, lengths),
        wd=window_diff(one.lengths, lengths),
    )


def _run(items: Sequence[SegmentedItem], speed: float, seed: int) -> SegmentationRun:
    counts = np.array([_counts(item) for item in items], np.float64)
    f1 = boundary_f1((item.gold, item.drawn) for item in items)
    mean_pk, mean_wd = counts[:, :2].mean(0).tolist()
    means = {"pk": mean_pk, "wd": mean_wd, "f1": f1}
    means["score"] = segmentation_score(f1, mean_pk, mean_wd)
    rng = np.random.default_rng(seed)
    picks = counts[rng.integers(0, len(items), (RESAMPLES, len(items)))].mean(1)
    resampled = {"pk": picks[:, 0], "wd": picks[:, 1]}
    resampled["f1"] = 2 * picks[:, 2] / np.maximum(picks[:, 3], 1e-9)
    resampled["score"] = (2 * resampled["f1"] + 2 - picks[:, 0] - picks[:, 1]) / 4
    found: dict[str, Interval] = {}
    for name, values in resampled.items():
        low, high = np.quantile(values, [0.025, 0.975])
        found[name] = Interval(means[name], float(low), float(high), len(items))
    return SegmentationRun(items=items, turns_per_second=speed, **found)


def _counts(item: SegmentedItem) -> tuple[float, float, int, int]:
    """What the measures of any sample of dialogues are made of."""
    gold, drawn = boundaries(item.gold), boundaries(item.drawn)
    return item.pk, item.wd, len(gold & drawn), len(gold) + len(drawn)
