"""Kendall's tau-b as SciPy has it, BEAM's score of an order, and its alignment by words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.real_data import DATA, needs_data
from support.run_samples import JUDGED as ITEM
from theanine_bench.metrics.optional_imports import library
from theanine_bench.metrics.ordering import (
    OrderByWords,
    align,
    event_f1,
    kendall_tau_b,
    order_score,
    split_events,
)

pytestmark = pytest.mark.anyio
POINTS = ["Choosing a violin", "Finding a teacher", "The first recital"]


def scipys(one: list[int], other: list[int]) -> float:
    ranked: Any = library("scipy.stats").kendalltau(one, other, variant="b")
    return float(ranked.statistic)


ranks = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=12)


@given(ranks)
def test_tau_is_scipys(pairs: list[tuple[int, int]]) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    ours = kendall_tau_b(one, other)
    if len(set(one)) == 1 or len(set(other)) == 1:  # SciPy says nan
        assert ours is None
    else:
        assert ours == pytest.approx(scipys(one, other))


def published(points: int, events: list[int | None]) -> float:
    """The score of BEAM's script, which ranks texts."""
    truth = [f"point {n}" for n in range(points)]
    said = [f"other {n}" if e is None else f"point {e}" for n, e in enumerate(events)]
    things = list(dict.fromkeys(truth + said))

    def ranked(order: list[str]) -> list[int]:
        places = {one: place for place, one in enumerate(order, 1)}
        return [places.get(one, len(things) + 1) for one in things]

    return (scipys(ranked(truth), ranked(said)) + 1) / 2


@st.composite
def answers(draw: st.DrawFn) -> tuple[int, list[int | None]]:
    points = draw(st.integers(2, 7))
    named = draw(st.lists(st.integers(0, points - 1), unique=True, max_size=points))
    others: list[None] = draw(st.lists(st.none(), max_size=4))
    return points, draw(st.permutations([*named, *others]))


@given(answers())
def test_a_score_is_beams(answer: tuple[int, list[int | None]]) -> None:
    points, events = answer
    wanted = published(points, events)
    assert order_score(points, events) == (0 if math.isnan(wanted) else pytest.approx(wanted))
    assert 0 <= event_f1(points, events) <= 1


@given(st.integers(2, 8))
def test_the_true_order_scores_one_and_its_reverse_nothing(points: int) -> None:
    assert order_score(points, [*range(points)]) == pytest.approx(1)
    assert order_score(points, [*reversed(range(points))]) == pytest.approx(0)
    assert event_f1(points, [*range(points)]) == 1
    assert order_score(points, []) == event_f1(points, []) == 0


@pytest.mark.parametrize(
    ("answer", "events"),
    [
        ("In order: 1) chose a violin, 2) a teacher.", ["chose a violin,", "a teacher."]),
        ("You said:\n- A violin.\n- A teacher.", ["A violin.", "A teacher."]),
        ("1. A violin (in 2024. Or so)\n2. A teacher", ["A violin (in 2024. Or so)", "A teacher"]),
        ("A violin. A teacher followed.", ["A violin.", "A teacher followed."]),
        ("A teacher.", ["A teacher."]),
        (" ", []),
    ],
)  # fmt: skip
def test_what_an_answer_lists(answer: str, events: list[str]) -> None:
    assert split_events(answer) == events


def test_an_event_is_the_point_with_most_of_its_words_and_each_once() -> None:
    said = ["The first teacher you found.", "A recital, the first one.", "Tea.", "Another recital."]
    assert align(POINTS, said) == [1, 2, None, None]


async def test_the_local_measure_is_of_questions_of_order_alone() -> None:
    measure = OrderByWords()
    assert (await measure.score(replace(ITEM, extra={"rubric": POINTS}))).values == {}
    ordered = replace(ITEM, extra={"rubric": POINTS, "ordered": True})
    answer = "1. You chose a violin. 2. You gave a first recital."
    scored = await measure.score(replace(ordered, answer=answer))
    assert scored.values == {
        "order:words": pytest.approx(published(3, [0, 2])),
        "order:words/found": pytest.approx(0.8),
    }
    assert (await measure.score(replace(ordered, answer=None))).values == measure.worst


@needs_data("beam100k")
@pytest.mark.data
def test_the_references_of_beam_are_in_order_by_their_words() -> None:
    asked = [
        question
        for file in sorted(DATA.glob("beam100k/*/probing_questions/probing_questions.json"))
        for question in json.loads(Path(file).read_text("utf-8"))["event_ordering"]
    ]
    scores = [
        order_score(len(one["rubric"]), align(one["rubric"], split_events(one["answer"])))
        for one in asked
    ]
    assert sum(scores) / len(scores) > 0.95
