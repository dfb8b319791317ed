"""Pk, WindowDiff, F1 and the score: worked by hand, by definition, and against nltk where it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.fit_segmenter import fit, join_chats, pieces, read_sample

from support.real_data import DATA, needs_data
from theanine.errors import BadInput
from theanine_bench.config import RunConfig
from theanine_bench.datasets.segmentation import SegmentedDialogue, read_segmented
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.metrics.segmentation import (
    boundary_f1,
    pk,
    segmentation_score,
    window_diff,
)
from theanine_bench.runs import RunFolder, SavedRun, read_run, run_task
from theanine_bench.samples import SampleResult
from theanine_bench.statistics.intervals import Interval
from theanine_bench.tasks.segmentation import METRICS, Segmenter, find_segmenter, segmentation_task
from theanine_methods.segmentation.local import load_weights, segment_locally
from theanine_methods.segmentation.segments import Span, fixed_length_spans, spans_of

SETS = DATA / "segmentation"


@st.composite
def two_segmentations(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two ways to part the same turns."""
    ends = [draw(st.lists(st.booleans(), min_size=1, max_size=30))]
    ends.append(draw(st.lists(st.booleans(), min_size=len(ends[0]), max_size=len(ends[0]))))
    found: list[list[int]] = []
    for flags in ends:
        lengths = [1]
        for begins in flags:
            if begins:
                lengths.append(1)
            else:
                lengths[-1] += 1
        found.append(lengths)
    return found[0], found[1]


@pytest.mark.parametrize(
    ("reference", "drawn", "expected_pk", "expected_wd"),
    [
        # 8 turns, mean length 4, window 2: pairs (0,2) … (5,7).
        ([4, 4], [4, 4], 0, 0),
        ([4, 4], [8], 2 / 6, 2 / 6),  # (2,4) and (3,5) straddle the boundary that was missed
        ([4, 4], [5, 3], 2 / 6, 2 / 6),  # (2,4) misses one, (4,6) has one too many
        ([4, 4], [3, 1, 4], 1 / 6, 2 / 6),  # (1,3) split in vain; (2,4) counts two for one
        # 4 turns, one segment, window 2: pairs (0,2) (1,3).
        ([4], [1, 1, 1, 1], 1, 1),
        # Mean length 1: the window is 1, not half a turn.
        ([1, 1, 1], [3], 1, 1),
        # Mean length 5, half of it rounded to the even 2.
        ([5, 5], [10], 2 / 8, 2 / 8),
        ([1], [1], 0, 0),
        ([], [], 0, 0),
    ],
)
def test_hand_worked(
    reference: list[int], drawn: list[int], expected_pk: float, expected_wd: float
) -> None:
    assert pk(reference, drawn, by_gaps=True) == pytest.approx(expected_pk)
    assert window_diff(reference, drawn, by_gaps=True) == pytest.approx(expected_wd)


def counted(reference: list[int], drawn: list[int], differ: Callable[[int, int], bool]) -> float:
    """The definition, spelt out: count the boundaries in each window, one by one."""
    turns = sum(reference)
    window = max(1, round(turns / len(reference) / 2))
    if turns <= window:
        return 0.0
    starts = [{first for first, _ in spans_of(one)} for one in (reference, drawn)]
    wrong = 0
    for at in range(turns - window):
        inside = range(at + 1, at + window + 1)
        ours, theirs = (len(found.intersection(inside)) for found in starts)
        wrong += differ(ours, theirs)
    return wrong / (turns - window)


@given(two_segmentations())
def test_by_definition(pair: tuple[list[int], list[int]]) -> None:
    errors = pk(*pair, by_gaps=True), window_diff(*pair, by_gaps=True)
    assert errors[0] == pytest.approx(counted(*pair, lambda a, b: (a > 0) != (b > 0)))
    assert errors[1] == pytest.approx(counted(*pair, lambda a, b: a != b))
    assert 0 <= errors[0] <= errors[1] <= 1


@given(two_segmentations())
def test_as_nltk_has_it(pair: tuple[list[int], list[int]]) -> None:
    theirs: Any = import_module("nltk.metrics.segmentation")
    turns, segments = sum(pair[0]), len(pair[0])
    reference, drawn = ("".join("0" * (n - 1) + "1" for n in one)[:-1] for one in pair)
    window = max(1, round(turns / segments / 2))
    if turns - 1 >= window:
        assert pk(*pair, by_gaps=True) == pytest.approx(theirs.pk(reference, drawn, window))
        assert window_diff(*pair, by_gaps=True) == pytest.approx(
            theirs.windowdiff(reference, drawn, window)
        )
    # The program of SuperDialSeg has a label for each turn, of which the last one's is 0.
    reference, drawn = (labels + "0" for labels in (reference, drawn))
    window = max(2, round(turns / segments / 2))
    if turns >= window:
        assert pk(*pair) == pytest.approx(theirs.pk(reference, drawn, window))
        assert window_diff(*pair) == pytest.approx(theirs.windowdiff(reference, drawn, window))


