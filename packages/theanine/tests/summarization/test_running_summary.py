"""A running summary brought up to date: what a reply may say, and what becomes of each sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.answering import Answering, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.errors import UnusableReply
from theanine.summarization import (
    UPDATE_SUMMARY,
    SummarySentence,
    local_summarize,
    local_update_summary,
    update_summary,
)
from theanine.text.numbering import split_windows
from theanine.types import Turn

pytestmark = pytest.mark.anyio


def stored(id: int, text: str, *sources: int, speaker: str = "Ana") -> SummarySentence:
    """A sentence of the summary so far, from the first session."""
    at = turn(sources[-1], "").at.astimezone(UTC)
    return SummarySentence(
        id=id, text=text, at=at, source_turns=sources, speakers=(speaker,), made_by="m"
    )


BEFORE = [
    stored(11, "Ana lives in Faro.", 1),
    stored(12, "Ana owns a red boat called Tern.", 2, 3),
    stored(13, "Bo is Ana's brother.", 4, speaker="Bo"),
]
NOW = [
    turn(7, "I moved to Lisbon last Friday.", session=2),
    turn(8, "So the Tern stays with Bo?", "Tea", session=2, role="assistant", recalled=(12,)),
    turn(9, "Yes, Bo looks after it.", session=2),
]
ANSWER = {
    "sentences": [
        {"text": "Ana moved from Faro to Lisbon on 12 May 2023.", "turns": [1], "kept": ["S1"]},
        {"kept": [3]},
        {"text": "Bo looks after Ana's red boat Tern.", "turns": [2, 3], "kept": [2, 3]},
        {"text": "Tea asks good questions.", "turns": [2]},
    ]
}


async def test_each_sentence_is_unchanged_or_has_sources() -> None:
    caller = Answering([ANSWER])
    moved, brother, boat, tea = await update_summary(
        BEFORE, NOW, caller, max_sentences=20, source_sessions={1, 4}
    )
    assert brother is BEFORE[2]
    assert (moved.id, moved.source_turns, moved.kept) == (None, (1, 7), (11,))
    assert moved.at == NOW[0].at
    assert (boat.source_turns, boat.kept) == ((2, 3, 4, 8, 9), (12, 13))
    assert boat.speakers == ("Ana", "Bo")  # Tea is behind it as well, but isn't named
    assert (tea.speakers, tea.kept, tea.made_by) == (("Tea",), (), "scripted:test")
    assert tea.prompt == "update-summary@1"
    assert caller.asked[0].touches == {1, 2, 4}


async def test_an_unchanged_sentence_keeps_its_id() -> None:
    same = {
        "sentences": [{"text": "Ana  lives in Faro.", "turns": [1], "kept": [1]}, {"kept": [1]}]
    }
    assert await update_summary(BEFORE, NOW, Answering([same]), max_sentences=20) == [BEFORE[0]]


@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        ([{"text": f"Fact {n}.", "turns": [1]} for n in range(4)], "4 sentences and may have 3"),
        ([{"text": "New.", "turns": [4]}], r"turns \[4\] were not shown; shown are 1 to 3"),
        ([{"text": "New.", "kept": [4]}], r"no earlier sentences \[4\]; there are 3"),
        ([{"text": "New."}], "names neither turns nor earlier sentences"),
        ([{"kept": [1, 2]}], "must hold the one number"),
        ([{"turns": [1]}], "must hold the one number"),
        ([{"text": "x" * 401, "turns": [1]}], "too long"),
    ],
)
async def test_an_invalid_reply_is_rejected(sentences: object, said: str) -> None:
    caller = Answering([{"sentences": sentences}, {"sentences": [{"kept": [2]}]}])
    assert await update_summary(BEFORE, NOW, caller, max_sentences=3) == [BEFORE[1]]
    assert len(caller.faults) == 1
    assert re.search(said, caller.faults[0])


async def test_a_reply_that_drops_the_summary_is_rejected() -> None:
    four = [*BEFORE, stored(14, "Ana loves cats.", 5)]
    only_new = {"sentences": [{"text": "Ana moved to Lisbon.", "turns": [1]}]}
    caller = Answering([only_new, only_new])
    with pytest.raises(UnusableReply):
        await update_summary(four, NOW, caller, max_sentences=20)
    assert all("keeps none of the earlier sentences" in fault for fault in caller.faults)
    assert len(await update_summary(BEFORE, NOW, Answering([only_new]), max_sentences=20)) == 1


async def test_a_very_long_session_is_added_window_by_window() -> None:
    long = [turn(n, f"Number {n}. " + "wind and weather " * 300, session=2) for n in range(7, 37)]
    windows = split_windows(long)
    assert len(windows) > 2
    first, last = windows[0][0].number, windows[-1][0].number
    answers: list[object] = [
        {"sentences": [{"kept": [1]}, {"text": "It blew.", "turns": [first], "kept": [2]}]},
        *[{"sentences": [{"kept": [1]}, {"kept": [2]}]} for _ in windows[1:-1]],
        {"sentences": [{"kept": [1]}, {"text": "It blew on.", "turns": [last], "kept": [2]}]},
    ]
    caller = Answering(answers)
    stays, blew = await update_summary(BEFORE, long, caller, max_sentences=20)
    assert stays is BEFORE[0]
    assert (blew.text, blew.kept) == ("It blew on.", (12,))
    assert blew.source_turns == (2, 3, long[first - 1].id, long[last - 1].id)
    assert len(caller.asked) == len(windows)
    assert "\nS2 (8 May 2023) Ana owns a red boat" in caller.asked[0].prompt
    assert all("\nS2 (15 May 2023) It blew.\n" in call.prompt for call in caller.asked[1:])


async def test_undated_turns_show_and_keep_no_day() -> None:
    caller = Answering([{"sentences": [{"text": "Ana moved.", "turns": [1], "kept": [1]}]}])
    sentences = [replace(BEFORE[0], dated=False)]
    undated = [replace(turn, dated=False) for turn in NOW]
    (sentence,) = await update_summary(sentences, undated, caller, max_sentences=3)
    assert not sentence.dated
    assert "\nS1 Ana lives in Faro.\n" in caller.asked[0].prompt
    assert "-- dates unknown" in caller.asked[0].prompt


async def _prompt(before: list[SummarySentence], turns: list[Turn]) -> str:
    caller = Answering([{"sentences": []}])
    await update_summary(before, turns, caller, max_sentences=20)
    return caller.asked[0].prompt


async def test_the_prompt_matches_its_snapshot() -> None:
    check_snapshot("update-summary", await _prompt(BEFORE, NOW))
    check_length(UPDATE_SUMMARY)


async def test_quoted_text_cannot_leave_its_fence() -> None:
    attacked = [replace(turn, text=ATTACK, speaker=f"Ana\n{ATTACK}") for turn in NOW]
    before = [replace(sentence, text=ATTACK) for sentence in BEFORE]
    check_fences(await _prompt(BEFORE, NOW), await _prompt(before, attacked))


async def test_the_best_and_the_newest_make_the_local_summary() -> None:
    first = [turn(n, f"I bought boat{n} from harbour{n} in town{n}.") for n in range(1, 7)]
    summary = await update_summary([], first, None, max_sentences=4)
    assert [sentence.source_turns for sentence in summary] == [(3,), (4,), (5,), (6,)]
    sentences = [replace(sentence, id=n) for n, sentence in enumerate(summary, 1)]
    more = [turn(n, f"I sold cart{n} to farmer{n} in valley{n}.", session=2) for n in (11, 12)]
    updated = await update_summary(sentences, more, None, max_sentences=4)
    # Of a full summary one session renews a quarter.
    assert [sentence.source_turns for sentence in updated] == [(4,), (5,), (6,), (12,)]
    assert updated[:3] == sentences[1:]


async def test_a_newer_statement_replaces_the_one_that_it_repeats() -> None:
    before = [replace(stored(5, "Ana said: “I live in a blue house in Faro.”", 1), made_by="local")]
    again = [turn(9, "I live in a big blue house in Faro with two cats.", session=2)]
    updated = await update_summary(before, again, None, max_sentences=20)
    assert [(sentence.source_turns, sentence.kept) for sentence in updated] == [((9,), (5,))]


@given(
    st.lists(
        st.sampled_from(["I moved to Faro.", "I sold my boat.", "Hi!", "My cat died in May."])
    ),
    st.integers(1, 6),
    st.integers(1, 3),
)
def test_the_local_summary_is_short_extractive_and_the_same_again(
    said: list[str], most: int, sessions: int
) -> None:
    summary: list[SummarySentence] = []
    for session in range(1, sessions + 1):
        turns = [turn(100 * session + n, text, session=session) for n, text in enumerate(said)]
        once = local_update_summary(summary, turns, max_sentences=most)
        assert once == local_update_summary(summary, turns, max_sentences=most)
        possible = {sentence.text for sentence in summary} | {
            turn.text for turn in local_summarize(turns)
        }
        assert len(once) <= most
        assert {sentence.text for sentence in once} <= possible
        assert all(sentence.source_turns for sentence in once)
        assert bool(once) == bool(possible)
        summary = [replace(sentence, id=100 * session + n) for n, sentence in enumerate(once)]
