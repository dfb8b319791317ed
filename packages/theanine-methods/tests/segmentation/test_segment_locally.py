"""The local segmenter: its invariants, what its figures see, and that it finds plain seams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations, pairwise
from math import log
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.embeddings.static import StaticEmbedder
from theanine.text.words import content_words
from theanine_methods.segmentation.cues import BEFORE, HERE, head, plain, questions, tail
from theanine_methods.segmentation.features import boundary_features
from theanine_methods.segmentation.local import best_starts, load_weights, logits, segment_locally
from theanine_methods.segmentation.segments import lengths_of, spans_between, tiling_fault
from theanine_methods.segmentation.vocabulary import USUAL_WORDS, select_starts

EMBEDDER = StaticEmbedder()
TEXTS = st.lists(st.text(max_size=60), max_size=30)

GARDEN = [
    "Hi! I want to start a vegetable garden. Which soil should I buy?",
    "A loose soil with compost suits most vegetables.",
    "And how deep should the soil be for carrots?",
    "Thirty centimetres of loose soil, so that the carrots grow straight.",
    "Great, thank you for the gardening advice.",
    "You're welcome. Is there anything else I can help you with?",
]
PIANO = [
    "I'm looking for a piano teacher for my daughter.",
    "How long has she been playing the piano?",
    "She has played it for two years, mostly short classical pieces.",
    "Then a teacher with classical training would be best for her.",
    "Does the teacher come to our house?",
    "Most piano teachers do, for a small fee. Enjoy the music!",
]
TAXES = [
    "Can you explain which receipts the tax office wants to see?",
    "The tax office wants receipts for all that you deduct.",
    "For how many years must the receipts be kept?",
    "Keep them for six years, or ten if you run a business.",
]


def drawn(texts: list[str], starts: list[bool] | None = None) -> list[tuple[int, int]]:
    return segment_locally(texts, EMBEDDER.vectors(texts), starts)


@given(TEXTS)
@settings(max_examples=60, deadline=None)
def test_any_texts_are_tiled_and_always_the_same_way(texts: list[str]) -> None:
    spans = drawn(texts)
    assert tiling_fault(spans, len(texts)) is None
    assert drawn(list(texts)) == spans


@given(st.lists(st.tuples(st.sampled_from([*GARDEN, *PIANO, *TAXES]), st.booleans()), max_size=25))
@settings(max_examples=40, deadline=None)
def test_segments_begin_only_where_they_may(turns: list[tuple[str, bool]]) -> None:
    texts, starts = [text for text, _ in turns], [start for _, start in turns]
    spans = drawn(texts, starts)
    assert tiling_fault(spans, len(texts)) is None
    assert all(starts[first] for first, _ in spans[1:])


def test_no_turn_one_turn_and_two_turns() -> None:
    assert drawn([]) == []
    assert drawn(["Hello"]) == [(0, 0)]
    assert lengths_of(drawn(["Hello there.", "Hello to you."])) == [2]


def test_vectors_for_other_turns_are_refused() -> None:
    with pytest.raises(ValueError, match="a row for each turn"):
        segment_locally(["one", "two"], EMBEDDER.vectors(["one"]))


@pytest.mark.parametrize("parts", [(GARDEN, PIANO), (PIANO, TAXES, GARDEN), (TAXES, GARDEN, PIANO)])
def test_plain_seams_are_found(parts: tuple[list[str], ...]) -> None:
    assert lengths_of(drawn([text for part in parts for text in part])) == list(map(len, parts))


@pytest.mark.parametrize("one", [GARDEN, PIANO, TAXES])
def test_one_topic_stays_whole(one: list[str]) -> None:
    assert drawn(one) == [(0, len(one) - 1)]


def test_typing_habits_change_nothing() -> None:
    texts = [*GARDEN, *PIANO]
    rows = EMBEDDER.vectors(texts)
    typed = [text.replace("?", " ?").replace("'", "’").replace(". ", " .  ") for text in texts]
    shouted = [text.upper() for text in texts]
    assert segment_locally(typed, rows) == segment_locally(texts, rows)
    assert segment_locally(shouted, rows) == segment_locally(texts, rows)


@given(st.permutations(range(256)), st.integers(0, 255))
@settings(max_examples=15, deadline=None)
def test_only_the_angles_between_vectors_count(order: list[int], flipped: int) -> None:
    texts = [*PIANO, *TAXES]
    rows = EMBEDDER.vectors(texts)
    turned = rows[:, order]
    turned[:, :flipped] *= -1
    expected = logits(texts, rows, load_weights())
    assert np.allclose(logits(texts, turned, load_weights()), expected, atol=1e-3)


def test_texts_without_vectors_are_judged_by_their_words() -> None:
    texts = [*GARDEN, *PIANO]
    nothing = np.zeros((len(texts), 256), np.float32)
    values = logits(texts, nothing, load_weights())
    assert np.isfinite(values).all()
    assert int(values.argmax()) == len(GARDEN) - 1


def test_other_scripts_are_judged_by_their_vectors() -> None:
    sea = ["船は海を進む。", "海は静かだ。", "船長は海が好きだ。"]
    assert tiling_fault(drawn([*sea, "税金の書類が必要です。", "書類は税務署に出す。"]), 5) is None


def test_every_weight_weighs_a_figure_and_every_figure_is_finite() -> None:
    figures = boundary_features([*GARDEN, *TAXES], EMBEDDER.vectors([*GARDEN, *TAXES]))
    assert set(load_weights().features) <= set(figures)
    for name, values in figures.items():
        assert values.shape == (len(GARDEN) + len(TAXES) - 1,), name
        assert np.isfinite(values).all(), name


def test_likeness_only_ever_speaks_against_a_boundary() -> None:
    weights = load_weights().features
    assert all(weights[name] < 0 for name in ("windows of 2 alike", "blocks alike"))
    assert weights["words shared"] < 0 < weights["before: offers more"]
    assert weights["greets"] > 0 > weights["thanks"]


def by_trying_all(gains: list[float], lone_turn: float) -> float:
    """The best sum over every segmentation."""
    n = len(gains) + 1
    return max(
        sum(gains[turn - 1] for turn in starts)
        - lone_turn * lengths_of(spans_between(starts, n)).count(1)
        for size in range(n)
        for starts in combinations(range(1, n), size)
    )


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8), st.floats(0, 2))
def test_the_best_segmentation_is_drawn(gains: list[float], lone_turn: float) -> None:
    starts = best_starts(gains, lone_turn)
    assert all(a < b for a, b in pairwise(starts))
    lone = lengths_of(spans_between(starts, len(gains) + 1)).count(1)
    total = sum(gains[turn - 1] for turn in starts) - lone_turn * lone
    assert total == pytest.approx(by_trying_all(gains, lone_turn), abs=1e-9)


def test_a_boundary_that_is_ruled_out_is_never_drawn() -> None:
    assert best_starts([-np.inf, 5.0, -np.inf, 5.0, -np.inf], 1.4) == [2, 4]


ROOF: Sequence[str] = "roof tiles ladder rain gutter chimney slate repair builder scaffold".split()
CHEESE: Sequence[str] = "cheese milk goat rind cellar salt press dairy ripen brie".split()


def meeting(*subjects: Sequence[str], turns: int) -> list[str]:
    """A long talk on each subject in turn, every other turn of it a backchannel."""
    return [
        f"The {subject[at % 10]} and the {subject[at * 7 % 10]}" if at % 2 else "Mm-hmm."
        for subject in subjects
        for at in range(turns)
    ]


@pytest.mark.parametrize("turns", [60, 100, 200])
def test_of_many_boundaries_those_stay_where_the_words_change(turns: int) -> None:
    texts = meeting(ROOF, CHEESE, ROOF, turns=turns)
    starts = list(range(10, len(texts), 10))
    selected = select_starts(texts, starts, [1.0] * len(starts), 0.2)
    assert selected == [turns, 2 * turns]


def test_a_long_talk_on_one_subject_is_not_divided_by_small_gains() -> None:
    texts = meeting(ROOF, turns=200)
    starts = list(range(10, 200, 10))
    assert select_starts(texts, starts, [0.3] * len(starts), 0.2) == []


def test_large_gains_outweigh_the_words() -> None:
    texts = meeting(ROOF, turns=40)
    assert select_starts(texts, [10, 20], [50.0, 50.0], 0.2) == [10, 20]


def worth(texts: list[str], starts: Sequence[int], gains: dict[int, float], weight: float) -> float:
    """The total of a segmentation, by the definition of the module."""
    words = [[word for text in texts[first : last + 1] for word in content_words(text)]
             for first, last in spans_between(starts, len(texts))]  # fmt: skip
    vocabulary = len(set(chain(*words)))
    nats = sum(
        count * log((count + 1) / (len(segment) + vocabulary))
        for segment in words
        for count in Counter(segment).values()
    )
    place = log(max(1, len([*chain(*words)]) / USUAL_WORDS))
    return sum(gains[turn] - weight * place for turn in starts) + weight * nats


SHORT = st.lists(st.sampled_from(["roof tiles", "roof", "cheese", "goat cheese rind", "Mm", ""]),
                 min_size=2, max_size=9)  # fmt: skip


@given(SHORT, st.sampled_from([0.2, 1.0]), st.data())
@settings(max_examples=60, deadline=None)
def test_the_best_of_the_given_boundaries_are_selected(
    texts: list[str], weight: float, data: st.DataObject
) -> None:
    starts = sorted(data.draw(st.sets(st.integers(1, len(texts) - 1))))
    gains = {turn: data.draw(st.floats(0, 3)) for turn in starts}
    selected = select_starts(texts, starts, [*gains.values()], weight)
    best = max(
        worth(texts, some, gains, weight)
        for size in range(len(starts) + 1)
        for some in combinations(starts, size)
    )
    assert worth(texts, selected, gains, weight) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "name", "yes", "no"),
    [
        (HERE, "greets", "Hey, are you there?", "They said hey."),
        (HERE, "needs", "I’m looking for a plumber", "He looks well"),
        (HERE, "orders", "Please book a table", "I read a book"),
        (HERE, "asks about you", "Nice ! do you have any pets ?", "Do you. No"),
        (HERE, "asks on", "What about Sunday?", "That is what about does"),
        (HERE, "agrees", "Yes, please", "He said yes"),
        (HERE, "refers back", "Where did they go?", "Where did Anna go?"),
        (BEFORE, "offers more", "Anything else I can do?", "Anything you like"),
        (BEFORE, "reports done", "Your table is booked.", "A good book"),
        (BEFORE, "ends asking", "Sure. Which day ?", "Which day? Any."),
    ],
)  # fmt: skip
def test_cues_see_what_they_name(kind: dict[str, object], name: str, yes: str, no: str) -> None:
    cue = (HERE | BEFORE)[name]
    assert kind[name] is cue
    assert cue.search(plain(yes))
    assert not cue.search(plain(no))


def test_heads_tails_and_questions() -> None:
    long = "Begin. " + "x " * 500 + "The end?"
    assert head(long).startswith("begin .") and "?" not in head(long)
    assert tail(long).endswith("the end ?") and "begin" not in tail(long)
    assert plain("I’m   HERE!") == "im here !"
    assert questions(plain("It works. Does it? Good. Why?")).split() == "does it ? why ?".split()


def test_two_thousand_turns_take_less_than_a_second_of_computing() -> None:
    texts = [f"{text} ({number})" for number in range(125) for text in [*GARDEN, *PIANO, *TAXES]]
    drawn(texts[:10])
    started = process_time()
    spans = drawn(texts)
    assert process_time() - started < 1
    assert tiling_fault(spans, len(texts)) is None