@pytest.mark.parametrize(
    ("reference", "drawn", "f1"),
    [
        ([4, 4], [4, 4], 1),
        ([2, 2, 2], [2, 4], 2 / 3),
        ([2, 2, 2], [3, 3], 0),
        ([3, 3], [6], 0),
        ([5], [5], 0),
    ],
)
def test_f1_of_a_dialogue_and_the_score(reference: list[int], drawn: list[int], f1: float) -> None:
    assert boundary_f1(reference, drawn) == pytest.approx(f1)
    errors = pk(reference, drawn) + window_diff(reference, drawn)
    assert segmentation_score(reference, drawn) == pytest.approx((2 * f1 + 2 - errors) / 4)


def test_pooled_f1_is_of_all_boundaries_together() -> None:
    pairs = [([4, 4], [4, 4]), ([2, 2, 2], [3, 3]), ([5], [2, 3])]
    results = [
        SampleResult(
            id=str(n), group="g", question="?", extra={"gold": gold}, output={"segments": drawn}
        )
        for n, (gold, drawn) in enumerate(pairs)
    ]
    [metric] = find_metrics(["F1:gaps"])[1]
    value = metric.score(results)["F1:gaps"]
    assert isinstance(value, Interval)
    assert value.mean == pytest.approx(2 * 1 / (3 + 3))


@pytest.mark.parametrize("drawn", [[3], [5, 0], [2, 2, 1, 1]])
def test_other_turns_are_no_measure(drawn: list[int]) -> None:
    with pytest.raises(ValueError, match="the same turns"):
        pk([5], drawn)


BOAT = ("The boat needs sails.", "New sails for the boat?", "Sails make a boat go.")
SOUP = ("Onion soup with bread.", "Bread in the soup!", "My soup lacks onion.")
TALKS = [
    SegmentedDialogue(id="both", texts=BOAT + SOUP, lengths=(3, 3)),
    SegmentedDialogue(id="boat", texts=BOAT, lengths=(3,)),
    SegmentedDialogue(id="soup", texts=SOUP, lengths=(1, 2)),
]


def measure(
    folder: Path,
    dialogues: Sequence[SegmentedDialogue],
    name: str = "local",
    segmenter: Segmenter | None = None,
) -> SavedRun:
    async def run() -> SavedRun:
        task = segmentation_task(dialogues, "0", segmenter=segmenter)
        place, _ = await run_task(task, RunConfig(method=name), RunFolder(folder / "run"))
        return await read_run(place.path)

    return anyio.run(run)


def means(run: SavedRun) -> dict[str, float]:
    per_dialogue = {name: metric["mean"] for name, metric in run.summary["metrics"].items()}
    return {**per_dialogue, **run.summary["corpus"]}


def test_the_bench_measures_each_dialogue(tmp_path: Path) -> None:
    run = measure(tmp_path, TALKS, "every:3")
    results = list(run.results.values())
    assert [(result.output or {})["segments"] for result in results] == [[3, 3], [3], [3]]
    assert [result.scores["Pk:gaps"] for result in results] == [0, 0, 1 / 2]
    assert [result.scores["Pk"] for result in results] == [0, 0, 1 / 2]
    mean = means(run)
    assert mean["Pk:gaps"] == mean["WD:gaps"] == pytest.approx(1 / 6)
    assert mean["F1:gaps"] == pytest.approx(2 * 1 / 3)
    assert mean["F1"] == pytest.approx(1 / 3)
    assert mean["score"] == pytest.approx((2 * 1 / 3 + 2 * 5 / 6) / 4)
    for metric in run.summary["metrics"].values():
        assert metric["low"] <= metric["mean"] <= metric["high"]
        assert metric["n"] == 3


@pytest.mark.parametrize("name", ["local", "dips", "text-tiling", "every:2"])
def test_every_segmenter_by_name(tmp_path: Path, name: str) -> None:
    results = measure(tmp_path, TALKS, name).results.values()
    assert [sum((result.output or {})["segments"]) for result in results] == [6, 3, 3]


@pytest.mark.parametrize("name", ["", "llm", "every:0", "every:x", "every:", "4"])
def test_an_unknown_segmenter_is_named(name: str) -> None:
    with pytest.raises(BadInput, match="use local, dips, text-tiling, trained:FOLDER or every:N"):
        find_segmenter(name)


def test_nothing_to_measure_is_an_error() -> None:
    with pytest.raises(BadInput, match="nothing can be measured"):
        segmentation_task([], "0")
    with pytest.raises(BadInput, match="no boundary to find"):
        segmentation_task(TALKS[1:2], "0")


def test_a_segmenter_that_does_not_tile_is_not_measured(tmp_path: Path) -> None:
    def half(texts: object) -> list[Span]:
        return fixed_length_spans(1, 1)

    with pytest.raises(ValueError, match="turn 1 is in no segment"):
        measure(tmp_path, TALKS, segmenter=half)


