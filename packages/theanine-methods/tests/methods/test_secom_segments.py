"""What the model that segments is asked, what is taken of its answers, how windows are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.answering import Answering, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.demo import HARBOUR
from theanine.embeddings.static import StaticEmbedder
from theanine.errors import BadInput, UnusableReply
from theanine.importers import read_histories
from theanine.types import Turn
from theanine_methods.secom.ask_segments import (
    SEGMENT,
    SEGMENT_GUIDED,
    WINDOW_TOKENS,
    ask_segments,
    split_into_blocks,
    split_into_windows,
    stitch,
)
from theanine_methods.secom.guidance import Example, Guidance, bounds, read_guidance, write_guidance
from theanine_methods.secom.reflect import BATCHES, REFLECT, Attempt, reflect, split_into_batches
from theanine_methods.segmentation.local import (
    FITTED_TURNS,
    load_weights,
    segment_locally,
    with_expected_length,
)
from theanine_methods.segmentation.segments import spans_between, tiling_fault

pytestmark = pytest.mark.anyio

TURNS = [
    turn(1, "Hi Theo!"),
    turn(2, "Good morning, Ana.", "Theo", role="assistant"),
    turn(3, "My boat lost its mast.", shared="a boat without a mast"),
    turn(4, "You told me about the storm.", "Theo", role="assistant", recalled=(1,)),
    turn(5, "Which train goes to Split?"),
    turn(6, "And how long does it take?"),
    turn(7, "The one at nine; five hours.", "Theo", role="assistant"),
]
LEARNED = Guidance(
    made_by="scripted:test",
    prompt="segment-reflect@1",
    rules=["A farewell stays with what it closes.", "A change of place\nalone is no new topic."],
    examples=[
        Example(
            id="d7",
            turns=["I need a taxi.", "Where to?", "Also a table for two."],
            right=[2, 1],
            drawn=[3],
            lesson="The word also opens another errand.",
        )
    ],
)
ATTEMPTS = [
    Attempt(id="a", turns=["One.", "Two.", "Three."], right=[1, 2], drawn=[3], error=0.5),
    Attempt(id="b", turns=["Four.", "Five."], right=[2], drawn=[1, 1], error=1.0),
    Attempt(id="c", turns=["Six.", "Seven."], right=[1, 1], drawn=[1, 1], error=0.0),
]


def drawn(*pairs: tuple[int, int]) -> dict[str, Any]:
    return {"segments": [{"first": first, "last": last} for first, last in pairs]}


LESSON = {"errors": "Cut too often.", "rule": "Cut less.", "example": 1, "lesson": "One errand."}


# what the model sees


async def _prompt(name: str, turns: Sequence[Turn]) -> str:
    caller = Answering([LESSON] if name == "segment-reflect" else [drawn((1, 3))])
    if name == "segment-reflect":
        texts = [turn.full_text for turn in turns]
        shown = [Attempt(id="a", turns=texts, right=[2, 5], drawn=[7], error=0.5)]
        await reflect(shown, caller)
    else:
        guidance = ""
        if name == "segment-guided":
            example = LEARNED.examples[0].model_copy(update={"turns": [t.full_text for t in turns]})
            guidance = LEARNED.model_copy(update={"examples": [example]}).text
        await ask_segments(turns, caller, guidance=guidance, source_sessions={1})
        assert caller.asked[0].touches == {1}
    return caller.asked[0].prompt


@pytest.mark.parametrize("step", [SEGMENT, SEGMENT_GUIDED, REFLECT], ids=lambda step: step.name)
async def test_prompts_match_their_snapshots_and_fence_quoted_text(step: Any) -> None:
    check_length(step)
    calm = await _prompt(step.name, TURNS)
    check_snapshot(step.name, calm)
    attacked = [replace(turn, text=ATTACK, speaker=f"{turn.speaker}\n{ATTACK}") for turn in TURNS]
    check_fences(calm, await _prompt(step.name, attacked))


async def test_exchanges_are_numbered_and_never_split() -> None:
    caller = Answering([drawn((1, 2), (3, 3))])
    assert await ask_segments(TURNS, caller) == [(0, 3), (4, 6)]
    assert "\n[3] Ana (user): Which train goes to Split?\n    Ana (user): And how" in (
        caller.asked[0].prompt
    )


async def test_between_peers_every_turn_is_numbered() -> None:
    peers = [replace(turn, role="user") for turn in TURNS[:3]]
    caller = Answering([drawn((1, 1), (2, 3))])
    assert await ask_segments(peers, caller) == [(0, 0), (1, 2)]


async def test_a_reply_that_does_not_tile_is_returned_with_its_error() -> None:
    wrong = [drawn(), drawn((1, 2)), drawn((2, 3)), drawn((1, 4)), drawn((1, 2), (2, 3))]
    caller = Answering([*wrong, drawn((1, 3))])
    assert await ask_segments(TURNS, caller) == [(0, 6)]
    assert caller.faults == [
        "turn 1 is in no segment",
        "turn 3 is in no segment",
        "turn 1 is in no segment",
        "the segment 1 to 4 passes the last turn, 3",
        "the segment 2 to 3 takes up turn 2 again",
    ]
    with pytest.raises(UnusableReply):
        await ask_segments(TURNS, Answering(wrong))


async def test_an_indivisible_session_takes_no_call() -> None:
    caller = Answering([])
    assert await ask_segments([], caller) == []
    assert await ask_segments(TURNS[:2], caller) == [(0, 1)]
    assert caller.asked == []


async def test_a_very_long_session_is_split_into_windows() -> None:
    turns = [turn(n, f"{n} " + "word " * 240) for n in range(1, 121)]

    def each_ten(prompt: str) -> object:
        numbers = [int(line[1:].split("]")[0]) for line in prompt.splitlines() if line[:1] == "["]
        starts = [numbers[0], *(n for n in numbers[1:] if n % 10 == 1)]
        return drawn(*zip(starts, [*(n - 1 for n in starts[1:]), numbers[-1]], strict=True))

    caller = Answering([each_ten] * 20)
    spans = await ask_segments(turns, caller)
    assert len(caller.asked) > 3
    assert spans == spans_between(range(10, 120, 10), 120)


# windows


@given(st.lists(st.integers(1, 9_000), min_size=1, max_size=60))
def test_windows_cover_all_in_order_and_overlap(costs: list[int]) -> None:
    windows = split_into_windows(costs)
    assert windows[0][0] == 0
    assert windows[-1][1] == len(costs)
    for (first, end), (later, later_end) in pairwise(windows):
        assert first < later < end < later_end
    for (_, before), (first, end) in zip([(0, 0), *windows], windows, strict=False):
        within = sum(costs[first:end]) <= WINDOW_TOKENS
        assert within or end == max(first + 2, before + 1), "more than has to be in it"
    if sum(costs) <= WINDOW_TOKENS:
        assert windows == [(0, len(costs))]


@pytest.mark.slow
@settings(max_examples=200)
@given(st.data())
def test_stitched_windows_always_tile_the_session(data: st.DataObject) -> None:
    costs = data.draw(st.lists(st.integers(1, 9_000), min_size=1, max_size=40))
    windows = split_into_windows(costs)
    anywhere = st.lists(st.integers(-2, len(costs) + 2), max_size=12)
    texts = [data.draw(anywhere) for _ in windows]
    starts = stitch(windows, texts)
    assert tiling_fault(spans_between(starts, len(costs)), len(costs)) is None
    assert all(any(start in text for text in texts) for start in starts)


@given(st.lists(st.integers(1, 9_000), min_size=2, max_size=40), st.sets(st.integers(1, 39)))
def test_boundaries_on_which_all_windows_agree_are_kept(costs: list[int], agreed: set[int]) -> None:
    windows = split_into_windows(costs)
    true = sorted(start for start in agreed if start < len(costs))
    texts = [[start for start in true if first < start < end] for first, end in windows]
    assert stitch(windows, texts) == true


def test_an_exchange_with_many_turns_is_one_block() -> None:
    blocks = split_into_blocks(TURNS)
    assert [(block.start, len(block.lines)) for block in blocks] == [(0, 2), (2, 2), (4, 3)]


def test_shorter_expected_segments_give_more_segments() -> None:
    texts = [t.text for s in read_histories(HARBOUR).histories[0].transcripts for t in s.turns]
    vectors = StaticEmbedder().vectors(texts)
    counts = [
        len(segment_locally(texts, vectors, None, with_expected_length(turns, load_weights())))
        for turns in (2, 3, FITTED_TURNS, 12, 40)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2] > counts[-1]
    usual = with_expected_length(FITTED_TURNS, load_weights())
    assert usual == replace(load_weights(), vocabulary=0)
    with pytest.raises(ValueError, match="at least 2 turns"):
        with_expected_length(1, load_weights())


# guidance


async def test_a_rule_and_an_example_are_learned_from_each_batch_of_the_worst() -> None:
    caller = Answering([LESSON, {**LESSON, "rule": "Cut more.", "example": 1}])
    learned = await reflect(ATTEMPTS, caller)
    assert learned is not None
    assert [example.id for example in learned.examples] == ["b", "a"]  # the worst first
    assert learned.rules == ["Cut less.", "Cut more."]
    assert (learned.made_by, learned.prompt) == ("scripted:test", "segment-reflect@1")
    first, second = (call.prompt for call in caller.asked)
    assert "<<<rules\n(none)\n>>>" in first
    assert "<<<rules\nRule 1: Cut less.\n>>>" in second
    assert "right: 1-1, 2-3\nyours: 1-3" in second


async def test_an_unknown_example_is_rejected() -> None:
    wrong = [{**LESSON, "example": 7}, {**LESSON, "rule": " "}, {**LESSON, "rule": "so " * 300}]
    caller = Answering([*wrong, LESSON])
    assert await reflect(ATTEMPTS[:1], caller) is not None
    assert caller.faults[0] == "there is no conversation 7, only 1 to 1"
    assert len(caller.faults) == 3
    assert await reflect(ATTEMPTS[2:], Answering([])) is None


@given(st.integers(1, 130))
def test_batches_are_ten_at_most_and_leave_no_attempt_out(count: int) -> None:
    attempts = [replace(ATTEMPTS[0], id=str(n)) for n in range(count)]
    batches = split_into_batches(attempts)
    assert [attempt for batch in batches for attempt in batch] == attempts
    assert len(batches) == min(BATCHES, count)
    assert max(map(len, batches)) - min(map(len, batches)) <= 1


def test_guidance_is_kept_in_a_readable_file(tmp_path: Path) -> None:
    path = tmp_path / "guidance.json"
    write_guidance(LEARNED, path)
    assert read_guidance(path) == LEARNED
    assert '  "rules": [\n    "A farewell stays with what it closes.",' in path.read_text("utf-8")
    assert "Rule 2: A change of place alone is no new topic." in LEARNED.text
    assert LEARNED.text.endswith("right: 1-2, 3-3\nlesson: The word also opens another errand.")
    for words, said in (
        ("{}", "made_by: Field required"),
        ("{", "Invalid JSON"),
        (None, "No such"),
    ):
        path.unlink() if words is None else path.write_text(words)
        with pytest.raises(BadInput, match=f"not a segmenter's guidance: {said}") as told:
            read_guidance(path)
        assert len(str(told.value).splitlines()) == 1


def test_bounds_count_from_one() -> None:
    assert bounds([2, 1, 3]) == "1-2, 3-3, 4-6"
