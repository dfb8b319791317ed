"""A running summary brought up to date: what a reply may say, and what becomes of each sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.answering import Answering, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.errors import UnusableReply
from theanine.llm.prompt import PromptTemplate
from theanine.summarization import local_summarize
from theanine.text.numbering import split_windows
from theanine.types import Turn
from theanine_methods.summarization import (
    REWRITE_SUMMARY,
    UPDATE_SUMMARY,
    SummarySentence,
    local_update_summary,
    update_summary,
)

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
        {"text": "Bo looks after Ana's red boat Tern.", "turns": [2, 3], "kept": [2]},
        {"text": "Tea asks good questions.", "turns": [2]},
        {"text": "Tea asks good  questions.", "turns": [2]},
    ],
    "outdated": ["S1"],
}
MORE = [stored(20 + n, f"Ana keeps {n} {pet}.", n) for n, pet in enumerate(["cats", "dogs"], 5)]
GREETING = [turn(7, "Good morning", session=2)]


async def test_each_sentence_is_unchanged_or_has_sources() -> None:
    caller = Answering([ANSWER])
    brother, moved, boat, tea = await update_summary(
        BEFORE, NOW, caller, max_sentences=20, source_sessions={1, 4}
    )
    assert brother is BEFORE[2]
    assert (moved.id, moved.source_turns, moved.kept) == (None, (1, 7), (11,))
    assert moved.at == NOW[0].at
    assert (boat.source_turns, boat.kept) == ((2, 3, 8, 9), (12,))
    assert boat.speakers == ("Ana",)  # Tea is behind it as well, but isn't named
    assert (tea.speakers, tea.kept, tea.made_by) == (("Tea",), (), "scripted:test")
    assert tea.prompt == "update-summary@2"
    assert caller.asked[0].touches == {1, 2, 4}


async def test_an_unchanged_sentence_keeps_its_id() -> None:
    same = {"sentences": [{"text": "Ana  lives in Faro.", "turns": [1], "kept": [1]}]}
    for rewrite, expected in ((False, BEFORE), (True, BEFORE[:1])):
        caller = Answering([same])
        updated = await update_summary(BEFORE, NOW, caller, max_sentences=20, rewrite=rewrite)
        assert updated == expected


@pytest.mark.parametrize("rewrite", [False, True])
@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        ([{"text": f"Fact {n}.", "turns": [1]} for n in range(4)], "sentences and may have 3"),
        ([{"text": "New.", "turns": [4]}], r"turns \[4\] were not shown; shown are 1 to 3"),
        ([{"text": "New.", "kept": [4]}], r"no earlier sentences \[4\]; there are 3"),
        ([{"text": "New."}], "names neither turns nor earlier sentences"),
        ([{"text": " ", "turns": [1]}], "its text is empty"),
        ([{"text": "x" * 401, "turns": [1]}], "too long"),
    ],
)
async def test_an_invalid_reply_is_rejected(sentences: object, said: str, rewrite: bool) -> None:
    same = {"sentences": [{"text": old.text, "kept": [n]} for n, old in enumerate(BEFORE, 1)]}
    caller = Answering([{"sentences": sentences}, same])
    updated = await update_summary(BEFORE, NOW, caller, max_sentences=3, rewrite=rewrite)
    assert updated == BEFORE
    assert len(caller.faults) == 1
    assert re.search(said, caller.faults[0])


@pytest.mark.parametrize(
    "reply",
    [
        {"sentences": []},
        {"sentences": [{"kept": [1]}]},
        {"sentences": [{"text": "Ana said good morning.", "turns": [1], "kept": [2]}]},
        {"sentences": [{"text": "Ana and Bo: good morning.", "turns": [1], "kept": [1, 2, 3]}]},
    ],
)
async def test_no_sentence_leaves_the_summary_unnamed(reply: dict[str, Any]) -> None:
    caller = Answering([reply, {"sentences": []}])
    updated = await update_summary(BEFORE, GREETING, caller, max_sentences=20)
    assert updated[:3] == BEFORE
    # One that a new sentence claims to keep, without its words, is asked for again.
    is_lost = any("text" in sentence for sentence in reply["sentences"])
    assert ['named in "kept"' in fault for fault in caller.faults] == [True] * is_lost


async def test_outdated_sentences_leave_the_summary() -> None:
    caller = Answering([{"sentences": [], "outdated": [4]}, {"sentences": [], "outdated": [1, 3]}])
    updated = await update_summary(BEFORE, GREETING, caller, max_sentences=20)
    assert updated == [BEFORE[1]]
    assert caller.faults == ["outdated: there are no earlier sentences [4]; there are 3"]


async def test_a_full_summary_makes_room_only_by_name() -> None:
    full = [*BEFORE, *MORE]
    only_new = {"sentences": [{"text": "Ana moved to Lisbon.", "turns": [1]}]}
    caller = Answering([only_new, only_new])
    with pytest.raises(UnusableReply):
        await update_summary(full, NOW, caller, max_sentences=5)
    assert all("would have 6 sentences and may have 5" in fault for fault in caller.faults)
    joined = {"text": "Ana keeps 5 cats and 6 dogs.", "kept": [4, 5]}
    joins = {"sentences": [*only_new["sentences"], joined]}
    updated = await update_summary(full, NOW, Answering([joins]), max_sentences=5)
    assert updated[:3] == BEFORE
    assert [sentence.kept for sentence in updated[3:]] == [(), (25, 26)]


async def test_a_rewritten_summary_is_what_the_model_wrote() -> None:
    reply = {
        "sentences": [
            {"text": "Ana left Faro for Lisbon.", "turns": [1], "kept": [1]},
            {"text": "Bo is Ana's brother.", "kept": [3]},
        ]
    }
    caller = Answering([{"sentences": []}, reply])
    brother, moved = await update_summary(BEFORE, NOW, caller, max_sentences=20, rewrite=True)
    assert caller.faults == ["it is empty; the whole new summary is asked for"]
    assert brother is BEFORE[2]
    assert (moved.kept, moved.source_turns, moved.prompt) == ((11,), (1, 7), "rewrite-summary@1")


async def test_a_very_long_session_is_added_window_by_window() -> None:
    long = [turn(n, f"Number {n}. " + "wind and weather " * 300, session=2) for n in range(7, 37)]
    windows = split_windows(long)
    assert len(windows) > 2
    first, last = windows[0][0].number, windows[-1][0].number
    answers: list[object] = [
        {"sentences": [{"text": "It blew.", "turns": [first], "kept": [2]}], "outdated": [2]},
        *[{"sentences": []} for _ in windows[1:-1]],
        {"sentences": [{"text": "It blew on.", "turns": [last], "kept": [2]}]},
    ]
    caller = Answering(answers)
    stays, blew = await update_summary(BEFORE[:2], long, caller, max_sentences=20)
    assert stays is BEFORE[0]
    assert (blew.text, blew.kept) == ("It blew on.", (12,))
    assert blew.source_turns == (2, 3, long[first - 1].id, long[last - 1].id)
    assert len(caller.asked) == len(windows)
    assert "\nS2 (8 May 2023) Ana owns a red boat" in caller.asked[0].prompt
    assert all("\nS2 (15 May 2023) It blew.\n" in call.prompt for call in caller.asked[1:])


async def test_undated_turns_show_and_keep_no_day() -> None:
    caller = Answering(
        [{"sentences": [{"text": "Ana moved.", "turns": [1], "kept": [1]}], "outdated": [1]}]
    )
    sentences = [replace(BEFORE[0], dated=False)]
    undated = [replace(turn, dated=False) for turn in NOW]
    (sentence,) = await update_summary(sentences, undated, caller, max_sentences=3)
    assert not sentence.dated
    assert "\nS1 Ana lives in Faro.\n" in caller.asked[0].prompt
    assert "-- dates unknown" in caller.asked[0].prompt


async def _prompt(before: list[SummarySentence], turns: list[Turn], rewrite: bool) -> str:
    caller = Answering([{"sentences": [{"text": "Ana moved.", "turns": [1]}]}])
    await update_summary(before, turns, caller, max_sentences=20, rewrite=rewrite)
    return caller.asked[0].prompt


@pytest.mark.parametrize("step", [UPDATE_SUMMARY, REWRITE_SUMMARY], ids=["update", "rewrite"])
async def test_the_prompts_match_their_snapshots(step: PromptTemplate[Any]) -> None:
    rewrite = step is REWRITE_SUMMARY
    calm = await _prompt(BEFORE, NOW, rewrite)
    check_snapshot(step.name, calm)
    check_length(step)
    attacked = [replace(turn, text=ATTACK, speaker=f"Ana\n{ATTACK}") for turn in NOW]
    before = [replace(sentence, text=ATTACK) for sentence in BEFORE]
    check_fences(calm, await _prompt(before, attacked, rewrite))


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