def test_a_file_of_dialogues(tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(
        json.dumps([
            {"dial_id": 7, "utterances": list(BOAT), "segments": [1, 2], "set": "test"},
            {"utterances": [], "segments": []},
        ])
    )  # fmt: skip
    assert read_segmented(file) == [
        SegmentedDialogue(id="7", texts=BOAT, lengths=(1, 2), part="test"),
        SegmentedDialogue(id="2", texts=(), lengths=()),
    ]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("[{", ""),
        ("{}", ""),
        ("[]", ""),
        ("[7]", ", item 1"),
        ('[{"segments": []}]', ", item 1"),
        ('[{"utterances": ["a", 2], "segments": [2]}]', ", item 1.utterances[1]"),
        ('[{"utterances": ["a"]}]', ", item 1"),
        ('[{"utterances": ["a"], "segments": [true]}]', ", item 1.segments[0]"),
        ('[{"utterances": ["a"], "segments": [1, 0]}]', ", item 1.segments[1]"),
        ('[{"utterances": ["a"], "segments": [2]}]', ", item 1"),
    ],
)
def test_a_bad_file_says_where(tmp_path: Path, content: str, place: str) -> None:
    file = tmp_path / "talks.json"
    file.write_text(content)
    with pytest.raises(BadInput) as caught:
        read_segmented(file)
    assert caught.value.where == f"{file}{place}"


def test_a_missing_file_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        read_segmented(tmp_path / "none.json")


def test_joined_chats_and_pieces_keep_their_seams() -> None:
    chats = [[f"{name}{turn}" for turn in range(20)] for name in "abcdefg"]
    joined = join_chats(chats, 20)
    assert joined == join_chats(chats, 20)
    for one in [*joined, *pieces(joined)]:
        for first, last in spans_of(one.lengths):
            assert len({text[0] for text in one.texts[first : last + 1]}) == 1
    assert {len(one.lengths) for one in pieces(joined)} == {1, 2}


def test_fitting_learns_where_segments_begin(tmp_path: Path) -> None:
    chats = [
        [f"{opening} the {thing}?", f"The {thing} is here.", f"I like the {thing}."]
        for thing in ("boat", "soup", "violin", "garden", "tax", "horse", "castle")
        for opening in ("Hello, can you show me", "Hi! I'm looking for")
    ]
    joined = join_chats(chats, 40)
    weights = fit([(joined, 1.0)])
    assert weights.features["greets"] > 0
    run = measure(tmp_path, joined, segmenter=lambda texts: _drawn(texts, weights))
    assert means(run)["F1:gaps"] > 0.9


def _drawn(texts: Any, weights: Any) -> list[Span]:
    from theanine.embeddings.static import StaticEmbedder

    return segment_locally(cast("list[str]", texts), StaticEmbedder().vectors(texts), None, weights)


@needs_data("segmentation")
@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("dialseg711_dev.json", (0.306, 0.328, 0.518)),
        ("tiage_train_dev.json", (0.405, 0.418, 0.377)),
    ],
)
def test_the_plain_baseline_gives_the_published_figures(
    tmp_path: Path, file: str, expected: tuple[float, ...]
) -> None:
    mean = means(measure(tmp_path, read_segmented(SETS / file), "dips"))
    assert tuple(mean[name] for name in METRICS[4:]) == pytest.approx(expected, abs=0.0006)


@needs_data("segmentation")
@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "goal"),
    [
        ("dialseg711_dev.json", (0.17, 0.19, 0.75)),
        ("tiage_train_dev.json", (0.38, 0.40, 0.48)),
    ],
)
def test_the_local_segmenter_reaches_its_goals(
    tmp_path: Path, file: str, goal: tuple[float, ...]
) -> None:
    mean = means(measure(tmp_path, read_segmented(SETS / file)))
    assert mean["Pk:gaps"] <= goal[0] and mean["WD:gaps"] <= goal[1]
    assert mean["F1:gaps"] >= goal[2]


@needs_data("segmentation")
@pytest.mark.data
def test_weights_of_one_half_serve_the_other(tmp_path: Path) -> None:
    """Fitted on every other dialogue, measured on the rest: what the goals are about."""
    whole = [
        read_sample(f"{SETS}/dialseg711_dev.json"),
        read_sample(f"{SETS}/tiage_train_dev.json"),
    ]
    weights = fit([(dialogues[0:200:2], weight) for dialogues, weight in whole])
    for (dialogues, _), least in zip(whole, (0.75, 0.48), strict=True):
        run = measure(
            tmp_path / str(least),
            dialogues[1:200:2],
            segmenter=lambda texts: _drawn(texts, weights),
        )
        assert means(run)["F1:gaps"] >= least


def test_the_fitted_weights_are_few_and_of_moderate_size() -> None:
    weights = load_weights()
    assert 20 <= len(weights.features) <= 60
    assert all(abs(weight) < 5 for weight in weights.features.values())
